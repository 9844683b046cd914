"""The paper's 25 data sets, and tables of the user.

``load`` one of ``list()``, get ``info`` about it, ``fetch`` its file; ``read_table`` reads any CSV
file, Parquet file or frame, with an optional schema file.
"""

from treebound.data.schema import Schema, SchemaError, read_schema
from treebound.study.datasets.loaders import load
from treebound.study.datasets.reading import Dataset, read_table
from treebound.study.datasets.registry import DatasetInfo, info
from treebound.study.datasets.registry import names as _names
from treebound.study.datasets.sources import DatasetError, fetch

# ``datasets.list()`` is not in ``__all__``, so that a star import does not shadow the builtin.
list = _names

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "Schema",
    "SchemaError",
    "fetch",
    "info",
    "load",
    "read_schema",
    "read_table",
]
