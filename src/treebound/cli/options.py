"""Arguments and options that several commands share, and how they describe a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import parse_qs

from cyclopts import Group, Parameter

from treebound._utils.extras import require
from treebound._utils.validation import invalid

if TYPE_CHECKING:
    from treebound.data import Column
    from treebound.data.schema import Layout, Schema
    from treebound.model import Model as FittedModel
    from treebound.model import RegressionModel

_TABLE = "A CSV, Excel or Parquet file, or '-' for one on standard input."
_TABLE_ANYWHERE = (
    "A CSV, Excel or Parquet file, a DuckDB table as duckdb:///FILE?table=NAME, or '-' for a file "
    "on standard input."
)
_MODEL = "A model that 'treebound fit' wrote, or '-' for one on standard input."
_reading = Group("How the table is read", sort_key=1)

Data = Annotated[Path, Parameter(help=_TABLE, allow_leading_hyphen=True)]
TableAnywhere = Annotated[Path, Parameter(help=_TABLE_ANYWHERE, allow_leading_hyphen=True)]
Model = Annotated[Path, Parameter(help=_MODEL, allow_leading_hyphen=True)]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)]
Switch = Annotated[bool, Parameter(negative="")]
Force = Annotated[bool, Parameter(negative="", help="Write over files of another kind too.")]
Quiet = Annotated[bool, Parameter(negative="", help="Print nothing but errors.")]
Target = Annotated[
    str | None,
    Parameter(help="The column to predict; by default the one the model was fitted to."),
]
More = Annotated[Path, Parameter(help="Further files with rows of the same table.")]
Json = Annotated[bool, Parameter(negative="", help="Print all of it as JSON.")]
Delta = Annotated[
    float | None,
    Parameter(help="The bound holds with probability 1 - delta; by default as fitted."),
]
Threshold = Annotated[
    str | None,
    Parameter(help="LABEL=PROBABILITY: predict this class wherever its probability is at least so "
              "large; or LABEL=FALSE:MISSED, the costs of predicting it falsely and of missing it, "
              "such as bad=1:15."),
]  # fmt: skip


Many = Annotated[
    tuple[str, ...], Parameter(negative=(), show_default=False, allow_leading_hyphen=True)
]


@Parameter(name="*", group=_reading)
@dataclass(frozen=True)
class FileOptions:
    """How a file is laid out.

    Parameters
    ----------
    schema
        A TOML file with the layout of the file and the texts of missing values; the options below
        win over it.
    sep
        What separates the fields: one character, 'tab' or 'whitespace'; by default a tab for .tsv,
        and else what the first line has: a comma, a semicolon, a tab or a bar.
    encoding
        The text encoding, such as latin-1; by default UTF-8.
    decimal
        The decimal mark; by default a point.
    missing
        A text that stands for a missing value, in addition to an empty field, NA, N/A, n/a, NaN,
        nan, null and NULL; may be repeated.
    sheet
        The sheet of an Excel workbook; by default the only one that is not empty.
    """

    schema: Path | None = None
    sep: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    encoding: str | None = None
    decimal: str | None = None
    missing: Many = ()
    sheet: str | None = None

    def as_schema(self) -> Schema:
        """Return the options as a schema, on top of the schema file."""
        from treebound.data.schema import Schema, read_schema

        schema = Schema() if self.schema is None else read_schema(self.schema)
        missing = (*schema.missing, *(text for text in self.missing if text not in schema.missing))
        return replace(schema, layout=self._layout(schema.layout), missing=missing)

    def _layout(self, layout: Layout) -> Layout:
        from treebound.data.schema import SchemaError

        if self.sep is not None:
            named = {"tab": "\t", "\\t": "\t", "whitespace": "whitespace"}
            separator = named.get(self.sep, self.sep)
            if separator != "whitespace" and len(separator) != 1:
                raise invalid("sep", "", "one character, 'tab' or 'whitespace'", self.sep)
            layout = replace(layout, separator=separator)
        for option in ("encoding", "decimal", "sheet"):
            value = getattr(self, option)
            try:
                layout = layout if value is None else replace(layout, **{option: value})
            except SchemaError as error:
                raise invalid(option, "", error.must, value) from None
        return layout


@Parameter(name="*", group=_reading)
@dataclass(frozen=True)
class LabelledOptions(FileOptions):
    """How a file with labelled rows is laid out.

    Parameters
    ----------
    drop_unlabelled
        Drop the rows without a label.
    """

    drop_unlabelled: Switch = False

    def as_schema(self) -> Schema:
        """Return the options as a schema, on top of the schema file."""
        schema = super().as_schema()
        return replace(schema, drop_unlabelled=schema.drop_unlabelled or self.drop_unlabelled)


@Parameter(name="*", group=_reading)
@dataclass(frozen=True)
class TableOptions(LabelledOptions):
    """How a file is laid out, and what its columns are.

    Parameters
    ----------
    schema
        A TOML file that describes the columns; columns not in it are inferred and shown. The
        options below win over it.
    ignore
        Columns to leave out: NAME, or NAME,NAME; may be repeated.
    nominal
        Columns of names without an order, even if they look like numbers: NAME, NAME,NAME, or
        NAME=A,B,C to declare the categories.
    ordinal
        Columns of ordered categories: NAME=LEAST,...,GREATEST, or NAME for numbers. For the
        target: the order of its classes.
    task
        classify: each number of the target is a class, however many there are; regress: predict
        numbers. By default a target is of numbers if one has a fraction, or if there are more than
        100 and more than the square root of the rows.
    """

    schema: Path | None = None
    ignore: Many = ()
    nominal: Many = ()
    ordinal: Many = ()
    task: Literal["classify", "regress"] | None = None

    def as_schema(self) -> Schema:
        """Return the options as a schema, on top of the schema file."""
        from treebound.data import Column

        schema = super().as_schema()
        schema = replace(schema, text_labels=schema.text_labels or self.task == "classify")
        for name in _names(self.ignore, "ignore"):
            schema = _with(schema, name, None)
        for name, categories in _columns(self.nominal, "nominal"):
            schema = _with(schema, name, Column(name, "nominal", categories, bool(categories)))
        for name, categories in _columns(self.ordinal, "ordinal"):
            if categories:
                schema = _with(schema, name, Column(name, "ordinal", categories, True))
            else:  # numbers; which, is known when they are read
                schema = _with(schema, name, Column(name))
        return schema

    def checked_schema(self, target: str | None) -> Schema:
        """The same, with the column to predict, which must not be named as another one."""
        schema = self.as_schema()
        wanted = target or schema.target
        named = wanted != schema.target and wanted in (*schema.names, *schema.ignored)
        if named and self.class_order(target) is None:
            raise ValueError(
                f"The target {wanted!r} is named in --ignore, --nominal or --ordinal. Hint: an "
                f"order of its classes is written --ordinal {wanted}=LOW,...,HIGH."
            )
        return schema.with_target(target)

    def class_order(self, target: str | None) -> tuple[str, ...] | None:
        """Return the classes from low to high, if --ordinal lists those of the target."""
        return dict(_columns(self.ordinal, "ordinal")).get(target or "")

    def nominal_columns(self, target: str | None) -> list[str]:
        """Columns that are nominal by choice, without declared categories."""
        columns = self.checked_schema(target).columns
        inferred = [column for column in columns if not column.declared]
        return [column.name for column in inferred if column.kind == "nominal"]

    @property
    def ordered(self) -> list[str]:
        """Columns of numbers that are ordinal."""
        return [name for name, categories in _columns(self.ordinal, "ordinal") if not categories]


def _with(schema: Schema, name: str, column: Column | None) -> Schema:
    """The schema with another meaning of a column; None ignores it."""
    if not schema.layout.header and name not in schema.order:
        raise ValueError(
            f"The schema has no column {name!r}. Hint: it has {', '.join(map(repr, schema.order))}."
        )
    columns = tuple(column for column in schema.columns if column.name != name)
    ignored = tuple(column for column in schema.ignored if column != name)
    order = schema.order if name in schema.order else (*schema.order, name)
    if column is None:
        return replace(schema, columns=columns, ignored=(*ignored, name), order=order)
    return replace(schema, columns=(*columns, column), ignored=ignored, order=order)


def _names(texts: Sequence[str], option: str) -> list[str]:
    names = [name.strip() for text in texts for name in text.split(",")]
    if "" in names:
        raise ValueError(f"The option --{option} must name columns. Got {list(texts)} instead.")
    return names


def _columns(texts: Sequence[str], option: str) -> list[tuple[str, tuple[str, ...] | None]]:
    """Columns and their categories, where those are listed."""
    columns: list[tuple[str, tuple[str, ...] | None]] = []
    for text in texts:
        name, listed, rest = text.partition("=")
        if not listed:
            columns += [(column, None) for column in _names([text], option)]
            continue
        categories = tuple(category.strip() for category in rest.split(","))
        if not name.strip() or "" in categories or len(set(categories)) < len(categories):
            raise invalid(option, "", "NAME=A,B,C with each category once", text)
        columns.append((name.strip(), categories))
    return columns


def no_target(names: Sequence[str]) -> ValueError:
    """The error for a table without a named target."""
    listed = ", ".join(map(repr, names[:20]))
    return ValueError(
        f"Which column is to be predicted? Hint: name it with --target, one of {listed}."
    )


# -- tables of a database: duckdb:///file.db?table=name in place of a file -----------------------


def is_database(path: Path | None) -> bool:
    """Return True if a path names a table of a database."""
    return str(path).startswith("duckdb:/")


def file_names(paths: Sequence[Path], *, regression: bool = False) -> list[str]:
    """Return the names of files; raise a ValueError for a table of a database."""
    for path in filter(is_database, paths):
        name = table_name(path)
        table = name if name.isidentifier() else quoted(name)
        subject = "With a regression tree this command" if regression else "This command"
        raise ValueError(
            f"{subject} reads files, not tables of a database. Hint: export the table in DuckDB, "
            f"and name the file instead: COPY {table} TO '{name}.parquet'."
        )
    return [str(path) for path in paths]


def _database_table(path: Path) -> tuple[Path, dict[str, list[str]]]:
    """Return the file of a database and the parameters in a path."""
    # a path has lost how many slashes there were: a file here comes first
    file, _, query = str(path).removeprefix("duckdb:/").lstrip("/").partition("?")
    return Path(file) if Path(file).exists() else Path("/", file), parse_qs(query)


def table_name(path: Path) -> str:
    """The name of the table of a database that a path names."""
    return _database_table(path)[1].get("table", ["NAME"])[0]


@contextmanager
def relation_of(path: Path) -> Iterator[Any]:
    """The table that a path names, in a database that is not written to."""
    place, names = _database_table(path)
    if not place.exists() or {*names} != {"table"}:
        raise ValueError(
            "A table of a database must be named duckdb:///FILE?table=NAME, with a file that "
            f"exists. Got {str(path).replace(':/', ':///', 1)!r} instead."
        )
    duckdb = require("duckdb", extra="sql", why="A table of a database")
    with duckdb.connect(str(place), read_only=True) as connection:
        try:
            yield connection.table(names["table"][0])
        except duckdb.CatalogException as error:
            raise ValueError(f"{place}: {str(error).splitlines()[0]}") from None


def labelled_relation(relation: Any, target: str) -> Any:
    """The rows of a table of a database that have a label."""
    return relation.filter(f"{quoted(target)} IS NOT NULL")


def quoted(name: str) -> str:
    """A name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def nodes_of(
    model: FittedModel | RegressionModel, relation: Any, chunk_rows: int
) -> Iterator[tuple[Any, Any]]:
    """Tables of rows with the nodes that they reach, some rows at a time."""
    import pyarrow

    from treebound.engines.sql import with_predictions

    for batch in with_predictions(model, relation, "node").to_arrow_reader(chunk_rows):
        rows = pyarrow.Table.from_batches([batch])
        last = rows.num_columns - 1
        yield rows.remove_column(last), rows.column(last).to_numpy()


def refuse_file_options(options: FileOptions, *more: Any) -> None:
    """Raise an error for options that describe a file."""
    named = (options.schema, options.sep, options.encoding, options.decimal, options.sheet)
    if any(named) or options.missing or any(more):
        raise ValueError(
            "A table of a database has its own types and missing values: only --target, --ignore, "
            "--nominal NAME and --ordinal NAME declare more. Hint: convert columns in a view."
        )
