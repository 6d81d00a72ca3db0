"""Reading a zip file that nobody vouches for, within a given number of bytes.

Only what `zipfile` writes for a model is read: members that are stored or deflated, the
directory at the very end, sizes of 64 bits where they are needed. What the directory says is
checked before a member is unpacked: the number of members, the sum of their sizes, that no name
stands twice and that no two members share bytes of the file. So the work is proportional to the
file and to the size it declares, and a member that unpacks to more than it declared is
noticed with the first byte too many. All errors are ValueErrors that complete the sentence
"the file is not a readable model: ...".
"""

import os
import struct
import zlib
from dataclasses import dataclass

MAX_MEMBERS = 2**16

_END = struct.Struct("<4s4H2LH")
_LOCATOR_64 = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")

_ENCRYPTED = 1
_STORED, _DEFLATED = 0, 8
# Says that the number stands in a record of 64 bits.
_WIDE = 2**32 - 1
_EXTRA_64 = 1
# Bytes that are read, or unpacked, at a time.
_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class Entry:
    """What the directory says of one member.

    Attributes
    ----------
    name : str
    flags, method : int
        How it is packed.
    crc : int
        Checksum of the contents.
    packed, size : int
        Bytes in the file, and once unpacked.
    offset : int
        Where its record begins.
    """

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


def read_members(stream, max_bytes):
    """Unpack all members of a zip file.

    Parameters
    ----------
    stream : binary file
        Open for reading, and able to seek.
    max_bytes : int
        Most bytes that the file, and its members together, may take.

    Returns
    -------
    contents : dict of str to bytearray
        In the order in which the members stand in the file.

    Raises
    ------
    ValueError
        Saying what is wrong with the file.
    """
    n_bytes = stream.seek(0, os.SEEK_END)
    if n_bytes > max_bytes:
        raise ValueError(f"it takes {n_bytes} bytes, more than max_bytes={max_bytes}")
    start, size, count = _find_directory(stream, n_bytes)
    entries = _parse_directory(_read_at(stream, start, size), count)
    total = sum(entry.size for entry in entries)
    if total > max_bytes:
        name = max(entries, key=lambda entry: entry.size).name
        raise ValueError(
            f"its contents take {total} bytes, most of them {name}, more than max_bytes={max_bytes}"
        )
    return _unpack_entries(stream, sorted(entries, key=lambda entry: entry.offset), start)


def _find_directory(stream, n_bytes):
    """Return where the directory starts, its size and its number of entries."""
    at = n_bytes - _END.size
    if at < 0:
        raise ValueError(f"it has {n_bytes} bytes, which no zip file can do with")
    mark, disk, first, here, count, size, start, comment = _END.unpack(
        _read_at(stream, at, _END.size)
    )
    if mark != b"PK\5\6" or comment:
        raise ValueError("it does not end as a zip file does; it may have been cut off")
    wide = max(0, at - _LOCATOR_64.size)
    if _read_at(stream, wide, at - wide)[:4] == b"PK\6\7":
        at, disk, first, here, count, size, start = _find_directory_64(stream, at)
    if disk or first or here != count:
        raise ValueError("it is one part of several")
    if count > MAX_MEMBERS:
        raise ValueError(f"it has {count} members, expected at most {MAX_MEMBERS}")
    if start + size != at:
        raise ValueError("its directory does not stand at its end")
    return start, size, count


def _find_directory_64(stream, end):
    """Read the record of 64 bits that stands before the last record."""
    at = end - _LOCATOR_64.size - _END_64.size
    if at < 0:
        raise ValueError("its directory is incomplete")
    record = _read_at(stream, at, end - at)
    mark, length, _, _, disk, first, here, count, size, start = _END_64.unpack_from(record)
    locator, _, where, _ = _LOCATOR_64.unpack_from(record, _END_64.size)
    # The length counts neither the mark nor itself.
    if (mark, locator) != (b"PK\6\6", b"PK\6\7") or where != at or length != _END_64.size - 12:
        raise ValueError("its directory is incomplete")
    return at, disk, first, here, count, size, start


def _parse_directory(data, count):
    """Return the entries of the directory, each name once."""
    entries = {}
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(data):
            raise ValueError(f"its directory ends before its {count} entries do")
        record = _ENTRY.unpack_from(data, at)
        mark, _, _, flags, method, _, _, crc, packed, size, n_name, n_extra, n_comment = record[:13]
        end = at + _ENTRY.size + n_name + n_extra + n_comment
        if mark != b"PK\1\2" or end > len(data):
            raise ValueError("its directory is damaged")
        name = _decode_name(data[at + _ENTRY.size : at + _ENTRY.size + n_name])
        extra = data[at + _ENTRY.size + n_name : end - n_comment]
        packed, size, offset = _widen(name, (size, packed, record[16]), extra)
        if name in entries:
            raise ValueError(f"it holds {name} twice")
        entries[name] = Entry(name, flags, method, crc, packed, size, offset)
        at = end
    if at != len(data):
        raise ValueError(f"its directory goes on after its {count} entries")
    return list(entries.values())


def _decode_name(data):
    """Return the name of a member."""
    try:
        name = data.decode("ascii")
    except UnicodeDecodeError:
        name = ""
    if not name.isprintable() or not 0 < len(name) <= 100:
        raise ValueError("a member has a name that arrays of models do not have")
    return name


def _widen(name, numbers, extra):
    """Return packed size, size and offset, the latter two found in this order in `extra`."""
    size, packed, offset = numbers
    n_wide = numbers.count(_WIDE)
    if n_wide:
        wide = iter(_read_wide(name, extra, n_wide))
        size, packed, offset = (next(wide) if n == _WIDE else n for n in numbers)
    return packed, size, offset


def _read_wide(name, extra, n_wide):
    """Return the first numbers of 64 bits in the extra fields of an entry."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == _EXTRA_64 and 8 * n_wide <= length <= len(extra) - at - 4:
            return struct.unpack_from(f"<{n_wide}Q", extra, at + 4)
        at += 4 + length
    raise ValueError(f"{name} lacks its sizes")


def _unpack_entries(stream, entries, directory):
    """Unpack members that are sorted by place; none may reach into the next."""
    contents = {}
    last, free = None, 0
    for entry in entries:
        if entry.offset < free:
            raise ValueError(f"{last} and {entry.name} overlap")
        start = _find_data(stream, entry, directory)
        last, free = entry.name, start + entry.packed
        if free > directory:
            raise ValueError(f"{entry.name} reaches beyond the end of the members")
        if entry.flags & _ENCRYPTED:
            raise ValueError(f"{entry.name} is encrypted")
        stream.seek(start)
        if entry.method == _STORED:
            data = _read_stored(stream, entry)
        elif entry.method == _DEFLATED:
            data = _inflate(stream, entry)
        else:
            raise ValueError(f"{entry.name} is compressed by method {entry.method}, unlike models")
        if zlib.crc32(data) != entry.crc:
            raise ValueError(f"{entry.name} does not have the checksum it should have")
        contents[entry.name] = data
    return contents


def _find_data(stream, entry, directory):
    """Return where the data of a member begin, behind a record that repeats its name."""
    if entry.offset + _LOCAL.size > directory:
        raise ValueError(f"{entry.name} is said to begin beyond the end of the members")
    record = _LOCAL.unpack(_read_at(stream, entry.offset, _LOCAL.size))
    n_name, n_extra = record[9:]
    if record[0] != b"PK\3\4" or stream.read(n_name) != entry.name.encode():
        raise ValueError(f"{entry.name} does not begin where the directory says")
    return entry.offset + _LOCAL.size + n_name + n_extra


def _read_stored(stream, entry):
    """Read a member that is not compressed."""
    if entry.packed != entry.size:
        raise ValueError(f"{entry.name} declares {entry.size} bytes and takes {entry.packed}")
    return bytearray(_read_exactly(stream, entry.size))


def _inflate(stream, entry):
    """Unpack a member piece by piece, as far as the size it declares."""
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    data = bytearray()
    left = entry.packed
    while not engine.eof:
        piece = engine.unconsumed_tail
        if not piece and left:
            piece = _read_exactly(stream, min(left, _PIECE))
            left -= len(piece)
        try:
            found = engine.decompress(piece, min(_PIECE, entry.size - len(data) + 1))
        except zlib.error as error:
            raise ValueError(f"{entry.name} cannot be unpacked: {error}") from error
        data += found
        if len(data) > entry.size:
            raise ValueError(f"{entry.name} holds more than the {entry.size} bytes it declares")
        if not piece and not found:
            raise ValueError(f"{entry.name} is cut off")
    if len(data) != entry.size or left or engine.unused_data:
        raise ValueError(
            f"{entry.name} holds {len(data)} bytes in {entry.packed - left} packed ones, and "
            f"declares {entry.size} in {entry.packed}"
        )
    return data


def _read_at(stream, start, length):
    stream.seek(start)
    return _read_exactly(stream, length)


def _read_exactly(stream, length):
    data = stream.read(length)
    if len(data) != length:
        raise ValueError("it ends too early")
    return data
