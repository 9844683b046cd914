"""Named samples for a study, from the registry, scikit-learn or a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from treebound._utils.frozen import set_fields
from treebound.data import Kind, Sample

if TYPE_CHECKING:
    from treebound.study.datasets import Schema

BUNDLED = ("sklearn:iris", "sklearn:wine", "sklearn:breast_cancer")
_FILES = (".csv", ".csv.gz", ".parquet", ".pq")
# Called with a file and its inferred types before the file is used.
Inferred = Callable[[Path, "Schema"], None]


@dataclass(frozen=True, eq=False)
class NamedSample:
    """One data set of a study.

    Attributes
    ----------
    name : str
        The key in the store.
    sample : Sample
        The rows.
    title : str
        The title to show; by default the name.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> toy = NamedSample("toy", Sample.learn([[0.0], [1.0], [2.0]], ["a", "b", "a"]))
    >>> toy.sample.n_rows, toy.count("real"), toy.title
    (3, 1, 'toy')
    """

    name: str
    sample: Sample
    title: str = ""

    def __post_init__(self) -> None:
        set_fields(self, title=self.title or self.name)

    def count(self, kind: Kind) -> int:
        """Number of columns of a kind."""
        return sum(column.kind == kind for column in self.sample.columns)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the data."""
        sample = self.sample
        described = [(c.name, c.kind, c.categories) for c in sample.columns]
        digest = hashlib.sha256(repr((described, sample.classes.tolist())).encode())
        for values in (*sample.X.values, sample.y):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]


def load_sample(
    name: str, *, data: str | Path | None = None, inferred: Inferred | None = None
) -> NamedSample:
    """One sample by name.

    Parameters
    ----------
    name : str
        A name of the registry; ``sklearn:NAME`` for a set that ships inside scikit-learn; or a
        CSV or Parquet file as ``FILE:TARGET``. A schema file ``FILE.toml`` in the same folder
        declares the columns (and may name the target); otherwise types are inferred.
    data : path, optional
        Folder with the raw files of the registry.
    inferred : callable, optional
        Called with the file and its schema if types were inferred, to show or reject them.

    Raises
    ------
    ValueError
        If there is no such data set, or no column to predict is named.
    """
    if name.startswith("sklearn:"):
        return _bundled(name)
    from treebound.study import datasets

    file, target = name, None
    if not name.lower().endswith(_FILES):
        file, _, target = name.rpartition(":")
    if not file.lower().endswith(_FILES):
        loaded = datasets.load(name, data=data)
        return NamedSample(name, Sample.learn(loaded.frame, loaded.target), loaded.title)
    path, schema_file = Path(file), Path(file).with_suffix(".toml")
    schema = schema_file if schema_file.is_file() else None
    loaded = datasets.read_table(path, schema, target=target)
    if loaded.target is None:
        raise ValueError(
            f"{name!r} names no column to predict. Hint: write {name}:COLUMN, or name the target "
            f"in {str(schema_file)!r}."
        )
    if schema is None and inferred is not None:
        inferred(path, loaded.schema)
    return NamedSample(path.stem, Sample.learn(loaded.frame, loaded.target))


def _bundled(name: str) -> NamedSample:
    from sklearn import datasets as bundled

    loader = getattr(bundled, f"load_{name.removeprefix('sklearn:')}", None)
    if loader is None:
        raise ValueError(
            f"scikit-learn ships no data set {name!r}. Hint: try one of {', '.join(BUNDLED)}."
        )
    loaded = loader()
    table = pa.table(list(loaded.data.T), names=[str(label) for label in loaded.feature_names])
    sample = Sample.learn(table, loaded.target_names[loaded.target])
    return NamedSample(name, sample, name.removeprefix("sklearn:").replace("_", " ").title())
