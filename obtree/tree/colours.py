"""Colours of classes and numbers in pictures of trees, as ``#rrggbb``."""

import colorsys

#: Told apart by most people, also by those who see few colours; in the order in which they are
#: used.
PALETTE = (
    "#e08244",
    "#3d7fc1",
    "#5ba55a",
    "#9467a8",
    "#d9b13b",
    "#4bb5b0",
    "#c05a6e",
    "#8c6d4f",
    "#e394c4",
    "#8a8f3c",
)
#: Of numbers: the largest.
TOP = "#4c8fcf"
WHITE = "#ffffff"
#: Of bars that show neither classes nor numbers, and of lines.
DARK = "#555555"
#: Of the part of a bar that is empty.
LIGHT = "#e4e4e4"


def list_colours(n):
    """Colours of classes.

    Parameters
    ----------
    n : int

    Returns
    -------
    list of str
    """
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    # Hues all around, neighbours of different lightness.
    found = []
    for k in range(n):
        rgb = colorsys.hls_to_rgb(k / n, 0.62 if k % 2 else 0.45, 0.6)
        found.append(_write(round(255 * part) for part in rgb))
    return found


def fade(colour, strength):
    """Mix a colour with white.

    Parameters
    ----------
    colour : str
    strength : float
        From 0, white, to 1, the colour.

    Returns
    -------
    str
    """
    strength = min(max(strength, 0.0), 1.0)
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return _write(round(255 + strength * (part - 255)) for part in parts)


def _write(parts):
    return "#" + "".join(f"{part:02x}" for part in parts)
