"""Changes of a tree by hand, as records; the sentence of each is made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from treebound._utils.quantities import quantity
from treebound._utils.validation import invalid
from treebound.pruning.path import count
from treebound.tree.split import one_line

Operation = Literal["split", "use", "collapse", "grow", "relabel", "swap", "adopt"]


@dataclass(frozen=True)
class Remark:
    """The note, the author and the time of an edit, each perhaps empty."""

    note: str = ""
    author: str = ""
    time: str = ""

    @classmethod
    def of(cls, note: str, author: str, time: datetime | str = "") -> Remark:
        """Check and clean the texts; a time is kept as ISO 8601 writes it."""
        for name, text in (("note", note), ("author", author)):
            if not isinstance(text, str):
                raise invalid(name, "the editor", "a text", text)
        return cls(" ".join(note.split()), " ".join(author.split()), _checked(time))

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of the step that are not empty."""
        return {name: text for name, text in vars(self).items() if text}

    def __str__(self) -> str:
        """The words that end the sentence of an edit."""
        when = _in_words(self.time) if self.time else ""
        by = f" By {self.author}" if self.author else ""
        if when:
            by = f"{by}, {when}" if by else f" On {when}"
        return f"{by}{'.' if by else ''}{f' Note: {self.note}' if self.note else ''}"


@dataclass(frozen=True)
class NodeState:
    """A node before or after an edit."""

    leaves: int  # below it; 1 if it is a leaf
    prediction: bool | int | float | str  # of the node, or of the leaf it would be
    split: str | None = None  # as it is printed; None if it is a leaf
    share: float | None = None  # of its training examples with the predicted class

    @property
    def predicted(self) -> str:
        """The prediction as a sentence has it: numbers to six digits."""
        if self.share is None and isinstance(self.prediction, float):
            return quantity(self.prediction, 6)
        return one_line(self.prediction)


@dataclass(frozen=True)
class Edit:
    """One change of a tree by hand. As text it is a sentence."""

    operation: Operation  # the method of the editor
    node: str  # the path of the node from the root, such as "LR"; empty at the root
    conditions: tuple[str, ...]  # those that led to the node
    before: NodeState
    after: NodeState
    # the columns that a subtree was grown on, or those that it was not, whichever are fewer; both
    # are empty for all columns
    columns: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    alternative: int | None = None  # the number of the one that was adopted, from 1
    remark: Remark = Remark()

    def __str__(self) -> str:
        return f"{place_in_words(self.conditions)}: {self._change()}.{self.remark}"

    def _change(self) -> str:
        """The change in words."""
        before, after = self.before, self.after
        if self.operation in ("split", "use"):
            return f"{after.split}{f' instead of {before.split}' if before.split else ''}"
        if self.operation == "collapse":
            return f"{count(before.leaves, 'leaf')} collapsed to {after.predicted}"
        if self.operation == "grow":
            return f"{count(after.leaves, 'leaf')} grown{self._columns()}"
        if self.operation == "swap":
            return f"branches of {before.split} shown in the other order"
        if self.operation == "adopt":
            leaves = count(after.leaves, "leaf")
            was = count(before.leaves, "leaf")
            return f"alternative {self.alternative} with {leaves} instead of {was}"
        share = ""
        if after.share is not None:
            share = f" ({100 * after.share:.3g} % of the training examples here)"
        return f"predict {after.predicted}{share} instead of {before.predicted}"

    def _columns(self) -> str:
        """The columns that a subtree was grown on, or those it was not."""
        if self.excluded:
            return f" without {', '.join(map(one_line, self.excluded))}"
        return f" on {', '.join(map(one_line, self.columns))}" if self.columns else ""


def place_in_words(conditions: Sequence[str]) -> str:
    """The conditions of a node, to begin a sentence with."""
    return f"If {' and '.join(conditions)}" if conditions else "At the root"


def check_time(time: str) -> str:
    """Return why a text is no time; empty if it is one, or is empty."""
    try:
        datetime.fromisoformat(time or "2000-01-01")
    except ValueError:
        return "must be a time as ISO 8601 writes it, such as '2026-03-31T17:05Z'"
    return ""


def _checked(time: datetime | str) -> str:
    if isinstance(time, datetime):
        return time.isoformat(timespec="seconds")
    if not isinstance(time, str) or check_time(time):
        must = "a datetime, or a text as ISO 8601 writes it, such as '2026-03-31T17:05Z'"
        raise invalid("time", "the editor", must, time)
    return time


def _in_words(time: str) -> str:
    """A time for people, to the minute."""
    words = datetime.fromisoformat(time).isoformat(sep=" ", timespec="minutes")
    return f"{words.removesuffix('+00:00')} UTC" if words.endswith("+00:00") else words
