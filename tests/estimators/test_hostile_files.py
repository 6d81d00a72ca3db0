"""Files that were made to exhaust or to confuse: each ends in ValueError, and soon."""

import io
import json
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from obtree import ObliqueForestClassifier, load_model, save_model

MAX_BYTES = 2**21


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a model file of three trees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]
    path = tmp_path_factory.mktemp("models") / "model"
    save_model(ObliqueForestClassifier(3, max_depth=3, random_state=0).fit(X, y), path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, good):
    place = tmp_path / "model"
    place.write_bytes(good)
    return place


def read(path):
    """Contents of the members of a zip file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def measure_refusal(path, match, max_bytes=MAX_BYTES):
    """Bytes that Python and NumPy took while the file was refused."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            load_model(path, max_bytes=max_bytes)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def make_entry(name, packed, offset, size, crc=0, method=8):
    """Records of one member: the one before its data and the one in the directory."""
    name = name.encode()
    common = struct.pack("<5H3L2H", 20, 0, method, 0, 33, crc, len(packed), size, len(name), 0)
    local = b"PK\3\4" + common + name + packed
    entry = b"PK\1\2\x14\0" + common + struct.pack("<3H2L", 0, 0, 0, 0, offset) + name
    return local, entry


def join(locals_, entries):
    body, directory = b"".join(locals_), b"".join(entries)
    counts = (0, 0, len(entries), len(entries), len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + struct.pack("<4H2LH", *counts)


def deflate_zeros(n_bytes):
    """A deflate stream of zeros, without making them all."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    chunk = bytes(2**20)
    pieces = [engine.compress(chunk) for _ in range(n_bytes // len(chunk))]
    return b"".join(pieces) + engine.flush()


def test_member_that_is_longer_than_it_says(path):
    # Whoever trusts the size of the entry still unpacks the whole stream.
    packed = deflate_zeros(2**28)
    local, entry = make_entry("header.json", packed, 0, 128)
    path.write_bytes(join([local], [entry]))
    peak = measure_refusal(path, "header.json holds more than the 128 bytes it declares")
    assert peak < 2 * MAX_BYTES


def test_member_that_is_shorter_than_it_says(path):
    packed = deflate_zeros(2**20)
    local, entry = make_entry("header.json", packed, 0, 2**20 + 1)
    path.write_bytes(join([local], [entry]))
    peak = measure_refusal(path, r"header.json holds 1048576 bytes.*declares 1048577")
    assert peak < 2 * MAX_BYTES


def test_many_entries_on_one_stream(path):
    packed = deflate_zeros(2**20)
    local, _ = make_entry("a", packed, 0, 100)
    entries = [make_entry(f"{k}.npy", packed, 0, 100)[1] for k in range(3000)]
    path.write_bytes(join([local], entries))
    with pytest.raises(ValueError, match=r"0.npy does not begin where"):
        load_model(path)
    # The names agree where the data begin, but the second member begins inside the first.
    inner, second = make_entry("b", b"x", 31, 1, zlib.crc32(b"x"), 0)
    outer, first = make_entry("a", inner, 0, len(inner), zlib.crc32(inner), 0)
    path.write_bytes(join([outer], [first, second]))
    with pytest.raises(ValueError, match="a and b overlap"):
        load_model(path)


def test_repeated_names(path, good):
    contents = read(path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("seeds.npy", contents["seeds.npy"])
    with pytest.raises(ValueError, match=r"holds seeds.npy twice"):
        load_model(path)


def test_number_of_members(path):
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(2**16 + 1):
            archive.writestr(zipfile.ZipInfo(f"{k}"), b"")
    with pytest.raises(ValueError, match="has 65537 members, expected at most"):
        load_model(path)


def test_header_of_many_lists(path):
    # 0.7 MB of lists, which deflate to almost nothing, are 16 MB of Python objects.
    contents = read(path)
    header = json.loads(contents["header.json"])
    text = json.dumps(header | {"class_kinds": "@"}).replace('"@"', "[" + "[]," * 250000 + "[]]")
    write(path, contents | {"header.json": text})
    assert path.stat().st_size < 20000
    peak = measure_refusal(path, f"header .* more than max_bytes={MAX_BYTES}")
    assert peak < 2 * MAX_BYTES


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"pairs":'])
def test_header_that_is_nested(path, opening):
    contents = read(path)
    closing = "".join({"[": "]", "{": "}"}[c] for c in reversed(opening) if c in "[{")
    for depth in (40, 900, 30000):
        text = '{"params": {"max_depth": ' + opening * depth + "1" + closing * depth + "}}"
        write(path, contents | {"header.json": text})
        with pytest.raises(ValueError, match="header is nested more than"):
            load_model(path)
    # Brackets inside strings are not nesting.
    header = json.loads(contents["header.json"])
    names = ["[" * 100, '"' * 50 + "{" * 100, "\\", '\\"[{[{' * 20]
    write(path, contents | {"header.json": json.dumps(header | {"feature_names": names})})
    assert list(load_model(path).feature_names_in_) == names


def test_many_small_trees_count_for_what_they_take(tmp_path):
    # A tree of one node is 200 bytes in the file and some thousand as objects.
    X = np.zeros((4, 1))
    forest = ObliqueForestClassifier(5, random_state=0).fit(X, [0, 0, 1, 1])
    forest.estimators_ *= 2000
    path = tmp_path / "model"
    save_model(forest, path)
    size = sum(map(len, read(path).values()))
    with pytest.raises(ValueError, match=r"10000 trees take .* more than max_bytes="):
        load_model(path, max_bytes=size + 1)
    assert len(load_model(path).estimators_) == 10000


def test_file_that_is_too_large(path):
    with open(path, "r+b") as stream:
        stream.truncate(2**26)
    with pytest.raises(ValueError, match=f"takes 67108864 bytes, more than max_bytes={MAX_BYTES}"):
        load_model(path, max_bytes=MAX_BYTES)


def test_large_files_are_read(path, good, monkeypatch):
    # What the writer does from 2 GB on, here from 100 bytes on.
    contents = read(path)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    write(path, contents)
    assert path.read_bytes().count(b"PK\6\6") == 1
    assert len(load_model(path).estimators_) == 3


def test_members_may_be_stored_and_in_any_order(path):
    contents = read(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(contents, reverse=True):
            archive.writestr(name, contents[name])
    assert len(load_model(path).estimators_) == 3


def edit_directory(data, name, offset, layout, value):
    """Change one field of a member's entry in the directory."""
    data = bytearray(data)
    directory = data.index(b"PK\1\2")
    at = data.index(name.encode(), directory) - 46
    struct.pack_into(layout, data, at + offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("offset", "layout", "value", "text"),
    [
        (0, "<L", 0, "directory"),
        (8, "<H", 1, "seeds.npy is encrypted"),
        (10, "<H", 12, "seeds.npy is compressed by method 12"),
        (10, "<H", 0, "seeds.npy"),
        (16, "<L", 5, "seeds.npy does not have the checksum"),
        (20, "<L", 3, "seeds.npy"),
        (20, "<L", 2**31, "seeds.npy"),
        (24, "<L", 3, "seeds.npy"),
        (24, "<L", 2**32 - 1, "seeds.npy"),
        (28, "<H", 2**16 - 1, "directory"),
        (42, "<L", 2**31, "seeds.npy"),
        (42, "<L", 1, "seeds.npy"),
    ],
)
def test_damaged_directories(path, good, offset, layout, value, text):
    path.write_bytes(edit_directory(good, "seeds.npy", offset, layout, value))
    with pytest.raises(ValueError, match=f"not a readable model: .*{text}"):
        load_model(path)


def test_concatenated_files(path, good):
    path.write_bytes(good + good)
    with pytest.raises(ValueError, match="not a readable model"):
        load_model(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(ValueError, match="does not end as a zip file does"):
        load_model(path)


def npy(header, data=b"", version=b"\1\0"):
    text = header.encode("latin-1")
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


NUMBERS = "{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        npy(NUMBERS, bytes(12))[:40],
        npy(NUMBERS, bytes(12), version=b"\2\0"),
        npy("{'descr': '<u4', 'fortran_order': False, 'shape': (3,)", bytes(12)),
        npy(NUMBERS.replace("(3,)", "(" * 2000 + "3" + ")" * 2000), bytes(12)),
        npy(NUMBERS.replace("(3,)", "[" * 60 + "]" * 60), bytes(12)),
        npy(NUMBERS.replace("(3,)", "(3, 1, 1, 1, 1)"), bytes(12)),
        npy(NUMBERS.replace("(3,)", "(3" + "0" * 5000 + ",)"), bytes(12)),
        npy(NUMBERS.replace("(3,)", "(-3,)"), bytes(12)),
        npy(NUMBERS.replace("(3,)", "(0x3,)"), bytes(12)),
        npy(NUMBERS.replace("(3,)", "(3.0,)"), bytes(12)),
        npy(NUMBERS.replace("(3,)", "(\xb3,)"), bytes(12)),
        npy(NUMBERS.replace("False", "True"), bytes(12)),
        npy(NUMBERS.replace("<u4", "<u3"), bytes(12)),
        npy(NUMBERS.replace("<u4", "|O"), bytes(24)),
        npy(NUMBERS.replace("<u4", "<f16"), bytes(48)),
        npy(NUMBERS.replace("<u4", "<U4000000000"), bytes(12)),
        npy(NUMBERS.replace("<u4", "<U0"), bytes(0)),
        npy(NUMBERS.replace("'<u4'", "[('a', '<u4')]"), bytes(12)),
        npy("{'descr': '<u4\0', 'fortran_order': False, 'shape': (3,), }", bytes(12)),
        npy("'" + "\\" * 41, bytes(12)),
        npy("{" + "(" * 300, bytes(12)),
        npy("\t\n  x\n y", bytes(12)),
    ],
)
def test_damaged_array_headers(path, data):
    write(path, read(path) | {"seeds.npy": data})
    with pytest.raises(ValueError, match=r"model: seeds"):
        load_model(path)


def edit_header(path, change):
    contents = read(path)
    header = json.loads(contents["header.json"])
    change(header)
    write(path, contents | {"header.json": json.dumps(header)})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda h: h["params"].update(splitter=3), "splitter is 3"),
        (lambda h: h["params"].update(splitter={"name": ["a"]}), "lacks 'params'"),
        (lambda h: h["params"].update(splitter={"name": "axis", "params": [1]}), "parameters of"),
        (lambda h: h["params"].update(splitter={"name": "axis"}), "lacks 'params'"),
        (lambda h: h["params"].update(class_weight={"pairs": 3}), "class_weight"),
        (lambda h: h["params"].update(class_weight={"pairs": [[1]]}), "class_weight"),
        (lambda h: h["params"].update(class_weight={"pairs": [[[1], 2]]}), "class_weight"),
        (lambda h: h["params"].update(class_weight={"pairs": [[{}, 2]]}), "class_weight"),
        (lambda h: h["params"].update(combine="magic"), "combine 'magic'"),
        (lambda h: h["params"].update(combine=[]), "combine"),
        (lambda h: h.update(params=[["splitter", "axis"]]), "parameters"),
        (lambda h: h.update(class_kinds="ab"), "class_kinds"),
        (lambda h: h.update(class_kinds=None), "class_kinds"),
        (lambda h: h.update(class_kinds={"plain": 1}), "class_kinds"),
        (lambda h: h.update(class_kinds=["odd"]), "class_kinds"),
        (lambda h: h.update(estimator=None), "estimator"),
        (lambda h: h.update(more=1), "'more'"),
        (lambda h: h.update(format=[[0] * 10000]), "format"),
    ],
)
def test_hostile_values_of_the_header(path, change, text):
    edit_header(path, change)
    with pytest.raises(ValueError, match=text) as caught:
        load_model(path)
    assert len(str(caught.value)) < 600 + len(str(path))


@pytest.mark.parametrize(
    "text", [b'{"format": NaN}', b'{"format": 1e999}', b"\xff{}", b'"\\ud800"']
)
def test_headers_that_are_not_the_json_we_write(path, text):
    write(path, read(path) | {"header.json": text})
    with pytest.raises(ValueError, match="model: "):
        load_model(path)


def save_array(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_labels_that_are_no_text(path):
    contents = read(path)
    labels = np.load(io.BytesIO(contents["classes_0.npy"]))
    for code in (0x110000, 0xFFFFFFFF):
        broken = labels.copy()
        broken.view(np.uint32)[0] = code
        write(path, contents | {"classes_0.npy": save_array(broken)})
        with pytest.raises(ValueError, match=r"classes_0 holds .* no text"):
            load_model(path)


def test_booleans_are_0_or_1(path):
    contents = read(path)
    broken = np.array([False, True])
    broken.view(np.uint8)[1] = 7
    write(path, contents | {"classes_0.npy": save_array(broken)})
    with pytest.raises(ValueError, match=r"classes_0 holds .* neither"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("extra", np.zeros(3)),
        ("length.extra", np.zeros(3, dtype=np.int64)),
        ("tree.extra", np.zeros(3, dtype=np.int64)),
        ("classes_1", np.arange(3)),
        ("tree.n_features", np.int64(4)),
        ("tree.n_features", np.full(3, 4.0)),
        ("tree.n_features", np.full((3, 1), 4)),
        ("length.value", np.int64(4)),
        ("length.value", np.full((3, 1), 4)),
    ],
)
def test_arrays_nobody_expects(path, name, array):
    write(path, read(path) | {f"{name}.npy": save_array(array)})
    with pytest.raises(ValueError, match=name.split(".")[-1]):
        load_model(path)


def test_members_nobody_expects(path):
    write(path, read(path) | {"notes.txt": b"hello"})
    with pytest.raises(ValueError, match=r"'notes.txt'"):
        load_model(path)


@pytest.mark.parametrize("place", ["archive.read_members", "model_files.restore_estimator"])
def test_memory_that_runs_out_is_an_error_of_the_file(path, monkeypatch, place):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(f"obtree.estimators.{place}", fail)
    with pytest.raises(ValueError, match="it takes more memory than there is"):
        load_model(path)


def test_what_is_not_a_file_of_bytes(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none")
    with pytest.raises(ValueError, match="max_bytes=0 is not valid"):
        load_model(tmp_path / "none", max_bytes=0)
