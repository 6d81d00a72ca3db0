from typing import Literal

from obtree.splitter.base import Splitter

class DiscriminantSplitter(Splitter):
    def __init__(
        self,
        method: Literal["ridge", "lda", "logistic"] = "ridge",
        *,
        n_terms: int | None = None,
        n_candidates: int = 3,
        alpha: float = 0.1,
        axis: bool = True,
    ) -> None: ...
    @property
    def method(self) -> Literal["ridge", "lda", "logistic"]: ...
    @property
    def n_terms(self) -> int | None: ...
    @property
    def n_candidates(self) -> int: ...
    @property
    def alpha(self) -> float: ...
    @property
    def axis(self) -> bool: ...
