"""Tables as aligned text or as Markdown."""


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
        Share of wrong classes, or RMSE.
    regression : bool
        Which of the two.

    Returns
    -------
    text : str
    """
    return f"{error:.4g} RMSE" if regression else f"{100 * error:.2f} %"
