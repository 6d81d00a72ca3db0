from typing import Literal

from obtree.splitter.base import Splitter

class DirectionSplitter(Splitter):
    @property
    def two_sided(self) -> bool: ...

class TwoProbeSplitter(DirectionSplitter):
    def __init__(
        self, signs: Literal["difference", "any"] = "difference", *, two_sided: bool = False
    ) -> None: ...
    @property
    def signs(self) -> Literal["difference", "any"]: ...

class ConicSplitter(DirectionSplitter):
    def __init__(self, subset_size: int = 2, *, two_sided: bool = False) -> None: ...
    @property
    def subset_size(self) -> int: ...
