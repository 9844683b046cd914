"""What a study runs on: typed tables, from the registry, from scikit-learn or from a file."""

from __future__ import annotations

import hashlib
import pickle
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._extras import require
from treebound.data.columns import Column

if TYPE_CHECKING:
    import pandas as pd

    from treebound.datasets import Schema

__all__ = ["BUNDLED", "Parcel", "Table", "inferred_schema", "load_table", "load_tables"]

BUNDLED = ("sklearn:iris", "sklearn:wine", "sklearn:breast_cancer")
_FILES = (".csv", ".csv.gz", ".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Table:
    """One data set of a study: an encoded matrix, its columns, and the classes of its rows.

    Attributes
    ----------
    name, title : str
        The key in the store, and what people read.
    X : ndarray of float64, shape (n_examples, n_features)
        The encoded matrix: values of real columns, codes of categories, NaN for missing.
    y : ndarray of int64
        Codes into ``classes``.
    columns : tuple of Column
    classes : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> table = Table.of_arrays("toy", np.arange(6.0).reshape(3, 2), ["a", "b", "a"])
    >>> table.n_examples, table.n_classes, table.mixed, table.y.tolist()
    (3, 2, False, [0, 1, 0])
    """

    name: str
    title: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    columns: tuple[Column, ...]
    classes: NDArray[Any]

    @classmethod
    def of_arrays(
        cls, name: str, X: Any, y: Any, *, title: str | None = None, names: Sequence[str] = ()
    ) -> Table:
        """A table of real columns from plain arrays."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        names = list(names) or [f"x{i}" for i in range(X.shape[1])]
        columns = tuple(Column(str(column)) for column in names)
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        return cls(name, title or name, X, codes.astype(np.int64), columns, classes)

    @classmethod
    def of_frame(cls, name: str, frame: Any, y: Any, *, title: str | None = None) -> Table:
        """A table from any data frame; column types come from its dtypes."""
        from treebound.data.columns import learn_columns

        columns, X = learn_columns(frame)
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        return cls(name, title or name, X, codes.astype(np.int64), tuple(columns), classes)

    @property
    def n_examples(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def count(self, kind: str) -> int:
        """Number of columns of a kind: "real", "ordinal" or "nominal"."""
        return sum(column.kind == kind for column in self.columns)

    @property
    def mixed(self) -> bool:
        """Whether a column is ordinal or nominal."""
        return self.count("real") < len(self.columns)

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of everything a result depends on."""
        digest = hashlib.sha256(np.ascontiguousarray(self.X).tobytes())
        digest.update(self.y.tobytes())
        digest.update(repr([(c.name, c.kind, c.categories) for c in self.columns]).encode())
        return digest.hexdigest()[:16]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The table as a pandas frame with categorical dtypes, for estimators that read types."""
        pandas = require("pandas", extra="study", why="Handing a data frame to an estimator")
        values = {}
        for at, column in enumerate(self.columns):
            data = self.X[:, at]
            if column.kind != "real":
                codes = np.where(np.isnan(data), -1, data).astype(int)
                data = pandas.Categorical.from_codes(
                    codes,
                    categories=list(column.categories or ()),
                    ordered=column.kind == "ordinal",
                )
            values[column.name] = data
        return pandas.DataFrame(values)


@dataclass(frozen=True)
class Parcel:
    """A table as bytes: what travels to a worker, on this machine or another.

    Bytes are never scattered by a backend to some worker that may die with them.
    """

    key: str
    content: bytes

    @classmethod
    def of(cls, table: Table) -> Parcel:
        """Pack a table."""
        return cls(f"{table.name}:{table.fingerprint}", zlib.compress(pickle.dumps(table, 5), 1))

    def open(self) -> Table:
        """The table; a worker unpacks each one once."""
        return _unpacked(self)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parcel) and self.key == other.key


@lru_cache(maxsize=4)
def _unpacked(parcel: Parcel) -> Table:
    return pickle.loads(zlib.decompress(parcel.content))


def load_tables(
    names: Sequence[str] | None = None, *, data: str | Path | None = None
) -> list[Table]:
    """The tables of a study.

    Parameters
    ----------
    names : sequence of str, optional
        Names as :func:`load_table` reads them. By default the paper's 25.
    data : path, optional
        A folder with the raw files of the registry.
    """
    if not names:
        from treebound import datasets

        names = [str(name) for name in datasets.list()]
    return [load_table(name, data=data) for name in names]


def load_table(name: str, *, data: str | Path | None = None) -> Table:
    """One table by name.

    Parameters
    ----------
    name : str
        A name of the registry; ``sklearn:NAME`` for a set that ships inside scikit-learn; or a
        CSV or Parquet file as ``FILE:TARGET``. A schema file ``FILE.toml`` beside it says what the
        columns are (and may name the target); else types are inferred.
    data : path, optional
        A folder with the raw files of the registry.
    """
    if name.startswith("sklearn:"):
        return _bundled(name)
    from treebound import datasets

    path, target = _file_of(name)
    if path is None:
        found = datasets.load(name, data=data)
        return Table.of_frame(name, found.frame, found.target, title=found.title)
    schema = path.with_suffix(".toml")
    found = datasets.read_table(path, schema if schema.is_file() else None, target=target)
    if found.target is None:
        raise ValueError(
            f"{name!r} names no column to predict. Hint: write {name}:COLUMN, or name the target "
            f"in {str(schema)!r}."
        )
    return Table.of_frame(path.stem, found.frame, found.target)


def inferred_schema(name: str) -> tuple[Path, Schema] | None:
    """The file and the types inferred for it; None for a set whose types are declared."""
    from treebound import datasets

    path, target = _file_of(name)
    if path is None or path.with_suffix(".toml").is_file():
        return None
    return path, datasets.read_table(path, target=target).schema


def _file_of(name: str) -> tuple[Path | None, str | None]:
    """The file and target of ``FILE`` or ``FILE:TARGET``; None for other names."""
    if name.lower().endswith(_FILES):
        return Path(name), None
    before, colon, target = name.rpartition(":")
    if colon and before.lower().endswith(_FILES):
        return Path(before), target
    return None, None


def _bundled(name: str) -> Table:
    from sklearn import datasets as bundled

    loader = getattr(bundled, f"load_{name.removeprefix('sklearn:')}", None)
    if loader is None:
        raise ValueError(
            f"scikit-learn ships no data set {name!r}. Hint: try one of {', '.join(BUNDLED)}."
        )
    found = loader()
    title = name.removeprefix("sklearn:").replace("_", " ").title()
    labels = found.target_names[found.target]
    return Table.of_arrays(name, found.data, labels, title=title, names=found.feature_names)
