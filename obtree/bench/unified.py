"""``unified-figures``: what Criminisi, Shotton and Konukoglu (2011) show of the unified model.

A module for each chapter: classes (3), numbers with their uncertainty (4), densities (5),
embeddings (6), few labels (7) and ferns (8). The data are made here after the paper's pictures.
"""

from obtree.bench import (
    chapter_classes,
    chapter_densities,
    chapter_ferns,
    chapter_labels,
    chapter_manifolds,
    chapter_numbers,
)
from obtree.bench.plan import Experiment, Limits
from obtree.bench.summary import Summaries

CHAPTERS = tuple(
    module.CHAPTER
    for module in (
        chapter_classes,
        chapter_numbers,
        chapter_densities,
        chapter_manifolds,
        chapter_labels,
        chapter_ferns,
    )
)


def list_cells(plan):
    """List the fits of all chapters."""
    return [cell for chapter in CHAPTERS for cell in chapter.list_cells(plan)]


def measure(cell, plan):
    """Let the chapter that has the data measure."""
    (chapter,) = (chapter for chapter in CHAPTERS if cell.data in chapter.data)
    return chapter.measure(cell, plan)


def make_tables(results, plan):
    """Lay out what the pictures show."""
    found = Summaries(results, plan.seeds)
    return [
        table
        for chapter in CHAPTERS
        if set(chapter.data) & set(plan.only)
        for table in chapter.make_tables(found, plan)
    ]


def draw(results, plan):
    """Draw the pictures of all chapters."""
    return [
        path
        for chapter in CHAPTERS
        if set(chapter.data) & set(plan.only)
        for path in chapter.draw(plan)
    ]


EXPERIMENT = Experiment(
    name="unified-figures",
    summary="classes, numbers, densities, embeddings, few labels and ferns in the plane",
    source="Criminisi, Shotton, Konukoglu (2011), Decision Forests: A Unified Framework",
    data=tuple(name for chapter in CHAPTERS for name in chapter.data),
    full=Limits(seeds=3, trees=(400,)),
    quick=Limits(seeds=1, trees=(30,)),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
