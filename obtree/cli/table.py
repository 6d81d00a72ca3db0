"""Tables: reading, checking that cells are numbers, writing.

pandas does the reading and is an optional dependency; Parquet needs pyarrow as well.
"""

import argparse
import codecs
import csv
import re
import warnings
from dataclasses import dataclass

import numpy as np

from obtree.cli.source import STANDARD_INPUT, CommandError, Source, find_format, open_source
from obtree.core.names import show, suggest

INSTALL_HINT = "install it with: pip install 'obtree[cli]'"
SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
# What a first line is looked through for, when the table makes no sense.
LIKELY = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}


@dataclass(frozen=True)
class Table:
    """What was read, and how to read it again.

    Attributes
    ----------
    frame : pandas.DataFrame
        The cells.
    source : Source
        Where they came from.
    options : dict
        Arguments of ``pandas.read_csv``; empty for Parquet.
    """

    frame: object
    source: Source
    options: dict

    @property
    def label(self):
        """What messages call the table."""
        return self.source.label

    def read_text(self, name):
        """Return the cells of one column as they stand in the file.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        column : pandas.Series of str, or None
            None when the file is not of text.
        """
        if self.source.kind == "parquet":
            return None
        where = [list(self.frame.columns).index(name)]
        cells = _import_pandas().read_csv(
            self.source.open(),
            **{**self.options, "usecols": where, "dtype": str, "na_filter": False},
        )
        return cells.iloc[:, 0]

    def hint(self):
        """Return advice about the separator, when another one explains the first line better."""
        return _advise(self.source, self.options)


def add_reading_options(parser):
    """Add what a user may have to say about a file of text.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of a command that reads a table.
    """
    add = parser.add_argument
    add(
        "--separator",
        type=parse_separator,
        metavar="CHAR",
        help="between the cells of a text file: one character, or tab (default: a comma, in "
        ".tsv files a tab)",
    )
    add(
        "--encoding",
        type=parse_encoding,
        metavar="NAME",
        help="of a text file, such as latin-1 or utf-16 (default: utf-8)",
    )
    add(
        "--decimal",
        choices=(".", ","),
        default=".",
        help="mark of decimals in a text file (default: a point)",
    )


def parse_separator(text):
    """Return the character that an argument stands for.

    Parameters
    ----------
    text : str
        The character itself or its name.

    Returns
    -------
    separator : str
    """
    separator = SEPARATORS.get(text, text)
    if len(separator) != 1 or separator in '"\r\n':
        raise argparse.ArgumentTypeError(
            f"{text!r} is not valid; expected one character other than a quote, or one of "
            f"{', '.join(name for name in SEPARATORS if name.isalpha())}"
        )
    return separator


def parse_encoding(text):
    """Return the name of an encoding that Python knows.

    Parameters
    ----------
    text : str
        The name given.

    Returns
    -------
    encoding : str
    """
    try:
        "".encode(text)  # refuses codecs that do not encode text, too
        return codecs.lookup(text).name
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an encoding; expected a name such as utf-8, latin-1 or utf-16"
        ) from None


def read_table(path, separator=None, encoding=None, decimal="."):
    """Read a table.

    Parameters
    ----------
    path : str
        A file, whose suffix tells the format: .csv, .tsv (both maybe compressed, as
        .csv.gz), .parquet or .pq. Or a pipe, or "-" for standard input.
    separator, encoding : str, default=None
        Of a file of text; None means a comma (a tab for .tsv) and UTF-8.
    decimal : {".", ","}, default="."
        Mark of decimals in a file of text.

    Returns
    -------
    table : Table
    """
    pandas = _import_pandas()
    source = open_source(path, force_text=separator is not None)
    options = {}
    if source.kind != "parquet":
        options = {
            "sep": separator or ("\t" if source.kind == "tsv" else ","),
            "encoding": encoding or "utf-8",
            "decimal": decimal,
            "compression": source.compression,
            "low_memory": False,
            "index_col": False,
        }
        if options["sep"] == decimal:
            raise CommandError(
                f"{decimal!r} separates the cells and marks decimals; expected two different "
                "characters for --separator and --decimal"
            )
    try:
        if source.kind == "parquet":
            frame = pandas.read_parquet(source.open())
        else:
            frame = _read_text(pandas, source, options)
    except ImportError:
        raise CommandError(f"reading {source.label} needs pyarrow; {INSTALL_HINT}") from None
    except UnicodeError as error:
        raise CommandError(
            f"cannot read {source.label} as {options['encoding']}: {error.reason}; give its "
            "--encoding, such as latin-1 or utf-16"
        ) from None
    except (ValueError, OSError, EOFError) as error:  # pandas' parsing errors are ValueErrors
        hint = _advise(source, options)
        raise CommandError(f"cannot read {source.label}: {error}{hint}") from None
    if frame.empty:
        raise CommandError(f"{source.label} has no rows or no columns")
    frame.columns = frame.columns.map(str)
    return Table(frame, source, options)


def write_table(frame, path):
    """Write a table to a file, or as CSV to standard output.

    Parameters
    ----------
    frame : pandas.DataFrame
        What to write; the index is left out.
    path : str or None
        File whose suffix tells the format; None or "-" for standard output.
    """
    if path is None or path == STANDARD_INPUT:
        print(frame.to_csv(index=False), end="")
    elif find_format(path) == "parquet":
        try:
            frame.to_parquet(path, index=False)
        except ImportError:
            raise CommandError(f"writing {path} needs pyarrow; {INSTALL_HINT}") from None
    else:
        frame.to_csv(path, index=False, sep="\t" if find_format(path) == "tsv" else ",")


def make_frame(columns):
    """Make a table of columns.

    Parameters
    ----------
    columns : dict of str to ndarray
        Columns of the same length.

    Returns
    -------
    frame : pandas.DataFrame
    """
    return _import_pandas().DataFrame(columns)


def pick_column(table, name):
    """Return one column.

    Parameters
    ----------
    table : Table
        Where to look.
    name : str
        Name of the column.

    Returns
    -------
    column : pandas.Series
    """
    names = table.frame.columns
    if name not in names:
        hint = table.hint()
        if not hint:
            near = suggest(name, names)
            hint = f"; did you mean {near!r}?" if near else f"; it has {_list_some(names)}"
        raise CommandError(f"{table.label} has no column {name!r}{hint}")
    return table.frame[name]


def has_comma(cell):
    """Tell whether a cell looks like a number whose decimals a comma marks.

    Parameters
    ----------
    cell : object

    Returns
    -------
    bool
    """
    return isinstance(cell, str) and re.fullmatch(r"[+-]?\d*,\d+", cell) is not None


def to_numbers(frame, label, advice=None):
    """Return a table as numbers, or name the first cell that is not one.

    Parameters
    ----------
    frame : pandas.DataFrame
        Table of features; empty cells are missing values.
    label : str
        What messages call the table.
    advice : str, optional
        What to do about text.

    Returns
    -------
    frame : pandas.DataFrame
        Numeric columns only.
    """
    pandas = _import_pandas()
    columns = {}
    for name, column in frame.items():
        if column.dtype.kind in "biuf":
            columns[name] = column
            continue
        text = column.astype(object)  # a date would count as a number otherwise
        numbers = pandas.to_numeric(text, errors="coerce")
        bad = np.flatnonzero((numbers.isna() & column.notna()).to_numpy(dtype=bool))
        if bad.size:
            row = int(bad[0])
            cell = column.iloc[row]
            remedy = advice or "encode text as numbers, or drop the column"
            if has_comma(cell):
                remedy = "give --decimal , if the comma marks decimals"
            raise CommandError(
                f"{label}: column {name!r}, data row {row + 1}: {show(cell)} is not a number; "
                f"{remedy}"
            )
        columns[name] = numbers
    return pandas.DataFrame(columns)


def _read_text(pandas, source, options):
    """Read a file of text; a column without a name would be lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            return pandas.read_csv(source.open(), **options)
        except pandas.errors.ParserWarning:
            raise CommandError(
                f"the rows of {source.label} have more cells than its first line; expected a "
                "name for each column"
            ) from None


def _advise(source, options):
    """Return advice about the separator, or nothing."""
    if source.kind == "parquet":
        return ""
    try:
        whole = {**options, "sep": "\x01", "decimal": ".", "quoting": csv.QUOTE_NONE}
        first = _import_pandas().read_csv(source.open(), **whole, header=None, nrows=1)
        line = str(first.iloc[0, 0])
    except (ValueError, OSError, EOFError):
        return ""
    likely = max(LIKELY, key=line.count)
    if line.count(likely) <= line.count(options["sep"]):
        return ""
    return f"; its cells look separated by {LIKELY[likely]}: add --separator {LIKELY[likely]}"


def _list_some(names, limit=8):
    """Put the first few names into words."""
    text = ", ".join(map(repr, names[:limit]))
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def _import_pandas():
    """Import pandas, which only the commands on files need."""
    try:
        import pandas
    except ImportError:
        raise CommandError(f"reading tables needs pandas; {INSTALL_HINT}") from None
    return pandas
