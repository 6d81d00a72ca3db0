"""A zip file of plain arrays and one JSON header, safe to read from anywhere.

Reading runs no code from the file, never unpickles, and allocates nothing that the
file does not hold: the shape each array claims must agree with the bytes there are.
Whatever is wrong with a file ends in ValueError.
"""

import io
import json
import os
import struct
import tempfile
import zipfile
import zlib

import numpy as np

HEADER = "header.json"
ARRAY_KINDS = "biufU"
# Some values of a model are small integers in eight bytes: level 1 takes most of it.
COMPRESS_LEVEL = 1
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def write_archive(path, header, arrays):
    """Write header and arrays; the file appears only when it is complete.

    Parameters
    ----------
    path : str or path-like
        File to write; replaced when it exists.
    header : dict
        Anything JSON can hold.
    arrays : dict of str to ndarray
        Arrays of numbers, booleans or strings.
    """
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    handle, partial = tempfile.mkstemp(dir=folder, prefix=".obtree-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
            _write_member(archive, HEADER, json.dumps(header, allow_nan=False).encode())
            for name, array in arrays.items():
                _write_member(archive, name + ".npy", _to_bytes(array))
        os.chmod(partial, 0o666 & ~_read_umask())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def read_archive(path, max_bytes):
    """Read what `write_archive` wrote.

    Parameters
    ----------
    path : str or path-like
        File to read.
    max_bytes : int
        Most bytes the contents may take in memory.

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray
        Read-only arrays.
    """
    with open(path, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = archive.infolist()
                size = sum(member.file_size for member in members)
                if size > max_bytes:
                    raise ValueError(
                        f"its contents take {size} bytes, more than max_bytes={max_bytes}"
                    )
                if any(member.compress_type not in METHODS for member in members):
                    raise ValueError("it is compressed in a way that models are not")
                contents = {member.filename: archive.read(member) for member in members}
            header = json.loads(contents.pop(HEADER))
            if not isinstance(header, dict):
                raise ValueError("its header is not a JSON object")
            arrays = {
                name.removesuffix(".npy"): _from_bytes(name, data)
                for name, data in contents.items()
            }
        except DAMAGED as error:
            raise ValueError(f"{os.fspath(path)} is not a readable model: {error}") from error
    return header, arrays


def _write_member(archive, name, data):
    """Add one file; without a date, so that equal models are equal files."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=COMPRESS_LEVEL)


def _to_bytes(array):
    """Return an array in NumPy's own file format, little-endian and in C order."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _from_bytes(name, data):
    """Read an array without trusting the shape it claims."""
    buffer = io.BytesIO(data)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise ValueError(f"{name} has an unknown version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    if fortran or dtype.kind not in ARRAY_KINDS or dtype.itemsize == 0:
        raise ValueError(f"{name} has an unsupported type or layout ({dtype})")
    n_bytes = dtype.itemsize
    for size in shape:
        n_bytes *= size
    if min(shape, default=0) < 0 or n_bytes != len(data) - buffer.tell():
        raise ValueError(f"{name} does not hold an array of shape {shape}")
    return np.frombuffer(data, dtype=dtype, offset=buffer.tell()).reshape(shape)


def _read_umask():
    """Return the umask; temporary files ignore it."""
    umask = os.umask(0)
    os.umask(umask)
    return umask
