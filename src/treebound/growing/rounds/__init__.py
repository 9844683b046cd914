"""Growth in rounds, for rows that are not in memory at once, or not on one machine.

``shard`` is what is done with one part of the rows, ``several`` the same with some parts together,
``looking`` what is inside their bins. ``engine`` has the verbs over all of them, in this process;
``stream`` takes rows that come in batches, ``on_dask`` those of a Dask collection.
``search`` finds the split of a node, ``store`` keeps the nodes, ``driver`` grows the tree.
"""

from treebound.growing.rounds.engine import Engine, LocalEngine
from treebound.growing.rounds.grow import FINE_BINS, grow_in_rounds, make_bins
from treebound.growing.rounds.limits import Limits, Progress
from treebound.growing.rounds.stream import stream_engine

__all__ = [
    "FINE_BINS",
    "Engine",
    "Limits",
    "LocalEngine",
    "Progress",
    "grow_in_rounds",
    "make_bins",
    "stream_engine",
]
