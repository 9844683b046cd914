"""Tests of an installed wheel, without a compiler and without these sources.

Not part of the suite: ``make wheel-test`` and the builds of wheels run it.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score

import treebound as tb

ROOT = Path(__file__).parents[1]
KERNELS = re.findall(r"\['(\w+)', '(\w+)'\]", (ROOT / "meson.build").read_text())


def test_it_is_the_wheel_and_not_the_sources():
    home = Path(tb.__file__).resolve()
    assert ROOT / "src" not in home.parents
    assert tb.__version__ == version("treebound")
    assert f"version: '{tb.__version__}'" in (ROOT / "meson.build").read_text()


@pytest.mark.skipif("WITHOUT_COMPILER" not in os.environ, reason="there may be a compiler")
def test_there_is_no_compiler():
    for name in ("cc", "gcc", "clang", "cl", "ninja", "meson", "cython"):
        assert shutil.which(name) is None, name


@pytest.mark.parametrize(("room", "kernel"), KERNELS)
def test_every_kernel_is_compiled(room, kernel):
    module = import_module(f"treebound.{room}.{kernel}")
    assert not module.__file__.endswith(".py")


def test_it_fits_and_predicts():
    X, y = load_iris(return_X_y=True, as_frame=True)
    classifier = tb.BoundTreeClassifier().fit(X, y)
    assert (classifier.n_leaves_, classifier.grown_tree_.n_leaves) == (7, 9)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    assert cross_val_score(clone(classifier), X, y).mean() > 0.9
    assert 0 < classifier.certificate_.risk < 1


def test_threads_and_large_nodes_grow_the_same_tree():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).integers(0, len(X), 20_000)
    noisy = X[rows] * np.random.default_rng(1).normal(1.0, 0.01, (20_000, X.shape[1]))
    one = tb.BoundTreeClassifier(n_jobs=1).fit(noisy, y[rows])
    two = tb.BoundTreeClassifier(n_jobs=2).fit(noisy, y[rows])
    np.testing.assert_array_equal(one.grown_tree_.threshold, two.grown_tree_.threshold)


def test_the_command_runs(tmp_path):
    table = load_iris(as_frame=True).frame
    table.to_csv(tmp_path / "iris.csv", index=False)
    command = [sys.executable, "-m", "treebound"]

    def run(*argv: str) -> str:
        done = subprocess.run([*command, *argv], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    assert run("--version").strip() == version("treebound")
    run("fit", "iris.csv", "--target", "target", "-o", "model.json", "--report", "page.html")
    assert len(run("predict", "model.json", "iris.csv").splitlines()) == 151
    assert "petal" in run("show", "model.json")
    assert "1 of 150 rows is misclassified" in run("evaluate", "model.json", "iris.csv")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
