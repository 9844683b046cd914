"""The slow twin of the reader of text files: Python's csv module, and one value at a time."""

from __future__ import annotations

import csv
import io

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")


def slow_columns(payload: bytes, separator: str = ",") -> dict[str, list[str]]:
    """The columns of a CSV file with a header, as texts."""
    text = io.TextIOWrapper(io.BytesIO(payload), encoding="utf-8-sig", newline="")
    records = [record for record in csv.reader(text, delimiter=separator, strict=True) if record]
    names = [name.strip() for name in records[0]]
    if any(len(record) != len(names) for record in records):
        raise ValueError("fields")
    columns = zip(*records[1:], strict=True) if records[1:] else [()] * len(names)
    return dict(zip(names, map(list, columns), strict=True))


def slow_column(texts: list[str]) -> list[float | None] | list[str | None]:
    """Numbers if all texts are numbers or missing, else the texts; None where missing."""
    gone = [text.strip() in MISSING for text in texts]
    try:
        if any("_" in text for text, no in zip(texts, gone, strict=True) if not no):
            raise ValueError
        values = [None if no else float(text) for text, no in zip(texts, gone, strict=True)]
    except ValueError:
        return [None if no else text for text, no in zip(texts, gone, strict=True)]
    return [None if one is None or one != one else one for one in values]
