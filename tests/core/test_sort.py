"""Sorting small integers with their positions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.probe_core import make_float_keys, sort_codes, sort_words

# Around the sizes and spans at which the kernels change their method.
SIZES = (1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 500, 2047, 2048, 5000)
SPANS = (0, 1, 2, 64, 65, 255, 256, 2047, 2048, 2**16, 2**22, 2**25 - 1, 2**25, 2**31, 2**32 - 1)


def sort_reference(codes):
    """Words in the order of (code, position)."""
    codes = codes.astype(np.uint64)
    order = np.argsort(codes, kind="stable").astype(np.uint64)
    return ((codes - codes.min())[order] << np.uint64(32)) | order


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("n", SIZES)
def test_sort_codes(n, span):
    rng = np.random.default_rng(n * 31 + span % 1009)
    low = rng.integers(0, 2**32 - span)
    codes = (low + rng.integers(0, span + 1, n)).astype(np.uint32)
    codes[rng.integers(n)] = low  # so that the whole span occurs
    codes[rng.integers(n)] = low + span
    np.testing.assert_array_equal(sort_codes(codes), sort_reference(codes))


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(7, 12), min_size=1, max_size=90))
def test_sort_codes_of_any_list(codes):
    codes = np.array(codes, dtype=np.uint32)
    np.testing.assert_array_equal(sort_codes(codes), sort_reference(codes))


@pytest.mark.parametrize("n_keys", [1, 3, 300, 2**32])
@pytest.mark.parametrize("n", SIZES)
def test_sort_words(n, n_keys):
    rng = np.random.default_rng(n)
    keys = rng.integers(0, n_keys, n, dtype=np.uint64)
    words = (keys << np.uint64(32)) | np.arange(n, dtype=np.uint64)
    np.testing.assert_array_equal(sort_words(words), np.sort(words))
    np.testing.assert_array_equal(sort_words(words, int(keys.max())), np.sort(words))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=30))
def test_float_keys_sort_as_the_floats(values):
    values = np.array(values, dtype=np.float32)
    keys = make_float_keys(values)
    for i in range(len(values) - 1):
        assert (keys[i] < keys[i + 1]) == (values[i] < values[i + 1])
        assert (keys[i] == keys[i + 1]) == (values[i] == values[i + 1])
    # Above every number there is room for the key of a missing value.
    assert keys.max() < 2**32 - 1
