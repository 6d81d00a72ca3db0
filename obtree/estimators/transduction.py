"""What labels that have travelled are believed, beside a forest that knows the labels alone.

The classes that paths lead to and the supervised forest's probabilities are multiplied. How much
paths count for, if anything, the labels themselves tell: each is hidden once from the trees, the
paths and the supervised forest, and guessed from the others.
"""

import numpy as np

#: Parts of the labels, each of which is hidden from the others once.
N_FOLDS = 5
#: How strongly paths may count: a class whose labels are one unit further away than the nearest
#: has exp(-sharpness) of its weight. The unit is a usual length of paths to the second class.
SHARPNESS = (0.5, 1.0, 2.0, 4.0)
#: That of labels too few to be asked, fewer than MIN_JUDGED.
UNJUDGED = 4.0
MIN_JUDGED = 10
#: What is spread over all classes alike, since paths may be wrong however short they are.
DOUBT = 0.05
#: Standard errors that the mean gain has to be above zero. The constants of this file are chosen on
#: training rows, 10 labels a class, of optdigits, pendigits, satimage, letter and 16 tables that
#: benchmarks/semi_supervised.py does not use: errors fall by 0.67 points in the mean, and on no
#: table do they rise by more than one. With a margin of 2 or 3 they fall by 0.65 or 0.60.
MARGIN = 2.5


def deal_folds(codes, rng):
    """Deal the labels of each class to the folds in turn.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows,)
        Class of each row, -1 for none.
    rng : numpy.random.Generator

    Returns
    -------
    fold : int ndarray of shape (n_rows,)
        -1 for rows without a label.
    """
    fold = np.full(len(codes), -1)
    labelled = rng.permutation(np.flatnonzero(codes >= 0))
    labelled = labelled[np.argsort(codes[labelled], kind="stable")]
    fold[labelled] = np.arange(len(labelled)) % N_FOLDS
    return fold


def weigh_paths(distance, sharpness):
    """Turn lengths of paths into a distribution over the classes for each row.

    Parameters
    ----------
    distance : ndarray of shape (n_rows, n_classes)
        Length of the shortest path to a label of each class; infinite where there is none.
    sharpness : float
        See `SHARPNESS`; 0 makes all classes alike.

    Returns
    -------
    fractions : ndarray of shape (n_rows, n_classes)
        Alike for all classes in rows that no path leads to.
    """
    n_classes = distance.shape[1]
    fractions = np.full(distance.shape, 1.0 / n_classes)
    nearest = distance.min(axis=1, keepdims=True)
    reached = np.isfinite(nearest[:, 0])
    second = np.sort(distance[reached], axis=1)[:, 1:2]
    second = second[np.isfinite(second)]
    if sharpness == 0.0 or len(second) == 0:
        return fractions
    # Steps have a least length, so that the unit is not zero.
    weight = np.exp(-sharpness / np.median(second) * (distance[reached] - nearest[reached]))
    weight /= weight.sum(axis=1, keepdims=True)
    fractions[reached] = (1.0 - DOUBT) * weight + DOUBT / n_classes
    return fractions


def combine(distance, prior, n_labels, sharpness):
    """Return what paths and the supervised forest say together.

    Parameters
    ----------
    distance, prior : ndarray of shape (n_rows, n_classes)
        Lengths of paths, and probabilities of the supervised forest.
    n_labels : int
        Labels that it has seen: probabilities are smoothed as if each class had had one more.
    sharpness : float
        See `SHARPNESS`; 0 leaves the prior alone.

    Returns
    -------
    distributions : ndarray of shape (n_rows, n_classes)
    """
    product = (n_labels * prior + 1.0) * weigh_paths(distance, sharpness)
    return product / product.sum(axis=1, keepdims=True)


def clamp(distributions, codes):
    """Return a copy of distributions where rows with a label have no doubt.

    Parameters
    ----------
    distributions : ndarray of shape (n_rows, n_classes)
    codes : int ndarray of shape (n_rows,)
        Class of each row, -1 for none.

    Returns
    -------
    distributions : ndarray of shape (n_rows, n_classes)
    """
    distributions = distributions.copy()
    labelled = np.flatnonzero(codes >= 0)
    distributions[labelled] = 0.0
    distributions[labelled, codes[labelled]] = 1.0
    return distributions


class Check:
    """Guesses of hidden labels, fold after fold.

    Attributes
    ----------
    n_judged : int
        Labels that could be guessed: of a class that other folds have as well.
    """

    def __init__(self):
        self.n_judged = 0
        self._losses = {sharpness: [] for sharpness in (0.0, *SHARPNESS)}
        self._errors = {sharpness: [] for sharpness in (0.0, *SHARPNESS)}

    def add(self, distance, prior, n_labels, truth):
        """Take the guesses of one fold.

        Parameters
        ----------
        distance, prior : ndarray of shape (n_hidden, n_classes)
        n_labels : int
            Labels that were not hidden.
        truth : int ndarray of shape (n_hidden,)
        """
        self.n_judged += len(truth)
        for sharpness, losses in self._losses.items():
            guess = combine(distance, prior, n_labels, sharpness)
            losses.append(-np.log(guess[np.arange(len(truth)), truth]))
            self._errors[sharpness].append(guess.argmax(axis=1) != truth)

    def conclude(self):
        """Say how much paths should count.

        Returns
        -------
        verdict : dict
            "n_judged", "sharpness", and for those judged "gain", by how many nats a label becomes
            likelier in the mean, its standard error "gain_error", the fractions of wrong guesses
            "error" and "supervised_error"; and whether paths do "harm", or may.
        """
        if self.n_judged < MIN_JUDGED:
            return {"n_judged": self.n_judged, "sharpness": UNJUDGED, "harm": False}
        before = np.concatenate(self._losses[0.0])
        best = None
        for sharpness in SHARPNESS:
            gain = before - np.concatenate(self._losses[sharpness])
            error = float(np.std(gain, ddof=1) / np.sqrt(len(gain)))
            verdict = {
                "n_judged": self.n_judged,
                "sharpness": sharpness,
                "gain": float(gain.mean()),
                "gain_error": error,
                "error": float(np.concatenate(self._errors[sharpness]).mean()),
                "supervised_error": float(np.concatenate(self._errors[0.0]).mean()),
                "harm": not gain.mean() > MARGIN * error,
            }
            sure = gain.mean() - MARGIN * error
            if best is None or sure > best:
                best, chosen = sure, verdict
        return chosen
