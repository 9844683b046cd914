"""What is raised when a file is not what it says it is."""

from __future__ import annotations

__all__ = ["FormatError"]


class FormatError(ValueError):
    """A model file that does not follow its format; ``path`` names the place.

    Parameters
    ----------
    path : str
        Where in the document, e.g. ``"nodes.threshold[3]"``; empty for the whole document.
    problem : str
        What was expected there and what was found.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"Not a valid treebound model: {path or 'the document'} {problem}.")
