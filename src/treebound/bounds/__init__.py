"""What a class of trees can do, and what that says of its risk: the paper, corrected."""

from treebound.bounds.risk import (
    ERROR_PRIOR,
    binomial_upper,
    log_leaves_prior,
    log_shape_prior,
    shawe_taylor,
    tail_inversion,
    vapnik,
)

__all__ = [
    "ERROR_PRIOR",
    "binomial_upper",
    "log_leaves_prior",
    "log_shape_prior",
    "shawe_taylor",
    "tail_inversion",
    "vapnik",
]
