"""Arrays as bytes in NumPy's own file format, and back without trusting the bytes.

NumPy reads the header of such a file as a piece of Python. Here it must be, letter by letter,
what NumPy writes for the arrays of a model.
"""

import io
import math
import re

import numpy as np

_MAGIC = b"\x93NUMPY\1\0"
_PREFIX = len(_MAGIC) + 2
_HEADER = re.compile(
    rb"\{'descr': '([<|])([biufU])([0-9]{1,9})', 'fortran_order': (False|True), "
    rb"'shape': \((|[0-9]{1,19},|[0-9]{1,19}(?:, [0-9]{1,19}){1,2})\), \} *\n?"
)
# Items of a number type, in bytes. A long double differs from machine to machine.
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
_MAX_LETTERS = 2**24
_MAX_ITEMS = 2**48
_MAX_LETTER = 0x10FFFF


def can_store(dtype):
    """Tell whether arrays of a type can be written and read.

    Parameters
    ----------
    dtype : numpy.dtype

    Returns
    -------
    bool
    """
    if dtype.kind == "U":
        return 0 < dtype.itemsize // 4 <= _MAX_LETTERS
    return dtype.itemsize in _SIZES.get(dtype.kind, ())


def to_bytes(array):
    """Return an array in NumPy's own file format, little-endian and in C order.

    Parameters
    ----------
    array : ndarray
        Of a type that `can_store` accepts, with at most three axes.

    Returns
    -------
    bytes
    """
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def from_bytes(name, data, any_order=False):
    """Read what `to_bytes` wrote, or refuse it.

    Parameters
    ----------
    name : str
        Name of the array, for messages.
    data : bytes or bytearray
        Kept by the array, which needs no memory of its own.
    any_order : bool, default=False
        Whether an array of Fortran's order is taken, which `to_bytes` does not write.

    Returns
    -------
    array : ndarray
        Read-only.

    Raises
    ------
    ValueError
        When the type or layout is not one that models have, when there are more or fewer bytes
        than the shape says, or when text or booleans hold what is neither.
    """
    if len(data) < _PREFIX or data[: len(_MAGIC)] != _MAGIC:
        raise ValueError(f"{name} is not an array, or one of an unknown version")
    start = _PREFIX + int.from_bytes(data[len(_MAGIC) : _PREFIX], "little")
    match = _HEADER.fullmatch(data, _PREFIX, start) if start <= len(data) else None
    if match is None or (match[4] == b"True" and not any_order):
        raise ValueError(f"{name} has an unsupported type or layout")
    dtype = _make_type(name, *(part.decode() for part in match.groups()[:3]))
    shape = tuple(map(int, match[5].replace(b",", b" ").split()))
    # Python integers, which do not overflow; an empty array may claim any other axis.
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != len(data) - start or math.prod(filter(None, shape)) >= _MAX_ITEMS:
        raise ValueError(f"{name} does not hold an array of shape {shape} and type {dtype}")
    array = np.frombuffer(data, dtype=dtype, offset=start)
    array.flags.writeable = False
    _check_items(name, array)
    return array.reshape(shape, order="F" if match[4] == b"True" else "C")


def _make_type(name, order, kind, size):
    """Return the type that a header names."""
    good = int(size) in _SIZES[kind] if kind != "U" else 0 < int(size) <= _MAX_LETTERS
    # One byte has no order.
    if not good or (order == "|") != (kind != "U" and size == "1"):
        raise ValueError(f"{name} has an unsupported type or layout ({order}{kind}{size})")
    return np.dtype(f"{order}{kind}{size}")


def _check_items(name, array):
    """Refuse bit patterns that the type does not have; NumPy trusts that there are none."""
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError(f"{name} holds a boolean that is neither 0 nor 1")
    if array.dtype.kind == "U" and (array.view("<u4") > _MAX_LETTER).any():
        raise ValueError(f"{name} holds a code point that is no text")
