"""Trees grown on Ray are those of memory, in every array."""

from __future__ import annotations

import sys
from itertools import pairwise

import fake_ray
import numpy as np
import pyarrow as pa
import pytest
from random_tables import assert_same, in_memory, people, random_parameters, random_table

from treebound import BoundTreeClassifier
from treebound.growing import engine
from treebound.ray import Holder


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake_ray)


def blocks(rng, table):
    """A table in blocks of random sizes, some of them empty."""
    cuts = np.sort(rng.integers(0, len(table) + 1, rng.integers(0, 5))).tolist()
    return [table.slice(a, b - a) for a, b in pairwise([0, *cuts, len(table)])]


def assert_same_tree(dataset_of, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(engine.Engine, "gather_rows", int(rng.choice([0, 10, 1 << 16])))
    table, parameters = random_table(rng), random_parameters(rng)
    weight = "weight" if "weight" in table.column_names else None
    model = BoundTreeClassifier(**parameters)
    model.fit(dataset_of(blocks(rng, table)), "label", weight)
    assert_same(model, in_memory(table, parameters))


def test_the_tree_is_that_of_memory(fake, monkeypatch):
    for seed in range(60):
        assert_same_tree(fake_ray.Dataset, seed, monkeypatch)


@pytest.mark.parametrize("certify", ["training", "held-out"])
@pytest.mark.parametrize("most_values", [10, 10**7])
def test_pruning_and_certificates_are_those_of_memory(fake, monkeypatch, certify, most_values):
    monkeypatch.setattr("treebound.pruning.bound.MOST_VALUES", most_values)
    table = people(1500).drop(["id"])
    parameters = {"certify": certify, "random_state": 3}
    dataset = fake_ray.Dataset([table.slice(0, 700), table.slice(700, 1), table.slice(701)])
    model = BoundTreeClassifier(**parameters).fit(dataset, "label")
    expected = in_memory(table, parameters)
    assert_same(model, expected)
    assert model.certificate_ == expected.certificate_
    assert model.target_name_ == "label"


def test_columns_are_chosen_and_checked(fake):
    table = people()
    dataset = fake_ray.Dataset([table])
    model = BoundTreeClassifier().fit(dataset, "label", columns=["the age"])
    assert model.feature_names_in_.tolist() == ["the age"]
    for options, words in (
        ({"y": "nothing"}, "'y' parameter of fit must be the name of a column of the dataset"),
        ({"y": "label", "sample_weight": "w"}, "'sample_weight' parameter of fit must be the name"),
        ({"y": "label", "columns": ["w"]}, "must be columns of the dataset"),
        ({"y": "label", "groups": [1]}, "'groups' parameter must be None"),
    ):
        with pytest.raises(ValueError, match=words):
            BoundTreeClassifier().fit(dataset, **options)


def test_a_dataset_of_nothing_is_refused(fake, monkeypatch):
    monkeypatch.setattr(fake_ray.Dataset, "columns", lambda self: None)  # as Ray has no schema then
    with pytest.raises(ValueError, match="no rows, nor names of columns"):
        BoundTreeClassifier().fit(fake_ray.Dataset([]), "label")


def test_an_error_names_the_block(fake):
    bad = pa.table({"a": [1.0, np.inf], "label": [0, 1]})
    with pytest.raises(ValueError, match=r"Block 1 of the dataset: .*infinity"):
        BoundTreeClassifier().fit(fake_ray.Dataset([bad.slice(0, 1), bad]), "label")


def test_a_dead_actor_is_told_of(fake, monkeypatch):
    plain = Holder.keep

    def dying(self, *args):
        monkeypatch.setattr(Holder, "answer", dead)
        return plain(self, *args)

    def dead(self, *args):
        raise fake_ray.RayActorError("The actor died unexpectedly")

    monkeypatch.setattr(Holder, "keep", dying)
    monkeypatch.setattr(engine.Engine, "gather_rows", 0)
    dataset = fake_ray.Dataset([people().drop(["id"])] * 2)
    with pytest.raises(RuntimeError, match=r"actor of Ray died, .* Hint: fit again"):
        BoundTreeClassifier(pruning="mdl").fit(dataset, "label")


def test_answers_are_computed_by_ray_itself(fake):
    dataset = fake_ray.Dataset([people().drop(["id"])])
    model = BoundTreeClassifier().fit(dataset, "label")
    with pytest.raises(TypeError, match=r"dataset of Ray .*map_batches"):
        model.predict(dataset)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r"treebound\[ray\]"):
        BoundTreeClassifier().fit(fake_ray.Dataset([people()]), "label")


# -- with Ray itself -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray():
    data = pytest.importorskip("ray.data")
    ray = sys.modules["ray"]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.mark.heavy
def test_the_tree_on_actors_is_that_of_memory(ray, monkeypatch):
    for seed in range(100, 106):
        assert_same_tree(ray.data.from_arrow, seed, monkeypatch)


@pytest.mark.heavy
def test_rows_of_a_dataset_are_answered_by_its_tasks(ray):
    table = people().drop(["id"])
    dataset = ray.data.from_arrow_refs([ray.put(table.slice(0, 400)), ray.put(table.slice(400))])
    model = BoundTreeClassifier().fit(dataset, "label")
    X = dataset.drop_columns(["label"])
    there = X.map_batches(lambda rows: {"answer": model.predict(rows)}, batch_format="pyarrow")
    answers = [row["answer"] for row in there.take_all()]
    assert answers == model.predict(table.drop(["label"])).tolist()


@pytest.mark.heavy
def test_an_actor_that_is_killed_is_told_of(ray, monkeypatch):
    psutil = pytest.importorskip("psutil")
    monkeypatch.setattr(engine.Engine, "gather_rows", 0)
    dataset = ray.data.from_arrow([people(n).drop(["id"]) for n in (900, 901)])

    def kill(progress):
        for process in psutil.process_iter(["cmdline"]):
            if any("ray::Holder" in word for word in process.info["cmdline"] or ()):
                process.kill()

    with pytest.raises(RuntimeError, match=r"actor of Ray died, .* Hint: fit again"):
        BoundTreeClassifier(pruning="mdl").fit(dataset, "label", callback=kill)
