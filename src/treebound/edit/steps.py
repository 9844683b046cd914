"""The steps of an editor: done, undone and saved in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treebound._utils.files import write_text
from treebound.edit.figures import Figures
from treebound.model import Model, RegressionModel
from treebound.model.edits import Edit
from treebound.tree.base import BaseTree

_FORMAT = "treebound edits 1"


@dataclass(frozen=True)
class Step:
    """A step of an editor, with the figures before and after it.

    Every method of :class:`Editor` that changes the tree returns one.

    Attributes
    ----------
    sentence : str
        A description of the step.
    before, after : Figures
        The figures of the tree.
    """

    sentence: str
    before: Figures
    after: Figures

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.after.compared_with(self.before)}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class State:
    """A model, and the step that led to it."""

    model: Model | RegressionModel
    figures: Figures
    edit: Edit | None = None  # what was changed; None before the first step
    step: dict[str, Any] | None = None  # the method and its arguments, to take it again
    swapped: frozenset[str] = frozenset()  # paths of nodes that are printed right side first


class Steps:
    """The states of a tree from the first on, and the one that is shown now."""

    def __init__(self, first: State, autosave: Path | None) -> None:
        self._states, self._at = [first], 0
        self._key, self.autosave = _tree_key(first.model.tree), autosave

    @property
    def first(self) -> State:
        """The state before the first step."""
        return self._states[0]

    @property
    def now(self) -> State:
        """The state that is shown."""
        return self._states[self._at]

    @property
    def number(self) -> int:
        """Number of steps that are done and not undone."""
        return self._at

    @property
    def undone(self) -> int:
        """Number of steps that can be redone."""
        return len(self._states) - 1 - self._at

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that led to the state that is shown."""
        return tuple(state.edit for state in self._states[: self._at + 1] if state.edit is not None)

    def add(self, state: State) -> Step:
        """Take a step; undone steps are removed."""
        before = self.now.figures
        self._states[self._at + 1 :] = [state]
        self._at += 1
        self.write()
        return Step(str(state.edit), before, state.figures)

    def undo(self) -> Step:
        """Go one step back."""
        if not self._at:
            raise ValueError("There is no step to undo.")
        last = self.now
        self._at -= 1
        self.write()
        return Step(f"Undone: {last.edit}", last.figures, self.now.figures)

    def redo(self) -> Step:
        """Go one step forth."""
        if not self.undone:
            raise ValueError("There is no undone step to redo.")
        before = self.now.figures
        self._at += 1
        self.write()
        return Step(f"Redone: {self.now.edit}", before, self.now.figures)

    @contextmanager
    def unwritten(self) -> Iterator[None]:
        """Leave the autosave file as it is for a while."""
        file, self.autosave = self.autosave, None
        try:
            yield
        finally:
            self.autosave = file

    def write(self) -> None:
        """Write all steps to the autosave file."""
        if self.autosave is not None:
            steps = [state.step for state in self._states if state.step is not None]
            content = {"format": _FORMAT, "tree": self._key, "undone": self.undone, "steps": steps}
            write_text(self.autosave, json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def read(self, path: Path) -> tuple[list[dict[str, Any]], int]:
        """The steps of a file from the same tree, and how many of them were undone."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            steps, undone, tree = content["steps"], int(content["undone"]), content["tree"]
            proper = content["format"] == _FORMAT and 0 <= undone <= len(steps)
        except FileNotFoundError:
            raise ValueError(f"There are no steps to recover: {path} does not exist.") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            proper = False
        if not proper:
            raise ValueError(f"{path} is not a file of steps of an editor. Hint: delete it.")
        if tree != self._key:
            raise ValueError(f"The steps in {path} were taken from another tree. Hint: delete it.")
        return steps, undone


def _tree_key(tree: BaseTree) -> str:
    """A short text that other trees do not have: their steps would lead elsewhere."""
    digest = hashlib.sha256()
    for name in tree.node_arrays:
        if vars(tree)[name] is not None:
            digest.update(vars(tree)[name].tobytes())
    return digest.hexdigest()[:32]
