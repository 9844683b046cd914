"""The error for invalid model files."""

from __future__ import annotations


class FormatError(ValueError):
    """A model file does not follow the format; ``path`` locates the problem.

    Parameters
    ----------
    path : str
        Location in the document, e.g. ``"nodes.threshold[3]"``; empty for the whole document.
    problem : str
        What was expected there and what was found.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"Not a valid treebound model: {path or 'the document'} {problem}.")
