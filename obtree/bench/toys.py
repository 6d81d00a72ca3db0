"""Two-dimensional data after the pictures of Criminisi et al. (2011)."""

import numpy as np

SPAN = 1.2  # the pictures run from -SPAN to SPAN
GAP = 0.4  # width of the empty band between the two classes of `make_gap`


def make_spirals(seed=0, n=400, noise=0.02):
    """Make four spiral arms, a class each.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=400
        Number of points.
    noise : float, default=0.02
        Standard deviation of each coordinate around the arm.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of int, shape (n,)
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    along = rng.uniform(0.1, 1.0, n)
    angle = 1.3 * np.pi * along + y * np.pi / 2
    X = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal((n, 2)), y


def make_gap(seed=0, n=200):
    """Make two classes on both sides of an empty upright band; the left one is denser near it.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=200
        Number of points.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of int, shape (n,)
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    distance = rng.beta(1.0, np.where(y == 0, 4.0, 1.0)) * 0.8
    # One point of each class marks the band's edge, so that the gap is what it is called.
    distance[:2] = 0.0
    x = np.where(y == 0, -1, 1) * (GAP / 2 + distance)
    return np.column_stack([x, rng.uniform(-1, 1, n)]), y


def make_four(seed=0, n=200):
    """Make four separable clusters, a class each.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=200
        Number of points.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of int, shape (n,)
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    centre = np.array([[-0.6, 0.5], [0.5, 0.7], [0.6, -0.5], [-0.5, -0.7]])[y]
    return centre + rng.uniform(-0.28, 0.28, (n, 2)), y


def make_curve(seed=0, n=200):
    """Make a noisy curve that nobody measured in the middle.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=200
        Number of points.

    Returns
    -------
    x : ndarray of shape (n, 1)
    y : ndarray of shape (n,)
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, n)
    x = np.where(x < 0.0, 0.7 * x - 0.3, 0.7 * x + 0.3)
    return x[:, None], np.sin(5.0 * x) * np.exp(-0.5 * x) + 0.12 * rng.standard_normal(n)


def make_fork(seed=0, n=400):
    """Make a curve that divides: above one half of the x there are two answers.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=400
        Number of points.

    Returns
    -------
    x : ndarray of shape (n, 1)
    y : ndarray of shape (n,)
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, n)
    side = rng.choice([-1.0, 1.0], n)
    return x[:, None], side * np.maximum(x, 0.0) + 0.08 * rng.standard_normal(n)


def make_arms(seed=0, n=1000):
    """Make two spiral arms, of which nobody says which is which.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=1000
        Number of points.

    Returns
    -------
    X : ndarray of shape (n, 2)
    """
    rng = np.random.default_rng(seed)
    along = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 2.5 * np.pi * along + np.pi * (np.arange(n) % 2)
    X = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.03 * rng.standard_normal((n, 2))


def make_mixture(seed=0, n=1000):
    """Make rows of five Gaussians.

    Parameters
    ----------
    seed : int, default=0
        Seed of the points.
    n : int, default=1000
        Number of points.

    Returns
    -------
    X : ndarray of shape (n, 2)
    """
    rng = np.random.default_rng(seed)
    part = np.arange(n) % 5
    angle = 0.4 * np.pi * part
    centre = 0.7 * np.column_stack([np.cos(angle), np.sin(angle)])
    shape = 0.16 * np.column_stack([np.ones(n), 0.2 + 0.2 * part])
    return centre + shape * rng.standard_normal((n, 2))


TOYS = {"spirals": make_spirals, "gap": make_gap, "four": make_four}
CURVES = {"curve": make_curve, "fork": make_fork}
CLOUDS = {"arms": make_arms, "mixture": make_mixture}
