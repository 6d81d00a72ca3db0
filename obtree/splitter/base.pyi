from typing import Literal

from obtree.core.parametrised import Parametrised

ABI_VERSION: int

class Splitter(Parametrised):
    supports_monotonic: bool
    reads_whole_nodes: bool
    needs_rows: bool | Literal["wide"]
    max_features_unbounded: bool
    @property
    def prefers_bootstrap(self) -> bool | Literal["regression"]: ...
    @property
    def relative_cost(self) -> float: ...
    counter_names: tuple[str, ...]
