"""Places in rows that transformers of scikit-learn bring along, checked before they are used.

Encoders and vectorizers write ones and counts at places that fitting has chosen, and SciPy follows
them without a look, outside of its arrays if they say so. Those of a file are tried out here.
"""

import copy
import itertools
import numbers
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder

from obtree.core.names import show

#: Numbers of columns that scikit-learn allows where it hashes.
MAX_COLUMNS = 2**31 - 1
#: Cells of a table of categories that are encoded at a time.
PROBE_CELLS = 2**20


def check_places(step):
    """Refuse a transformer with places outside of its rows, or with such a one in it.

    Parameters
    ----------
    step : object
        As it was read.
    """
    waiting, seen = [step], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        _check_part(part)
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        elif isinstance(part, np.ndarray):
            if part.dtype.kind == "O":
                waiting += part.ravel().tolist()
        elif type(part).__module__.startswith("sklearn."):
            waiting.append(getattr(part, "__dict__", {}))


def _check_part(part):
    """Refuse one object if it has places, and these are wrong."""
    if isinstance(part, MultiLabelBinarizer):
        raise ValueError("it holds a MultiLabelBinarizer, which is not for features")
    if isinstance(part, (FeatureHasher, HashingVectorizer)):
        n = part.n_features
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_COLUMNS:
            raise ValueError(f"a {type(part).__name__} has n_features={show(n)}")
    if isinstance(part, (CountVectorizer, DictVectorizer)):
        _check_vocabulary(part)
    if isinstance(part, OneHotEncoder) and hasattr(part, "categories_"):
        _check_encoder(part)


def _check_vocabulary(vectorizer):
    """Refuse columns of words that there are not."""
    known = getattr(vectorizer, "vocabulary_", {})
    if not isinstance(known, dict):
        raise ValueError(f"a {type(vectorizer).__name__} has the vocabulary {show(known)}")
    for word, place in known.items():
        is_whole = isinstance(place, (int, np.integer)) and not isinstance(place, bool)
        if not is_whole or not 0 <= place < len(known):
            raise ValueError(
                f"a {type(vectorizer).__name__} of {len(known)} columns has column {show(place)} "
                f"for {show(word)}"
            )


def _check_encoder(encoder):
    """Encode every category there is, and look where the ones are."""
    known = encoder.categories_
    is_list = isinstance(known, list) and known
    if not is_list or not all(isinstance(each, np.ndarray) and each.ndim == 1 for each in known):
        raise ValueError(f"a OneHotEncoder has the categories {show(known)}")
    if not all(len(each) and _is_sorted(each) for each in known):
        raise ValueError("a OneHotEncoder has numbers that are not in order among its categories")
    probe = copy.deepcopy(encoder).set_output(transform="default")
    probe.sparse_output = True
    n_rows = max(map(len, known)) + (probe.handle_unknown != "error")
    step = max(1, PROBE_CELLS // len(known))
    for start in range(0, n_rows, step):
        rows = np.arange(start, min(start + step, n_rows))
        table = np.empty((len(rows), len(known)), dtype=object)
        for j, each in enumerate(known):
            table[:, j] = each[rows % len(each)]
        if rows[-1] >= max(map(len, known)):
            table[-1] = "\0 unknown"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = sp.csr_matrix(probe.transform(table))
            found.check_format(full_check=True)
        except Exception as error:  # whatever it is, the file was the cause
            raise ValueError(
                f"a OneHotEncoder cannot encode its own categories: {error}"
            ) from error


def _is_sorted(categories):
    """Tell whether the numbers among some categories rise, as a search for them expects."""
    if categories.dtype.kind == "O":
        found = [each for each in categories.tolist() if isinstance(each, numbers.Real)]
    elif categories.dtype.kind in "biuf":
        found = categories.tolist()
    else:
        return True
    found = [each for each in found if each == each]
    return all(low < high for low, high in itertools.pairwise(found))
