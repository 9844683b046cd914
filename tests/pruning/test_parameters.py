"""Parameters of pruners that make no sense are named, and an undefined score is NaN."""

import numpy as np
import pytest
from pruning_trees import grown_tree, random_tree, sample_of
from sklearn.model_selection import StratifiedKFold

from treebound.data import Sample
from treebound.growing import grow
from treebound.pruning import (
    BoundPruner,
    CostComplexityPruner,
    KearnsMansourPruner,
    PaperPruner,
    PessimisticPruner,
    ReducedErrorPruner,
)


@pytest.mark.parametrize(
    ("pruner", "words"),
    [
        (BoundPruner(costs=[[1.0, 2.0], [3.0, 0.0]]), "'costs' .* zeros on the diagonal"),
        (BoundPruner(costs=[[0.0, np.nan], [3.0, 0.0]]), "'costs' .* finite numbers >= 0"),
        (
            BoundPruner(weight=np.nan),
            "'weight' parameter .* a finite number >= 0 or 'auto'. Got nan",
        ),
        (
            BoundPruner(weight=np.inf),
            "'weight' parameter .* a finite number >= 0 or 'auto'. Got inf",
        ),
        (BoundPruner(delta=np.nan), "'delta' parameter .* Got nan"),
        (PaperPruner(error_prior=np.nan), "'error_prior' parameter .* Got nan"),
        (PaperPruner(relabel=1), "'relabel' parameter .* True or False. Got 1"),
        (CostComplexityPruner(alpha=np.nan), "'alpha' parameter .* a number or None. Got nan"),
        (
            CostComplexityPruner(folds=0),
            "'folds' parameter .* an int from 2 to 1,000, a splitter.* Got 0",
        ),
        (
            CostComplexityPruner(folds=1),
            "'folds' parameter .* an int from 2 to 1,000, a splitter.* Got 1",
        ),
        (CostComplexityPruner(folds=2.5), "'folds' parameter .* Got 2.5"),
        (CostComplexityPruner(folds="5"), "'folds' parameter .* Got '5'"),
        (KearnsMansourPruner(folds=StratifiedKFold), "'folds' parameter .* Got <class"),
        (CostComplexityPruner(alpha=0.1, folds=0), "'folds' parameter"),
        (
            KearnsMansourPruner(folds=0),
            "'folds' parameter .* an int from 2 to 1,000, a splitter.* Got 0",
        ),
        (KearnsMansourPruner(constant=np.nan), "'constant' parameter .* Got nan"),
        (PessimisticPruner(confidence=np.nan), "'confidence' parameter .* Got nan"),
        (ReducedErrorPruner(validation_fraction=np.nan), "'validation_fraction' .* Got nan"),
        (ReducedErrorPruner(validation_fraction=0.0), "'validation_fraction' .* Got 0.0"),
        (ReducedErrorPruner(random_state=1.5), "'random_state' parameter .* Got 1.5"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(pruner, words):
    tree, X, y = grown_tree(np.random.default_rng(0), 60, n_classes=2)
    with pytest.raises(ValueError, match=f"(?s){words}"):
        pruner.prune(tree, sample_of(tree, X, y), grow=grow)


@pytest.mark.parametrize("wrong", [2.5, 0, -1, True, "3", None, np.nan])
def test_a_number_of_leaves_is_a_whole_number(wrong):
    path = BoundPruner().prune(random_tree(np.random.default_rng(0), 5)).path
    with pytest.raises(ValueError, match="'leaves' parameter of prune_to must be an int >= 1"):
        path.reaching(wrong)


def test_nothing_is_known_of_a_score_of_ones_own():
    tree = random_tree(np.random.default_rng(4), 9)

    def minus_leaves(m, errors, log_growth, log_prior):
        return -log_growth

    result = BoundPruner(score=minus_leaves).prune(tree)
    assert np.isnan(result.gap)
    assert BoundPruner().prune(tree).gap == 0.0


def test_a_score_of_ones_own_gets_the_documented_arguments():
    seen = []

    def watched(*arguments):
        seen.append(arguments)
        return 0.0

    tree, X, y = grown_tree(np.random.default_rng(1), 60)
    PaperPruner(score=watched, growth="leaves", size_prior="leaves").prune(
        tree, sample_of(tree, X, y)
    )
    result = BoundPruner(score=watched)
    result.prune(tree)
    objective = result.objective(tree)
    assert objective.sample == 120
    for arguments in seen:
        assert [type(one) for one in arguments] == [int, float, float, float]
        m, errors, log_growth, log_prior = arguments
        assert m == 60
        assert 0 <= errors <= m
        assert log_prior < 0 < log_growth
    sizes = {(one[2], one[3]) for one in seen}
    leaves = np.arange(1, tree.n_leaves + 1)
    expected = zip(objective.log_growth_leaves(leaves), objective.log_prior(leaves), strict=True)
    assert sizes <= {(float(a), float(b)) for a, b in expected}


def test_very_uneven_weights_are_those_of_the_tree():
    """Growing rounds weights by a share of their sum, which may be much for a light class."""
    rounded = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(50, 300))
        X, y = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
        sample = Sample.learn(X, y, np.exp(8 * rng.normal(size=n)))
        tree = grow(sample)
        rounded += not np.allclose(sample.counts, tree.counts[0], rtol=1e-9, atol=0.0)
        assert BoundPruner(weight=1.0).prune(tree, sample).tree.n_leaves <= tree.n_leaves
    assert rounded > 0
