from typing import Literal, Self

class Criterion:
    target_kind: Literal["classes", "real", "none", "partial"] | None
    reads_rows: bool
    may_decline: bool
    def clone(self) -> Self: ...
