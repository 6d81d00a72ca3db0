import numpy as np
from numpy.typing import ArrayLike

from obtree.core.hints import Array, Floats, Integers
from obtree.splitter.base import Splitter

class PythonSplitter(Splitter):
    @property
    def max_features_(self) -> int: ...
    @property
    def n_classes_(self) -> int | Integers | None: ...
    @property
    def min_samples_leaf_(self) -> int: ...
    def split(
        self, X: Floats, y: Array, sample_weight: Floats, rng: np.random.Generator
    ) -> tuple[ArrayLike, float] | None: ...
