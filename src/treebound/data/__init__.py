"""Tables to samples: the only place where values are read, typed and checked."""

from treebound._utils.choices import Unknown
from treebound.data.columns import Column, Kind, landscape_of
from treebound.data.encoding import learn_matrix, read_matrix
from treebound.data.matrix import Matrix
from treebound.data.sample import Sample

__all__ = [
    "Column",
    "Kind",
    "Matrix",
    "Sample",
    "Unknown",
    "landscape_of",
    "learn_matrix",
    "read_matrix",
]
