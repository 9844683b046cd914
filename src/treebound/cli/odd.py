"""What is odd about a table, with the remedies of the shell."""

from __future__ import annotations

from collections.abc import Iterator

from treebound.data import Sample
from treebound.data.oddities import Oddity, oddities, target_oddities

__all__ = ["all_oddities", "brief_lines", "remedy"]

_BRIEF = 5


def all_oddities(sample: Sample, target: str) -> list[Oddity]:
    """Of the target, columns and rows."""
    return [*target_oddities(sample, target), *oddities(sample)]


def remedy(oddity: Oddity) -> str:
    """What to do about it, with the option that does so."""
    if oddity.remedy.startswith("leave it out"):
        name = oddity.column or ""
        option = f"--ignore {name}" if name.replace("_", "").isalnum() else f'--ignore "{name}"'
        return oddity.remedy.replace("leave it out", f"leave it out with {option}", 1)
    if oddity.remedy.endswith("to missing values"):
        return oddity.remedy.replace("what is none", "what is none (--missing TEXT)")
    return oddity.remedy.replace(", or give their number as sample_weight", "")


def brief_lines(sample: Sample, target: str) -> Iterator[str]:
    """The first few in a line each, and how many more there are."""
    found = all_oddities(sample, target)
    for one in found[:_BRIEF]:
        yield f"Warning: {one.subject} {one.what}. Hint: {remedy(one)}."
    if len(found) > _BRIEF:
        yield f"Warning: {len(found) - _BRIEF} more oddities. Hint: 'treebound check' lists them."
