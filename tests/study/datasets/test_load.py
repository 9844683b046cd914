"""All 25 data sets load as the paper states them, and as they really are."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import column_of

from treebound import Landscape
from treebound.study import datasets
from treebound.study.datasets import loaders

NAMES = datasets.list()


@cache
def read(name: str, folder: Path, typing: str = "paper") -> datasets.Dataset:
    """Load from the files, once in this module, also what scikit-learn ships."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loaders, "info", lambda name: replace(datasets.info(name), shipped=None))
        return datasets.load(name, data=folder, typing=typing)


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_the_manifest(name: str, raw_files: Path):
    facts = json.loads((raw_files / "MANIFEST.json").read_text())["datasets"][name]
    dataset = read(name, raw_files)
    assert dataset.frame.shape == (facts["n_examples"], facts["n_features"])
    scape = dataset.landscape
    kinds = (facts["n_real"], facts["n_ordinal"], facts["n_nominal"])
    assert (scape.real, len(scape.ordinal), len(scape.nominal)) == kinds
    assert len(dataset.classes) == facts["n_classes"]
    counts = {str(label): count for label, count in dataset.class_counts.items()}
    # One file writes its labels 1.0 and 2.0; here they are the whole numbers they are.
    assert counts == {label.removesuffix(".0"): n for label, n in facts["class_counts"].items()}
    distinct = [feature["n_distinct"] for feature in facts["feature_types_as_in_reference"]]
    assert dataset.frame.nunique().tolist() == distinct


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("typing", ["paper", "declared"])
def test_columns_have_the_dtypes_of_their_kinds(name: str, typing: str, raw_files: Path):
    dataset = read(name, raw_files, typing=typing)
    assert dataset.frame.columns.tolist() == dataset.schema.names
    for column in dataset.schema.columns:
        dtype = dataset.frame[column.name].dtype
        if column.kind == "real":
            assert dtype == np.float64
        else:
            assert dtype.categories.tolist() == [*column.categories]
            assert dtype.ordered == (column.kind == "ordinal")
    assert dataset.target.name == dataset.schema.target
    assert not dataset.target.isna().any()
    if typing == "paper":
        assert not dataset.frame.isna().any(axis=None)


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_knows_only_categories_that_occur(name: str, raw_files: Path):
    dataset = read(name, raw_files)
    for column in dataset.schema.columns:
        if column.kind != "real":
            assert dataset.frame[column.name].nunique() == len(column.categories)


def test_declared_typing_differs_where_the_paper_lost_something(raw_files: Path):
    differ = {
        name
        for name in NAMES
        if read(name, raw_files).landscape != read(name, raw_files, typing="declared").landscape
    }
    assert differ == {
        "acute_inflammation",
        "amphibians",
        "cardiotocography10",
        "diabetic_retinopathy_debrecen",
        "fertility",
        "heart_disease_cleveland_processed",
        "mushroom",
        "qsar_biodegradation",
        "statlog_german",
    }


def test_the_other_decision_of_acute_inflammation_is_dropped_by_declared_typing(raw_files: Path):
    assert "Inflammation" in read("acute_inflammation", raw_files).frame
    assert "Inflammation" not in read("acute_inflammation", raw_files, typing="declared").frame


def test_question_marks_are_a_category_in_the_paper_and_missing_as_declared(raw_files: Path):
    paper = read("heart_disease_cleveland_processed", raw_files).frame
    assert (paper["ca"] == "?").sum() == 4
    assert (paper["thal"] == "?").sum() == 2
    declared = read("heart_disease_cleveland_processed", raw_files, typing="declared")
    assert declared.frame["ca"].isna().sum() == 4
    assert declared.frame["thal"].isna().sum() == 2
    # A missing ordinal value makes two tests of it, a missing nominal one a category more.
    assert declared.landscape == Landscape(5, (3, 5, 5), (2, 4, 2, 3, 2, 4))
    assert read("mushroom", raw_files, typing="declared").frame["stalk-root"].isna().sum() == 2480


def test_orderings_are_those_of_the_authors_where_they_gave_one(raw_files: Path):
    schema = read("statlog_german", raw_files).schema
    assert column_of(schema, "checking_status").categories == ("A14", "A11", "A12", "A13")
    assert column_of(schema, "savings").categories == ("A65", "A61", "A62", "A63", "A64")
    assert column_of(read("zoo", raw_files).schema, "legs").categories == (0, 2, 4, 5, 6, 8)


def test_rows_stand_in_the_order_of_the_file(raw_files: Path):
    zoo = read("zoo", raw_files)
    assert zoo.target.tolist()[:4] == [1, 1, 4, 1]
    assert zoo.frame["legs"].tolist()[:4] == [4, 4, 0, 4]
    acute = read("acute_inflammation", raw_files)
    assert acute.frame["Temperature"].tolist()[:3] == [35.5, 35.9, 35.9]
    ctg = read("cardiotocography10", raw_files)
    assert ctg.frame.loc[1, ["LB", "AC", "FM", "UC", "DL"]].tolist() == [
        132.0,
        pytest.approx(0.006379585326953748),
        0.0,
        pytest.approx(0.006379585326953748),
        pytest.approx(0.003189792663476874),
    ]
    assert ctg.target.tolist()[:2] == [9, 6]


@pytest.mark.parametrize("name", ["wine", "breast_cancer_wisconsin_diagnostic"])
def test_scikit_learn_ships_the_values_of_uci(name: str, raw_files: Path):
    ours, theirs = read(name, raw_files), datasets.load(name)
    assert theirs.source == "scikit-learn"
    pd.testing.assert_frame_equal(ours.frame, theirs.frame, check_exact=True)
    pd.testing.assert_series_equal(ours.target, theirs.target)


# -- what needs no files -------------------------------------------------------------------


def test_what_scikit_learn_ships_loads_without_files_or_network():
    for name in ("wine", "breast_cancer_wisconsin_diagnostic"):
        assert datasets.load(name).source == "scikit-learn"


def test_iris_is_not_taken_from_scikit_learn_whose_rows_differ():
    with pytest.raises(datasets.DatasetError, match=r"iris\.data .* downloading"):
        datasets.load("iris")


def test_counts_that_are_not_the_papers_are_refused(monkeypatch: pytest.MonkeyPatch):
    entry = datasets.info("wine")
    fewer = replace(entry, counts=replace(entry.counts, examples=177, real=12))
    monkeypatch.setattr(loaders, "info", lambda name: fewer)
    with pytest.raises(
        datasets.DatasetError,
        match=r"178 examples instead of 177; 13 real features instead of 12",
    ):
        datasets.load("wine")


def test_a_data_set_describes_itself():
    wine = datasets.load("wine")
    assert repr(wine) == (
        "<Dataset 'wine': 178 examples, 13 features (13 real, 0 ordinal, 0 nominal), "
        "3 classes, from scikit-learn>"
    )
