"""Protocols: how draws are made, and which models are compared.

Examples
--------
A custom protocol is a declaration:

>>> from sklearn.naive_bayes import GaussianNB
>>> from treebound.study import Estimator, Protocol
>>> mine = Protocol("mine", models=lambda: (Estimator("Bayes", GaussianNB()),), draws=5)
>>> [model.name for model in mine.models()]
['Bayes']
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from treebound._utils.validation import OneOf, check
from treebound.growing.options import GrowOptions
from treebound.study.models import Estimator, Learner, PrunedTree, SklearnCostComplexity
from treebound.study.splits import ROOT_SEED, RowFolds, seeds_of


@dataclass(frozen=True)
class Protocol:
    """The settings of a study.

    Parameters
    ----------
    name : str
        Name of the protocol in the store.
    models : callable
        Returns the models; called late, so that declaring a protocol imports nothing.
    draws : int
        Number of splits of each data set.
    test_fraction : float
        Share of the rows in the test part.
    root_seed : int
        Seed of the seeds of the draws.
    """

    name: str
    models: Callable[[], Iterable[Learner]]
    draws: int = 25
    test_fraction: float = 0.15
    root_seed: int = ROOT_SEED

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the draws."""
        return seeds_of(self.draws, self.root_seed)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that results depend on; the number of draws is not one of them."""
        return {"name": self.name, "test_fraction": self.test_fraction, "root_seed": self.root_seed}

    @property
    def key(self) -> str:
        """A short hash of the settings."""
        return hashlib.sha256(json.dumps(self.settings).encode()).hexdigest()[:12]

    def chosen(self, names: Iterable[str] | None = None) -> tuple[Learner, ...]:
        """Some models of the protocol, in its order."""
        models = tuple(self.models())
        if not names:
            return models
        wanted = list(names)
        names = [model.name for model in models]
        for name in wanted:
            if name not in names:
                raise ValueError(
                    f"The protocol {self.name!r} has no model {name!r}. "
                    f"Hint: its models are {', '.join(map(repr, names))}."
                )
        return tuple(model for model in models if model.name in wanted)


def paper_pruner(exponent: float = 10.5) -> Any:
    """The paper's own pruner, with r = 2^-exponent."""
    from treebound.pruning import PaperPruner

    return PaperPruner(error_prior=2.0**-exponent)


def paper_options() -> GrowOptions:
    """The paper's growing options: at most 75 leaves, Gini, its own order, midpoints."""
    return GrowOptions("gini", growth_order="impurity", max_leaves=75, thresholds="midpoint")


def paper_models() -> tuple[Learner, ...]:
    """The paper's six models, with five folds; its reduced-error pruning keeps the labels."""
    from treebound import pruning

    options, folds = paper_options(), RowFolds(5)
    greedy = pruning.ReducedErrorPruner(search="greedy")
    return (
        PrunedTree("OG", options),
        PrunedTree("CC", options, pruning.CostComplexityPruner(rule="paper", folds=folds)),
        PrunedTree("RE", options, greedy, judge="validation", recount=False),
        PrunedTree("KM", options, pruning.KearnsMansourPruner(growth="fast", folds=folds)),
        PrunedTree("Ours", options, paper_pruner(), bound=True),
        PrunedTree("Oracle", options, greedy, judge="test", recount=False),
    )


def standard_models() -> tuple[Learner, ...]:
    """Trees grown to purity by gain; our default pruner and common alternatives."""
    from sklearn.tree import DecisionTreeClassifier

    from treebound import pruning

    entropy, gini = GrowOptions("entropy"), GrowOptions("gini")
    return (
        PrunedTree("Bound, auto", entropy, pruning.BoundPruner()),
        PrunedTree("Bound, 0.6", entropy, pruning.BoundPruner(weight=0.6)),
        PrunedTree("Bound, Gini", gini, pruning.BoundPruner(weight=0.6)),
        SklearnCostComplexity("CC-CV, sklearn"),
        PrunedTree("CC-CV", gini, pruning.CostComplexityPruner(folds=5)),
        PrunedTree("Pessimistic", entropy, pruning.PessimisticPruner()),
        PrunedTree("MDL", entropy, pruning.MDLPruner()),
        PrunedTree("Unpruned", entropy),
        Estimator("Unpruned, sklearn", DecisionTreeClassifier()),
        PrunedTree("Oracle", entropy, pruning.ReducedErrorPruner(), judge="test"),
    )


PAPER = Protocol("paper", models=paper_models)
STANDARD = Protocol("standard", models=standard_models)


def protocol(name: str | Protocol) -> Protocol:
    """A protocol by name."""
    if isinstance(name, Protocol):
        return name
    protocols = {protocol.name: protocol for protocol in (STANDARD, PAPER)}
    check("", {"protocol": name}, {"protocol": OneOf(tuple(protocols))})
    return protocols[name]
