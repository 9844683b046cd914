"""Tables to fit to: looked at by ``treebound check``, and read for ``fit``.

They are read into memory or batch by batch, or left in their database.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treebound._utils.progress import Report
from treebound.cli.app import command, for_command_line
from treebound.cli.options import (
    Json,
    TableAnywhere,
    TableOptions,
    is_database,
    labelled_relation,
    no_target,
    quoted,
    refuse_file_options,
    relation_of,
    table_name,
)
from treebound.cli.output import (
    print_json,
    print_message,
    print_result,
    progress,
)
from treebound.cli.weighting import WeightOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.data import Column
    from treebound.data.files import RawTable
    from treebound.data.findings import Finding
    from treebound.data.frames import Table
    from treebound.data.schema import Schema
    from treebound.estimators.alternatives import Alternatives
    from treebound.model import Model, RegressionModel
    from treebound.model.parameters import FitParameters
    from treebound.model.regression_parameters import RegressionParameters

# A table in memory takes a few times the size of its file.
_TIMES_IN_MEMORY = 6
_NOMINAL = "name it with --nominal"
_SAME_GROUP = "give fit the same group for all copies of a row"
_USE_GROUPS = "use --groups with a column of cases"
_BRIEF = 5  # warnings of suspicious columns


def read_training(paths: Sequence[Path], options: TableOptions, target: str | None) -> RawTable:
    """Read a training table; raise a ValueError if a tree cannot be fitted to it."""
    from treebound.data.files import read_raw

    raw = read_raw([str(path) for path in paths], options.checked_schema(target)).with_rows()
    if raw.schema.target is None:
        raise no_target(raw.schema.names)
    _check_columns(raw)
    return _with_order(raw, options)


def _check_columns(raw: RawTable) -> None:
    if not raw.schema.columns:
        besides = "" if raw.schema.target is None else f" besides {raw.schema.target!r}"
        raise ValueError(f"{raw.name} has no column to learn from{besides}.")


def _with_order(raw: RawTable, options: TableOptions) -> RawTable:
    """The table with the columns of numbers that --ordinal names."""
    columns = tuple(
        _ordered_column(raw, column.name) if column.name in options.ordered else column
        for column in raw.schema.columns
    )
    return replace(raw, schema=replace(raw.schema, columns=columns))


def _ordered_column(raw: RawTable, name: str) -> Column:
    import numpy as np

    from treebound.data import Column
    from treebound.data.typed import numbers

    try:
        values = numbers(raw.values(name), name, raw.schema)
    except ValueError:
        raise ValueError(
            f"Column {name!r} holds texts, whose order only you know. Hint: list them, least "
            f"to greatest: --ordinal {name}=A,B,C."
        ) from None
    distinct = np.unique(values[~np.isnan(values)])
    whole = bool((distinct == np.rint(distinct)).all())
    return Column(name, "ordinal", tuple((distinct.astype(int) if whole else distinct).tolist()))


@command(
    "treebound check data.csv --target label",
    'treebound check "duckdb:///file.db?table=visits" --target state',
    'treebound check export.csv --target y --sep ";" --ignore id --json',
)
def check(
    data: TableAnywhere,
    /,
    *,
    target: str | None = None,
    json: Json = False,
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Show what the columns of a table look like, and what is suspicious.

    The table is a file, a DuckDB table, or '-' for standard input, and must fit in memory. Looks
    for columns that number the rows, identifiers that repeat, dates, numbers and missing values
    written as text, free text, units, categories that may be the same, codes, columns of one
    value, repeated rows, rows without a label, columns that alone determine the target, and
    targets of very many, very small or very unequal classes; each with a remedy.

    Parameters
    ----------
    target
        The column to predict. Without it, and without a schema that names it, only the columns are
        shown.
    """
    from treebound.cli import numbers
    from treebound.data.check import (
        HEADINGS,
        aligned,
        check_sample,
        file_findings,
        unlabelled_finding,
    )
    from treebound.data.sample import LabelledRows

    schema = options.checked_schema(target)
    whole = _table_to_check(data, schema, options)
    _check_columns(whole)
    table = _with_order(whole.labelled(), options)
    if not len(table):
        raise ValueError(f"The target column {table.schema.target!r} has no label in any row.")
    lost = file_findings(table, schema.ignored)
    if len(table) < len(whole):
        lost.append(unlabelled_finding(str(table.schema.target), len(whole), len(table)))
    columns: dict[str, Any] = {
        "categorical_features": options.nominal_columns(target) or "from_dtype",
        "ordinal_features": options.ordered or None,
    }
    labels, y = table.labels(), None
    if labels is not None and numbers.is_number_target(table, labels, options.task):
        y = numbers.numbers_of(labels, table.schema)
        report = numbers.check_numbers(table, y, columns, lost)
    else:
        classes: Any = [0] * len(table) if labels is None else labels
        sample = LabelledRows.of(table.table(), classes, None).learn(**columns)
        report = check_sample(sample, table.schema.target, lost)
    if json:
        document = {
            "rows": report.n_rows,
            "target": report.target,
            "classes": {str(label): count for label, count in report.classes.items()},
            "columns": report.columns,
            "ignored": list(table.schema.ignored),
            "findings": [
                {**asdict(one), "remedy": remedy(one, table.from_text)} for one in report.findings
            ],
        }
        print_json(document)
        return
    shown = {row[0]: row for row in report.rows()}
    if y is not None:
        row = numbers.target_row(str(table.schema.target), y)
        shown[row[0]] = row
    rows = [shown.get(name, (name, kind, "", "", "")) for name, kind, _ in table.schema.rows()]
    print_result(f"{table.name}: {report.n_rows:,} rows\n")
    print_result("\n".join(aligned([HEADINGS, *rows])))
    print_result("" if report.findings else "\nNothing looks suspicious.")
    for finding in report.findings:
        print_result(finding.in_lines(remedy(finding, table.from_text)))


def _table_to_check(data: Path, schema: Schema, options: TableOptions) -> RawTable:
    """Read a file or a table of a database whole."""
    from treebound.data.files import read_raw

    if not is_database(data):
        return read_raw([str(data)], schema).with_rows()
    refuse_file_options(options)
    with relation_of(data) as relation:
        if schema.target is not None and schema.target not in relation.columns:
            raise no_target(relation.columns)
        rows = relation.to_arrow_table()
    return replace(read_raw(rows, schema), name=str(table_name(data))).with_rows()


def remedy(finding: Finding, from_text: bool = True) -> str:
    """Return the remedy for a finding, with its option; some need a table of text."""
    name = finding.column or ""
    quoted = name if name.replace("_", "").isalnum() else f'"{name}"'
    words = for_command_line(finding.remedy) if from_text else finding.remedy
    words = words.replace(_SAME_GROUP, _USE_GROUPS)
    if words.endswith(", and give it as groups if its rows belong together"):
        return (
            f"leave it out with --ignore {quoted}, or use --groups {quoted} if rows belong together"
        )
    words = words.replace(": X[y.notna()], y[y.notna()]", " with --drop-unlabelled")
    words = words.replace("class_weight='balanced'", "--class-weight balanced")
    words = words.replace("use BoundTreeRegressor", "use --task regress")
    words = words.replace("make it nominal", f"use --nominal {quoted}")
    words = words.replace("name it in 'categorical_features'", f"use --nominal {quoted}")
    if words.startswith("leave it out"):
        return words.replace("leave it out", f"leave it out with --ignore {quoted}", 1)
    if words.endswith("to missing values"):
        return words + " (--missing TEXT)"
    return words


def brief_lines(suspicious: Sequence[Finding], from_text: bool) -> Iterator[str]:
    """The first few findings in a line each, and how many more there are."""
    serious = [finding for finding in suspicious if not finding.note]
    for finding in serious[:_BRIEF]:
        words = remedy(finding, from_text)
        yield f"Warning: {finding.subject} {finding.problem}. Hint: {words}."
    if len(serious) > _BRIEF:
        yield f"Warning: {len(serious) - _BRIEF} more. Hint: 'treebound check' lists them."


class Fitted(NamedTuple):
    """A model, and the table if it is in memory."""

    model: Model | RegressionModel
    file_columns: Sequence[str] = ()  # of a table in memory, in the order of its file
    find_alternatives: Callable[[int], Alternatives] | None = None  # of a table in memory
    rows: Table | None = None  # in memory, without weights and groups


@dataclass(frozen=True)
class Training:
    """Location of the training rows, and the options that describe them."""

    paths: list[Path]
    target: str | None
    options: TableOptions
    weights: WeightOptions
    quiet: bool
    stream: bool = False
    # makes the parameters of a regression tree, or raises an error for options it does not have
    for_numbers: Callable[[], RegressionParameters] | None = None
    numbers_only: Sequence[str] = ()  # options that were given and need a target of numbers

    def fit(self, parameters: FitParameters) -> Fitted:
        """Fit on the rows, wherever they are."""
        if is_database(self.paths[0]):
            return Fitted(self._in_database(parameters))
        if self.stream or (not self.weights.needs_labels and too_large(self.paths)):
            return Fitted(self._in_batches(parameters))
        return self._in_memory(parameters)

    def _check_classes(self) -> None:
        """Raise a ValueError if an option was given that classes do not have."""
        for name in self.numbers_only:
            raise ValueError(
                f"The option {name} needs a target of numbers. Hint: leave it out, or predict "
                "numbers with --task regress."
            )

    def _in_database(self, parameters: FitParameters) -> Model | RegressionModel:
        from treebound.cli import numbers
        from treebound.data.roles import ColumnRoles
        from treebound.estimators.not_in_memory import fit_elsewhere

        weights, options = self.weights, self.options
        by_label = weights.costs or (weights.class_weight and not weights.balanced)
        if self.paths[1:] or self.stream or by_label:
            raise ValueError(
                "A table of a database takes none of further files, --stream, --costs and "
                "--class-weight LABEL=WEIGHT."
            )
        with self._progress(), relation_of(self.paths[0]) as relation:
            schema = options.checked_schema(self.target)
            declared = [text for text in (*options.nominal, *options.ordinal) if "=" in text]
            refuse_file_options(options, declared)
            if schema.target is None or schema.target not in relation.columns:
                raise no_target(relation.columns)
            if schema.drop_unlabelled:
                relation = labelled_relation(relation, schema.target)
            if schema.text_labels:
                name = quoted(schema.target)
                relation = relation.project(f"* REPLACE (CAST({name} AS VARCHAR) AS {name})")
            groups = weights.groups
            out = {schema.target, weights.weight_column, groups, *schema.ignored}
            columns = self._usable(relation, [n for n in relation.columns if n not in out])
            roles = ColumnRoles(str(schema.target), weights.weight_column, groups, columns)
            if not numbers.is_number_relation(relation, schema, options.task):
                self._check_classes()
                return fit_elsewhere(parameters, relation, roles)
            assert self.for_numbers is not None
            return numbers.fit_number_table(self.for_numbers(), relation, roles)

    def _usable(self, relation: Any, names: list[str]) -> list[str]:
        """The columns of a relation that a tree can split on, and those that --nominal names."""
        from treebound.engines.sql import usable_columns

        usable = {*usable_columns(relation, names), *self.options.nominal_columns(self.target)}
        if not self.quiet:
            for name in names:
                if name not in usable:
                    print_message(unusable(name))
        return [name for name in names if name in usable]

    def _in_batches(self, parameters: FitParameters) -> Model | RegressionModel:
        from treebound.cli import numbers
        from treebound.data.roles import ColumnRoles
        from treebound.estimators.not_in_memory import fit_elsewhere
        from treebound.estimators.progress import Watch

        if self.weights.needs_labels:
            raise ValueError(
                "A table that is read batch by batch takes none of --costs, --weight-column, "
                "--groups and --class-weight LABEL=WEIGHT. Hint: --class-weight balanced."
            )
        with self._progress() as show:
            schema = self.options.checked_schema(self.target)
            paths, target = [str(path) for path in self.paths], schema.target
            number_source = numbers.NumberSource(paths, schema)
            if target is None:
                raise no_target(number_source.columns)
            for name in () if self.quiet else number_source.unusable:
                print_message(unusable(name))
            if self.options.task != "regress":
                source = numbers.LabelSource(paths, schema, self._check_classes)
                with suppress(numbers.NumericLabels):
                    return fit_elsewhere(parameters, source, ColumnRoles(target), Watch(show))
            assert self.for_numbers is not None
            for_numbers = self.for_numbers()
            if self.options.task is None and not self.quiet:
                words = f"target {target!r} with numbers: a regression tree. {numbers.AS_CLASSES}"
                print_message(f"{self.paths[0]}: {words}")
            return numbers.fit_number_stream(for_numbers, number_source, Watch(show))

    @contextmanager
    def _progress(self) -> Iterator[Report]:
        """A line of progress; warnings of the block as one plain line each, or not at all."""
        with (
            progress(f"fitting {self.paths[0]}", self.quiet) as show,
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always", UserWarning)
            yield show
        for warning in () if self.quiet else caught:
            words = str(warning.message).replace("name it in 'categorical_features'", _NOMINAL)
            print_message(f"Warning: {words.replace(_SAME_GROUP, _USE_GROUPS)}")

    def _in_memory(self, parameters: FitParameters) -> Fitted:
        """Read the whole table, print what is suspicious, and fit."""
        from treebound.cli.numbers import is_number_target, numbers_of
        from treebound.data.findings import findings, target_findings
        from treebound.data.sample import LabelledRows
        from treebound.estimators.fitting import fit_rows
        from treebound.estimators.progress import Watch
        from treebound.model.parameters import column_parameters

        with progress(f"reading {self.paths[0]}", self.quiet):
            table = read_training(self.paths, self.options, self.target)
            X, row_weights, groups = self.weights.divided(table.table())
            labels = table.labels()
            assert labels is not None
            if is_number_target(table, labels, self.options.task):
                y = numbers_of(labels, table.schema)
                return self._numbers(table, X, y, row_weights, groups)
            self._check_classes()
            parameters = self.weights.applied(parameters, labels)
            rows = LabelledRows.of(X, labels, row_weights, groups)
            rows.check_classes()
            sample = rows.learn(**column_parameters(parameters))
        target = str(table.schema.target)
        classes = f"{sample.n_classes:,} class{'es' * (sample.n_classes != 1)}"
        words = f"target {target!r} with {classes}."
        self._describe(table, sample.n_rows, len(sample.columns), words)
        if not self.quiet:
            suspicious = [*target_findings(sample, target), *findings(sample)]
            for line in brief_lines(suspicious, table.from_text):
                print_message(line)
        with (
            progress(f"fitting {sample.n_rows:,} rows", self.quiet) as show,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # what is suspicious was printed above
            model = fit_rows(parameters, rows, sample, Watch(show))
        model = replace(model, reading=replace(model.reading, target=table.schema.target))

        def find(k: int) -> Alternatives:
            from treebound.estimators.alternatives import find_alternatives

            return find_alternatives(parameters, model, rows, k=k, without=None)

        return Fitted(model, table.names, find, X)

    def _numbers(
        self,
        table: RawTable,
        X: Table,
        y: NDArray[Any],
        weights: NDArray[Any] | None,
        groups: NDArray[Any] | None,
    ) -> Fitted:
        """Fit a regression tree to rows in memory."""
        from treebound.cli import numbers
        from treebound.model.regression_parameters import column_parameters

        assert self.for_numbers is not None
        target = str(table.schema.target)
        parameters = self.for_numbers()
        rows, sample, of_columns = numbers.read_number_sample(
            X, y, weights, column_parameters(parameters), groups
        )
        words = numbers.described(target, sample.y)
        hint = "" if self.options.task else f" {numbers.AS_CLASSES}"
        self._describe(table, sample.n_rows, len(sample.columns), f"{words}.{hint}")
        if not self.quiet:
            suspicious = [*numbers.target_findings(sample, target), *of_columns]
            for line in brief_lines(suspicious, table.from_text):
                print_message(line)
        with progress(f"fitting {sample.n_rows:,} rows", self.quiet):
            model = numbers.fit_read_numbers(parameters, rows, sample, target)
        return Fitted(model, table.names, rows=X)

    def _describe(self, table: RawTable, rows: int, columns: int, target: str) -> None:
        """Print what the table is, and which columns are not used."""
        if self.quiet:
            return
        names = f"{columns:,} column{'s' * (columns != 1)}"
        print_message(f"{self.paths[0]}: {rows:,} rows, {names}, {target}")
        named = self.options.checked_schema(self.target).ignored
        for column in table.schema.ignored:
            if column not in named:
                print_message(unusable(column))


def unusable(column: str) -> str:
    """The warning of a column that no tree can split on."""
    return (
        f"Warning: Column {column!r} is not used: a tree cannot split on its type (a date, a list, "
        "a map). Hint: make columns of the parts that matter."
    )


def too_large(paths: Sequence[Path]) -> bool:
    """Return True if files do not fit in the free memory."""
    from treebound.data.formats import files_of, size_in_memory

    limit, named = _free_memory() / _TIMES_IN_MEMORY, [path for path in paths if str(path) != "-"]
    return bool(named) and size_in_memory(files_of(named), limit) >= limit


def _free_memory() -> float:
    """Return the bytes that can be used without swapping; cached files count as free."""
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/meminfo", encoding="ascii") as lines:
            available = next(line for line in lines if line.startswith("MemAvailable:"))
        return 1024.0 * int(available.split()[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not known on this system
        return float("inf")
