"""Forests on sparse and wide data against scikit-learn's random forest.

    python benchmarks/sparse_wide.py                     # three tables of classes
    python benchmarks/sparse_wide.py --bars              # the same; exit code 1 when one is missed
    python benchmarks/sparse_wide.py --regression        # numbers to predict, for information
    python benchmarks/sparse_wide.py --only onehot --splitters axis co2 --repeats 5

Data are made here, from a fixed seed:

text
    Documents of a vocabulary of 10,000 words, as a tf-idf vectoriser gives them. Words are used
    as often as Zipf's law has it, the length of a document is log-normal, and each of five topics
    uses some of the words ten times as often as the others do. A document has one topic in
    six tenths of its words; the rest is common language.
hashed
    The same kind of documents, of words and pairs of neighbouring words, hashed to 2**20
    columns; values are signed counts, divided by the length of the row.
onehot
    20 categorical features of 50 levels each, unequally often, as 1,000 columns of zeros and
    ones. Classes depend on the sums of an effect of each level.

Both sides have default parameters, the same number of trees and of threads. Forests take turns
in one process, and of several runs the fastest counts. An error is one minus accuracy, or one
minus R2, on rows that were kept back, and the mean over the runs, each with a seed of its own.
"""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.bench.report import format_table

REFERENCE = "RandomForest"
# How many times as long as the random forest's a fit may take.
BARS = {"axis": 1.0, "random_oblique": 3.0, "oc1": 3.0, "co2": 3.0}
N_TOPICS = 5


@dataclass(frozen=True)
class Case:
    """A table, and the size of the forests grown on it."""

    make: object  # (rng, regression) -> X, y
    n_train: int
    n_estimators: int


def draw_documents(rng, n_rows, n_words, mean_length):
    """Draw words of documents with topics.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_rows, n_words : int
        Documents, and words of the vocabulary.
    mean_length : float
        Words of a document, in the median.

    Returns
    -------
    rows, words : ndarray of shape (n_tokens,)
        The document of each token, ascending, and its word.
    topic : ndarray of shape (n_rows,)
        The topic of each document.
    share : ndarray of shape (n_rows,)
        How many of its words it is said to determine.
    """
    common = 1.0 / (np.arange(n_words) + 10.0)
    common = rng.permutation(common)
    common /= common.sum()
    topic = rng.integers(N_TOPICS, size=n_rows)
    share = rng.uniform(0.3, 0.9, size=n_rows)
    length = np.maximum(rng.lognormal(np.log(mean_length), 0.5, size=n_rows), 10).astype(int)
    rows = np.repeat(np.arange(n_rows), length)
    words = rng.choice(n_words, size=len(rows), p=common)
    special = rng.random(len(rows)) < share[rows]
    for t in range(N_TOPICS):
        # A topic has three words in a hundred of its own, besides the rest of the language.
        liking = np.where(rng.random(n_words) < 0.03, 10.0, 1.0) * common
        here = special & (topic[rows] == t)
        words[here] = rng.choice(n_words, size=here.sum(), p=liking / liking.sum())
    return rows, words, topic, share


def describe_topics(rng, topic, share, regression):
    """The target of documents: their topic, or a number that depends on it."""
    if not regression:
        return topic
    level = rng.normal(size=N_TOPICS)
    return level[topic] * share + 0.1 * rng.normal(size=len(topic))


def scale_rows(X):
    """Rows of length 1, as float32, with the narrow indices that scikit-learn's trees take."""
    X = X.tocsr()
    X.eliminate_zeros()
    length = np.sqrt(np.maximum((X * X).sum(axis=1), 1e-12))
    data = (X.data / np.repeat(length, np.diff(X.indptr))).astype(np.float32)
    return sp.csr_array(
        (data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )


def make_text(rng, regression):
    """Documents as a tf-idf vectoriser gives them."""
    n_rows, n_words = 6_000, 10_000
    rows, words, topic, share = draw_documents(rng, n_rows, n_words, 150)
    counts = sp.coo_array((np.ones(len(rows)), (rows, words)), shape=(n_rows, n_words)).tocsr()
    n_documents = np.bincount(counts.indices, minlength=n_words)
    idf = np.log((1.0 + n_rows) / (1.0 + n_documents)) + 1.0
    X = counts.copy()
    X.data = (1.0 + np.log(X.data)) * idf[X.indices]
    return scale_rows(X), describe_topics(rng, topic, share, regression)


def make_hashed(rng, regression):
    """Documents as a hashing vectoriser gives them."""
    n_rows, n_words, n_columns = 4_000, 50_000, 2**20
    rows, words, topic, share = draw_documents(rng, n_rows, n_words, 100)
    together = rows[1:] == rows[:-1]
    pair_rows = rows[1:][together]
    pairs = n_words + words[:-1][together] * n_words + words[1:][together]
    names = np.concatenate([words, pairs]).astype(np.uint64)
    hashed = (names + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashed ^= hashed >> np.uint64(29)
    hashed *= np.uint64(0xBF58476D1CE4E5B9)
    column = (hashed >> np.uint64(44)).astype(np.int64)
    sign = np.where(hashed & np.uint64(1), 1.0, -1.0)
    where = (np.concatenate([rows, pair_rows]), column)
    X = sp.coo_array((sign, where), shape=(n_rows, n_columns))
    return scale_rows(X), describe_topics(rng, topic, share, regression)


def make_onehot(rng, regression):
    """Categorical features, a column for each level."""
    n_rows, n_features, n_levels = 12_000, 20, 50
    often = 1.0 / (np.arange(n_levels) + 3.0)
    levels = rng.choice(n_levels, size=(n_rows, n_features), p=often / often.sum())
    effect = rng.normal(size=(n_features, n_levels)) * rng.gamma(1.0, size=(n_features, 1))
    score = effect[np.arange(n_features), levels].sum(axis=1)
    score = (score - score.mean()) / score.std() + 0.2 * rng.normal(size=n_rows)
    columns = (levels + n_levels * np.arange(n_features)).ravel()
    pointers = n_features * np.arange(n_rows + 1)
    X = sp.csr_array(
        (np.ones(columns.size, np.float32), columns.astype(np.int32), pointers.astype(np.int32)),
        shape=(n_rows, n_features * n_levels),
    )
    return X, score if regression else np.digitize(score, [-0.5, 0.5])


CASES = {
    "text": Case(make_text, 5_000, 10),
    "hashed": Case(make_hashed, 3_000, 10),
    "onehot": Case(make_onehot, 10_000, 10),
}


def make_forest(name, regression, n_estimators, n_jobs, seed):
    """A forest of default parameters; `name` is a splitter, or the reference."""
    if name == REFERENCE:
        kind = RandomForestRegressor if regression else RandomForestClassifier
        return kind(n_estimators, n_jobs=n_jobs, random_state=seed)
    kind = ObliqueForestRegressor if regression else ObliqueForestClassifier
    return kind(n_estimators, splitter=name, n_jobs=n_jobs, random_state=seed)


def compare_case(case, names, args):
    """Fit all forests in turn; best seconds and mean test error of each, by name."""
    X, y = case.make(np.random.default_rng(0), args.regression)
    train, test = slice(None, case.n_train), slice(case.n_train, None)
    seconds = {name: [] for name in names}
    errors = {name: [] for name in names}
    n_estimators = args.trees or case.n_estimators
    if args.dense:
        X = X.toarray()
    for seed in range(args.repeats):
        for name in names:
            forest = make_forest(name, args.regression, n_estimators, args.n_jobs, seed)
            start = time.perf_counter()
            forest.fit(X[train], y[train])
            seconds[name].append(time.perf_counter() - start)
            errors[name].append(1.0 - forest.score(X[test], y[test]))
    return {name: (min(seconds[name]), float(np.mean(errors[name]))) for name in names}


def main():
    """Print a table; with ``--bars`` exit with 1 when a forest is too slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(CASES))
    parser.add_argument("--splitters", nargs="+", default=list(BARS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trees", type=int, help="instead of ten")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--dense", action="store_true", help="the same numbers as dense arrays")
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    rows, missed = [], []
    for label in args.only or CASES:
        print(f"measuring {label} ...", file=sys.stderr)
        figures = compare_case(CASES[label], [REFERENCE, *args.splitters], args)
        base = figures[REFERENCE][0]
        for name, (seconds, error) in figures.items():
            ratio = seconds / base
            bar = BARS.get(name)
            rows.append(
                [
                    label,
                    name,
                    f"{seconds:.3f}",
                    f"{ratio:.2f}",
                    "" if bar is None else f"{bar:.2f}",
                    f"{100 * error:.1f}",
                ]
            )
            if bar is not None and ratio > bar:
                missed.append(f"{name} on {label}: {ratio:.2f} of RandomForest's time")
    header = ["data", "forest", "fit s", "times RandomForest", "bar", "test error %"]
    print(format_table(header, rows, args.markdown))
    if args.bars and missed:
        print("\nmissed: " + "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
