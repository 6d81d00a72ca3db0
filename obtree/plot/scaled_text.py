"""Text that is as large, in the coordinates of its axes, as what is drawn around it.

matplotlib's text has a size on paper, so that it outgrows its box when a figure gets smaller, and
is lost in it when somebody zooms in.
"""

import contextlib

from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Bbox

_MEASURE = TextToPath()

#: Text on a screen is wider than that: its letters begin at whole pixels.
_HINTING = 1.06


def measure_width(text, size):
    """Width of a line of text.

    Parameters
    ----------
    text : str
    size : float
        Of the font.

    Returns
    -------
    width : float
        In the unit of the size.
    """
    # Widths of glyphs are rounded at small sizes.
    font = FontProperties(size=100)
    width, _, _ = _MEASURE.get_text_width_height_descent(text, font, ismath=False)
    return _HINTING * width * size / 100


class ScaledText(Text):
    """A line of text whose size is in the units of the y axis.

    Parameters
    ----------
    x, y : float
        Where it stands, in data coordinates.
    text : str
        Shown as it is: dollars begin no formula.
    size : float
        In data coordinates.
    **properties
        Of `matplotlib.text.Text`.
    """

    def __init__(self, x, y, text, size, **properties):
        self._data_size = size
        super().__init__(x, y, text, parse_math=False, fontsize=size, **properties)

    def fit(self):
        """Set the size on paper that the size in the axes has now."""
        (_, low), (_, high) = self.axes.transData.transform([(0.0, 0.0), (0.0, 1.0)])
        size = self._data_size * abs(high - low) * 72.0 / self.get_figure().dpi
        if size != self.get_fontsize():
            self.set_fontsize(size)

    def draw(self, renderer):
        """Draw the text; see `matplotlib.artist.Artist.draw`."""
        self.fit()
        # FreeType refuses letters of less than a pixel, which nobody sees.
        with contextlib.suppress(RuntimeError):
            super().draw(renderer)

    def get_window_extent(self, renderer=None, dpi=None):
        """Return the box around the text in pixels; see `matplotlib.text.Text`."""
        self.fit()
        try:
            return super().get_window_extent(renderer, dpi)
        except RuntimeError:
            place = self.get_transform().transform(self.get_unitless_position())
            return Bbox([place, place])
