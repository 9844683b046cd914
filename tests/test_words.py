"""The words of the project: tools/words.py lists no word of the old dialect."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAX_EXCEPTIONS = 30
# Files that are not rewritten yet.
OPEN = ()


@pytest.fixture(scope="module")
def words():
    """The script as a module."""
    spec = spec_from_file_location("words", ROOT / "tools" / "words.py")
    module = module_from_spec(spec)
    sys.modules["words"] = module  # its classes look for their module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def findings(words):
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository, to list its files")
    return list(words.findings([]))


def test_no_word_of_the_old_dialect_is_left(findings):
    left = [finding for finding in findings if not finding.path.startswith(OPEN)]
    lines = [f"{f.path}:{f.line}: {f.word!r} -> {f.hint}" for f in left]
    assert not left, "\n".join(lines)


def test_exceptions_are_few_and_have_reasons(words):
    assert len(words.EXCEPTIONS) <= MAX_EXCEPTIONS
    for exception in words.EXCEPTIONS:
        assert len(exception.reason.split()) >= 2, exception


def test_every_exception_is_needed(words, monkeypatch):
    """Without an exception there are findings that it would hide."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository, to list its files")
    needed = words.EXCEPTIONS
    monkeypatch.setattr(words, "EXCEPTIONS", ())
    everything = list(words.findings([]))
    for exception in needed:
        hidden = [
            f for f in everything
            if re.search(exception.path, f.path) and re.search(exception.line, f.text)
        ]  # fmt: skip
        assert hidden or exception.path == r"LICENSE$", exception


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('"""What a tree asks."""', "What"),
        ("# the answer of the model", "answer"),
        ("most_leaves = 3", "most_"),
        ("found = 1", "found"),
        ("x = 'two rows set aside'", "set aside"),
    ],
)
def test_the_rules_find_the_old_words(words, tmp_path, monkeypatch, text, word):
    (tmp_path / "new.py").write_text(f"{text}\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "new.py"], cwd=tmp_path, check=True)
    monkeypatch.setattr(words, "ROOT", tmp_path)
    assert word in {finding.word for finding in words.findings([])}
