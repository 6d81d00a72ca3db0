"""Tables as aligned text, as Markdown and as CSV."""

import csv
from dataclasses import dataclass


def format_table(columns, rows, markdown=False):
    """Lay out a table.

    Parameters
    ----------
    columns : sequence of str
        Headings. A column whose first cell looks like a number is aligned right.
    rows : sequence of sequence of str
        Cells.
    markdown : bool, default=False
        Whether to draw the table as Markdown.

    Returns
    -------
    text : str
    """
    widths = [max(len(row[k]) for row in [columns, *rows]) for k in range(len(columns))]
    right = [bool(rows) and rows[0][k][:1].isdigit() for k in range(len(columns))]

    def join(cells):
        padded = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        return "| " + " | ".join(padded) + " |" if markdown else "  ".join(padded).rstrip()

    if markdown:
        rules = [
            "-" * (width - 1) + (":" if to_right else "-")
            for width, to_right in zip(widths, right, strict=True)
        ]
    else:
        rules = ["-" * width for width in widths]
    return "\n".join([join(columns), join(rules), *(join(row) for row in rows)])


def format_error(error, regression):
    """Return an error as people read it: percent of wrong classes, or RMSE.

    Parameters
    ----------
    error : float
        Fraction of wrong classes, or RMSE.
    regression : bool
        Which of the two.

    Returns
    -------
    text : str
    """
    return f"{error:.4g} RMSE" if regression else f"{100 * error:.2f} %"


@dataclass(frozen=True)
class Table:
    """A table to be written in several formats.

    Parameters
    ----------
    name : str
        Part of the file's name.
    title : str
        Heading.
    columns : list of str
        Heads of the columns.
    rows : list of list of str
        Cells.
    note : str, default=""
        What a reader has to know.
    """

    name: str
    title: str
    columns: list
    rows: list
    note: str = ""

    @property
    def body(self):
        """The rows, or one that says that there are none."""
        return self.rows or [["not run", *("-" for _ in self.columns[1:])]]


def write_tables(tables, folder, stem, heading):
    """Write tables as one Markdown file, and each as a CSV file.

    Parameters
    ----------
    tables : list of Table
        What to write.
    folder : Path
        Where.
    stem : str
        Beginning of the files' names.
    heading : str
        First line of the Markdown file.

    Returns
    -------
    paths : list of Path
    """
    markdown = folder / f"{stem}.md"
    parts = [f"# {heading}"]
    paths = [markdown]
    for table in tables:
        parts.append(f"## {table.title}")
        parts.append(format_table(table.columns, table.body, markdown=True))
        if table.note:
            parts.append(table.note)
        path = folder / f"{stem}-{table.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([table.columns, *table.body])
        paths.append(path)
    markdown.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return paths
