"""Tables of measured figures in the documentation: every one can be made from the result files."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def results():
    """The extension of the documentation as a module."""
    pytest.importorskip("sphinx")
    spec = spec_from_file_location("results", DOCS / "_ext" / "results.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_has_cells_of_one_width(results):
    for name, table in results.TABLES.items():
        try:
            header, rows = table()
        except FileNotFoundError:  # not measured yet
            continue
        rows = list(rows)
        assert rows, name
        assert {len(row) for row in rows} == {len(header)}, name
        assert not any("nan" in cell for row in rows for cell in row), name


def test_every_table_is_shown_and_every_shown_table_exists(results):
    pages = "".join(page.read_text("utf-8") for page in sorted(DOCS.glob("*.rst")))
    shown = set(re.findall(r"^\.\. results:: (\S+)$", pages, re.MULTILINE))
    assert shown == set(results.TABLES)
