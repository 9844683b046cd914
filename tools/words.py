"""List the words of the old dialect that are left in code and documentation.

    python tools/words.py [PATH ...]

Each rule has one regular expression and a scope: ``text`` (strings, docstrings, comments and
documentation), ``docstring`` (the beginning of docstrings) or ``name`` (identifiers). The words
that replace them are in the hint. ``EXCEPTIONS`` lists the places where a rule does not apply, with
the reason.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PYTHON = {".py", ".pyi"}
CODE = {".pyx", ".pxd", ".pxi", ".h", ".js", ".css", ".html", ".cpp"}
PROSE = {".md", ".rst", ".txt", ".yml", ".toml"}


class Rule(NamedTuple):
    """Words that are not used, where, and what to write."""

    pattern: str
    scope: str
    hint: str
    folders: tuple[str, ...] = ()  # everywhere by default


RULES = (
    Rule(r"\bask(s|ed|ing)?\b", "text", "split on, use, request"),
    Rule(r"\banswer(s|ed|ing)?\b", "text", "predict, prediction, reply"),
    Rule(r"(^|_)(answer|answers|ask|asks|asked)(_|$)", "name", "prediction, request"),
    Rule(r"\bpromis(e|es|ed|ing)\b", "text", "guarantee, certificate, bound"),
    Rule(
        r"\b(certified|certificate's|held-out|training|smaller|smallest) limits?\b|"
        r"\blimits? (hold|holds|of (the|a) certificate|on the risk)\b",
        "text", "bound, certified error",
    ),
    Rule(r"\brefer(s|red|ral|rals)?\b(?! to)", "text", "abstain, abstention"),
    Rule(r"(^|_)(refer|referral|referred)(_|$)", "name", "abstain, abstention"),
    Rule(r"\b(took|takes?|had|has|have) (a |no )?part\b", "text", "was used for"),
    Rule(r"\b(told|tells?|telling|says?|said)\b", "text", "report, show, state, distinguish"),
    Rule(r"(^|_)(told|tell|tells|say|says|said)(_|$)", "name", "report, describe"),
    Rule(r"\bparts no rows\b|\bparted\b", "text", "split"),
    Rule(r"\bbeside\b", "text", "besides, in addition to, next to"),
    Rule(r"\b(stands?|stood|lie|lies|lay)\b(?! for)", "text", "is, appears, is stored"),
    Rule(r"\b(put|puts|putting)[ _]together\b", "text", "combine, merge"),
    Rule(r"(^|_)put_together(_|$)", "name", "combine, merge"),
    Rule(r"^_?(most|least)_|^_?(MOST|LEAST)_", "name", "max_*, min_*"),
    Rule(r"\bmost (leaves|values|bins|rows to)\b", "text", "maximum number of"),
    Rule(
        r"\b(value|thread|line|file|channel|entry|weight|number|count)s? a "
        r"(class|process|row|column|leaf|node|file|fold)\b",
        "text", "one value per class",
    ),
    Rule(
        r"\b(frames?|relations?|datasets?|tables?|series|collections?|arrays?|categor(y|ies)|"
        r"texts?) of (pandas|DuckDB|polars|Dask|pyarrow|Arrow|PySpark|Ibis|numpy)\b",
        "text", "a pandas frame, a DuckDB relation",
    ),
    Rule(r"\bshell\b", "text", "command line"),
    Rule(r"\bpages?\b", "text", "report", ("src/treebound/show", "src/treebound/cli")),
    Rule(
        r"\b(rows|set|sets|kept|put) (aside|apart)\b|\bleft[- _]out\b|\bleft out rows\b",
        "text", "validation, calibration or test rows",
    ),
    Rule(
        r"(^|_)(aside|left_out|leftout|apart|chosen_on|chooses)(_|$)",
        "name", "validation, calibration or test",
    ),
    Rule(r"\bWhere (the|a|an|there|rows|no|it|they|class|columns?|one)\b", "text", "if, when, for"),
    Rule(r"\b([Ss]omeone|[Ss]omebody|[Nn]obody|[Aa]nybody)\b", "text", "the user, no worker"),
    Rule(
        r"(?<!people )(?<!People )(?<!users )(?<!anyone )(?<!those )(?<!user )(?<!reader )"
        r"(?<!lender )(?<!analysts )(?<!engineers )(?<!readers )\b[Ww]ho\b",
        "text", "the user, the caller",
    ),
    Rule(r"\bmissed share\b|\bshare missed\b", "text", "recall (lower bound)"),
    Rule(
        r"\b(nats?|ghost samples?|code lengths?)\b", "text", "only in the theory",
        ("src/treebound/show/static", "src/treebound/edit/static"),
    ),
    Rule(r"^\s*(What|Whether)\b", "docstring", "Return ..., a noun phrase, 'Return True if ...'"),
    Rule(r"^(own|kept|what|others|found|held|said_of)$", "name", "a noun that carries meaning"),
)  # fmt: skip


class Exception_(NamedTuple):
    """A place where a rule does not apply."""

    path: str  # a regular expression that matches the path
    line: str  # one that matches the line
    reason: str


EXCEPTIONS: tuple[Exception_, ...] = (
    Exception_(r"(tools/|tests/test_)words\.py$", r"", "the list itself"),
    Exception_(r"LICENSE$", r"", "the text of the licence"),
    Exception_(r"\.github/workflows/", r"^shell: bash$", "a key of GitHub's workflows"),
    Exception_(r"cli/app\.py$", r"^shell$|The shell it is for", "bash, zsh and fish are shells"),
    Exception_(r"benchmarks/catalogue\.py$", r"Ecdat/", "the names of columns in Ecdat"),
    Exception_(r"test_notebook\.py$", r"jupyterapp\.shell", "an attribute of JupyterLab"),
)


class Finding(NamedTuple):
    """A line with a word that is not used."""

    path: str
    line: int
    word: str
    hint: str
    text: str


def tracked_files(paths: list[str]) -> Iterator[Path]:
    """Yield the tracked files of the project, or those below some paths."""
    command = ["git", "ls-files", "-z", *paths]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.suffix in PYTHON | CODE | PROSE and path.is_file():
            yield path


def pieces(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line number, scope and text of every piece of a file."""
    source = path.read_text("utf-8")
    if path.suffix not in PYTHON:
        for number, line in enumerate(source.splitlines(), 1):
            yield number, "text", line
            if path.suffix in CODE:
                for name in re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"(#|//|\*).*", "", line)):
                    yield number, "name", name
        return
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        number = token.start[0]
        if token.type == tokenize.NAME:
            yield number, "name", token.string
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            if token.type == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT):
                yield number, "docstring", token.string.lstrip("rRbBfFuU").strip("\"'")
            for offset, line in enumerate(token.string.splitlines()):
                yield number + offset, "text", line
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            previous = token.type


def findings(paths: list[str]) -> Iterator[Finding]:
    """Yield the lines with words that are not used."""
    rules = [(rule, re.compile(rule.pattern)) for rule in RULES]
    for path in tracked_files(paths):
        name = path.relative_to(ROOT).as_posix()
        lines = path.read_text("utf-8").splitlines()
        excepted = [re.compile(e.line) for e in EXCEPTIONS if re.search(e.path, name)]
        seen = set()
        for number, scope, text in pieces(path):
            line = lines[number - 1].strip()
            for rule, pattern in rules:
                inside = not rule.folders or name.startswith(rule.folders)
                match = pattern.search(text) if rule.scope == scope and inside else None
                if match is None or (number, rule) in seen:
                    continue
                seen.add((number, rule))
                if not any(exception.search(line) for exception in excepted):
                    yield Finding(name, number, match.group(), rule.hint, line)


def main() -> None:
    """Print the findings; exit with 1 if there are any."""
    found = list(findings(sys.argv[1:]))
    for finding in found:
        print(f"{finding.path}:{finding.line}: {finding.word!r} -> {finding.hint}: {finding.text}")
    print(f"{len(found)} findings", file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
