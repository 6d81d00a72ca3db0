from typing import Literal

from obtree.splitter.base import Splitter

class RandomObliqueSplitter(Splitter):
    def __init__(
        self,
        *,
        feature_combinations: float = 2.0,
        weights: Literal["sign", "uniform", "gaussian", "power_of_two"] = "sign",
        dense: bool = False,
        threshold: Literal["best", "random"] = "best",
        two_sided: bool = False,
    ) -> None: ...
    @property
    def feature_combinations(self) -> float: ...
    @property
    def weights(self) -> Literal["sign", "uniform", "gaussian", "power_of_two"]: ...
    @property
    def dense(self) -> bool: ...
    @property
    def threshold(self) -> Literal["best", "random"]: ...
    @property
    def two_sided(self) -> bool: ...

class FernSplitter(Splitter):
    def __init__(self, *, depth: int = 10, feature_combinations: float = 1.0) -> None: ...
    @property
    def depth(self) -> int: ...
    @property
    def feature_combinations(self) -> float: ...
