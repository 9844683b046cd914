"""How much a user and a contributor meet: parameters, fields, entries, names; and hidden state."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
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
# Module-level objects that change, each with the reason why it changes no result.
CACHES = {
    "tree/route.py": {"_recent"},  # columns as the kernels read them
    "study/processes.py": {"_idle"},  # processes that wait for work
}


def parsed() -> Iterator[tuple[str, ast.Module]]:
    """The files of the package, by name."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("estimator", "most"),
    [(tb.BoundTreeClassifier, 21), (tb.BoundTreeRegressor, 21), (tb.pruning.BoundPruner, 9)],
)
def test_parameters_are_few(estimator, most: int) -> None:
    assert len(inspect.signature(estimator).parameters) <= most


def test_parameters_of_the_classifier_that_were_removed_stay_removed() -> None:
    names = set(inspect.signature(tb.BoundTreeClassifier).parameters)
    removed = {
        "growth_order", "min_weight_fraction_leaf", "min_samples_split", "max_grown_leaves",
        "min_gain", "forbidden", "target_risk", "class_order", "certify", "unknown", "first",
        "delta",
    }  # fmt: skip
    assert not names & removed
    assert {"certificate", "handle_unknown", "forced_splits", "search", "cv"} <= names
    moved = {"growth", "search", "error_prior", "size_prior", "relabel"}
    assert not moved & set(inspect.signature(tb.pruning.BoundPruner).parameters)
    assert moved <= set(inspect.signature(tb.pruning.PaperPruner).parameters)


def test_fit_has_few_options(capsys) -> None:
    from treebound.cli import main

    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    options = re.findall(r"^│ (--[a-z-]+)", capsys.readouterr().out, re.M)
    assert {"--target", "--certificate", "--groups"} <= set(options)
    assert len(options) <= 32, options


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
    for name, module in parsed():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    for path in SOURCE.rglob("*.p[yx][xdi]"):
        if path.suffix != ".pyi":
            structs = re.findall(r"^cdef struct (\w+):", path.read_text(encoding="utf-8"), re.M)
            for struct in {"Split", "Column", "Node", "Step", "Table"} & {*structs}:
                places[struct].append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_modules_have_no_state_that_changes_results() -> None:
    """No registry at the top of a module; caches are listed above."""
    mutable = defaultdict(set)
    for name, module in parsed():
        for node in module.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if re.fullmatch(r"\[\]|\{\}|(Weak\w+|set|dict|list)\(\)", ast.unparse(node.value)):
                mutable[name].add(ast.unparse(target))
    assert mutable == CACHES


def test_objects_are_not_changed_behind_their_backs() -> None:
    """Attributes are set by name: no writing to ``vars`` or around ``frozen``."""
    for name, module in parsed():
        for node in ast.walk(module):
            text = ast.unparse(node) if isinstance(node, ast.Subscript | ast.Call) else ""
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                assert not re.match(r"vars\(|.*\.__dict__\[", text), (name, text)
            if isinstance(node, ast.Call):
                changes = r"(vars\(.*\)|.*\.__dict__)\.(update|setdefault|pop|clear)\("
                assert not re.match(changes, text), (name, text)
                if text.startswith("object.__setattr__"):
                    assert name == "_utils/frozen.py"


def test_dask_is_used_by_its_public_names() -> None:
    for name, module in parsed():
        if not name.startswith("engines/dask/"):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute) and re.match(r"_(?!_|replace$|asdict$)", node.attr):
                owner = ast.unparse(node.value)
                assert owner in ("self", "cls"), (name, ast.unparse(node))


def test_removed_libraries_stay_removed() -> None:
    for name, module in parsed():
        for node in ast.walk(module):
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not re.search(r"\b(ray|lightgbm|xgboost)\b", ast.unparse(node)), name
