"""Count the source code by package, and compare it with the recorded counts.

    python tools/size.py            print the counts; exit with 1 if a recorded count has grown
    python tools/size.py --record   write the counts to size.json

There is no limit. A change that makes a package larger records the new counts in the same commit,
and its message gives the reason: growth is a decision. Counted are Python statements (docstrings
apart) and characters of all tracked files under ``src``.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = Path(__file__).with_name("size.json")
Counts = dict[str, dict[str, int]]


def tracked_files() -> Iterator[Path]:
    """Yield the tracked files of the package."""
    command = ["git", "ls-files", "-z", "src/treebound"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # not if it was deleted in the working tree
            yield ROOT / name


def statements_in(text: str) -> int:
    """Count the statements of a Python file, without its docstrings."""
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = sum(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for node in nodes
    )
    return sum(isinstance(node, ast.stmt) for node in nodes) - docstrings


def count() -> Counts:
    """Return statements and characters by package; files at the top are ``(top)``."""
    statements: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for path in tracked_files():
        parts = path.relative_to(ROOT / "src" / "treebound").parts
        package = parts[0] if len(parts) > 1 else "(top)"
        text = path.read_text("utf-8")
        characters[package] += len(text)
        statements[package] += statements_in(text) if path.suffix == ".py" else 0
    return {
        package: {"statements": statements[package], "characters": characters[package]}
        for package in sorted(characters)
    }


def grown(counts: Counts, recorded: Counts) -> list[str]:
    """Return a line for each count that is larger than the recorded one."""
    return [
        f"{package}: {value:,} {measure}, recorded {recorded.get(package, {}).get(measure, 0):,}"
        for package, values in counts.items()
        for measure, value in values.items()
        if value > recorded.get(package, {}).get(measure, 0)
    ]


def main() -> int:
    """Print the counts and compare them, or record them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--record", action="store_true", help="write the counts to size.json")
    counts = count()
    if parser.parse_args().record:
        RECORD.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
        return 0
    print(f"{'package':16}{'statements':>12}{'characters':>12}")
    for package, values in counts.items():
        print(f"{package:16}{values['statements']:12,}{values['characters']:12,}")
    total = [
        sum(values[measure] for values in counts.values())
        for measure in ("statements", "characters")
    ]
    print(f"{'all':16}{total[0]:12,}{total[1]:12,}")
    larger = grown(counts, json.loads(RECORD.read_text("utf-8")))
    if larger:
        print("\nLarger than recorded:", *larger, sep="\n  ", file=sys.stderr)
        hint = "If the growth is meant: python tools/size.py --record, and give the reason in the"
        print(f"{hint} commit message.", file=sys.stderr)
    return bool(larger)


if __name__ == "__main__":
    sys.exit(main())
