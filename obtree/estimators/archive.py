"""A zip file of plain arrays and one JSON header, safe to read from anywhere.

Reading runs no code from the file, never unpickles, and takes memory in proportion to a
limit that the caller sets, whatever the file declares. Whatever is wrong with a file
ends in ValueError.
"""

import contextlib
import io
import json
import os
import re
import zipfile

from obtree.core.files import replace_file
from obtree.estimators.npy import from_bytes, to_bytes
from obtree.estimators.zip_reader import MAX_MEMBERS, read_members

HEADER = "header.json"
SUFFIX = ".npy"
# Some values of a model are small integers in eight bytes: level 1 takes most of it.
COMPRESS_LEVEL = 1

# Headers of models have ten levels at most, and reading a level takes stack.
MAX_NESTING = 32
# What a header takes as Python objects, at most: each letter, and each value or key.
LETTER_BYTES = 8
VALUE_BYTES = 128

# Bytes that are read from a stream at a time.
_PIECE = 2**20

_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{\]}]', re.DOTALL)


def write_archive(path, header, arrays):
    """Write header and arrays; the file appears only when it is complete.

    Parameters
    ----------
    path : str, path-like or binary file
        File to write; replaced when it exists. To a file that is open the bytes are written
        where it stands.
    header : dict
        Anything JSON can hold.
    arrays : dict of str to ndarray
        Arrays of numbers, booleans or strings.
    """
    if len(arrays) >= MAX_MEMBERS:
        raise ValueError(
            f"a model of {len(arrays)} arrays cannot be saved; expected fewer than {MAX_MEMBERS}"
        )
    text = json.dumps(header, allow_nan=False).encode()
    _check_nesting(text)
    with _open_target(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        _write_member(archive, HEADER, text)
        for name, array in arrays.items():
            _write_member(archive, name + SUFFIX, to_bytes(array))


def read_archive(path, max_bytes):
    """Read what `write_archive` wrote.

    Parameters
    ----------
    path : str, path-like or binary file
        File to read; one that is open is read from where it stands to its end.
    max_bytes : int
        Most bytes the contents may take in memory.

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray
        Read-only arrays.

    Raises
    ------
    OSError
        When there is no file that can be opened.
    ValueError
        When there is one, and it is not an archive of this kind.
    """
    name = name_file(path)
    with _open_source(path, max_bytes) as stream:
        try:
            contents = read_members(stream, max_bytes)
            header = _parse_header(contents, max_bytes)
            return header, _parse_arrays(contents)
        except ValueError as error:
            raise ValueError(f"{name} is not a readable model: {error}") from error
        except MemoryError as error:
            raise ValueError(
                f"{name} is not a readable model: it takes more memory than there is"
            ) from error


def name_file(path):
    """Return what a message calls a file.

    Parameters
    ----------
    path : str, bytes, path-like or file
        What the user gave.

    Returns
    -------
    name : str
    """
    if is_stream(path):
        name = getattr(path, "name", None)
        return name if isinstance(name, str) else "the stream"
    return os.fsdecode(path)


def is_stream(path):
    """Tell whether something is an open file rather than the name of one."""
    return hasattr(path, "read") or hasattr(path, "write")


@contextlib.contextmanager
def _open_target(path):
    """Open what is to be written; it gets all bytes at the end, or none."""
    if not is_stream(path):
        with replace_file(path) as stream:
            yield stream
        return
    _check_binary(path, "write", "wb")
    buffer = io.BytesIO()
    yield buffer
    left = buffer.getbuffer()
    while len(left):
        # An unbuffered file may take a part only.
        n_written = path.write(left)
        left = left[len(left) if n_written is None else n_written :]


@contextlib.contextmanager
def _open_source(path, max_bytes):
    """Open what is to be read, as a file that can seek."""
    if is_stream(path):
        _check_binary(path, "read", "rb")
        yield io.BytesIO(_read_stream(path, max_bytes))
        return
    if os.path.isdir(path):
        raise IsADirectoryError(f"{name_file(path)} is a folder, expected a model file")
    if os.path.exists(path) and not os.path.isfile(path):
        # To open a pipe could take forever.
        raise ValueError(f"{name_file(path)} is not a regular file")
    with open(path, "rb") as stream:
        yield stream


def _check_binary(stream, method, mode):
    """Refuse an open file that cannot do what is asked of it."""
    able = getattr(stream, {"read": "readable", "write": "writable"}[method], None)
    if isinstance(stream, io.TextIOBase) or not hasattr(stream, method) or (able and not able()):
        raise TypeError(
            f"{name_file(stream)} is not a binary file open to {method}; open it with mode={mode!r}"
        )


def _read_stream(stream, max_bytes):
    """Return the rest of a stream; no more than the first byte that is too many."""
    data = bytearray()
    while len(data) <= max_bytes:
        piece = stream.read(min(_PIECE, max_bytes + 1 - len(data)))
        if not piece:
            break
        data += piece
    return data


def _write_member(archive, name, data):
    """Add one file; without a date, so that equal models are equal files."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=COMPRESS_LEVEL)


def _parse_header(contents, max_bytes):
    """Take the header out of the members and parse it, once it is known to be harmless."""
    data = contents.pop(HEADER, None)
    if data is None:
        raise ValueError(f"it lacks {HEADER}")
    check_size(data, max_bytes)
    _check_nesting(data)
    try:
        header = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except ValueError as error:
        raise ValueError(f"its header cannot be parsed: {error}") from error
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header


def check_size(data, max_bytes):
    """Refuse JSON that may take too much memory once it is parsed.

    Parameters
    ----------
    data : bytes or bytearray
    max_bytes : int
        Most bytes that it may take.
    """
    n_values = sum(map(data.count, (b",", b":", b"[", b"{")))
    n_bytes = LETTER_BYTES * len(data) + VALUE_BYTES * n_values
    if n_bytes > max_bytes:
        raise ValueError(
            f"its header may take {n_bytes} bytes of memory, more than max_bytes={max_bytes}"
        )


def _check_nesting(data):
    """Refuse deep nesting; quotes hide brackets, and a parser finds out if they do not match."""
    if data.count(b"[") + data.count(b"{") <= MAX_NESTING:
        return  # as in most models
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(data):
        mark = data[match.start()]
        if mark in b"[{":
            depth += 1
            if depth > MAX_NESTING:
                raise ValueError(f"its header is nested more than {MAX_NESTING} levels deep")
        elif mark in b"]}":
            depth -= 1


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number that models have")


def _parse_arrays(contents):
    """Turn members into arrays, each giving its bytes away."""
    arrays = {}
    for name in list(contents):
        if not name.endswith(SUFFIX):
            raise ValueError(f"it holds {name!r}, which is no part of a model")
        label = name.removesuffix(SUFFIX)
        arrays[label] = from_bytes(label, contents.pop(name))
    return arrays
