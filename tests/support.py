"""What several test files need: figures and data that may lie beside the project."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VECTORS = ROOT / "tests" / "vectors"


def shared(name: str) -> Path | None:
    """A file or folder beside the project, or None where there is none.

    ``TREEBOUND_SHARED`` names the folder; by default it is ``shared`` next to the project.
    """
    path = Path(os.environ.get("TREEBOUND_SHARED", ROOT.parent / "shared")) / name
    return path if path.exists() else None


def data_folder() -> Path | None:
    """The folder with the raw files of the 25 data sets, or None.

    ``TREEBOUND_DATA`` names it; the conftest at the root keeps it from everything else.
    """
    named = os.environ.get("TREEBOUND_TEST_DATA")
    return Path(named) if named else shared("data")
