"""What the race of ``splitter="auto"`` has found, as a picture."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from obtree.core.params import Integer, check_param, refuse_param
from obtree.tree.colours import DARK, LIGHT, TOP

#: Inches of a figure of its own: its width, and the height of a setting.
WIDTH, LINE = 7.0, 0.27


def plot_race(model: object, *, max_settings: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the settings that have competed: their errors, and what each has in the model.

    Settings stand one below the other, the best by itself on top. A dot shows the error, larger and
    in colour for those that have a part in the model, beside which it stands in per cent. The
    settings of a forest share it because their errors are different ones: a setting that is worse
    by itself may have a large part.

    Parameters
    ----------
    model : fitted estimator with a ``race_``
        Forests by default, trees if they have ``splitter="auto"``.
    max_settings : int, optional
        Draw so many at most: those that have a part, and the best of the others.
    ax : matplotlib axes, optional
        Where to draw; in a new figure by default.

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.plot import plot_race
    >>> forest = ObliqueForestClassifier(20, random_state=0).fit(*load_wine(return_X_y=True))
    >>> ax = plot_race(forest)
    >>> len(ax.get_yticklabels()) == len(forest.race_["setting"])
    True
    """
    check_param("max_settings", max_settings, None, Integer(1))
    table: Any = getattr(model, "race_", None)
    if table is None:
        expected = (
            "a fitted estimator with race_, which splitter='auto' or a list of splitters makes"
        )
        refuse_param("model", model, expected=expected)
    names, error = list(table["setting"]), np.array(table["error"], dtype=np.float64)
    fraction = np.array(table["fraction"], dtype=np.float64)
    order = np.lexsort((error, fraction <= 0.0))[:max_settings]
    order = order[np.argsort(error[order], kind="stable")]
    error, fraction = error[order], fraction[order]
    names = [names[k] for k in order]
    if ax is None:
        height = LINE * len(names) + 0.9
        _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    y = np.arange(len(names))
    # A race of one setting has measured nothing.
    at = np.where(np.isnan(error), 0.0, error)
    best = at.min()
    ax.hlines(y, best, at, color=LIGHT, lw=2, zorder=1)
    out = fraction <= 0.0
    ax.scatter(at[out], y[out], s=16, color=DARK, zorder=2)
    ax.scatter(at[~out], y[~out], s=30 + 220 * fraction[~out], color=TOP, zorder=3)
    for k in np.flatnonzero(~out):
        offset = (7 + 7 * np.sqrt(fraction[k]), 0)
        ax.annotate(
            f"{100 * fraction[k]:.0f} %",
            (at[k], y[k]),
            xytext=offset,
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_yticks(y, names)
    # The race of a tree by itself counts wrong classes.
    what = "squared error" if "n_trees" in table else "error"
    ax.set(xlabel=f"{what} on rows left out", ylim=(len(names) - 0.4, -0.6))
    ax.margins(x=0.12)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
