"""The learner and the bridge to scikit-learn's trees, on an older scikit-learn."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.heavy

OLDEST = "scikit-learn==1.6.*"
NEEDED = (
    "numpy<2.4", "pandas<3", "polars", "pyarrow", "pytest", "hypothesis", "matplotlib",
    "meson-python>=0.17", "Cython>=3.0.10", "ninja",
)  # fmt: skip
FILES = (
    "tests/exchange/test_sklearn_tree.py",
    "tests/data",
    "tests/classifier/test_classifier.py",
    "tests/classifier/test_sklearn.py",
)


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """The Python of a new environment with the oldest scikit-learn that is supported."""
    folder = tmp_path_factory.mktemp("older")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, OLDEST, *NEEDED], check=True)
    build = [f"-Cbuild-dir={folder / 'build'}", "--no-build-isolation"]
    # The compiler of meson-python is found through the environment's own folder of programs.
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    subprocess.run([*install, *build, str(ROOT)], check=True, env=environment)
    return python


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_it_is_another_version(older):
    found = run(older, "-c", "import sklearn; print(sklearn.__version__)").stdout.strip()
    assert found.startswith("1.6.")
    assert not version("scikit-learn").startswith("1.6.")


@pytest.mark.parametrize("file", FILES)
def test_the_tests_pass_there_too(older, file):
    found = run(older, "-m", "pytest", "-q", "-p", "no:cacheprovider", file)
    assert found.returncode == 0, found.stdout[-5000:] + found.stderr[-2000:]
