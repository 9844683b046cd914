"""Every option and command that a message names exists, and errors are worded by the interface."""

from __future__ import annotations

import ast
import pickle
import re
from functools import partial
from pathlib import Path

import pytest

import treebound
from treebound._utils.validation import Setting, WordedError, error_context, invalid
from treebound.cli.app import OPTIONS, app, in_options, load_all, option_names
from treebound.cli.training import remedy
from treebound.data.findings import Finding

SOURCE = Path(treebound.__file__).parent
# Texts that begin as a command does.
FORMATS = ("treebound edits 1", "treebound model, version ", "treebound study: ")
# Options that every command has.
ELSEWHERE = {"--debug", "--help", "--version"}


def texts():
    """The file and the text of every string in the package, of reports and the editor too."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(SOURCE), node.value
    yield from page_texts()


# A string of JavaScript, or text between tags; colours of style sheets are no options.
_SCRIPT_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")
_PAGE_TEXT = re.compile(r">([^<>{}]+)<")


def page_texts():
    """The file and the text of every string in scripts and pages."""
    for path in sorted(SOURCE.rglob("*.js")):
        for text in _SCRIPT_TEXT.findall(path.read_text(encoding="utf-8")):
            yield path.relative_to(SOURCE), re.sub(r"var\(--[a-z-]+\)", "", text[1:-1])
    for path in sorted(SOURCE.rglob("*.html")):
        for text in _PAGE_TEXT.findall(path.read_text(encoding="utf-8")):
            yield path.relative_to(SOURCE), text


def test_every_option_that_is_named_exists():
    load_all()
    known = option_names(app) | ELSEWHERE
    named = {
        (str(path), option)
        for path, text in texts()
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text)
    }
    assert {pair for pair in named if pair[1] not in known} == set()


def test_texts_of_pages_are_read():
    listed = [text for path, text in page_texts() if path.name == "editor.js"]
    assert any("start it again with --recover" in text for text in listed)
    assert any(path.name == "report_sections.js" for path, _ in page_texts())
    assert any(path.suffix == ".html" for path, _ in page_texts())


def test_pages_name_no_parameter_of_python():
    """Readers of a report or users of the editor write no program."""
    known = python_names()
    named = {
        (str(path), name)
        for path, text in page_texts()
        for name in re.findall(rf"(?<![\w.\"<-])([a-z][a-z_]{{2,}})={VALUE}", text)
    }
    assert {pair for pair in named if pair[1] in known and "_" in pair[1]} == set()


def hints_of_check() -> list[str]:
    """Every text of the modules that make findings: remedies are among them."""
    files = ("findings.py", "check.py")
    return [text for path, text in messages() if path.parts[0] == "data" and path.name in files]


def test_remedies_of_check_are_worded_for_the_command_line():
    known = python_names()
    remedies = [text for text in hints_of_check() if remedy(Finding("age", "", text)) != text]
    assert len(remedies) > 5  # those that have an option
    for text in hints_of_check():
        words = remedy(Finding("age", "", text))
        quoted = re.findall(r"'([a-z]+_[a-z_]+)'", words)
        assert not known.intersection(quoted), words
        assert not known.intersection(re.findall(rf"\b([a-z_]{{3,}})={VALUE}", words)), words
        assert not re.search(r"BoundTree|X\[|as groups|same group", words), words


def test_every_command_that_is_named_exists():
    load_all()
    commands = {name for name in app if not name.startswith("-")}
    groups = {name: set(app[name]) for name in ("study", "theory")}
    for path, text in texts():
        if text in FORMATS:
            continue
        for command, word in re.findall(r"(?:^|')treebound ([a-z]+)\b(?: ([a-z]+)\b)?", text):
            assert command in commands, (path, text)
            assert word in groups.get(command, {word}), (path, text)


def python_names() -> set[str]:
    """The parameters of every public function, class and method, and the fields of dataclasses."""
    names: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (
                not node.name.startswith("_") or node.name == "__init__"
            ):
                arguments = node.args
                listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                names.update(argument.arg for argument in listed)
            elif isinstance(node, ast.ClassDef):
                names.update(
                    field.target.id
                    for field in node.body
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                )
    return names


MARKUP = ("as_dot.py", "as_latex.py", "drawing.py")  # attributes of other languages
VALUE = r"(?:'[^']*'|True|False|None|\d|\.\.\.|\[|\{)"


def messages():
    """The file and the text of every string that is no docstring."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, scopes) and node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if text and id(node) not in docstrings:
                yield path.relative_to(SOURCE), node.value


def test_every_parameter_that_is_named_with_a_value_exists():
    known = python_names()
    named = {
        (str(path), name)
        for path, text in messages()
        if path.name not in MARKUP and path.parts[0] != "cli"
        for name in re.findall(rf"(?<![\w.\"<-])([a-z][a-z_]{{2,}})={VALUE}", text)
    }
    assert {pair for pair in named if pair[1] not in known} == set()
    assert len(named) > 10  # the pattern finds them


def test_the_library_names_no_option_of_the_command_line():
    named = {
        (str(path), text)
        for path, text in messages()
        if path.parts[0] not in ("cli", "study")
        if re.search(r"(?<![\w-])--[a-z]", text)
    }
    assert named == set()


def test_the_command_line_names_no_parameter_of_python():
    known = python_names()
    named = {
        (str(path), text)
        for path, text in messages()
        if path.parts[0] == "cli"
        if known.intersection(re.findall(rf"(?<![\w.-])([a-z][a-z_]{{2,}})={VALUE}", text))
    }
    # replaced by its option; a setting of the study in Python
    assert {path for path, _ in named} <= {"cli/training.py", "cli/data.py"}


def test_options_of_other_names_exist():
    load_all()
    assert {f"--{option.replace('_', '-')}" for option in OPTIONS.values()} <= option_names(app)


def test_an_error_is_worded_by_the_interface():
    load_all()
    word = partial(in_options, names=option_names(app["fit"]))
    hint = ("use another ", Setting("certificate"), ", or ", Setting("n_jobs", 2), ".")
    error = invalid("monotonic_cst", "Owner", "None", 3, hint)
    assert str(error) == (
        "The 'monotonic_cst' parameter of Owner must be None. Got 3 instead. "
        "Hint: use another 'certificate', or n_jobs=2."
    )
    assert error.worded(word) == (
        "The option --monotone must be None. Got 3 instead. "
        "Hint: use another --certificate, or --jobs 2."
    )
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.parts) == (str(error), error.parts)
    with pytest.raises(WordedError, match="a file: The 'mono") as raised, error_context("a file"):
        raise error
    assert raised.value.worded(word).startswith("a file: The option --monotone")


def test_a_parameter_without_an_option_keeps_its_name():
    load_all()
    error = invalid("smoothing", "", "a number", "x")
    assert error.worded(partial(in_options, names=option_names(app))) == str(error)
