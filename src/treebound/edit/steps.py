"""The steps of an editor: what was done, undone and kept in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treebound.edit.autosave import tree_key, write_steps
from treebound.edit.figures import Figures
from treebound.model import Model


@dataclass(frozen=True)
class Step:
    """A step of an editor: what was done, and the figures before and after.

    Every method of :class:`Editor` that changes the tree returns one.

    Attributes
    ----------
    sentence : str
        What was done.
    before, after : Figures
        The figures of the tree.
    """

    sentence: str
    before: Figures
    after: Figures

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.after.beside(self.before)}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class State:
    """A model, and the step that led to it."""

    model: Model
    figures: Figures
    sentence: str = ""
    step: dict[str, Any] | None = None  # the method and its arguments, to take it again
    swapped: frozenset[str] = frozenset()  # paths of nodes that are printed right side first


class Steps:
    """The states of a tree from the first on, and the one that is shown now."""

    def __init__(self, first: State, autosave: Path | None) -> None:
        self._states, self._at = [first], 0
        self._key, self.autosave = tree_key(first.model.tree), autosave

    @property
    def first(self) -> State:
        """The state before the first step."""
        return self._states[0]

    @property
    def now(self) -> State:
        """The state that is shown."""
        return self._states[self._at]

    @property
    def key(self) -> str:
        """A short text of the first tree."""
        return self._key

    @property
    def number(self) -> int:
        """How many steps were taken and not undone."""
        return self._at

    @property
    def undone(self) -> int:
        """How many steps can be done again."""
        return len(self._states) - 1 - self._at

    @property
    def sentences(self) -> tuple[str, ...]:
        """The steps that led to the state that is shown."""
        return tuple(state.sentence for state in self._states[1 : self._at + 1])

    def add(self, state: State) -> Step:
        """Take a step; steps that were undone are forgotten."""
        before = self.now.figures
        self._states[self._at + 1 :] = [state]
        self._at += 1
        self.write()
        return Step(state.sentence, before, state.figures)

    def undo(self) -> Step:
        """Go one step back."""
        if not self._at:
            raise ValueError("There is no step to undo.")
        last = self.now
        self._at -= 1
        self.write()
        return Step(f"Undone: {last.sentence}", last.figures, self.now.figures)

    def redo(self) -> Step:
        """Go one step forth."""
        if not self.undone:
            raise ValueError("There is no undone step to redo.")
        before = self.now.figures
        self._at += 1
        self.write()
        return Step(f"Done again: {self.now.sentence}", before, self.now.figures)

    @contextmanager
    def unwritten(self) -> Iterator[None]:
        """Leave the autosave file as it is for a while."""
        file, self.autosave = self.autosave, None
        try:
            yield
        finally:
            self.autosave = file

    def write(self) -> None:
        """Keep all steps in the autosave file."""
        if self.autosave is not None:
            steps = [state.step for state in self._states if state.step is not None]
            write_steps(self.autosave, self._key, steps, self.undone)
