"""How much a user and a contributor meet: parameters, fields, entries, names."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import treebound as tb
from treebound.model import Model, RegressionModel
from treebound.model.evidence import Evidence
from treebound.model.number_evidence import NumberCalibration, NumberEvidence
from treebound.model.options import PredictionOptions, ReadingOptions
from treebound.model.provenance import Provenance

SOURCE = Path(tb.__file__).parent


@pytest.mark.parametrize(
    ("estimator", "most"),
    [(tb.BoundTreeClassifier, 21), (tb.BoundTreeRegressor, 21), (tb.pruning.BoundPruner, 9)],
)
def test_parameters_are_few(estimator, most: int) -> None:
    assert len(inspect.signature(estimator).parameters) <= most


@pytest.mark.parametrize("model", [Model, RegressionModel])
def test_models_have_few_fields(model) -> None:
    assert len(fields(model)) <= 12


@pytest.mark.parametrize(
    "kind",
    [ReadingOptions, PredictionOptions, Provenance, Evidence, NumberEvidence, NumberCalibration],
)
def test_objects_of_models_have_few_fields(kind) -> None:
    assert is_dataclass(kind)
    assert len(fields(kind)) <= 8


def test_steps_of_fitting_are_no_public_methods() -> None:
    for estimator in (tb.BoundTreeClassifier, tb.BoundTreeRegressor):
        public = {name for name in dir(estimator) if not name.startswith("_")}
        assert not public & {"checked", "values", "of_columns", "fit_engine"}


def test_the_folder_has_few_entries() -> None:
    entries = [path.name for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(entries)


def test_a_name_is_one_type() -> None:
    """Classes at the top of modules have different names; private ones are of their module."""
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
