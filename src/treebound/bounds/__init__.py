"""Bounds for decision trees: partitions, growth functions, VC dimensions and risk.

The paper's results, corrected, and new ones. The main functions are here, the others in the
modules.

======================  =====================================================================
module                  what is in it
======================  =====================================================================
``counting``            Stirling, Catalan and other numbers, exact and as logarithms
``splits``              how many splits a node makes: ``R_{N,k}``, ``D_k``, ``B(m)``
``stumps``              the stump theorems
``partitioning``        the tree theorems, as a table, and the least of all bounds
``growth``              growth functions: fast, tight, closed, chain, and the least of all
``vc``                  VC dimensions from both sides
``risk``                from a growth function to a bound on the risk
``enumerate``           every partition a shape realizes on a sample: the oracle
``worst_case``          samples with many partitions
``shattered``           samples that a shape shatters
``witnesses``           samples that attain the stump bound
``compression``         bounds from the rows that name a tree's splits
======================  =====================================================================
"""

from treebound.bounds.enumerate import realizable_partitions
from treebound.bounds.growth import log_growth, log_growth_leaves
from treebound.bounds.partitioning import partitions, tree_partitions
from treebound.bounds.risk import (
    binomial_upper,
    log_leaves_prior,
    shawe_taylor,
    tail_inversion,
    vapnik,
)
from treebound.bounds.shattered import shattered_sample
from treebound.bounds.stumps import stump_partitions
from treebound.bounds.vc import VCDimension, vc_dimension
from treebound.bounds.witnesses import check_witness, witness
from treebound.bounds.worst_case import worst_sample

__all__ = [
    "VCDimension",
    "binomial_upper",
    "check_witness",
    "log_growth",
    "log_growth_leaves",
    "log_leaves_prior",
    "partitions",
    "realizable_partitions",
    "shattered_sample",
    "shawe_taylor",
    "stump_partitions",
    "tail_inversion",
    "tree_partitions",
    "vapnik",
    "vc_dimension",
    "witness",
    "worst_sample",
]
