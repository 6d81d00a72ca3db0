from typing import Literal

from obtree.splitter.base import Splitter

class OC1Splitter(Splitter):
    def __init__(
        self,
        *,
        mode: Literal["oc1", "cart-lc"] = "oc1",
        order: Literal["sequential", "best", "random"] = "sequential",
        n_jumps: int = 20,
        n_restarts: int = 0,
        axis_bias: float = 1.0,
        max_search_rows: int | Literal["auto"] | None = "auto",
        max_coefficients: int | Literal["auto"] | None = "auto",
        max_passes: int = 20,
    ) -> None: ...
    @property
    def mode(self) -> Literal["oc1", "cart-lc"]: ...
    @property
    def order(self) -> Literal["sequential", "best", "random"]: ...
    @property
    def n_jumps(self) -> int: ...
    @property
    def n_restarts(self) -> int: ...
    @property
    def axis_bias(self) -> float: ...
    @property
    def max_search_rows(self) -> int | Literal["auto"] | None: ...
    @property
    def max_coefficients(self) -> int | Literal["auto"] | None: ...
    @property
    def max_passes(self) -> int: ...
