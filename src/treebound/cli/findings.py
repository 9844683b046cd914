"""What is suspicious about a table, with the options that help."""

from __future__ import annotations

from collections.abc import Iterator

from treebound.data import Sample
from treebound.data.findings import Finding, findings, target_findings

_BRIEF = 5


def remedy(finding: Finding) -> str:
    """What to do about it, with the option that does so."""
    name = finding.column or ""
    quoted = name if name.replace("_", "").isalnum() else f'"{name}"'
    words = finding.remedy.replace(", or give fit the same group for all copies of a row", "")
    words = words.replace("class_weight='balanced'", "--class-weight balanced")
    words = words.replace("make it nominal", f"use --nominal {quoted}")
    if words.startswith("leave it out"):
        return words.replace("leave it out", f"leave it out with --ignore {quoted}", 1)
    if words.endswith("to missing values"):
        return words + " (--missing TEXT)"
    return words


def brief_lines(sample: Sample, target: str) -> Iterator[str]:
    """The first few in a line each, and how many more there are."""
    both = (*target_findings(sample, target), *findings(sample))
    serious = [finding for finding in both if not finding.note]
    for finding in serious[:_BRIEF]:
        yield f"Warning: {finding.subject} {finding.what}. Hint: {remedy(finding)}."
    if len(serious) > _BRIEF:
        yield f"Warning: {len(serious) - _BRIEF} more. Hint: 'treebound check' lists them."
