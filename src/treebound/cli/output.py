"""Results to a file or to standard output, never half."""

from __future__ import annotations

import sys
from pathlib import Path

from treebound._files import atomic_write


def write_result(content: str | bytes, path: Path | None) -> None:
    """Write text or bytes to a file, atomically, or to standard output."""
    if path is not None and str(path) != "-":
        with atomic_write(path, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    elif isinstance(content, bytes):
        if sys.stdout.isatty():
            raise ValueError("A picture cannot be shown on a terminal. Hint: name a file with -o.")
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content if content.endswith("\n") else content + "\n")
