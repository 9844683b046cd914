"""Learning a table in parts gives what learning it at once gives."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from treebound._utils._pool import Threads
from treebound.data import Column, Matrix, Sample
from treebound.data.draws import Tenth
from treebound.data.learned import merge_facts
from treebound.data.parts import START, PartReader, as_table, count_rows, join_parts, learn_part
from treebound.data.summaries import ColumnSummary, column_summaries
from treebound.data.weights import exact_sum


def learned(frames, labels, weights=None, **options):
    class_weight = options.pop("class_weight", None)
    weights = weights or [None] * len(frames)
    facts = [
        learn_part(frame, label, weight, **options)
        for frame, label, weight in zip(frames, labels, weights, strict=True)
    ]
    schema = merge_facts(facts, class_weight=class_weight)
    return schema, [
        PartReader(schema).read(frame, label, weight).training
        for frame, label, weight in zip(frames, labels, weights, strict=True)
    ]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "n": rng.integers(0, 5, n)})
    frame["text"] = rng.choice(["b", "a", "c"], n)
    frame["size"] = pd.Categorical(rng.choice(["s", "m"], n), ["s", "m", "l"], ordered=True)
    frame.loc[rng.random(n) < 0.1, "text"] = None
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    return frame, rng.choice(["yes", "no", "maybe"], n), np.round(rng.random(n), 1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"class_weight": {"yes": 3.0}},
        {"categorical_features": ["n"]},
        {"ordinal_features": ["n", "text"]},
        {"ordinal_features": {"text": ["c", "b", "a"]}},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_are_a_sample(options, weighted):
    frame, y, weight = table()
    cuts = [0, 0, 40, 41, 200, 300]
    spans = list(pairwise(cuts))
    schema, samples = learned(
        [frame.iloc[a:b] for a, b in spans],
        [y[a:b] for a, b in spans],
        [weight[a:b] for a, b in spans] if weighted else None,
        **options,
    )
    whole = Sample.learn(frame, y, weight if weighted else None, **options)
    assert schema.columns == whole.columns
    assert schema.classes.tolist() == whole.classes.tolist()
    assert np.concatenate([s.y for s in samples]).tolist() == whole.y.tolist()
    for j in range(4):
        joined = np.concatenate([s.X.values[j].astype(float) for s in samples])
        np.testing.assert_array_equal(joined, whole.X.values[j].astype(float))
    if whole.weight is None:
        assert all(s.weight is None for s in samples)
    else:
        np.testing.assert_array_equal(np.concatenate([s.weights for s in samples]), whole.weight)


def test_a_part_without_values_determines_nothing_about_a_column():
    frames = [pd.DataFrame({"x": [None, None]}), pd.DataFrame({"x": [1.5, 2.5]})]
    schema, _ = learned(frames, [[0, 1], [0, 1]])
    assert schema.columns[0].kind == "real"
    frames = [pd.DataFrame({"x": ["a", "b"]}), pd.DataFrame({"x": pd.Series([None], dtype=object)})]
    schema, samples = learned(frames, [[0, 1], [0]])
    assert (schema.columns[0].categories, schema.columns[0].missing) == (("a", "b"), True)
    assert samples[1].X.values[0].tolist() == [-1]


def test_categories_found_late_are_known_everywhere():
    frames = [pd.DataFrame({"x": ["c"]}), pd.DataFrame({"x": ["a", "c"]})]
    schema, samples = learned(frames, [[0], [0, 1]])
    assert schema.columns[0].categories == ("a", "c")
    assert [s.X.values[0].tolist() for s in samples] == [[1], [0, 1]]
    assert schema.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("frames", "labels", "words"),
    [
        (
            [pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": ["a"]})],
            [[0], [1]],
            "'x' must be of one type in every part. It is numbers in part 0 and nominal",
        ),
        (
            [pd.DataFrame({"x": [1.0]}), pd.DataFrame({"z": [1.0]})],
            [[0], [1]],
            "same columns in the same order",
        ),
        (
            [pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": [2.0]})],
            [["a"], [1]],
            "labels of one type in every part",
        ),
        (
            [
                pd.DataFrame({"x": pd.Categorical(["s"], ["s", "m"], ordered=True)}),
                pd.DataFrame({"x": pd.Categorical(["s"], ["m", "s"], ordered=True)}),
            ],
            [[0], [1]],
            "an order that differs from part to part",
        ),
        ([pd.DataFrame({"x": []})], [[]], "no rows of a weight above zero"),
    ],
)
def test_parts_that_do_not_fit_are_refused(frames, labels, words):
    with pytest.raises(ValueError, match=words):
        learned(frames, labels)


def test_an_exact_sum_does_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    weight = np.exp(30.0 * rng.normal(size=500))
    weight[:3] = [5e-324, 1e-300, 2.0**1000]
    slow = sum((Fraction(value) for value in weight.tolist()), Fraction(0))
    assert exact_sum(weight) == slow == exact_sum(weight[::-1])
    assert exact_sum(weight[:100]) + exact_sum(weight[100:]) == slow
    assert exact_sum(np.empty(0)) == 0


def test_categories_are_declared_only_if_every_part_declares_them():
    declared = pd.DataFrame({"c": pd.Categorical(["a", "b"])})
    texts = pd.DataFrame({"c": ["a", "b"]})
    for frames in ([declared, texts], [texts, declared], [declared, declared]):
        parts = [learn_part(X, ["u", "v"]) for X in frames]
        (column,) = merge_facts(parts).columns
        assert column.categories == ("a", "b")
        assert column.declared == (frames[0] is frames[1])


def test_a_parquet_file_without_rows_is_skipped(tmp_path):
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    import treebound as tb

    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rows = pa.table({"x": x, "z": rng.normal(size=400), "label": (x > 0.3).astype(int)})
    memory = tb.BoundTreeClassifier().fit(rows.select(["x", "z"]), rows["label"].to_numpy())
    for name in ("0", "5", "9"):
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(rows.slice(0, 200), folder / "3.parquet")
        pq.write_table(rows.slice(200), folder / "7.parquet")
        pq.write_table(rows.slice(0, 0), folder / f"{name}.parquet")
        clf = tb.BoundTreeClassifier().fit(ds.dataset(folder, format="parquet"), "label")
        assert clf.to_text() == memory.to_text()


def test_rows_are_counted_from_zero_and_without_those_of_weight_zero():
    frame, y, weight = table(50)
    weight[:20] = 0.0
    weight[20:] = 0.5
    assert count_rows(frame, y, None) == 50
    assert count_rows(frame, y, weight) == 30
    calibration = Tenth(7)
    assert calibration.mask(50).tolist() != calibration.has(np.arange(1, 51)).tolist()
    facts = learn_part(frame, y, calibration=calibration)
    assert facts.calibration == calibration.mask(50).sum()
    assert set(facts.calibration_classes) == set(y[calibration.mask(50)])
    read = PartReader(merge_facts([facts]), calibration, handle_unknown="other")
    assert read.read(frame, y, None).calibration.n_rows == facts.calibration


def test_read_rows_are_a_table_of_which_the_columns_can_be_learned_again():
    frame, y, _ = table()
    schema, (sample,) = learned([frame], [y])
    again = Sample.learn(as_table(sample, schema), y)
    assert again.columns == sample.columns
    for values, expected in zip(again.X.values, sample.X.values, strict=True):
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("seed", range(5))
def test_summaries_of_parts_add_up(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, 60).astype(float)
    values[rng.random(60) < 0.1] = np.nan
    whole = ColumnSummary.of_numbers(values)
    assert whole.at_low == (values == np.nanmin(values)).sum()
    assert whole.at_high == (values == np.nanmax(values)).sum()
    cuts = np.sort(rng.integers(0, 61, 4))
    parts = [ColumnSummary.of_numbers(part) for part in np.split(values, cuts)]
    assert sum(parts, ColumnSummary()) == whole
    matrix = Sample.learn(values[:, None], np.arange(60) % 2).X
    assert matrix.dense is not None
    assert column_summaries(matrix) == (whole,)


@pytest.mark.parametrize("n_rows", [1, 5, 511, 512, 513, 2000])
def test_summaries_of_one_array_are_those_of_its_columns(n_rows):
    rng = np.random.default_rng(n_rows)
    values = rng.integers(-2, 3, (n_rows, 5)).astype(float)
    values[:, 1] = rng.normal(size=n_rows)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, 2], values[:, 3] = np.nan, -1.0
    columns = tuple(Column(name, missing=True) for name in "abcde")
    for dense in (values, np.asfortranarray(values), values.astype(np.float32)):
        expected = tuple(ColumnSummary.of_numbers(column) for column in dense.T)
        for n_threads in (1, 3):
            with Threads(n_threads):
                assert column_summaries(Matrix(columns, dense=dense)) == expected


def test_validation_rows_are_counted_without_calibration_rows():
    frame, y, _ = table(200)
    calibration, validation = Tenth(7), Tenth(8)
    facts = learn_part(frame, y, calibration=calibration)
    reader = PartReader(merge_facts([facts]), calibration, validation, handle_unknown="other")
    whole = reader.read(frame, y, None)
    assert whole.calibration_numbers.tolist() == np.flatnonzero(calibration.mask(200)).tolist()
    n_rest = 200 - len(whole.calibration_numbers)
    assert whole.validation_numbers.tolist() == np.flatnonzero(validation.mask(n_rest)).tolist()
    rest = y[~calibration.mask(200)]
    assert whole.training.n_rows == n_rest - len(whole.validation_numbers)
    assert whole.n_rows == 200
    labels = reader.schema.classes[whole.validation.y]
    assert labels.tolist() == rest[validation.mask(n_rest)].tolist()
    first, parts = START, []  # an empty part has none of them
    for a, b in ((0, 70), (70, 70), (70, 200)):
        parts.append(reader.read(frame[a:b], y[a:b], None, first))
        first = reader.after(parts[-1], first)
    assert first == (200, n_rest)
    assert [part.n_rows for part in parts] == [70, 0, 130]
    assert parts[1].calibration_numbers.tolist() == parts[1].validation_numbers.tolist() == []
    joined = join_parts(parts)
    for role in ("training", "calibration", "validation"):
        assert getattr(joined, role).y.tolist() == getattr(whole, role).y.tolist()
    for numbers in ("calibration_numbers", "validation_numbers"):
        assert getattr(joined, numbers).tolist() == getattr(whole, numbers).tolist()


def test_parts_without_other_roles_are_joined_without_them():
    frame, y, _ = table(30)
    reader = PartReader(merge_facts([learn_part(frame, y)]))
    parts = [reader.read(frame[:0], y[:0], None), reader.read(frame, y, None)]
    joined = join_parts(parts)
    assert joined.n_rows == joined.training.n_rows == 30
    assert (joined.calibration, joined.calibration_numbers) == (None, None)
    assert (joined.validation, joined.validation_numbers) == (None, None)


def test_a_part_with_a_quantity_for_classes_is_refused_before_others_are_read():
    numbers = np.arange(40_000)
    frame = pd.DataFrame({"x": numbers})
    with pytest.raises(ValueError, match="40,000 different numbers, a quantity and not classes"):
        learn_part(frame, numbers)
    assert learn_part(frame, numbers.astype(str)).n_rows == 40_000
    assert learn_part(frame, numbers, numeric=True).target is not None


def test_rows_without_weight_are_an_empty_part():
    frame, y, _ = table(5)
    assert learn_part(frame, y, np.zeros(5)).n_rows == 0
    assert learn_part(frame, y, np.r_[np.zeros(4), 0.5]).n_rows == 1
    assert count_rows(frame, y, np.r_[np.zeros(4), 0.5]) == 1
