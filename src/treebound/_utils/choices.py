"""Names that options accept; the help of the command line loads nothing else."""

from __future__ import annotations

from typing import Literal

Criterion = Literal["entropy", "gini", "misclassification"]
GrowthOrder = Literal["gain", "impurity"]
Thresholds = Literal["decimal", "midpoint", "observed"]
# How to handle a category that was not seen in training.
Unknown = Literal["other", "majority", "stop", "missing", "error"]
PrunerName = Literal[
    "bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", "mdl"
]
# Which tree of those that were cross-validated is chosen.
Size = Literal["accurate", "balanced", "small", "detailed", "readable"]
# How the top of a tree is found; "auto" is resolved by the number of values.
TreeSearch = Literal["auto", "greedy", "wide"]
# What a certificate is computed from.
CertificateKind = Literal["training", "held-out", "folds", "prior"]
# "auto" is resolved by the number of rows.
CertificateChoice = Literal["auto", "training", "held-out", "folds", "prior"]
