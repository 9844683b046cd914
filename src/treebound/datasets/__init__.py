"""The paper's 25 data sets, and the user's own tables.

``load`` one of ``list()``, read ``info`` about it, ``fetch`` its file; ``read_table`` and
``iter_table`` do the same for any CSV, Parquet file or frame with a small schema file.
"""

from treebound.datasets.dataset import Dataset
from treebound.datasets.loaders import load
from treebound.datasets.reading import infer_schema, iter_table, read_table
from treebound.datasets.registry import DatasetInfo, info
from treebound.datasets.registry import names as _names
from treebound.datasets.schema import Schema, SchemaError, read_schema
from treebound.datasets.sources import DatasetError, fetch

# ``datasets.list()``. It is not in ``__all__``, so that a star import leaves the builtin alone.
list = _names

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "Schema",
    "SchemaError",
    "fetch",
    "infer_schema",
    "info",
    "iter_table",
    "load",
    "read_schema",
    "read_table",
]
