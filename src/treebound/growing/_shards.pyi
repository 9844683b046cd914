from collections.abc import Callable, Sequence
from typing import Any

from treebound.data import Column
from treebound.growing._bins import Bins
from treebound.growing.checkpoint import Checkpoint
from treebound.growing.engine import Engine
from treebound.growing.options import Limits, Progress

def grow(
    engine: Engine,
    columns: Sequence[Column],
    n_classes: int,
    *,
    options: dict[str, Any],
    limits: Limits,
    finer: Callable[[], Bins] | None,
    progress: Callable[[Progress], None] | None,
    checkpoint: Checkpoint | None,
) -> dict[str, Any]: ...
