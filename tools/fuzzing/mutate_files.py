"""Ways to damage a model file, from single bytes to files that try to exhaust the reader.

Each takes a generator and a `Seed` and returns the bytes of a file.
"""

import json
import struct
from dataclasses import dataclass, field

import numpy as np

from fuzzing.files import (
    Member,
    deflate_zeros,
    read_array,
    read_header,
    read_members,
    write_array,
    write_contents,
    write_members,
    write_npy,
)
from fuzzing.values import INTEGERS, TEXTS, TYPES, change_items, change_layout, change_value

WORDS = (0, 1, 2, 8, 20, 0x7FFF, 0xFFFE, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)
MARKS = (*(b"[", b"{", b"}", b"]", b'"', b",", b":", b"-"), b"NaN", b"9" * 5000, b"\\u", b"\xff")


@dataclass
class Seed:
    """An undamaged file, and what is in it."""

    name: str
    data: bytes
    contents: dict = field(init=False)
    header: dict = field(init=False)
    arrays: dict = field(init=False)

    def __post_init__(self):
        self.contents = read_members(self.data)
        self.header = read_header(self.contents)
        self.arrays = {
            name: read_array(data) for name, data in self.contents.items() if name.endswith(".npy")
        }


class FileMutator:
    """All ways to damage a file; bombs are made for a given limit.

    Parameters
    ----------
    max_bytes : int
        The limit that files will be loaded with.
    """

    def __init__(self, max_bytes):
        self.max_bytes = max_bytes
        # Made once: streams that unpack to far more than the limit.
        self.streams = [deflate_zeros(n * max_bytes) for n in (1, 8, 64)]
        self.ways = {
            "flip bytes": (self.flip_bytes, 10),
            "cut or repeat bytes": (self.cut_bytes, 6),
            "edit zip records": (self.edit_records, 10),
            "exchange members": (self.exchange_members, 6),
            "edit header": (self.edit_header, 16),
            "edit header text": (self.edit_header_text, 4),
            "edit array header": (self.edit_array_header, 8),
            "edit items": (self.edit_items, 24),
            "edit layout": (self.edit_layout, 10),
            "edit lengths": (self.edit_lengths, 6),
            "bomb": (self.make_bomb, 1),
        }

    def flip_bytes(self, rng, seed):
        """Change a few bits anywhere."""
        data = bytearray(seed.data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)

    def cut_bytes(self, rng, seed):
        """Remove, repeat or insert a stretch of the file."""
        start, end = sorted(rng.randrange(len(seed.data) + 1) for _ in range(2))
        middle = rng.choice((b"", seed.data[start:end] * 2, rng.randbytes(rng.randrange(40))))
        if rng.random() < 0.3:
            return seed.data[:start]
        return seed.data[:start] + middle + seed.data[end if rng.random() < 0.5 else start :]

    def edit_records(self, rng, seed):
        """Put odd numbers into the records that zip files consist of."""
        data = bytearray(write_contents(seed.contents) if rng.random() < 0.5 else seed.data)
        for _ in range(rng.choice((1, 1, 2))):
            mark = rng.choice((b"PK\1\2", b"PK\1\2", b"PK\3\4", b"PK\5\6"))
            places = [at for at in range(len(data) - 22) if data[at : at + 4] == mark][:60]
            if mark == b"PK\5\6" or not places:
                places = [len(data) - 22]
            at = rng.choice(places) + rng.randrange(4, 46, 2)
            layout = rng.choice(("<H", "<L"))
            if at + struct.calcsize(layout) <= len(data):
                most = 2 ** (8 * struct.calcsize(layout)) - 1
                word = rng.choice((*WORDS, len(data), struct.unpack_from(layout, data, at)[0] + 1))
                struct.pack_into(layout, data, at, word & most)
        return bytes(data)

    def exchange_members(self, rng, seed):
        """Drop, rename, repeat or exchange members, with checksums that fit."""
        contents = dict(seed.contents)
        one, other = rng.sample(sorted(contents), 2)
        way = rng.randrange(6)
        if way == 0:
            del contents[one]
        elif way == 1:
            contents[rng.choice((*TEXTS, "tree.x.npy", "length.x.npy"))] = contents.pop(one)
        elif way == 2:
            contents[one], contents[other] = contents[other], contents[one]
        elif way == 3:
            contents[one] = contents[other]
        elif way == 4:
            contents[one] = contents[one][: rng.randrange(len(contents[one]) + 1)]
        else:
            members = [Member(name, data, rng.random() < 0.5) for name, data in contents.items()]
            rng.shuffle(members)
            return write_members([*members, *members[: rng.randrange(3)]])
        return write_contents(contents)

    def edit_header(self, rng, seed):
        """Change values of the header."""
        header = seed.header
        for _ in range(rng.choice((1, 1, 2, 4))):
            header = change_value(rng, header)
        return write_contents(seed.contents | {"header.json": json.dumps(header).encode()})

    def edit_header_text(self, rng, seed):
        """Change the text of the header."""
        text = bytearray(seed.contents["header.json"])
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(text) + 1)
            way = rng.randrange(3)
            if way:
                text[at : at + way - 1] = rng.choice(
                    (
                        b"[",
                        b"{",
                        b"}",
                        b"]",
                        b'"',
                        b",",
                        b":",
                        b"NaN",
                        b"-",
                        b"9" * 5000,
                        b"\\u",
                        b"\xff",
                    )
                )
            else:
                del text[at : at + rng.randrange(20)]
        return write_contents(seed.contents | {"header.json": bytes(text)})

    def edit_array_header(self, rng, seed):
        """Change the text that says what an array is."""
        name = rng.choice(sorted(seed.arrays))
        array, data = seed.arrays[name], bytearray(seed.contents[name])
        if rng.random() < 0.5:
            for _ in range(rng.choice((1, 2, 4))):
                data[rng.randrange(128)] = rng.choice(b"(){}[],'<>|0123456789 \\\n\0\xff#TFbiufUO")
            return write_contents(seed.contents | {name: bytes(data)})
        descr = rng.choice((array.dtype.str, *TYPES, "|O", "<U0", "<U999999999", "<f16", "<m8"))
        shape = rng.choice(
            (
                repr(array.shape),
                f"({rng.choice(INTEGERS)},)",
                f"(0, {rng.choice(INTEGERS)})",
                f"({rng.choice(INTEGERS)}, {rng.choice(INTEGERS)}, {len(array.reshape(-1))})",
                "(" * rng.choice((2, 100, 20000)),
                "3",
                "()",
            )
        )
        return write_contents(seed.contents | {name: write_npy(descr, shape, array.tobytes())})

    def edit_items(self, rng, seed):
        """Change items of an array."""
        return self._edit_arrays(rng, seed, change_items, rng.choice((1, 1, 2, 4)))

    def edit_layout(self, rng, seed):
        """Change length, shape or type of an array."""
        return self._edit_arrays(rng, seed, change_layout, rng.choice((1, 1, 2)))

    def edit_lengths(self, rng, seed):
        """Change an array and its lengths alike, so that only deeper checks can notice."""
        names = [name for name in sorted(seed.arrays) if name.startswith("length.")]
        contents = dict(seed.contents)
        for length in rng.sample(names, rng.choice((1, 1, 3))):
            name = length.replace("length.", "tree.")
            lengths, values = seed.arrays[length].copy(), seed.arrays[name]
            tree = rng.randrange(len(lengths))
            end = int(lengths[: tree + 1].sum())
            delta = rng.choice((-1, 1, -int(lengths[tree])))
            if delta > 0 and len(values):
                values = np.insert(values, end, values[end - 1], axis=0)
            elif lengths[tree]:
                values = np.delete(values, np.s_[end + delta : end], axis=0)
            lengths[tree] = max(0, lengths[tree] + len(values) - len(seed.arrays[name]))
            contents[length], contents[name] = write_array(lengths), write_array(values)
        return write_contents(contents)

    def _edit_arrays(self, rng, seed, change, count):
        contents = dict(seed.contents)
        for name in rng.sample(sorted(seed.arrays), count):
            contents[name] = write_array(change(rng, seed.arrays[name]))
        return write_contents(contents)

    def make_bomb(self, rng, seed):
        """Ask for far more memory or time than the limit allows."""
        return rng.choice(
            (
                self._declare_little,
                self._share_streams,
                self._nest_header,
                self._fill_header,
                self._repeat_trees,
                self._fill_array,
                self._declare_much,
            )
        )(rng, seed)

    def _declare_little(self, rng, seed):
        """A member that declares few bytes over a huge stream."""
        name = rng.choice(sorted(seed.contents))
        change = {"packed": rng.choice(self.streams), "size": rng.choice((0, 128, 2**16))}
        return write_contents(seed.contents, **{name: {**change, "deflated": True}})

    def _declare_much(self, rng, seed):
        """A member that declares more bytes than there are, up to the limit or beyond it."""
        name = rng.choice(sorted(seed.contents))
        size = rng.choice((self.max_bytes // 2, self.max_bytes, 2**32 - 1, 2**31))
        return write_contents(seed.contents, **{name: {"size": size}})

    def _share_streams(self, rng, seed):
        """Many entries of the directory on one stream."""
        count = rng.choice((10, 1000, 5000))
        stream = rng.choice(self.streams[:2])
        same = rng.random() < 0.3
        first = Member("0.npy", b"", True, stream, rng.choice((100, self.max_bytes // count)), 0)
        rest = [
            Member("0.npy" if same else f"{k}.npy", b"", True, stream, first.size, 0, 0)
            for k in range(1, count)
        ]
        return write_members([first, *rest])

    def _nest_header(self, rng, seed):
        """Brackets within brackets."""
        depth = rng.choice((33, 500, 990, 10**4, 10**5))
        opening, closing = rng.choice((("[", "]"), ('{"pairs":', "}"), ('{"pairs":[[1,', "]]}")))
        text = opening * depth + "1" + closing * depth
        key = rng.choice(sorted(seed.header["params"]))
        header = seed.header | {"params": seed.header["params"] | {key: "@"}}
        text = json.dumps(header).replace('"@"', text, 1).encode()
        return write_contents(seed.contents, **{"header.json": {"data": text, "deflated": True}})

    def _fill_header(self, rng, seed):
        """As many small values as the limit has room for."""
        value = rng.choice(("[]", "{}", '""', "0", "1.5", '{"a":{}}', "[[]]"))
        n_bytes = rng.choice((2, 4, 16, 64))
        text = "[" + ",".join([value] * (self.max_bytes // n_bytes // (len(value) + 1))) + "]"
        place = rng.choice(("class_kinds", "feature_names", "more"))
        text = json.dumps(seed.header | {place: "@"}).replace('"@"', text, 1).encode()
        return write_contents(seed.contents, **{"header.json": {"data": text, "deflated": True}})

    def _repeat_trees(self, rng, seed):
        """As many trees as the limit has room for."""
        per_tree = sum(map(len, seed.contents.values()))
        count = max(1, int(rng.choice((0.2, 0.5, 0.8, 2, 8)) * self.max_bytes / per_tree))
        contents = dict(seed.contents)
        for name, array in seed.arrays.items():
            if not name.startswith("classes_"):  # labels are those of all trees
                contents[name] = write_array(np.concatenate([array] * count))
        return write_contents(contents)

    def _fill_array(self, rng, seed):
        """An array as large as the limit, or with an axis as long as numbers go."""
        name = rng.choice(sorted(seed.arrays))
        array = seed.arrays[name]
        if rng.random() < 0.5:
            shape = f"(0, {rng.choice(INTEGERS)}, {rng.choice(INTEGERS)})"
            return write_contents(seed.contents | {name: write_npy(array.dtype.str, shape, b"")})
        n_items = self.max_bytes // rng.choice((1, 2, 4)) // array.dtype.itemsize
        large = np.zeros(n_items, dtype=array.dtype).reshape((-1,) + (1,) * (array.ndim - 1))
        return write_contents(
            seed.contents, **{name: {"data": write_array(large), "deflated": True}}
        )
