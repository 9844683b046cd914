"""Add the annotated type of the result to descriptions that do not describe it further."""

import re
from typing import Any

from sphinx.application import Sphinx

_WORDS = (
    (r"NDArray\[np\.(\w+)\]", r"ndarray of \1"),
    (r"NDArray\[Any\]", "ndarray"),
    (r"(list|tuple|Iterator)\[(\w+)(?:, (?:\.\.\.|\2))*\]", lambda m: f"{m[1].lower()} of {m[2]}"),
    (r"(\w+)\[.*\]", r"\1"),
    (r" \| ", " or "),
    (r"\bSelf\b", "self"),
)


def _in_words(annotation: str) -> str:
    for pattern, words in _WORDS:
        annotation = re.sub(pattern, words, annotation)
    return annotation


def _returned(
    app: Sphinx, kind: str, name: str, thing: Any, options: object, lines: list[str]
) -> None:
    annotation = getattr(thing, "__annotations__", {}).get("return")
    if kind not in ("function", "method") or not isinstance(annotation, str):
        return
    if annotation in ("None", "Any") or {"Returns", "Yields"} & {*lines}:
        return
    lines += ["", "Returns", "-------", _in_words(annotation), ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register it before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", _returned, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
