"""Numbers as text, of which something is left whatever their unit.

A weight of a feature in thousands is small, and a feature in millionths has small thresholds: with
two digits after the point both would be zeros. Such numbers get more digits.
"""

import math

#: Numbers below and from these on are written with an exponent.
SMALL, LARGE = 1e-5, 1e15


def write_number(value, decimals):
    """Return a number as text.

    Parameters
    ----------
    value : float
    decimals : int
        Digits after the point; more where all would be zero, unless the number is.

    Returns
    -------
    text : str
    """
    value = float(value) + 0.0  # no minus before zero
    text = f"{value:.{decimals}f}"
    if not math.isfinite(value) or value == 0.0:
        return text
    if abs(value) >= LARGE:
        return f"{value:.{decimals}e}"
    # Two digits that say something, or one if there was to be none.
    power, more = math.floor(math.log10(abs(value))), min(decimals, 1)
    if abs(value) < SMALL:
        return f"{value:.{max(decimals + power, more)}e}"
    return text if float(text) != 0.0 else f"{value:.{more - power}f}"
