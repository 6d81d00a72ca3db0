"""Datasets: the same ranks for every type, order and layout of X."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.testing.probe import describe_column, find_values, gather_codes, read_values
from obtree.testing.reference import rank_column

DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
ORDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "transposed slice": lambda X: np.repeat(np.ascontiguousarray(X.T), 3, axis=1)[:, ::3].T,
}


def draw_table(dtype, n=60, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random((n, n_features)) < 0.5
    if dtype.kind == "f":
        X = rng.normal(size=(n, n_features)).astype(dtype)
        X[:, 1] = np.round(X[:, 1])
        X[rng.random(X.shape) < 0.1] = np.nan
        return X
    info = np.iinfo(dtype)
    X = rng.integers(info.min, info.max, (n, n_features), dtype=dtype, endpoint=True)
    X[:, 1] = rng.integers(0, 4, n)
    return X


def check(dataset, X):
    """Every column gives X back, rounded to float32, in three ways."""
    X = X.astype(np.float64).astype(np.float32)
    assert (dataset.n_samples, dataset.n_features) == X.shape
    for j in range(X.shape[1]):
        codes, values = dataset.column(j)
        expected_codes, expected_values = rank_column(X[:, j])
        np.testing.assert_array_equal(codes, expected_codes)
        if values is not None:
            np.testing.assert_array_equal(values, expected_values)
        np.testing.assert_array_equal(read_values(dataset, j), X[:, j])
        np.testing.assert_array_equal(find_values(dataset, j), X[:, j])


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
@pytest.mark.parametrize("dtype", DTYPES)
def test_types_and_orders(dtype, order):
    X = order(draw_table(dtype))
    before = X.copy()
    X.flags.writeable = False
    check(Dataset(X), X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("keep_rows", [True, False])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_threads_and_kept_rows(dtype, n_threads, keep_rows):
    X = draw_table(dtype, n=700, n_features=9)
    dataset = Dataset(X, n_threads=n_threads, keep_rows=keep_rows)
    check(dataset, X)
    assert describe_column(dataset, 0)["keeps_X"] or not keep_rows


@pytest.mark.parametrize("n_threads", [1, 2])
def test_bytes_of_every_value(n_threads):
    X = np.arange(256 * 70, dtype=np.uint32).reshape(256, 70, order="F")
    X = (X * 77 % 256).astype(np.uint8)
    X[:, 1] = 9
    X[:, 2] //= 2
    X[:, 69] = X[:, 69] % 2 * 255
    check(Dataset(X, n_threads=n_threads), X)


def test_the_dataset_keeps_what_it_points_to():
    X = draw_table("f4")
    dataset, expected = Dataset(X, keep_rows=True), X.copy()
    del X
    np.full((60, 5), 7.0, dtype=np.float32)
    check(dataset, expected)


def test_columns_that_need_several_chunks():
    # So many rows that only a few columns are copied out of X at a time.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (300000, 7)).astype(np.uint8)
    dataset = Dataset(X, n_threads=2)
    for j in range(7):
        np.testing.assert_array_equal(dataset.column(j)[0], rank_column(X[:, j])[0])


@pytest.mark.parametrize(
    ("n_values", "width"), [(1, 1), (256, 1), (257, 2), (65536, 2), (65537, 4)]
)
@pytest.mark.parametrize("missing", [False, True])
def test_ranks_take_the_narrowest_type(n_values, width, missing):
    column = np.arange(n_values, dtype=np.float32)
    if missing:
        column = np.append(column, np.float32(np.nan))
        width = {256: 2, 65536: 4}.get(n_values, width)
    dataset = Dataset(column[:, None])
    assert describe_column(dataset, 0)["width"] == width
    assert describe_column(dataset, 0)["n_values"] == n_values
    np.testing.assert_array_equal(dataset.column(0)[0], np.arange(len(column)))


@pytest.mark.parametrize("column", [np.nan, 3.0])
def test_columns_with_nothing_to_split(column):
    X = np.full((9, 2), column, dtype=np.float32)
    check(Dataset(X), X)


def test_column_number_is_checked():
    dataset = Dataset(np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(IndexError, match="column 2 of 2"):
        dataset.column(2)
    with pytest.raises(IndexError, match="column -1 of 2"):
        dataset.column(-1)


# ---- sparse ---------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.1, 0.5, 0.95, 1.0]),
    st.sampled_from(["csr", "csc"]),
    st.booleans(),
)
def test_sparse_ranks_are_the_dense_ones(seed, n, n_features, density, form, missing):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)) * 2).astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) >= density] = 0
    matrix = sparse.coo_array(X).asformat(form)
    dataset = Dataset(matrix)
    assert dataset.is_sparse
    check(dataset, X)
    dense = Dataset(X)
    for n_rows in {1, (n + 1) // 2, n}:
        rows = np.sort(rng.choice(n, n_rows, replace=False))
        for j in range(n_features):
            codes, low, high = gather_codes(dataset, j, rows)
            np.testing.assert_array_equal(codes, gather_codes(dense, j, rows)[0])
            assert (low, high) == (codes.min(), codes.max())


def test_stored_zeros_are_zeros():
    matrix = sparse.csc_array(
        (np.array([0.0, 5.0, -0.0], dtype=np.float32), [0, 2, 3], [0, 3]), shape=(5, 1)
    )
    check(Dataset(matrix), matrix.toarray())


def test_memory_follows_the_entries():
    # 2e9 cells, of which 2000 are stored.
    rng = np.random.default_rng(0)
    place = rng.integers(0, 100000, 2000), rng.integers(0, 20000, 2000)
    matrix = sparse.csc_array((np.ones(2000, dtype=np.float32), place), shape=(100000, 20000))
    assert Dataset(matrix).n_bytes < 3 * 2**20


# ---- ranks row by row -------------------------------------------------------------------


@pytest.mark.parametrize("n_values", [200, 1000])
def test_small_nodes_read_the_same_ranks_from_rows(n_values):
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, (20000, 64)).astype(np.uint16)
    X[:, 5] = rng.integers(0, 3, 20000)  # a narrower column between wider ones
    dataset = Dataset(X)
    limit = describe_column(dataset, 0)["row_limit"]
    assert limit > 100
    for n_rows in (1, 17, limit, limit + 1):
        rows = np.sort(rng.choice(20000, n_rows, replace=False))
        for j in (0, 4, 5, 6, 63):
            codes, low, high = gather_codes(dataset, j, rows)
            np.testing.assert_array_equal(codes, rank_column(X[:, j])[0][rows])
            assert (low, high) == (codes.min(), codes.max())


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
@pytest.mark.parametrize("shape", [(8101, 131), (16500, 64)])
def test_bytes_by_columns_and_rows(shape, order):
    """Bytes are turned in squares, of which the last ones are not whole."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, shape, dtype=np.uint8)
    X[:, 1::3] &= 0x55
    X[:, 2::3] |= 0x18
    X = order(X)
    dataset = Dataset(X, n_threads=2)
    limit = describe_column(dataset, 0)["row_limit"]
    assert limit > 0
    rows = np.sort(rng.choice(len(X), limit, replace=False))
    for j in range(X.shape[1]):
        codes, values = dataset.column(j)
        expected, expected_values = rank_column(X[:, j].astype(np.float32))
        np.testing.assert_array_equal(codes, expected)
        np.testing.assert_array_equal(values, expected_values)
        np.testing.assert_array_equal(gather_codes(dataset, j, rows)[0], expected[rows])
