"""The tables of the catalogue that have a number as target."""

import re
from dataclasses import replace

import catalogue
import numpy as np
import pytest
from catalogue import PROTOTYPE, REGRESSION, available, half, half_of, load
from sklearn.datasets import load_diabetes

import treebound as tb

BY_NAME = {spec.name: spec for spec in REGRESSION}


def test_one_table_per_name_and_per_study():
    assert len(BY_NAME) == len(REGRESSION) == len({spec.study for spec in REGRESSION})
    assert all(spec.task == "number" for spec in REGRESSION)
    assert all(re.fullmatch("[0-9a-f]{64}", spec.sha256) for spec in REGRESSION)
    assert all(spec.licence and spec.package in catalogue.PACKAGES for spec in REGRESSION)


def test_no_table_of_the_paper():
    # treatments of women; the paper's table of this name has donors
    rest = set(BY_NAME) - {"Stat2Data/Fertility"}
    names = {re.sub("[^a-z]", "", name.split("/")[-1].lower()) for name in rest}
    assert not names & {re.sub("[^a-z]", "", name) for name in tb.study.datasets.list()}


def test_both_halves_have_enough_tables():
    halves = [half_of(spec) for spec in REGRESSION]
    assert halves.count("test") >= 20
    assert len(halves) >= 40


def test_tables_of_the_prototype_are_for_development():
    assert set(BY_NAME) >= PROTOTYPE
    assert {half_of(BY_NAME[name]) for name in PROTOTYPE} == {"development"}
    assert "test" in {half(name) for name in PROTOTYPE}  # where their hash would put them
    new = [spec for spec in REGRESSION if spec.name not in PROTOTYPE]
    assert [half_of(spec) for spec in new] == [half(spec.name) for spec in new]


def test_a_name_of_the_prototype_is_split_by_hash_as_a_table_of_classes():
    spec = next(s for s in REGRESSION if s.name in PROTOTYPE and half(s.name) == "test")
    assert half_of(replace(spec, task="classes")) == "test"


def test_diabetes_is_the_table_of_scikit_learn():
    X, y = load(BY_NAME["sklearn/diabetes"])
    expected = load_diabetes(scaled=False, as_frame=True)
    assert list(X) == list(expected.data)
    np.testing.assert_array_equal(X.to_numpy(), expected.data.to_numpy())
    np.testing.assert_array_equal(y.to_numpy(), expected.target.to_numpy())


@pytest.mark.slow
def test_installed_tables_are_as_described():
    specs, missing = available(REGRESSION)
    assert "sklearn/diabetes" in {spec.name for spec in specs}
    assert len(specs) + sum(map(len, missing.values())) == len(REGRESSION)
    for spec in specs:
        X, y = load(spec)
        assert len(y) >= 200, spec.name
        assert y.dtype == np.float64, spec.name
        assert np.isfinite(y).all(), spec.name
        assert X.shape[1] >= 2, spec.name
        assert X.nunique().min() >= 2, spec.name
        assert y.nunique() >= 10, spec.name
