"""Boxes of nodes as artists: how large they are, and what is drawn in them."""

from matplotlib.collections import PolyCollection
from matplotlib.patches import FancyBboxPatch

from obtree.plot.scaled_text import ScaledText, measure_width
from obtree.tree.colours import DARK, LIGHT

# In units of the size of the font.
LINE = 1.35  # from one line of text to the next
PAD = 0.55  # between an edge and what is in the box
BAR_WIDTH = 4.2  # of bars beside text
BAR_GAP = 0.7  # between text and its bar
BAR_HEIGHT = 0.62
WIDE_LINE = 1.05  # of a bar across the box
LEAST_WIDTH = 5.0


class Box:
    """The size of a card's box, and its place once it is known.

    Parameters
    ----------
    card : Card
    size : float
        Of the font.

    Attributes
    ----------
    x, top : float
        Centre and upper edge; to be set.
    """

    def __init__(self, card, size):
        self.card = card
        self.size = size
        self.x = self.top = 0.0
        widths = [measure_width(line.text, size) for line in card.lines]
        self._text_width = max(widths, default=0.0)
        self.has_bars = any(line.text and line.bar for line in card.lines)
        beside = 0.0
        if self.has_bars:
            # Lines without a bar may be as wide as the box.
            texts = zip(card.lines, widths, strict=True)
            self._text_width = max(width for line, width in texts if line.bar)
            beside = (BAR_GAP + BAR_WIDTH) * size
        inner = max(self._text_width + beside, max(widths, default=0.0), LEAST_WIDTH * size)
        self._bar_start = inner - BAR_WIDTH * size
        self._inner = inner
        self.width = inner + 2 * PAD * size
        lines = sum(LINE if line.text else WIDE_LINE for line in card.lines)
        self.height = (lines + 2 * PAD) * size

    @property
    def bottom(self):
        """Lower edge; y grows upwards."""
        return self.top - self.height

    def draw(self, ax, rounded, bars):
        """Draw the frame and the text, and collect the bars.

        Parameters
        ----------
        ax : matplotlib axes
        rounded : bool
            Whether corners are round.
        bars : Bars
        """
        size, card = self.size, self.card
        left = self.x - 0.5 * self.width
        style = f"round,pad=0,rounding_size={0.5 * size}" if rounded else "square,pad=0"
        frame = FancyBboxPatch(
            (left, self.bottom),
            self.width,
            self.height,
            boxstyle=style,
            facecolor=card.fill,
            edgecolor=DARK,
            linewidth=0.7,
        )
        frame.set_gid(f"node-{card.place.node}")
        ax.add_patch(frame)
        y = self.top - PAD * size
        inner = left + PAD * size
        for line in card.lines:
            step = (LINE if line.text else WIDE_LINE) * size
            middle = y - 0.5 * step
            if line.text:
                x, side = (inner, "left") if self.has_bars else (self.x, "center")
                text = ScaledText(x, middle, line.text, size, ha=side, va="center_baseline")
                text.set_gid(f"node-{card.place.node}-text")
                ax.add_artist(text)
            if line.bar is not None:
                start, width = inner + self._bar_start, BAR_WIDTH * size
                if not line.text:
                    start, width = inner, self._inner
                bars.add(line.bar, start, middle, width, BAR_HEIGHT * size)
            y -= step


class Bars:
    """Bars of all boxes, drawn together."""

    def __init__(self):
        self._corners = []
        self._colours = []

    def add(self, bar, left, middle, width, height):
        """Add a bar.

        Parameters
        ----------
        bar : Bar
        left, middle : float
            Left end and height above which half of the bar is.
        width, height : float
            Of a bar from 0 to 1.
        """
        self._add(left, middle, width, height, LIGHT)
        for start, end, colour in bar.segments:
            self._add(left + start * width, middle, (end - start) * width, height, colour)
        if bar.mark is not None:
            thin = 0.012 * width
            start = min(max(left + bar.mark * width - thin, left), left + width - 2 * thin)
            self._add(start, middle, 2 * thin, height, "#000000")

    def _add(self, left, middle, width, height, colour):
        low, high, right = middle - 0.5 * height, middle + 0.5 * height, left + width
        self._corners.append([(left, low), (right, low), (right, high), (left, high)])
        self._colours.append(colour)

    def draw(self, ax):
        """Draw what was added.

        Parameters
        ----------
        ax : matplotlib axes
        """
        found = PolyCollection(self._corners, facecolors=self._colours, linewidths=0, zorder=2)
        found.set_gid("bars")
        ax.add_collection(found)
