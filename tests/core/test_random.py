"""Random numbers: known answers, no bias, streams that have nothing in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from obtree.testing.probe_core import Generator
from obtree.testing.reference import Xoshiro

WORDS = st.integers(0, 2**64 - 1)


def test_reference_gives_the_published_numbers():
    # From the authors' C programs: xoshiro256** in state (1, 2, 3, 4), and splitmix64
    # started at 1234567.
    generator = Xoshiro([1, 2, 3, 4])
    assert [generator.next_word() for _ in range(8)] == [
        11520,
        0,
        1509978240,
        1215971899390074240,
        1216172134540287360,
        607988272756665600,
        16172922978634559625,
        8476171486693032832,
    ]
    seed = 1234567 * pow(0xD1342543DE82EF95, -1, 2**64) % 2**64
    assert Xoshiro.from_seed(seed).state[:3] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(WORDS, WORDS)
def test_same_words_as_reference(seed, stream):
    expected = Xoshiro.from_seed(seed, stream)
    generator = Generator(seed, stream)
    assert list(generator.state) == expected.state
    assert generator.words(20).tolist() == [expected.next_word() for _ in range(20)]


def test_uniform_is_in_the_unit_interval():
    numbers = Generator(5).uniform(20000)
    expected = Xoshiro.from_seed(5)
    assert numbers[:50].tolist() == [expected.uniform() for _ in range(50)]
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    assert stats.kstest(numbers, "uniform").pvalue > 1e-4


# A quarter of the words must be rejected for 2**62 + 1, none for a power of two.
@pytest.mark.parametrize("n", [1, 2, 3, 7, 10**6, 2**31 - 1, 2**32, 2**62 + 1, 2**63 - 1])
def test_bounded_rejects_what_would_be_biased(n):
    expected = Xoshiro.from_seed(n)
    numbers = Generator(n).bounded(n, 200)
    assert numbers.tolist() == [expected.bounded(n) for _ in range(200)]
    assert numbers.min() >= 0
    assert numbers.max() < n


@pytest.mark.parametrize("n", [2, 3, 10, 97])
def test_bounded_is_uniform(n):
    counts = np.bincount(Generator(11).bounded(n, 20000), minlength=n)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_normal():
    numbers = Generator(3).normal(20000)
    assert stats.kstest(numbers, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.03


def test_neighbouring_seeds_share_nothing():
    # Seeds that differ by one, and streams of one seed: shifted copies of one sequence
    # would show the same word twice.
    words = np.concatenate(
        [Generator(seed).words(300) for seed in range(100)]
        + [Generator(0, stream).words(300) for stream in range(1, 100)]
    )
    assert len(np.unique(words)) == len(words)


def test_neighbouring_seeds_are_uncorrelated():
    numbers = np.array([Generator(seed).uniform(400) for seed in range(50)])
    correlation = np.corrcoef(numbers)[np.triu_indices(50, 1)]
    assert np.abs(correlation).max() < 0.25  # five standard deviations
    assert abs(correlation.mean()) < 0.01
    # The first number of each stream is as random as any other.
    first = [Generator(seed).uniform(1)[0] for seed in range(2000)]
    assert stats.kstest(first, "uniform").pvalue > 1e-4


@given(WORDS, st.integers(1, 40))
def test_shuffling_exchanges_from_the_end(seed, n):
    reference = Xoshiro.from_seed(seed)
    expected = list(range(n))
    for p in range(n - 1, 0, -1):
        q = reference.bounded(p + 1)
        expected[p], expected[q] = expected[q], expected[p]
    assert list(Generator(seed).shuffle(range(n))) == expected
    items, values = Generator(seed).shuffle_pairs(range(n), 0.5 * np.arange(n))
    assert list(items) == expected
    np.testing.assert_array_equal(values, 0.5 * items)


@pytest.mark.parametrize("in_order", [False, True])
def test_drawing_without_replacement_is_fair(in_order):
    generator = Generator(7)
    drawn = [generator.draw(3, 8, in_order) for _ in range(4000)]
    assert all(len(set(some)) == 3 for some in drawn)
    if in_order:
        assert all(some == sorted(some) for some in drawn)
    counts = np.bincount(np.ravel(drawn), minlength=8)
    assert stats.chisquare(counts).pvalue > 1e-3
    assert sorted(generator.draw(8, 8, in_order)) == list(range(8))
