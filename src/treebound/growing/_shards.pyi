from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.progress import Report
from treebound.data import Column
from treebound.growing._bins import Bins
from treebound.growing.checkpoint import Checkpoint
from treebound.growing.engine import Engine
from treebound.growing.kernel_types import KernelOptions, NumberKernel, TreeArrays
from treebound.growing.options import Limits
from treebound.growing.shard import Facts

class KeyRanges(NamedTuple):
    single: NDArray[np.uint8]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    guide: NDArray[np.uint64]

def key_ranges(bins: Bins, facts: Facts, j: int) -> KeyRanges: ...
def grow_on_shards(
    engine: Engine,
    columns: Sequence[Column],
    n_channels: int,
    *,
    options: KernelOptions,
    limits: Limits,
    finer: Callable[[], Bins] | None,
    progress: Report | None,
    checkpoint: Checkpoint | None,
    numbers: NumberKernel | None = None,
) -> TreeArrays: ...
