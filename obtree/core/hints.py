"""Names for the types of what users pass and get.

They are there for type checkers, editors and readers. What a parameter may be at run time is
checked where it is used, with a message that names the value.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class SparseLike(Protocol):
    """A sparse matrix or array of SciPy, told by the method that all formats have."""

    @property
    def shape(self) -> Any: ...

    def tocsr(self) -> Any: ...


#: Features of rows: arrays, nested sequences, frames of pandas and polars, sparse matrices.
MatrixLike = ArrayLike | SparseLike

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: An array for one output, a list of them for several. A checker that insisted on asking which
#: would be in the way of the many models that have one.
FloatsByOutput = Floats | Any

#: Names of features or classes, in order.
Names = Sequence[str] | NDArray[Any]
