"""Files that are replaced as a whole."""

import pytest

from obtree.core.files import check_target, replace_file


def test_check_leaves_no_trace(tmp_path):
    path = tmp_path / "file"
    check_target(path)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    check_target(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder, expected the name of a file"):
        check_target(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no such folder: .*none"):
        check_target(tmp_path / "none" / "file")


def test_the_old_file_is_there_until_the_end(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replace_file(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_leave_the_old_file(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write():
        with replace_file(path) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
