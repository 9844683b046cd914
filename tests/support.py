"""Helpers of several test files: figures and data next to the project, samples from codes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from treebound.model.edits import Edit, NodeState, Remark

ROOT = Path(__file__).resolve().parents[1]
VECTORS = ROOT / "tests" / "vectors"

# The greedy search of the paper with the default score, for PaperPruner.
CODE_LENGTH = {"score": "code-length", "growth": "leaves", "size_prior": "leaves", "relabel": True}


def shared(name: str) -> Path | None:
    """A file or folder next to the project, or None if it does not exist.

    ``TREEBOUND_SHARED`` names the folder; by default it is ``shared`` next to the project.
    """
    path = Path(os.environ.get("TREEBOUND_SHARED", ROOT.parent / "shared")) / name
    return path if path.exists() else None


def data_folder() -> Path | None:
    """The folder with the raw files of the 25 data sets, or None.

    ``TREEBOUND_DATA`` names it; the conftest at the root keeps it from everything else.
    """
    named = os.environ.get("TREEBOUND_TEST_DATA")
    return Path(named) if named else shared("data")


def at_delta(fitted, delta: float):
    """A fitted copy whose certificates hold with probability ``1 - delta``."""
    model = fitted.model_
    return fitted._with_model(replace(model, evidence=replace(model.evidence, delta=delta)))


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Obey the permissions of files and folders, which root may ignore (in this thread)."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
    capabilities = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits
    if not hasattr(libc, "capget") or libc.capget(header, capabilities) != 0:
        pytest.skip("root cannot give up its powers here")
    fewer = (ctypes.c_uint32 * 6)(*capabilities)
    fewer[0] &= ~0b111  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert libc.capset(header, capabilities) == 0


def coded_matrix(X, columns):
    """Encoded columns from codes: a float matrix with NaN for missing, -1 for unknown."""
    import numpy as np

    from treebound.data import Matrix

    X, columns = np.asarray(X), tuple(columns)
    has = [bool(np.isnan(X[:, at]).any()) for at in range(len(columns))]
    columns = tuple(c.with_missing(c.missing or m) for c, m in zip(columns, has, strict=True))
    if all(column.kind == "real" for column in columns):
        return Matrix(columns, dense=X)
    values = []
    for at, column in enumerate(columns):
        codes = X[:, at]
        if column.kind != "real":
            missing = np.isnan(codes)
            codes = np.where(missing, -1, np.where(codes < 0, -2, codes)).astype(np.int32)
        values.append(codes)
    return Matrix(columns, tuple(values))


def coded_sample(X, y, columns, classes, weight=None):
    """A sample from codes: see ``coded_matrix``; rows of weight zero are dropped."""
    import numpy as np

    from treebound.data import Sample

    X, y = np.asarray(X), np.asarray(y).astype(np.int32)
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    return Sample(coded_matrix(X, columns), y, weight, np.asarray(classes))


def grow_coded(X, y, columns, classes, *, sample_weight=None, **options):
    """Grow a tree on codes."""
    from treebound.growing import GrowOptions, grow

    return grow(coded_sample(X, y, columns, classes, sample_weight), GrowOptions(**options))


def column_of(schema, name: str):
    """The column of a schema with this name."""
    return next(column for column in schema.columns if column.name == name)


def collapsed_root(prediction: str, note: str = "", author: str = "") -> Edit:
    """The record of an edit that made the root a leaf."""
    before, after = NodeState(2, "a", "x <= 1"), NodeState(1, prediction)
    return Edit("collapse", "", (), before, after, remark=Remark(note, author))
