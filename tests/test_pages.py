"""The transcripts of the documentation, run again: the output must be the one shown."""

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import treebound
from treebound.cli import main

ROOT = Path(__file__).parents[1]
PAGES = ("command_line", "study")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^\.\. code-block:: console\n\n((?: {4}.*\n|\n)+)", re.MULTILINE)
COMMAND = re.compile(r"^ {4}\$ ((?:.*\\\n)*.*)\n((?: {4}(?!\$ ).*\n|\n)*)", re.MULTILINE)
# Measured seconds differ from run to run, and the width of a table follows them.
MEASURED = re.compile(r"(Mean pruning time \(s\)).*|─+")


def transcript(page):
    """The commands of a page and the output that it shows."""
    text = (ROOT / "docs" / f"{page}.rst").read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for command, printed in COMMAND.findall(block):
            if "  # needs " not in command:
                printed = re.sub(r"^ {4}", "", printed, flags=re.MULTILINE)
                yield re.sub(r"\\\n\s*", "", command), printed


def run(command):
    """The output of a command, errors included; only treebound runs in this process."""
    if not command.startswith("treebound ") or re.search("[|;]", command):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        return done.stdout
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
    ):
        main(shlex.split(command)[1:])
    return printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    for file in (ROOT / "examples").glob("parcels*"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    checker = doctest.OutputChecker()
    commands = list(transcript(page))
    assert len(commands) >= 5
    for command, expected in commands:
        expected, printed = (MEASURED.sub(r"\1", text) for text in (expected, run(command)))
        message = f"{command}\nprints\n{printed}\nwhere the page has\n{expected}"
        assert checker.check_output(expected, printed, FLAGS), message


PYTHON = re.compile(
    r"^\.\. code-block:: python\n\n((?: {4}(?!>>>).*\n|\n)+)"
    r"(?:\.\. code-block:: text\n\n((?: {4}.*\n|\n)+))?",
    re.MULTILINE,
)


def printed_by(code, names):
    """The output of code, with results of expressions; None if it shows a data frame."""
    printed, frames = io.StringIO(), False
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(code).body:
            if not isinstance(statement, ast.Expr):
                exec(compile(ast.Module([statement], []), "page", "exec"), names)
                continue
            value = eval(compile(ast.Expression(statement.value), "page", "eval"), names)
            frames |= hasattr(value, "columns")
            if value is not None:
                print(value)
    return None if frames else printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("page", ["start", "editing"])
def test_snippets_print_what_the_page_shows(page, request, tmp_path, monkeypatch):
    if page == "editing":  # reads a data set of the study
        monkeypatch.setenv("TREEBOUND_DATA", str(request.getfixturevalue("raw_files")))
    for file in (ROOT / "examples").glob("parcels*"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    checker, names, compared = doctest.OutputChecker(), {"tb": treebound}, 0
    text = (ROOT / "docs" / f"{page}.rst").read_text(encoding="utf-8")
    for code, expected in PYTHON.findall(text):
        printed = printed_by(textwrap.dedent(code), names)
        if expected and printed is not None:
            assert checker.check_output(textwrap.dedent(expected), printed, FLAGS), printed
            compared += 1
    assert compared == 2
