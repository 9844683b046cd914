"""The pages of the guide: what the reader can do after them, reachable from the home page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
MAX_WIDTH = 100


def pages_of(name):
    """The pages in the tables of contents of a page."""
    text = (DOCS / f"{name}.rst").read_text("utf-8")
    blocks = re.findall(r"^\.\. toctree::\n(?:   :.*\n)*\n((?:   .+\n)+)", text, re.MULTILINE)
    entries = [line.strip() for block in blocks for line in block.splitlines()]
    return [re.sub(r".*<(.*)>$", r"\1", entry) for entry in entries]


GUIDE = pages_of("guide")


@pytest.mark.parametrize("page", [*GUIDE, "start", "evidence", "theory", "contributing"])
def test_a_page_starts_with_what_the_reader_can_do_after_it(page):
    text = (DOCS / f"{page}.rst").read_text("utf-8")
    body = re.sub(r"\A(\.\. _.*:\n\n)?.+\n=+\n\n", "", text)
    assert body.startswith("After this page you "), page


def test_every_page_is_reachable_from_the_home_page():
    home = (DOCS / "index.rst").read_text("utf-8")
    linked = set(re.findall(r":doc:`(\w+)`", home)) | set(pages_of("index"))
    assert set(GUIDE) <= linked
    questions = set(re.findall(r":doc:`(\w+)`", (DOCS / "guide.rst").read_text("utf-8")))
    assert questions == {*GUIDE, "start"}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.rst")), ids=lambda page: page.stem)
def test_prose_is_wrapped(page):
    """Code is indented, and cells of tables are separated by several spaces."""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        table = re.search(r"\S   *\S|^=+( =+)+$", line)
        assert len(line) <= MAX_WIDTH or line.startswith("   ") or table, (page.name, number)


def test_the_readme_is_short():
    text = (DOCS.parent / "README.md").read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= 110
    assert len(text.split()) <= 800
    assert max(map(len, lines)) <= MAX_WIDTH
