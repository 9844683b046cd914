"""The base of comparisons of two trees: regions in which their predictions differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from treebound._utils.extras import require
from treebound.show.words import counted

_MAX_PRINTED = 20


class DifferingRegion(Protocol):
    """A region in which two trees differ, a dataclass; as text it is a rule with its errors."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def rows(self) -> int:
        """Number of rows in the region."""


R = TypeVar("R", bound=DifferingRegion)


class ComparedTrees(Generic[R]):
    """Two trees on the same rows, and the regions in which they differ."""

    regions: tuple[R, ...]
    _region: ClassVar[type[DifferingRegion]]

    @property
    def differing(self) -> int:
        """Number of rows with different predictions."""
        return sum(region.rows for region in self.regions)

    def _with_regions(self, lines: Sequence[str]) -> str:
        """The lines, followed by the first regions."""
        more = len(self.regions) - _MAX_PRINTED
        rest = [f"... {counted(more, 'more region')}"] if more > 0 else []
        return "\n".join([*lines, *map(str, self.regions[:_MAX_PRINTED]), *rest])

    def to_frame(self) -> Any:
        """The regions as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each region.
        """
        pandas = require("pandas", extra="study", why="A data frame of regions")
        columns = [field.name for field in fields(self._region)]
        return pandas.DataFrame([asdict(region) for region in self.regions], columns=columns)
