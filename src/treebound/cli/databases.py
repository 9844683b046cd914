"""Tables of a database file: ``duckdb:///file.db?table=name`` in place of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from treebound._extras import require

if TYPE_CHECKING:
    from treebound.model import Model

_PREFIX = "duckdb:"


def is_database(path: Path | None) -> bool:
    """Whether a path names a table of a database."""
    return str(path).startswith(f"{_PREFIX}/")


@contextmanager
def relation_of(path: Path) -> Iterator[Any]:
    """The table that a path names, in a database that is not written to."""
    # a path has lost how many slashes there were: a file here comes first
    file, _, query = str(path).removeprefix(f"{_PREFIX}/").lstrip("/").partition("?")
    place = Path(file) if Path(file).exists() else Path("/", file)
    names = parse_qs(query)
    if not place.exists() or {*names} != {"table"}:
        raise ValueError(
            "A table of a database must be named duckdb:///FILE?table=NAME, with a file that "
            f"exists. Got {str(path)!r} instead."
        )
    duckdb = require("duckdb", extra="sql", why="A table of a database")
    with duckdb.connect(str(place), read_only=True) as connection:
        try:
            yield connection.table(names["table"][0])
        except duckdb.CatalogException as error:
            raise ValueError(f"{place}: {str(error).splitlines()[0]}") from None


def nodes_of(model: Model, relation: Any, chunk_rows: int) -> Iterator[tuple[Any, Any]]:
    """Tables of rows with the nodes that they reach, some rows at a time."""
    import pyarrow

    from treebound.sql import with_answers

    for batch in with_answers(model, relation, "node").to_arrow_reader(chunk_rows):
        rows = pyarrow.Table.from_batches([batch])
        last = rows.num_columns - 1
        yield rows.remove_column(last), rows.column(last).to_numpy()


def refuse_file_options(options: Any, *more: Any) -> None:
    """Raise an error for options that say how a file is read."""
    named = (options.schema, options.sep, options.encoding, options.decimal, options.names)
    if any(named) or options.missing or any(more):
        raise ValueError(
            "A table of a database has its own types and missing values: only --target, --ignore "
            "and --ordinal NAME say more. Hint: convert columns in a view."
        )
