"""Print the oldest versions that pyproject.toml admits, as pip reads them.

    python tools/oldest.py [EXTRA ...] > oldest.txt

One line ``name==version`` for every dependency with a floor: those of the package, and those of
the extras that are named.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_FLOOR = re.compile(r"([A-Za-z0-9_.-]+)(\[[^\]]*\])?>=([0-9.]+)$")


def oldest(extras: list[str]) -> list[str]:
    """The requirements, each at its floor."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    pins = []
    for requirement in wanted:
        match = _FLOOR.match(requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} has no floor: write it as name>=version.")
        pins.append(f"{match[1]}{match[2] or ''}=={match[3]}")
    return pins


if __name__ == "__main__":
    print("\n".join(oldest(sys.argv[1:])))
