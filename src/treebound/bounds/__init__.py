"""What a class of trees can do, and what that says of risk: the paper, corrected."""

from treebound.bounds.counting import (
    catalan,
    falling_factorial,
    log_catalan,
    log_falling_factorial,
    log_stirling,
    log_wedderburn_etherington,
    splits_of_size,
    stirling,
    wedderburn_etherington,
)
from treebound.bounds.enumerate import (
    Partition,
    count_realizable,
    realizable_growth,
    realizable_partitions,
)
from treebound.bounds.growth import log_growth, log_growth_leaves
from treebound.bounds.risk import (
    ERROR_PRIOR,
    binomial_upper,
    log_leaves_prior,
    log_shape_prior,
    shawe_taylor,
    tail_inversion,
    vapnik,
)
from treebound.bounds.witnesses import WitnessCheck, check_witness, witness
from treebound.bounds.worst_case import WorstSample, worst_growth, worst_sample

__all__ = [
    "WitnessCheck",
    "WorstSample",
    "check_witness",
    "witness",
    "worst_growth",
    "worst_sample",
    "Partition",
    "count_realizable",
    "realizable_growth",
    "realizable_partitions",
    "ERROR_PRIOR",
    "binomial_upper",
    "log_leaves_prior",
    "log_shape_prior",
    "shawe_taylor",
    "tail_inversion",
    "vapnik",
    "catalan",
    "falling_factorial",
    "log_catalan",
    "log_falling_factorial",
    "log_growth",
    "log_growth_leaves",
    "log_stirling",
    "log_wedderburn_etherington",
    "splits_of_size",
    "stirling",
    "wedderburn_etherington",
]
