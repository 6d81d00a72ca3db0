"""Sharpened targets: what the second stage of a race grows its trees on.

A forest smooths: at peaks and edges it predicts less than what is there. What it misses is seen on
the rows that its trees left out, and a forest of these residuals, added to the first one, brings
much of it back (Tukey's *twicing*, 1977; Ghosal and Hooker, 2020, for forests). Since the mean of
a forest is nearly linear in its targets, so does one forest of

    y + strength * (y - prediction of y by trees that left the row out)

alone, whose trees predict y like any others. Where y is noise, that would be noise as well: rows
left out by these trees say how many of them there should be.
"""

import dataclasses

import numpy as np

from obtree.estimators.settings import is_auto, list_changed
from obtree.estimators.task import Target

#: How many times what is missed is added to the targets. Trees of sharpened and of plain targets
#: mix, so that this is the most there can be.
STRENGTH = 1.5

#: Settings, those with the largest fractions, that compete on sharpened targets.
N_SHARPENED = 3


def can_sharpen(estimator, plan):
    """Tell whether targets may be sharpened.

    Parameters
    ----------
    estimator : forest
        Its parameters count.
    plan : GrowthPlan
        Its data, checked.

    Returns
    -------
    bool
    """
    return (
        plan.target.n_classes is None
        and plan.rule.monotonic_cst is None
        and is_auto(estimator.splitter)
        and "criterion" not in list_changed(estimator)
    )


def sharpen_settings(settings, fractions):
    """Return settings for sharpened targets.

    Parameters
    ----------
    settings : list of Setting
    fractions : ndarray of shape (n_settings,)
        What each has in the mixture so far.

    Returns
    -------
    settings : list of Setting
        Of those with the largest fractions.
    """
    order = np.argsort(-fractions, kind="stable")[:N_SHARPENED]
    return [
        dataclasses.replace(
            settings[number], name=f"{settings[number].name}, sharpened", strength=STRENGTH
        )
        for number in order
        if fractions[number] > 0.0
    ]


def measure_lack(residuals, fractions):
    """Return what a mixture of forests lacks, by the trees that left each row out.

    Parameters
    ----------
    residuals : list of Residuals
        Of the trees of each forest.
    fractions : ndarray of shape (n_forests,)
        What each has in the mixture.

    Returns
    -------
    lack : ndarray of shape (n_rows, n_values)
        Truth less prediction; 0 where no tree left the row out.
    """
    total, parts = 0.0, 0.0
    for forest, fraction in zip(residuals, fractions, strict=True):
        if fraction > 0.0:
            weight = fraction * (forest.n_judges > 0)
            total = total - weight[:, None] * forest.mean
            parts = parts + weight
    return total / np.where(parts > 0.0, parts, 1.0)[:, None]


def sharpen_target(target, lack, strength):
    """Return targets to which what a forest lacks is added.

    Parameters
    ----------
    target : Target
        Numbers.
    lack : ndarray of shape (n_rows, n_outputs)
        Result of `measure_lack`, in the units of y.
    strength : float
        How many times it is added.

    Returns
    -------
    target : Target
    """
    return Target(target.y + strength * lack)
