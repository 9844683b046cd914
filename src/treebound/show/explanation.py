"""The explanation of the prediction for a row."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treebound.show.words import answer, count, number
from treebound.tree.split import Split, one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

_FRAME = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;max-width:60em"
_HEADINGS = ("because", "this row", "training rows that went this way")
_CELL = "text-align:left;padding:1px 14px 1px 0;white-space:nowrap"


@dataclass(frozen=True)
class Step:
    """One split on the path of a row.

    Attributes
    ----------
    node : int
        The node of the split.
    split : Split
        The split of the node.
    left : bool
        Whether the row went left.
    value : object
        The row's value in the column, None if missing.
    known : bool
        Whether it is missing, a number, or a known category.
    rows, of : int
        Number of training rows that went the same way, and at the node.
    """

    node: int
    split: Split
    left: bool
    value: Any
    known: bool
    rows: int
    of: int

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.split.column.name

    @property
    def condition(self) -> str:
        """The condition that the row satisfies, such as ``age <= 30``."""
        return f"{one_line(self.column)} {answer(self.split, left=self.left)}"

    @property
    def shown_value(self) -> str:
        """The value in words, with a note if it was never in training."""
        unmet = not self.known or (self.value is None and not self.split.column.missing)
        return value_in_words(self.value) + (" (never in training)" if unmet else "")

    def to_dict(self) -> dict[str, Any]:
        """The step as plain values."""
        return {
            "node": self.node, "column": self.column, "condition": self.condition,
            "value": self.value, "known": self.known, "rows": self.rows, "of": self.of,
        }  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A change of one value of a row.

    Attributes
    ----------
    column : str
        Name of the column.
    condition : str
        The condition on the value, such as ``age > 30``.
    old, new : object
        The row's value, and the nearest one that satisfies it; None if missing.
    size : float
        Size of the change: ``|new - old| / (|new| + |old|)`` for a number, the difference of ranks
        relative to the largest for an ordinal category, 1 otherwise.
    """

    column: str
    condition: str
    old: Any
    new: Any
    size: float

    def __str__(self) -> str:
        return f"{self.condition} instead of {value_in_words(self.old)}"


@dataclass(frozen=True)
class Counterfactual:
    """The smallest change of a row that changes the prediction.

    Attributes
    ----------
    answer : object
        The class predicted after the change.
    node : int
        The node reached after the change.
    changes : tuple of Change
        The values that change, one for each column.
    row : dict
        The changed row, by column name.
    """

    answer: Any
    node: int
    changes: tuple[Change, ...]
    row: dict[str, Any]

    def __str__(self) -> str:
        return f"{one_line(self.answer)} with {' and '.join(map(str, self.changes))}"


@dataclass(frozen=True)
class Explanation:
    """The explanation of a prediction, made by :meth:`treebound.BoundTreeClassifier.explain`.

    Attributes
    ----------
    row : dict
        The values of the row by column name, None if missing.
    answer : object
        The predicted class, as by ``predict``.
    target : str or None
        The name of the target.
    node : int
        The node reached, as by ``apply``.
    path : tuple of Step
        The splits on the path, from the root.
    rows : int
        Number of training rows at that node.
    counts, probabilities : dict
        Their weight by class, and the probabilities of ``predict_proba``.
    next_best : object
        The most probable other class; None if there is none.
    counterfactual : Counterfactual or None
        The smallest change that changes the prediction: the fewest columns, then the smallest sum
        of sizes (see :class:`Change`). None if no known values do.
    stopped : bool
        Whether the row stopped at an inner node because of an unknown category.
    """

    row: dict[str, Any]
    answer: Any
    target: str | None
    node: int
    path: tuple[Step, ...]
    rows: int
    counts: dict[Any, float]
    probabilities: dict[Any, float]
    next_best: Any
    counterfactual: Counterfactual | None
    stopped: bool

    # -- in words --------------------------------------------------------------------------

    @property
    def _heading(self) -> str:
        name = one_line(self.answer)
        return name if self.target is None else f"{one_line(self.target)} = {name}"

    def _support(self, label: Any) -> str:
        weight = sum(self.counts.values())
        return (
            f"probability {self.probabilities[label]:.3g}, {count(self.counts[label])} of "
            f"{count(weight)} training examples here"
        )

    @property
    def _sentences(self) -> list[str]:
        """The lines below the path."""
        lines = []
        if not self.path and not self.stopped:
            lines.append("The tree has no splits: every row gets this answer.")
        if self.stopped:
            lines.append("It stops there, at a category never seen in training.")
        if self.next_best is not None:
            lines.append(f"Next best: {one_line(self.next_best)} ({self._support(self.next_best)})")
        if self.counterfactual is not None:
            lines.append(f"It would be {self.counterfactual}")
        elif self.path:
            lines.append("No change of known values gives another answer.")
        return lines

    @property
    def _table(self) -> list[tuple[str, str, str]]:
        return [
            (step.condition, step.shown_value, f"{count(step.rows)} of {count(step.of)}")
            for step in self.path
        ]

    def __str__(self) -> str:
        lines = [f"{self._heading} ({self._support(self.answer)})"]
        if self.path:
            table = [_HEADINGS, *self._table]
            wide = [max(len(line[k]) for line in table) for k in (0, 1)]
            lines += [f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in table]
        return "\n".join(lines + self._sentences)

    def _repr_html_(self) -> str:
        def cells(texts: tuple[str, str, str], tag: str) -> str:
            row = (f'<{tag} style="{_CELL}">{html.escape(typeset_in(t))}</{tag}>' for t in texts)
            return f"<tr>{''.join(row)}</tr>"

        parts = [
            f"<div><b>{html.escape(self._heading)}</b> "
            f"({html.escape(self._support(self.answer))})</div>"
        ]
        if self.path:
            body = cells(_HEADINGS, "th") + "".join(cells(line, "td") for line in self._table)
            style = "border-collapse:collapse;font-size:inherit"
            parts.append(f'<table style="{style}">{body}</table>')
        parts += [f"<div>{html.escape(typeset_in(line))}</div>" for line in self._sentences]
        return f'<div class="treebound-explanation" style="{_FRAME}">{"".join(parts)}</div>'

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        heading = Text.assemble((self._heading, "bold"), f" ({self._support(self.answer)})")
        parts: list[RenderableType] = [heading]
        if self.path:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
            for name in _HEADINGS:
                table.add_column(name, overflow="fold")
            for line in self._table:
                table.add_row(*map(Text, line))
            parts.append(table)
        return Group(*parts, *map(Text, self._sentences))

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        changed = self.counterfactual
        return {
            "target": self.target,
            "answer": self.answer,
            "probability": self.probabilities[self.answer],
            "node": self.node,
            "rows": self.rows,
            "counts": [[label, weight] for label, weight in self.counts.items()],
            "path": [step.to_dict() for step in self.path],
            "next_best": self.next_best,
            "counterfactual": None
            if changed is None
            else {
                "answer": changed.answer,
                "node": changed.node,
                "changes": [vars(change) for change in changed.changes],
            },
        }


def value_in_words(value: Any) -> str:
    """Format a value of a row: an exact number, a category, or ``missing``."""
    if value is None:
        return "missing"
    return number(value) if isinstance(value, float) and math.isfinite(value) else one_line(value)


def typeset_in(text: str) -> str:
    """Words with ``≤`` instead of ``<=``."""
    return text.replace(" <= ", " ≤ ")
