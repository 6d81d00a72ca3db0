"""Zip files and arrays written by hand, so that anything in them can be wrong."""

import io
import json
import struct
import zipfile
import zlib
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Member:
    """One member of a zip file; what is None is written as it should be.

    Attributes
    ----------
    name : str
    data : bytes
    deflated : bool
    packed : bytes or None
        In place of the packed data.
    size, crc, offset : int or None
        What the directory says of it.
    """

    name: str
    data: bytes
    deflated: bool = False
    packed: bytes | None = None
    size: int | None = None
    crc: int | None = None
    offset: int | None = None


def read_members(data):
    """Return the contents of a zip file by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(members):
    """Return a zip file of these members; one whose offset is given has no data of its own."""
    body, directory = [], []
    at = 0
    for member in members:
        packed, name = member.packed, member.name.encode("utf-8", "surrogatepass")
        if packed is None:
            packed = deflate(member.data) if member.deflated else member.data
        size = len(member.data) if member.size is None else member.size
        crc = zlib.crc32(member.data) if member.crc is None else member.crc
        method = 8 if member.deflated else 0
        common = struct.pack("<5H3L2H", 20, 0, method, 0, 33, crc, len(packed), size, len(name), 0)
        offset = at if member.offset is None else member.offset
        directory += [b"PK\1\2\x14\0", common, struct.pack("<3H2L", 0, 0, 0, 0, offset), name]
        if member.offset is None:
            body += [b"PK\3\4", common, name, packed]
            at += 30 + len(name) + len(packed)
    end = b"".join(directory)
    count = len(members) & 0xFFFF
    tail = struct.pack("<4H2LH", 0, 0, count, count, len(end), at, 0)
    return b"".join([*body, end, b"PK\5\6", tail])


def write_contents(contents, **changes):
    """Return a zip file of these contents; `changes` are those of the members, by name."""
    members = [Member(name, data, deflated=len(data) > 300) for name, data in contents.items()]
    return write_members([replace(member, **changes.get(member.name, {})) for member in members])


def deflate(data):
    """Return raw deflated data."""
    engine = zlib.compressobj(1, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


def deflate_zeros(n_bytes):
    """Return a deflate stream of zeros without making them all."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    chunk = bytes(2**20)
    # After a full flush the coder remembers nothing, so that its output may be repeated.
    piece = engine.compress(chunk) + engine.flush(zlib.Z_FULL_FLUSH)
    return piece * (n_bytes // len(chunk)) + engine.flush()


def write_array(array):
    """Return an array as NumPy writes it."""
    return write_npy(array.dtype.str, repr(array.shape), np.ascontiguousarray(array).tobytes())


def write_npy(descr, shape, data):
    """Return an array file whose type, shape and bytes need not agree."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text = (text + " " * (-len(text) - 11 & 63) + "\n").encode("utf-8", "surrogatepass")
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text) & 0xFFFF) + text + data


def read_array(data):
    """Return the array of an undamaged file."""
    return np.load(io.BytesIO(data))


def read_header(contents):
    """Return the parsed header of an undamaged model file."""
    return json.loads(contents["header.json"])
