"""Pictures of fitted models, by matplotlib."""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        "obtree.plot needs matplotlib, which is not installed; pip install 'obtree[figures]'"
    ) from error

from obtree.plot.boundary import plot_boundary
from obtree.plot.cells import plot_cells
from obtree.plot.convergence import plot_convergence
from obtree.plot.race import plot_race
from obtree.plot.tree import plot_tree

__all__ = ["plot_boundary", "plot_cells", "plot_convergence", "plot_race", "plot_tree"]
