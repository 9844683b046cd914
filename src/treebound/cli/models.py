"""A model file, and tables read in the columns of its model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treebound.cli.options import file_names, is_database, refuse_file_options, relation_of
from treebound.cli.output import write_result
from treebound.data.columns import Column
from treebound.data.schema import Schema
from treebound.model import Model, RegressionModel
from treebound.model.rows import Tested
from treebound.show.words import rules_in_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.cli.options import FileOptions
    from treebound.data.files import Source
    from treebound.data.frames import Table
    from treebound.tree import Tree


_REGRESSION = b'"treebound-regression-model"'  # begins the file of a regression tree
_HEAD = 200


def loaded_any(model: Path, data: Path | None = None) -> Model | RegressionModel:
    """The model of a file, for classes or numbers, or of standard input."""
    from treebound.exchange.model_file import loads, read_file
    from treebound.exchange.regression_file import parse_regression

    def parse(raw: bytes) -> Model | RegressionModel:
        return parse_regression(raw) if _REGRESSION in raw[:_HEAD] else loads(raw)

    if str(model) != "-":
        return read_file(model, parse)
    if str(data) == "-":
        raise ValueError("The model and the table cannot both come on standard input.")
    return parse(sys.stdin.buffer.read())


def schema_of(
    model: Model | RegressionModel,
    options: FileOptions,
    target: str | None = None,
    *,
    whole: bool = False,
) -> Schema:
    """The columns that the tree uses, or all, in a file with the layout of the options."""
    layout, used = options.as_schema(), used_columns(model)
    columns = tuple(
        Column(column.name, "nominal")
        if column.unlisted and not column.categories
        else replace(column, declared=True)
        for column in model.columns
        if whole or column.name in used
    )
    classes = None
    if target is not None and not isinstance(model, RegressionModel):
        classes = tuple(model.classes.tolist())
    named = {column.name for column in columns} | {target}
    # Without a header the order of the schema identifies the columns.
    order = layout.order if {*used, target or ""} <= {*layout.order, ""} else ()
    ignored = tuple(name for name in layout.order if name not in named)
    return Schema(columns, target, classes, ignored, layout.missing, "ignore", layout.layout, order)


def used_columns(model: Model | RegressionModel) -> set[str]:
    """The columns that a file must have: those of the splits, or all if rows go by position."""
    if not model.has_names:
        return {column.name for column in model.columns}
    return {model.columns[at].name for at in model.tree.feature.tolist() if at >= 0}


def labelled_rows(
    model: Model | RegressionModel,
    paths: Path | Sequence[Path],
    options: FileOptions,
    target: str | None,
    also: str | None = None,
) -> tuple[Table, Any]:
    """Rows with labels or numbers, in the columns of a model; perhaps with one more column."""
    from treebound.cli.numbers import numbers_of

    files = [paths] if isinstance(paths, Path) else paths
    (rows,) = _labelled(model, files, options, target, also).chunks(None)
    labels = rows.labels()
    assert labels is not None
    y = numbers_of(labels, rows.schema) if isinstance(model, RegressionModel) else labels
    return rows.with_rows().table(), y


def grouped_rows(
    model: Model | RegressionModel,
    data: Path,
    options: FileOptions,
    target: str | None,
    groups: str | None,
) -> tuple[Table, Any, Any]:
    """Rows with labels or numbers in the columns of a model, and the group of each if named."""
    from treebound.cli.weighting import group_codes

    if groups is None:
        return *labelled_rows(model, data, options, target), None
    table, y = labelled_rows(model, data, options, target, also=groups)
    names = list(table.labels)
    return table, y, group_codes(table.column(names.index(groups)), groups)


def monitored_rows(
    model: Model | RegressionModel, data: Path, options: FileOptions, target: str | None
) -> tuple[Table, NDArray[Any]]:
    """Rows and labels to monitor: None, or NaN, if a label is not known; others may be no class."""
    (rows,) = _labelled(model, [data], options, target, drop=False).chunks(None)
    if isinstance(model, RegressionModel):
        from treebound.data.typed import numbers

        name = str(rows.schema.target)
        y = numbers(rows.values(name), name, rows.schema, rows.first_row)
    else:
        y = rows.observed_labels()
    return rows.with_rows().table(), y


def tested_rows(
    model: Model, paths: Sequence[Path], options: FileOptions, target: str | None
) -> Tested:
    """Labelled rows, counted at the nodes of a model batch by batch, or in their database."""
    if is_database(paths[0]):
        from treebound.cli.options import labelled_relation, no_target
        from treebound.engines.sql import tested as tested_there

        refuse_file_options(options, paths[1:])
        with relation_of(paths[0]) as relation:
            name = target or model.reading.target
            if name is None or name not in relation.columns:
                raise no_target(relation.columns)
            if options.as_schema().drop_unlabelled:
                relation = labelled_relation(relation, name)
            return tested_there(model, relation, name)
    source = _labelled(model, paths, options, target)
    return model.tested(source, source.declared.target)


def _labelled(
    model: Model | RegressionModel,
    paths: Sequence[Path],
    options: FileOptions,
    target: str | None,
    also: str | None = None,
    *,
    drop: bool = True,
) -> Source:
    """A table with labels, in the columns of a model; unused columns may be missing.

    ``drop``: without the rows that have no label, if the options state so.
    """
    from treebound.data.files import Source

    files = file_names(paths, regression=isinstance(model, RegressionModel))
    name = target or model.reading.target
    if name is None:
        raise ValueError("The model does not name its target. Hint: name the column with --target.")
    schema = schema_of(model, options, name, whole=True)
    if drop:
        schema = replace(schema, drop_unlabelled=options.as_schema().drop_unlabelled)
    optional = {*schema.names} - used_columns(model)
    if also is not None and also not in schema.names:
        schema = replace(schema, columns=(*schema.columns, Column(also)))
    return Source(files, schema, unknown="keep", complete=False, optional=optional)


def write_model(model: Model | RegressionModel, path: Path | None) -> None:
    """Write a model to a file or to standard output; without a path, print its tree."""
    from treebound.exchange import dumps
    from treebound.exchange.regression_file import regression_text
    from treebound.show import to_text

    if path is None:
        write_result(to_text(model), path)
    elif isinstance(model, RegressionModel):
        write_result(regression_text(model), path)
    else:
        write_result(dumps(model), path)


def summary(model: Model) -> str:
    """Estimated and certified error, size and training errors of a fitted tree."""
    import numpy as np

    from treebound.cli.app import for_command_line
    from treebound.cli.weighting import cost_figures, cost_sentence
    from treebound.model.summary import (
        class_estimates,
        cost_estimate,
        headline,
        smaller_trees,
    )
    from treebound.show.quality import confusion
    from treebound.show.words import counted

    grown, tree = model.grown, model.tree
    total, majority = float(tree.weight[0]), tree.classes.tolist()[int(tree.counts[0].argmax())]
    verb = "is" if tree.errors == 1 else "are"
    by_weight = ", counted by weight" if tree.weighted else ""
    costs = cost_figures(model, confusion(tree, np.where(tree.is_leaf[:, None], tree.counts, 0)))
    lines = cost_estimate(model)  # costs come first, and errors second
    lines += [cost_sentence(costs, "training example")] if costs else []
    lines += [for_command_line(headline(model)), *class_estimates(model)]
    lines += [one_leaf(tree)] if tree.n_leaves == 1 else []
    lines.append(
        f"{counted(grown.n_leaves, 'leaf')} grown, {tree.n_leaves:,} kept; "
        f"{_number(tree.errors)} of {_number(total)} training examples {verb} "
        f"misclassified{by_weight} ({percent(tree.errors / total)}; baseline "
        f"{percent(constant_error(tree))}, always {majority!r})."
    )
    result = model.pruning
    if result and result.choice and result.choice.rule is not None and model.step is None:
        lines[-1] += f" {result.choice_in_words}"
    if offer := smaller_trees(model):
        lines.append(
            f"{offer} Hint: 'treebound prune MODEL DATA --leaves N', or fit with --size readable."
        )
    return "\n".join([*lines, *rules_in_words(model.options, tree), *_odd(model)])


def _odd(model: Model) -> list[str]:
    """Notes: class weights that make rows count little; hints for a tree of one leaf."""
    tree, lines = model.tree, []
    if tree.factors is not None and float(tree.mass[0]) < 0.5 * float(tree.weight[0]):
        lines.append(
            f"With these class weights {_number(float(tree.weight[0]))} examples count as "
            f"{tree.mass[0]:,.0f}."
        )
    if tree.n_leaves == 1 and tree.n_classes > 1 and tree.factors is None:
        remedy = "--class-weight balanced, or --costs LABEL=COST, if all classes matter"
        if model.costs is not None:
            remedy = "no split lowers the mean cost; larger --costs of rare classes may change that"
        choice = None if model.pruning is None else model.pruning.choice
        if choice is None or choice.unit != "log-loss":
            remedy += "; --pruning log-loss for probabilities"
        lines.append(f"Hint: {remedy}.")
    return lines


def one_leaf(tree: Tree) -> str:
    """The sentence to begin with if a tree has one leaf."""
    return (
        f"The tree has one leaf and always predicts {tree.classes.tolist()[int(tree.label[0])]!r} "
        f"({percent(1.0 - tree.errors / float(tree.weight[0]))} of the training examples)."
    )


def constant_error(tree: Tree) -> float:
    """Error of always predicting the most frequent class, on the training examples."""
    return 1.0 - float(tree.counts[0].max()) / float(tree.weight[0])


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f} %"


def _number(value: float) -> str:
    """A whole number in full, any other to six digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
