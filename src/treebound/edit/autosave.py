"""The steps of an editor in a file, so that they can be taken up again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treebound._files import write_text
from treebound.tree import Tree

_FORMAT = "treebound edits 1"


def tree_key(tree: Tree) -> str:
    """A short text that other trees do not have: their steps would lead elsewhere."""
    digest = hashlib.sha256()
    for values in (tree.feature, tree.threshold, tree.category, tree.label, tree.counts):
        digest.update(values.tobytes())
    return digest.hexdigest()[:32]


def write_steps(path: Path, key: str, steps: Sequence[dict[str, Any]], undone: int) -> None:
    """Write all steps, the last ``undone`` of which were taken back."""
    content = {"format": _FORMAT, "tree": key, "undone": undone, "steps": list(steps)}
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_steps(path: Path, key: str) -> tuple[list[dict[str, Any]], int]:
    """The steps of a file, and how many of them were taken back."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        steps, undone, tree = content["steps"], int(content["undone"]), content["tree"]
        proper = content["format"] == _FORMAT and 0 <= undone <= len(steps)
    except FileNotFoundError:
        raise ValueError(f"There are no steps to recover: {path} does not exist.") from None
    except (ValueError, KeyError, TypeError):
        proper = False
    if not proper:
        raise ValueError(f"{path} is not a file of steps of an editor. Hint: delete it.")
    if tree != key:
        raise ValueError(f"The steps in {path} were taken from another tree. Hint: delete it.")
    return steps, undone
