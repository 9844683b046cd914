"""The README in a bare environment: its install line, every snippet and every command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.heavy
INTERACTIVE = ("treebound edit",)  # waits for a browser


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The lines of the blocks for a terminal, without comments."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    stripped = (re.sub(r"\s+#.*", "", line).strip().removeprefix("$ ") for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The tracked files in another folder, with an empty environment: the install line has run."""
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "venv", folder / ".venv"], check=True)
    installs = [command for command in commands() if "pip install" in command]
    assert installs
    for command in installs:
        run(command, folder)
    return folder


def run(command: str, folder: Path) -> str:
    """Run a command in the environment of the clone; return its output."""
    foreign = ("PYTHON", "VIRTUAL_ENV", "CYTHON", "MESONPY", "TREEBOUND")
    settings = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,  # as a user types it
        cwd=folder,
        env={**settings, "PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_nothing_else_is_installed(clone):
    assert "pandas" not in run("pip list", clone).split()


def test_every_snippet_prints_what_the_readme_shows(clone):
    assert blocks("python")
    options = "-o NORMALIZE_WHITESPACE -o ELLIPSIS"
    assert run(f"python -m doctest {options} README.md", clone) == ""


def test_every_command_runs(clone):
    listed = [line for line in commands() if line.startswith("treebound ")]
    assert len(listed) >= 3
    for command in listed:
        if not command.startswith(INTERACTIVE):
            run(command, clone)
