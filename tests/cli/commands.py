"""Commands, run as a user runs them."""

from pathlib import Path

import pytest

from treebound.cli import main


def run(capsys, *argv: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(part) for part in argv])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def refused(capsys, *argv: str | Path) -> str:
    """The one line a command fails with."""
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, ""), err
    (line,) = err.strip().splitlines()
    return line
