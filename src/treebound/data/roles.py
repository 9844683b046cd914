"""Roles of the columns of a table that is not in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from treebound._utils.validation import invalid
from treebound.data.raw import some_names


class ColumnRoles(NamedTuple):
    """The target of a table, its weights and groups, and the columns to learn from.

    They are names of columns; on Dask, the first three may be collections.
    """

    target: Any
    weight: Any = None
    groups: Any = None
    columns: Sequence[str] | None = None  # None: all others

    def check(self, names: Sequence[str], whose: str) -> None:
        """Raise an error unless target, weights and groups are columns."""
        y, sample_weight, groups, _ = self
        check_names("fit", names, whose, y=y, sample_weight=sample_weight, groups=groups)

    def columns_to_learn(self, names: Sequence[str], whose: str, *excluded: Any) -> list[str]:
        """Return the columns to learn from, without those of other roles and ``excluded``."""
        chosen, known = names if self.columns is None else list(self.columns), set(names)
        for name in chosen:
            if name not in known:
                raise invalid("columns", "fit", f"columns of {whose}, {some_names(names)}", name)
        roles = (self.target, self.weight, self.groups, *excluded)
        labels = [name for name in roles if isinstance(name, str)]
        left = [name for name in chosen if name not in labels]
        if not left:
            labels_in_words = some_names(labels) or "labels"
            raise ValueError(f"There is no column besides {labels_in_words} in {whose}.")
        return left


def check_names(owner: str, names: Sequence[str], whose: str, **parameters: Any) -> None:
    """Raise an error unless every parameter is the name of a column; all but y may be None."""
    for parameter, name in parameters.items():
        if (name is None and parameter != "y") or (isinstance(name, str) and name in names):
            continue
        wrong = name if isinstance(name, str | None) else type(name)
        must = f"the name of a column of {whose}, {some_names(names)}"
        raise invalid(parameter, owner, must, wrong)
