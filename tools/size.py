"""How large the package is: lines of every package, without what was added on top of it.

``python tools/size.py`` prints a table. The limits are those that the code should keep to.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "treebound"
ENDINGS = {".py", ".pyx", ".pxi", ".pxd", ".pyi", ".h"}
# Features that came later and are counted apart.
APART = (
    "edit/",
    "sql/",
    "certificate/prior.py",
    "certificate/_prior.pyx",
    "certificate/_prior.pyi",
    "certificate/frontier.py",
    "certificate/by_class.py",
    "certificate/referral.py",
    "certificate/monitor.py",
    "certificate/mean_cost.py",
)
MOST_LINES, MOST_GROWING, MOST_GROWING_FILES = 37_000, 7_500, 30


def main() -> None:
    """Print the table."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in ENDINGS:
            continue
        name = path.relative_to(SOURCE).as_posix()
        room = "(apart)" if name.startswith(APART) else name.split("/")[0]
        lines[room] += len(path.read_text("utf-8").splitlines())
        files[room] += 1
    for room in sorted(lines):
        print(f"{room:24}{files[room]:6}{lines[room]:9,}")
    whole = sum(lines.values()) - lines["(apart)"]
    print(f"{'all without (apart)':24}{'':6}{whole:9,}   at most {MOST_LINES:,}")
    print(
        f"{'growing':24}{files['growing']:6}{lines['growing']:9,}   "
        f"at most {MOST_GROWING:,} in {MOST_GROWING_FILES} files"
    )


if __name__ == "__main__":
    main()
