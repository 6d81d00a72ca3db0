"""Weights as products of two float32 numbers: half the memory, and the same bits.

Planes that are refined as a whole are fitted to scaled features, with weights in float32. A weight
of the plane is the product of such a number and of the scale of its feature, also float32: 48
significant bits of float64, of which 24 are the same wherever the feature occurs. Neither factor
is kept in a tree, but common factors of whole numbers tell them.
"""

import math
from itertools import pairwise

import numpy as np

#: Significant bits of float32.
BITS = 24

#: Steps of the search for a factor; factors of 24 bits are found in some thousands.
MAX_STEPS = 1 << 15


def find_scales(weight, feature):
    """Find a number for each feature that weights are float32 multiples of.

    Parameters
    ----------
    weight : float64 ndarray of shape (n_terms,)
    feature : ndarray of shape (n_terms,)

    Returns
    -------
    scale : float64 ndarray of shape (max(feature) + 1,), or None
        float32 numbers, 1 for features whose weights are float32 themselves. None if some feature
        has weights that are no such multiples.
    """
    scale = np.ones(int(feature.max(initial=-1)) + 1)
    inexact = np.flatnonzero(~is_single(weight))
    inexact = inexact[np.argsort(feature[inexact], kind="stable")]
    starts = np.flatnonzero(np.diff(feature[inexact], prepend=-1))
    for start, end in pairwise([*starts.tolist(), len(inexact)]):
        terms = inexact[start:end]
        found = _find_scale(_take_mantissas(weight[terms]))
        if found is None:
            return None
        scale[feature[terms[0]]] = found
    return scale


def divide(weight, scale):
    """Divide weights by scales where that loses nothing.

    Parameters
    ----------
    weight, scale : float64 ndarray of the same shape

    Returns
    -------
    quotient : float64 ndarray
        float32 numbers; NaN where there is none that times the scale is the weight.
    """
    quotient = weight / scale
    exact = is_single(quotient) & (quotient * scale == weight)
    return np.where(exact, quotient, np.nan)


def is_single(values):
    """Tell which numbers are float32.

    Parameters
    ----------
    values : float64 ndarray

    Returns
    -------
    exact : bool ndarray
    """
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float32) == values


def _take_mantissas(values):
    """Return the significant digits of numbers as odd integers."""
    mantissa, _ = np.frexp(np.abs(values))
    whole = np.unique((mantissa * 2.0**53).astype(np.int64))
    return whole // (whole & -whole)


def _find_scale(whole):
    """Return a number of 24 bits, from 1 to 2, that divides odd integers, or None."""
    common = int(np.gcd.reduce(whole))
    limit = 1 << BITS
    # What the other factor has at least; the scale takes all that is common, or a part of it.
    rest = int(whole.max()) // common
    if rest >= limit or common * rest >= limit * limit:
        return None
    for factor in [common] if common < limit else sorted(_list_divisors(common)):
        if factor < limit and common // factor * rest < limit:
            return math.ldexp(factor, 1 - factor.bit_length())
    return None


def _list_divisors(number):
    """Return the divisors of a number, of its parts that can be found."""
    divisors = {1}
    for prime in _split(number):
        divisors |= {divisor * prime for divisor in divisors}
    return divisors


def _split(number):
    """Return factors of an odd number, small ones first; those of 24 bits are prime, mostly."""
    if number == 1:
        return []
    for small in range(3, 200, 2):
        if number % small == 0:
            return [small, *_split(number // small)]
    # Fermat's test; a number that passes it by chance costs memory and nothing else.
    if number < 200 * 200 or pow(2, number - 1, number) == 1:
        return [number]
    factor = _find_factor(number)
    return [number] if factor is None else [*_split(factor), *_split(number // factor)]


def _find_factor(number):
    """Return a factor of a number by Pollard's rho, or None if there is none or it is large."""
    for shift in (1, 3, 5):
        slow = fast = 2
        product, steps = 1, 0
        while steps < MAX_STEPS:
            slow = (slow * slow + shift) % number
            fast = (fast * fast + shift) % number
            fast = (fast * fast + shift) % number
            product = product * abs(slow - fast) % number
            steps += 1
            if steps % 64 == 0 or product == 0:
                found = math.gcd(product, number)
                if found == number:
                    break  # too far at once; another sequence may do better
                if found > 1:
                    return found
    return None
