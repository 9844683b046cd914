"""The theory page describes what the code does: its examples run and its references exist."""

from __future__ import annotations

import doctest
import re
from importlib import import_module

import pytest
from support import ROOT

PAGE = ROOT / "docs" / "theory.rst"


def test_examples_of_the_page_run():
    pytest.importorskip("rustworkx")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.attempted > 10
    assert result.failed == 0


def test_every_reference_of_the_page_exists():
    reference = r"(?::(?:func|class|mod):`~?|``)(treebound[\w.]*)`"
    names = set(re.findall(reference, PAGE.read_text("utf-8")))
    assert len(names) > 20
    for name in sorted(names):
        home, _, attribute = name.rpartition(".")
        if home == "treebound":
            import_module(name)
        else:
            assert hasattr(import_module(home), attribute), name
