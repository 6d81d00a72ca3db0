"""Odd values of every type, and what may be done to arrays and to nested values."""

import numpy as np

INTEGERS = (0, 1, -1, 2, 3, 7, 64, 127, 255, 2**15, 2**31 - 65, 2**31 - 1, -(2**31), 2**40, 2**62)
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e30, 1e300, -1e300, np.inf, -np.inf, np.nan)
TYPES = ("<i1", "<i4", "<i8", "<u1", "<u4", "<u8", "<f2", "<f4", "<f8", "|b1", "<U1", ">f8", "<c16")
TEXTS = ("", "a", "axis", "nowhere", "é", "\ud800", "\0", "x" * 300, "__class__", "0", "1e999")
VALUES = (
    *(None, True, False, 0, -1, 1, 2, 3, 2**31, 2**63, 10**400, 0.5, -0.5, 1e300, 1e-300),
    *([], {}, [[]], [None], [1, 2], {"pairs": []}, {"pairs": [[1]]}, {"pairs": [[[], 1]]}),
    *({"pairs": {"a": 1}}, {"pairs": None}, {"name": "axis"}, {"name": "axis", "params": {}}),
    *({"name": "oc1", "params": {"n_jumps": -1}}, {"name": "co2", "params": {"q": None}}),
    *({"name": "conic", "params": []}, {"name": None, "params": {}}, ["plain"], ["object"] * 2),
    *("ObliqueTreeClassifier", "ObliqueForestRegressor", "DisjunctiveTreeClassifier"),
)


def change_items(rng, array):
    """Change some items: to odd values, to each other, or by a little."""
    array = array.copy()
    flat = array.reshape(-1)
    if not flat.size or flat.dtype.kind not in "biufU":
        return array
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(flat.size)
        way = rng.randrange(4)
        if way == 0:
            # As a slice: an item of broken text cannot be read.
            other = rng.randrange(flat.size)
            flat[at : at + 1] = flat[other : other + 1]
        elif way == 1:
            raw = bytearray(flat[at : at + 1].tobytes())
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            flat[at : at + 1] = np.frombuffer(bytes(raw), dtype=flat.dtype)
        else:
            flat[at] = pick_item(rng, flat, at, way)
    return array


def pick_item(rng, flat, at, way):
    """Return an odd value of the type of an array, or a neighbour of the item."""
    kind = flat.dtype.kind
    if kind == "U":
        return rng.choice(TEXTS).encode("utf-8", "replace").decode("utf-8")
    if kind == "b":
        return not flat[at]
    if kind == "f":
        return rng.choice(REALS) if way == 2 else flat[at] * rng.choice((-1.0, 2.0, 1 + 1e-9))
    low, high = np.iinfo(flat.dtype).min, np.iinfo(flat.dtype).max
    wanted = rng.choice(INTEGERS) if way == 2 else int(flat[at]) + rng.choice((-1, 1))
    return min(max(wanted, low), high)


def change_layout(rng, array):
    """Change length, shape or type of an array."""
    way = rng.randrange(8)
    if way == 0:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
    if way == 1:
        return np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
    if way == 2:
        return array[np.newaxis]
    if way == 3:
        return array.reshape(-1)
    if way == 4:
        return array[::-1].copy() if array.ndim else array
    if way == 5:
        return array[:0] if array.ndim else array
    if way == 6 and array.ndim > 1:
        return np.ascontiguousarray(np.moveaxis(array, 0, -1))
    with np.errstate(all="ignore"):
        try:
            return array.astype(rng.choice(TYPES))
        except (TypeError, ValueError):  # text that is no number, dates
            return array.astype("U3")


def change_value(rng, value, depth=0):
    """Change one thing somewhere inside nested dicts and lists."""
    if isinstance(value, dict) and value and (depth == 0 or rng.random() < 0.8):
        key = rng.choice(sorted(value))
        value = dict(value)
        way = rng.randrange(12)
        if way == 0:
            del value[key]
        elif way == 1:
            value[rng.choice(TEXTS)] = value[key]
        else:
            value[key] = change_value(rng, value[key], depth + 1)
        return value
    if isinstance(value, list) and value and rng.random() < 0.8:
        value = list(value)
        at = rng.randrange(len(value))
        way = rng.randrange(4)
        if way == 0:
            del value[at]
        elif way == 1:
            value.append(value[at])
        else:
            value[at] = change_value(rng, value[at], depth + 1)
        return value
    return rng.choice((*VALUES, *TEXTS, *REALS[:9]))
