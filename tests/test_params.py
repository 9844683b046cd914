"""Parameters as scikit-learn has them, and threads as joblib counts them."""

import sys

import pytest
from joblib import effective_n_jobs, parallel_config
from sklearn.base import BaseEstimator, clone

from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import Parameters
from treebound.pruning import PRUNERS


class Inner(Parameters):
    def __init__(self, a=1, b=None):
        self.a, self.b = a, b


class SklearnInner(BaseEstimator):
    def __init__(self, a=1, b=None):
        self.a, self.b = a, b


@pytest.mark.parametrize("given", [{}, {"a": 2}, {"a": 2, "b": 1.5}, {"b": "x"}])
def test_the_same_as_a_scikit_learn_estimator(given):
    ours, theirs = Inner(**given), SklearnInner(**given)
    assert repr(ours) == repr(theirs).replace("Sklearn", "")
    assert ours.get_params() == theirs.get_params()
    nested, other = Inner(a=ours), SklearnInner(a=theirs)
    assert list(nested.get_params()) == list(other.get_params())
    assert set(nested.get_params(deep=False)) == {"a", "b"}
    nested.set_params(b=7, a__b=8)
    assert (nested.b, ours.b) == (7, 8)


def test_clones_are_new_and_equal():
    first = Inner(a=Inner(b=[1]), b=2)
    again = clone(first)
    assert repr(again) == repr(first)
    assert again.a is not first.a
    for name, pruner in PRUNERS.items():
        assert repr(clone(pruner())) == f"{pruner.__name__}()", name


def test_an_unknown_parameter_is_named():
    with pytest.raises(ValueError, match=r"Invalid parameter 'c' for Inner.*'a', 'b'"):
        Inner().set_params(c=1)


def test_all_processors_are_those_within_limits(monkeypatch):
    """A given number is used unchanged, as in scikit-learn."""
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 8 if n_jobs == -1 else n_jobs)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,1")
    monkeypatch.delitem(sys.modules, "threadpoolctl", raising=False)
    assert effective_jobs(-1) == 3
    assert effective_jobs(4) == 4
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert effective_jobs(-1) == 8
    import threadpoolctl

    info = [{"user_api": "openmp", "num_threads": 2}, {"user_api": "blas", "num_threads": 1}]
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: info)
    assert effective_jobs(-1) == 2


def test_jobs_are_those_of_joblib(monkeypatch):
    monkeypatch.setattr("treebound._utils.jobs._limits", list)
    for jobs in (None, 1, 2, -1):
        assert effective_jobs(jobs) == effective_n_jobs(jobs)
    with parallel_config(backend="threading", n_jobs=2):
        assert effective_jobs(None) == 2
    cores = {jobs: effective_n_jobs(jobs) for jobs in (-1, -2, 3)}
    monkeypatch.delitem(sys.modules, "joblib")
    assert effective_jobs(None) == 1
    assert {jobs: effective_jobs(jobs) for jobs in cores} == cores
    assert "joblib" not in sys.modules


@pytest.mark.parametrize("pruner", PRUNERS.values())
def test_a_parameter_that_a_pruner_does_not_have_is_named(pruner):
    with pytest.raises(TypeError, match=f"{pruner.__name__} has no parameter 'c'. Hint: the par"):
        pruner(c=1)
