"""Our reader of zip files and arrays against the ones of Python and NumPy."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from obtree.estimators.npy import can_store, from_bytes, to_bytes
from obtree.estimators.zip_reader import read_members

NAMES = st.text("abcxyz._-", min_size=1, max_size=12)
CONTENTS = st.dictionaries(
    NAMES, st.tuples(st.binary(max_size=300), st.integers(1, 2000), st.booleans()), max_size=6
)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
TYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(sizes=(16, 32, 64)),
    hnp.unicode_string_dtypes(min_len=1, max_len=5),
)
LETTERS = st.characters(exclude_categories=["Cs"])


def pack(contents):
    """A zip file as Python writes it, and what is in it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, (data, times, deflated) in contents.items():
            method = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
            archive.writestr(name, data * times, method)
    return stream.getvalue(), {name: data * times for name, (data, times, _) in contents.items()}


@given(CONTENTS)
@example({"large": (b"abc", 10**6, True)})
def test_what_python_writes_is_read(contents):
    packed, expected = pack(contents)
    assert read_members(io.BytesIO(packed), 2**22) == expected
    size = max(len(packed), sum(map(len, expected.values())))
    assert read_members(io.BytesIO(packed), size) == expected
    with pytest.raises(ValueError, match="more than max_bytes="):
        read_members(io.BytesIO(packed), size - 1)


@given(CONTENTS, st.data())
def test_damage_is_refused_or_harmless(contents, data):
    packed, expected = pack(contents)
    at = data.draw(st.integers(0, len(packed) - 1))
    flipped = bytearray(packed)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (packed[:at], packed[at + 1 :], packed[:at] + packed[at + 1 :], flipped):
        try:
            found = read_members(io.BytesIO(bytes(damaged)), 2**22)
        except ValueError:
            continue
        # A name that is changed in one place only is noticed, so are contents.
        assert found == expected


def test_data_descriptors_are_skipped():
    # What a writer that cannot seek puts behind the data.
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *args):
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"one" * 100)
        archive.writestr("b", b"two")
    assert b"PK\7\x08" in pipe.getvalue()
    found = read_members(io.BytesIO(pipe.getvalue()), 2**20)
    assert found == {"a": b"one" * 100, "b": b"two"}


@given(st.data())
def test_arrays_come_back(data):
    dtype = data.draw(TYPES)
    elements = {"alphabet": LETTERS} if dtype.kind == "U" else {}
    array = data.draw(hnp.arrays(dtype, data.draw(SHAPES), elements=elements or None))
    packed = to_bytes(array)
    found = from_bytes("it", bytearray(packed))
    assert can_store(dtype)
    assert found.dtype == dtype.newbyteorder("=")
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(np.load(io.BytesIO(packed)), array)


@given(
    hnp.arrays(st.sampled_from(["<i4", "<f8", "|b1", "<U2"]), SHAPES, elements=None),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 255)), max_size=3),
)
def test_headers_are_read_as_numpy_reads_them(array, changes):
    packed = bytearray(to_bytes(array))
    for at, byte in changes:
        packed[at] = byte
    found, text = None, ""
    try:
        found = from_bytes("it", packed)
    except ValueError as error:
        text = str(error)
    if found is None:
        assert text.startswith("it ")
        assert changes or (array.dtype.kind == "U" and "no text" in text)
        return
    expected = np.load(io.BytesIO(packed))
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def test_types_that_differ_between_machines_are_not_stored():
    for name in ("O", "M8[s]", "c16", "S3", "V4"):
        assert not can_store(np.dtype(name))
    wide = np.dtype(np.longdouble)
    assert can_store(wide) == (wide.itemsize == 8)
