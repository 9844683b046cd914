"""Rules before growing: every engine grows the tree of a slow search among allowed splits."""

from __future__ import annotations

import numpy as np
import pytest
from random_samples import ARRAYS, random_bins, random_limits, random_parts, random_sample
from slow_tree import BreaksOrder, SlowTree

from treebound.data import Column, Matrix, Sample
from treebound.data.parts import PartRows
from treebound.data.weights import is_whole
from treebound.growing import GrowOptions, Limits, grow, grow_on_engine
from treebound.growing.engine import LocalEngine, stream_engine
from treebound.tree.parsing import parse_split


def random_split(rng, sample, at):
    """A split at a value of a row, as it is written; empty if the value is missing."""
    column, value = sample.columns[at], sample.X.values[at][rng.integers(sample.n_rows)].item()
    if value != value or (column.kind != "real" and value < 0):
        return ""
    sign = "=" if column.kind == "nominal" else "<="
    with_missing = column.kind != "nominal" and column.missing and rng.random() < 0.5
    return f"{column.name} {sign} {value!r}{' or missing' if with_missing else ''}"


def random_rules(rng, sample):
    """Options, and the same for the slow twin."""
    columns, n = sample.columns, len(sample.columns)
    names = [column.name for column in columns]
    signs = [
        int(rng.integers(-1, 2)) if column.kind != "nominal" and rng.random() < 0.7 else 0
        for column in columns
    ]
    never = {at for at in range(n) if rng.random() < 0.15}  # forced
    groups = [{at for at in range(n) if rng.random() < 0.5} for _ in range(int(rng.integers(3)))]
    rest = set(range(n)).difference(*groups)
    used = [at for at in rng.permutation(n)[: int(rng.integers(3))].tolist() if at not in never]
    first = [text for at in used if (text := random_split(rng, sample, at))]
    options = {
        "monotonic_cst": dict(zip(names, signs, strict=True)),
        "class_order": sample.classes.tolist(),
        "interaction_cst": [[names[at] for at in group] for group in groups] or None,
        "forced_splits": first,
    }
    groups = [*groups, rest]
    slow = {"signs": signs if any(signs) else None, "groups": groups,
            "first": [parse_split(text, columns) for text in first]}  # fmt: skip
    return options, slow


def random_case(seed, max_rows):
    rng = np.random.default_rng(seed)
    sample = random_sample(rng, max_rows)
    if len(sample.columns) > 1 and sample.columns[-1] is sample.columns[0]:  # names must differ
        X = Matrix(sample.columns[:-1], sample.X.values[:-1])
        sample = Sample(X, sample.y, sample.weight, sample.classes)
    rules, slow = random_rules(rng, sample)
    growing = {
        "criterion": str(rng.choice(["gini", "entropy", "misclassification"])),
        "growth_order": "impurity" if rng.random() < 0.2 else "gain",
        "max_leaves": [None, 3, 12][rng.integers(3)],
        "min_samples_leaf": int(rng.choice([1, 1, 3])),
        "thresholds": "observed",
    }
    return rng, sample, growing, rules, slow


def engines(rng, sample, options):
    """How a tree is grown in memory, by sorting and by histograms, in shards and in streams."""
    bins, parts, limits = random_bins(rng, sample), random_parts(rng, sample), random_limits(rng)

    def on(engine):
        return grow_on_engine(
            engine, sample.columns, sample.classes, options,
            whole=is_whole(sample.weight), limits=limits,
        )  # fmt: skip

    return {
        "sorted": lambda: grow(sample, options, crossing=2**62),
        "histograms": lambda: grow(sample, options, crossing=2),
        "shards": lambda: on(LocalEngine(parts, bins, sample.n_classes, n_threads=2)),
        "stream": lambda: on(stream_engine(map(PartRows, parts), bins, sample.n_rows)),
    }


def assert_twin(tree, slow, message):
    nodes = list(slow.preorder())
    splits = [node.split if node.left is not None else None for node in nodes]
    expected = {
        "feature": [s.column if s else -1 for s in splits],
        "threshold": [s.threshold if s else np.nan for s in splits],
        "category": [s.category if s else -1 for s in splits],
        "missing_left": [s.missing_left if s else False for s in splits],
        "rows": [len(node.rows) for node in nodes],
    }
    for name, array in expected.items():
        np.testing.assert_array_equal(getattr(tree, name), array, err_msg=f"{name} {message}")


@pytest.mark.parametrize("part", range(3))
def test_rules_give_the_best_allowed_splits(part):
    """In memory, by sorting and by histograms, in shards and in streams."""
    for seed in range(40):
        rng, sample, growing, rules, slow = random_case([part, seed], 50)
        whole = sample.weight is None or (sample.weight == np.rint(sample.weight)).all()
        sample = sample if whole else Sample(sample.X, sample.y, None, sample.classes)
        X = np.column_stack(
            [np.where(v == -1, np.nan, v) if v.dtype.kind == "i" else v for v in sample.X.values]
        )
        engine = engines(rng, sample, GrowOptions(**growing, **rules))
        try:
            twin = SlowTree(
                X.tolist(), sample.y, sample.columns, sample.n_classes,
                sample_weight=sample.weight, **growing, **slow,
            )  # fmt: skip
        except BreaksOrder:
            for grown in engine.values():
                with pytest.raises(ValueError, match="breaks the order"):
                    grown()
            continue
        for name, grown in engine.items():
            assert_twin(grown(), twin, f"{name} {[part, seed]} {rules}")


@pytest.mark.parametrize("part", range(3))
def test_rules_give_one_tree_in_all_engines(part):
    for seed in range(25):
        rng, sample, growing, rules, _ = random_case([10 + part, seed], 500)
        rules["forced_splits"] = rules["forced_splits"] * (seed % 2)  # they may break the order
        rules["monotonic_cst"] = None if seed % 2 else rules["monotonic_cst"]
        grown = engines(rng, sample, GrowOptions(**growing, **rules))
        expected = grown.pop("sorted")()
        for name, grow_there in grown.items():
            tree = grow_there()
            for array in ARRAYS:
                np.testing.assert_array_equal(
                    getattr(tree, array), getattr(expected, array), err_msg=f"{name} {seed} {rules}"
                )
            assert tree.monotone == expected.monotone


class Stop(Exception):
    pass


def test_rules_hold_after_a_stop(tmp_path):
    """Growth that goes on from a checkpoint again and again, in other parts and bins."""
    stops = 0

    def progress(state):
        if state.rounds == 2:
            raise Stop

    for seed in range(8):
        rng, sample, growing, rules, _ = random_case([30, seed], 300)
        rules["forced_splits"] = rules["forced_splits"] * (seed % 2)
        rules["monotonic_cst"] = None if seed % 2 else rules["monotonic_cst"]
        options = GrowOptions(**growing, **rules)
        expected, tree = grow(sample, options), None
        while tree is None:
            bins, parts = random_bins(rng, sample), random_parts(rng, sample)
            try:
                tree = grow_on_engine(
                    LocalEngine(parts, bins, sample.n_classes), sample.columns, sample.classes,
                    options, whole=is_whole(sample.weight), limits=Limits(gather_rows=5),
                    checkpoint=tmp_path / str(seed), progress=progress,
                )  # fmt: skip
            except Stop:
                stops += 1
        for array in ARRAYS:
            np.testing.assert_array_equal(getattr(tree, array), getattr(expected, array), seed)
    assert stops > 8


def test_forced_splits_come_to_the_left_child_first_by_histograms_too():
    rows = [[4, 0], [3, 0], [4, -1], [3, -1], [1, -1], [3, 0], [0, -1], [1, 0], [1, 0]]
    columns = [
        Column("x0", "nominal", tuple(range(5))),
        Column("x1", "nominal", (0,), missing=True),
    ]
    values = tuple(np.array(column, dtype=np.int8) for column in zip(*rows, strict=True))
    y = np.array([1, 5, 0, 4, 9, 2, 10, 8, 6], dtype=np.int32)
    sample = Sample(Matrix(tuple(columns), values), y, None, np.arange(12))
    options = GrowOptions(max_leaves=3, forced_splits=["x0 = 3", "x1 = 0"])
    by_sorting, by_histograms = (grow(sample, options, crossing=at) for at in (2**62, 2))
    np.testing.assert_array_equal(by_histograms.feature, by_sorting.feature)
