"""Whoever moves, raises or relabels recounts: every tree has the counts of its rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import grown_tree, predictions, random_examples, sample_of
from sklearn.datasets import load_digits
from support import CODE_LENGTH

import treebound as tb
from treebound.growing import grow
from treebound.pruning import BoundPruner, PaperPruner, ReducedErrorPruner, make_pruner

seeds = st.integers(0, 10**6)
# The pruner of the paper: leaves below a raised child keep their labels.
PAPER = PaperPruner()


def assert_counted(tree, sample, *, relabelled=True):
    """The counts of a tree are those of a sample, and so are its labels unless they stay."""
    again = tree.recounted(sample)
    np.testing.assert_allclose(tree.counts, again.counts, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(tree.rows, again.rows)
    assert tree.weighted == again.weighted
    wrong = sample.weights[tree.label[tree.apply(sample.X)] != sample.y].sum()
    assert tree.errors == pytest.approx(wrong)
    if relabelled:
        np.testing.assert_array_equal(tree.label, again.label)


def test_the_pruner_of_the_paper_counts_every_step_of_its_path():
    X, y = load_digits(return_X_y=True)
    clf = tb.BoundTreeClassifier(pruning=PAPER, max_depth=8).fit(X, y)
    sample = tb.Sample.read(X, y, columns=clf.columns_, classes=clf.classes_, named=True)
    path = clf.pruning_path_
    assert len(path) > 5
    for step in range(len(path)):
        moved = clf.prune_to(step=step)
        assert_counted(moved.tree_, sample, relabelled=False)
        assert moved.tree_.errors == path.errors[step]
    chosen = clf.prune_to(leaves=clf.n_leaves_)
    assert chosen.certificate_.errors == (chosen.predict(X) != y).sum()
    assert chosen.certificate_.risk == clf.certificate_.risk


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "pruner",
    [PAPER, PAPER.set_params(growth="leaves"), PaperPruner(**CODE_LENGTH),
     PaperPruner(**CODE_LENGTH, search="optimal+raise"), BoundPruner(), make_pruner("mdl"),
     make_pruner("cost-complexity"), make_pruner("kearns-mansour"), make_pruner("pessimistic")],
    ids=str,
)  # fmt: skip
@given(seed=seeds)
@settings(max_examples=6)
def test_every_step_of_every_path_is_counted(pruner, weighted, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, 80) if weighted else None
    tree, X, y = grown_tree(rng, 80, max_leaves=15, missing=True, weights=weights)
    sample = sample_of(tree, X, y, weights)
    result = pruner.prune(tree, sample, grow=grow)
    relabelled = getattr(pruner, "relabel", True)
    for step in range(len(result.path)):
        assert_counted(result.path.tree(step), sample, relabelled=relabelled)
    assert_counted(result.tree, sample, relabelled=relabelled)


@given(seed=seeds)
@settings(max_examples=20)
def test_validation_rows_never_count(seed):
    rng = np.random.default_rng(seed)
    tree, X, y = grown_tree(rng, 60, max_leaves=10)
    sample = sample_of(tree, X, y)
    other_X, other_y, _ = random_examples(rng, 40)
    judge = sample_of(tree, other_X, other_y)
    for search in ("collapse", "greedy"):
        result = ReducedErrorPruner(search=search).prune(tree, sample, validation=judge)
        for step in range(len(result.path)):
            one = result.path.tree(step)
            assert one.counted
            assert_counted(one, sample)
            assert result.path.errors[step] == (predictions(one, other_X) != other_y).sum()


@given(seed=seeds)
@settings(max_examples=20)
def test_a_raise_without_a_sample_is_marked(seed):
    rng = np.random.default_rng(seed)
    tree, _, _ = grown_tree(rng, 60, max_leaves=10)
    X, y, _ = random_examples(rng, 40)
    judge = sample_of(tree, X, y)
    result = ReducedErrorPruner(search="greedy").prune(tree, validation=judge)
    raised = False
    for row in result.path.table():
        raised |= row["replaced_by"] in ("left", "right")
        one = result.path.tree(row["step"])
        assert one.counted != raised
        assert row["errors"] == (predictions(one, X) != y).sum()
        if raised:
            with pytest.raises(ValueError, match="not counted again"):
                tb.certify(one)


def test_a_sample_that_the_tree_was_not_counted_on_is_refused():
    tree, X, y = grown_tree(np.random.default_rng(0), 60)
    for pruner in (BoundPruner(), PaperPruner(**CODE_LENGTH), make_pruner("mdl")):
        with pytest.raises(ValueError, match=r"must be the rows the tree was counted on.*Hint"):
            pruner.prune(tree, sample_of(tree, X[:-1], y[:-1]))
