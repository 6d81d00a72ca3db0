"""Where a table comes from: a file, standard input or a pipe, and in what format.

A pipe can be read once and not wound back, so its bytes are kept; a file is left where it
is. Names tell the format of files; what has no name is known by its first bytes.
"""

import io
import os
import sys
from dataclasses import dataclass

STANDARD_INPUT = "-"
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
FIRST_BYTES = {
    "gzip": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zip": b"PK\x03\x04",
    "zstd": b"\x28\xb5\x2f\xfd",
}
PARQUET = b"PAR1"


class CommandError(Exception):
    """A mistake of the user, to be reported in one line."""


@dataclass(frozen=True)
class Source:
    """A table that can be opened as often as needed.

    Attributes
    ----------
    label : str
        What messages call it.
    kind : {"csv", "tsv", "parquet"}
        Its format.
    compression : str or None
        What pandas calls the way it is compressed; "infer" goes by the name.
    path : str or None
        The file, None for bytes.
    data : bytes or None
        What was read from a pipe.
    """

    label: str
    kind: str
    compression: str | None
    path: str | None = None
    data: bytes | None = None

    def open(self):
        """Return what pandas reads from."""
        return self.path if self.data is None else io.BytesIO(self.data)


def open_source(path, force_text=False):
    """Find a table.

    Parameters
    ----------
    path : str
        A file, a named or unnamed pipe (such as ``<(...)`` of a shell), or "-" for
        standard input.
    force_text : bool, default=False
        Whether a file of any name holds separated text.

    Returns
    -------
    source : Source
    """
    if path == STANDARD_INPUT:
        return _keep("standard input", sys.stdin.buffer.read())
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder; expected a file")
    if not os.path.exists(path):
        raise CommandError(f"no such file: {path}")
    if not os.path.isfile(path):
        with open(path, "rb") as stream:
            return _keep(_name_pipe(path), stream.read())
    kind = find_format(path, force_text)
    if kind is not None:
        return Source(path, kind, "infer", path=path)
    with open(path, "rb") as stream:
        kind, compression = _recognise(stream.read(8))
    return Source(_name_pipe(path), kind, compression, path=path)


def find_format(path, force_text=False):
    """Tell the format of a file by its name.

    Parameters
    ----------
    path : str
        Name of the file.
    force_text : bool, default=False
        Whether other names than those known are taken for text.

    Returns
    -------
    kind : {"csv", "tsv", "parquet"} or None
        None when the name has no ending.
    """
    name = os.path.basename(path).lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    suffix = os.path.splitext(name)[1]
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix == ".tsv":
        return "tsv"
    if suffix in (".csv", ".txt") or (suffix and force_text):
        return "csv"
    if not suffix:
        return None
    raise CommandError(f"{path}: unknown format {suffix!r}; expected .csv, .tsv or .parquet")


def _keep(label, data):
    """Return what was read from a pipe."""
    kind, compression = _recognise(data[:8])
    return Source(label, kind, compression, data=data)


def _recognise(first):
    """Return format and compression of what begins with these bytes."""
    if first.startswith(PARQUET):
        return "parquet", None
    for compression, begin in FIRST_BYTES.items():
        if first.startswith(begin):
            return "csv", compression
    return "csv", None


def _name_pipe(path):
    """Return what to call a file; the shell's names of pipes tell nobody anything."""
    if path == "/dev/stdin":
        return "standard input"
    return "the pipe" if path.startswith(("/dev/fd/", "/proc/")) else path
