"""Python and C text is executed and must reach the node the tree reaches."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import (
    Case,
    cases,
    random_rows,
    random_tree,
    regression_tree,
    route,
    used_categories,
)
from random_trees import decoded as decoded_rows
from support import collapsed_root

from treebound.data import Column
from treebound.exchange import to_c, to_python, to_sql
from treebound.exchange.code import columns_used, identifiers
from treebound.model import (
    Model,
    PredictionOptions,
    Provenance,
    ReadingOptions,
    RegressionModel,
)
from treebound.tree import Tree
from treebound.tree.smoothing import probabilities

POLICIES = ["other", "majority", "stop", "missing"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def python_function(
    tree: Tree, output: str = "label", *, handle_unknown="other", smoothing="shrinkage"
):
    module: dict = {}
    reading, prediction = ReadingOptions(handle_unknown), PredictionOptions(smoothing)
    exec(to_python(Model(tree, reading=reading, prediction=prediction), output=output), module)
    return module["predict"]


@pytest.mark.parametrize("handle_unknown", POLICIES)
@given(case=cases())
@settings(max_examples=60)
def test_python_predicts_as_the_tree(handle_unknown: str, case: Case) -> None:
    nodes = route(case.tree, case.X, handle_unknown)
    predict = python_function(case.tree, handle_unknown=handle_unknown)
    assert [predict(row) for row in case.rows] == case.labels(nodes)
    chances = python_function(
        case.tree, handle_unknown=handle_unknown, output="proba", smoothing="m-estimate"
    )
    wanted = probabilities(case.tree, "m-estimate")[nodes]
    assert [chances(row) for row in case.rows] == wanted.tolist()


@pytest.mark.parametrize("handle_unknown", POLICIES)
@given(case=cases(), seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_python_gives_the_very_numbers_of_a_regression_tree(handle_unknown, case, seed) -> None:
    tree = regression_tree(case.tree, seed)
    module: dict = {}
    text = to_python(RegressionModel(tree, reading=ReadingOptions(handle_unknown)))
    exec(text, module)
    assert "CLASSES" not in text
    wanted = tree.value[route(case.tree, case.X, handle_unknown)]
    assert [module["predict"](row) for row in case.rows] == wanted.tolist()


def test_a_regression_tree_has_no_probabilities() -> None:
    tree = regression_tree(random_tree(1, 3), 1)
    for form in (to_python, to_c, to_sql):
        with pytest.raises(ValueError, match=r"'output'.*'label' for a regression tree"):
            form(tree, output="proba")


def test_edits_are_listed_in_comments() -> None:
    edits = (collapsed_root("a", "*/ why", "A"), collapsed_root("a\nb"))
    model = Model(random_tree(1, 3), provenance=Provenance(edits=edits))
    lines = to_python(model).splitlines()
    collapsed = "At the root: 2 leaves collapsed to"
    first = f"# - {collapsed} a. By A. Note: */ why"
    assert lines[:3] == ["# Edited by hand:", first, f"# - {collapsed} a\\nb."]
    text = to_c(model)
    assert "Edited by hand:" in text[: text.index("*/")]
    assert "Note: \\x2a/ why" in text[: text.index("*/")]
    assert "Edited" not in to_python(random_tree(1, 3)) + to_c(random_tree(1, 3))


@given(case=cases())
@settings(max_examples=30)
def test_python_raises_for_a_category_never_seen_in_a_column_of_the_tree(case: Case) -> None:
    predict = python_function(case.tree, handle_unknown="error")
    kinds = used_categories(case.tree)
    nodes = route(case.tree, case.X)
    for x, row, label in zip(case.X, case.rows, case.labels(nodes), strict=True):
        if (x[kinds] == -1).any():
            with pytest.raises(ValueError, match="has an unknown category"):
                predict(row)
        else:
            assert predict(row) == label


def test_python_needs_no_import_and_takes_every_kind_of_missing() -> None:
    pandas = pytest.importorskip("pandas")
    tree = next(
        t for t in (random_tree(s, 8) for s in range(99)) if t.columns[t.feature[0]].kind == "real"
    )
    text = to_python(tree)
    assert "import" not in text
    predict = python_function(tree)
    rows = [
        dict.fromkeys((c.name for c in tree.columns), gone) for gone in (None, math.nan, pandas.NA)
    ]
    empty = np.full((1, len(tree.columns)), np.nan)
    (label,) = tree.classes[tree.label[route(tree, empty)]].tolist()
    assert [predict(row) for row in rows] == [label] * 3


@pytest.mark.parametrize("chain", [True, False])
def test_nesting_grows_with_the_logarithm_of_the_leaves(chain: bool) -> None:
    tree = random_tree(2, 3000, chain=chain)
    X = random_rows(tree, 2, 50)
    lines = to_python(tree).splitlines()
    deepest = max((len(line) - len(line.lstrip())) // 4 for line in lines)
    assert deepest <= math.log2(3000) + 2
    predict = python_function(tree)
    wanted = tree.classes[tree.label[route(tree, X)]].tolist()
    assert [predict(row) for row in decoded_rows(X, tree.columns)] == wanted


# -- C ---------------------------------------------------------------------------------------


class Compiled:
    """A compiled tree behind ctypes, given rows in the user's own values."""

    def __init__(self, tree, folder: str, handle_unknown: str, output: str = "label") -> None:
        source = Path(folder, "tree.c")
        kind = Model if isinstance(tree, Tree) else RegressionModel
        model = kind(tree, reading=ReadingOptions(handle_unknown))
        source.write_text(to_c(model, output=output), encoding="ascii")
        library = Path(folder, "tree.so")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0"]
        command = ["cc", *flags, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        self.tree = tree
        self.function = ctypes.CDLL(str(library)).predict
        if kind is RegressionModel:
            self.function.restype = ctypes.c_double
        self.used = columns_used(tree)
        names = identifiers(tree.columns, frozenset())
        fields = [(f"{names[j]}{j}", self.type_of(tree.columns[j])) for j in self.used]
        self.row = type("Row", (ctypes.Structure,), {"_fields_": fields})

    @staticmethod
    def type_of(column: Column):
        if column.kind == "real" or isinstance(column.categories[0], float):
            return ctypes.c_double
        text = isinstance(column.categories[0], str)
        return ctypes.c_char_p if text else ctypes.POINTER(ctypes.c_longlong)

    def value(self, column: Column, value):
        kind = self.type_of(column)
        if kind is ctypes.c_double:
            return math.nan if value is None else value
        if value is None:
            return None
        if kind is ctypes.c_char_p:
            return value.encode()
        return ctypes.pointer(ctypes.c_longlong(int(value)))

    def __call__(self, row: dict, *out) -> int:
        columns = [self.tree.columns[j] for j in self.used]
        filled = self.row(*(self.value(column, row[column.name]) for column in columns))
        return self.function(ctypes.byref(filled), *out)


@needs_cc
@pytest.mark.parametrize("handle_unknown", POLICIES)
@given(case=cases())
@settings(max_examples=12)
def test_c_predicts_as_the_tree(handle_unknown: str, case: Case) -> None:
    nodes = route(case.tree, case.X, handle_unknown)
    with TemporaryDirectory() as folder:
        compiled = Compiled(case.tree, folder, handle_unknown)
        assert [compiled(row) for row in case.rows] == case.tree.label[nodes].tolist()


@needs_cc
@pytest.mark.parametrize("handle_unknown", POLICIES)
@given(case=cases(), seed=st.integers(0, 10**6))
@settings(max_examples=6)
def test_c_gives_the_very_numbers_of_a_regression_tree(handle_unknown, case, seed) -> None:
    tree = regression_tree(case.tree, seed)
    wanted = tree.value[route(case.tree, case.X, handle_unknown)]
    with TemporaryDirectory() as folder:
        compiled = Compiled(tree, folder, handle_unknown)
        assert [compiled(row) for row in case.rows] == wanted.tolist()
        real = [tree.columns[j].name for j in compiled.used if tree.columns[j].kind == "real"]
        if real:
            assert math.isnan(compiled({**case.rows[0], real[0]: math.inf}))


@needs_cc
@given(case=cases())
@settings(max_examples=8)
def test_c_gives_the_very_probabilities(case: Case) -> None:
    nodes = route(case.tree, case.X, "stop")
    wanted = probabilities(case.tree, "shrinkage")[nodes]
    with TemporaryDirectory() as folder:
        compiled = Compiled(case.tree, folder, "stop", output="proba")
        out = (ctypes.c_double * case.tree.n_classes)()
        for row, node, expected in zip(case.rows, nodes, wanted, strict=True):
            assert compiled(row, out) == case.tree.label[node]
            assert list(out) == expected.tolist()


@needs_cc
@given(case=cases())
@settings(max_examples=8)
def test_c_returns_minus_one_for_a_category_never_seen_that_is_an_error(case: Case) -> None:
    kinds = used_categories(case.tree)
    unseen = (case.X[:, kinds] == -1).any(axis=1)
    wanted = np.where(unseen, -1, case.tree.label[route(case.tree, case.X)])
    with TemporaryDirectory() as folder:
        compiled = Compiled(case.tree, folder, "error")
        assert [compiled(row) for row in case.rows] == wanted.tolist()


@needs_cc
def test_c_of_a_very_deep_tree_compiles(tmp_path: Path) -> None:
    tree = random_tree(4, 2000, chain=True)
    X = random_rows(tree, 4, 50)
    compiled = Compiled(tree, str(tmp_path), "other")
    rows = decoded_rows(X, tree.columns)
    assert [compiled(row) for row in rows] == tree.label[route(tree, X)].tolist()


NAMES = (
    "classes", "find_text", "find_whole", "find_real", "probabilities", "give", "asm", "typeof",
    "math_errhandling", "NULL", "NAN", "INFINITY", "unix", "linux", "signgam", "errno", "main",
    "row", "out", "predict", "predict_classes", "CLASSES", "UNKNOWN", "int", "isnan", "x_give", "x",
    "float", "_missing", "_number", "_UNKNOWN", "known", "value", "None", "match", "class", "1", "",
)  # fmt: skip


def named_tree(name: str, kind: str) -> Tree:
    """A tree that splits on two columns, one with a name that code may use itself."""
    texts = ("a", "b")
    given = Column(name) if kind == "real" else Column(name, "nominal", texts)
    other = Column("other", "nominal", (1, 2))
    return Tree(
        feature=[0, -1, 1, -1, -1], threshold=[0.5 if kind == "real" else np.nan, *[np.nan] * 4],
        category=[-1 if kind == "real" else 0, -1, 0, -1, -1], missing_left=[False] * 5,
        left=[1, -1, 3, -1, -1], right=[2, -1, 4, -1, -1],
        counts=[[3, 3], [3, 0], [0, 3], [0, 1], [0, 2]], rows=[6, 3, 3, 1, 2],
        columns=(given, other), classes=["no", "yes"],
    )  # fmt: skip


@needs_cc
@pytest.mark.parametrize("kind", ["real", "nominal"])
@pytest.mark.parametrize("output", ["label", "proba"])
def test_names_of_columns_never_meet_names_of_the_code(kind, output, tmp_path) -> None:
    texts = []
    for place, name in enumerate(NAMES):
        tree = named_tree(name, kind)
        model = Model(tree, reading=ReadingOptions("error"))
        texts.append(to_c(model, name=f"tree{place}", output=output))
        module: dict = {}
        model = Model(tree, prediction=PredictionOptions("m-estimate"))
        exec(to_python(model, output=output), module)
        row = {name: 0.2 if kind == "real" else "a", "other": 1}
        assert module["predict"](row) == ("no" if output == "label" else [5 / 7, 2 / 7])
    source = tmp_path / "trees.c"
    source.write_text("\n".join(texts), encoding="ascii")
    for flags in (["-std=c99", "-pedantic"], ["-std=gnu17"]):
        command = ["cc", *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(source)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr


@needs_cc
@pytest.mark.parametrize("flags", [["-std=c99", "-pedantic"], ["-std=gnu17"]])
def test_a_name_that_the_headers_use_compiles_or_is_refused(flags, tmp_path) -> None:
    source = tmp_path / "trees.c"
    source.write_text("".join(f"#include <{name}.h>\n" for name in ("math", "stddef", "string")))
    used = ""
    for option in ("-P", "-dM"):
        command = ["cc", *flags, "-E", option, str(source)]
        used += subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = []
    for name in sorted(set(re.findall(r"\b[A-Za-z]\w*", used))):
        with suppress(ValueError):
            texts.append(to_c(named_tree("find_text", "nominal"), name=name))
    assert len(texts) > 10
    source.write_text("\n".join(texts), encoding="ascii")
    command = ["cc", *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(source)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@needs_cc
def test_what_predict_refuses_is_refused(tmp_path) -> None:
    tree = next(t for t in (random_tree(s, 8) for s in range(99)) if (t.category < 0).all())
    compiled = Compiled(tree, str(tmp_path), "other")
    module: dict = {}
    exec(to_python(tree), module)
    (real,) = [c for j, c in enumerate(tree.columns) if j in tree.feature and c.kind == "real"][:1]
    for infinity in (math.inf, -math.inf):
        row = {column.name: None for column in tree.columns} | {real.name: infinity}
        with pytest.raises(ValueError, match="Infinity is not allowed"):
            module["predict"](row)
        assert compiled(row) == -1


@needs_cc
def test_whole_numbers_above_two_to_the_53_stay_distinct(tmp_path) -> None:
    big = 2**53
    column = Column("id", "nominal", (big, big + 1, 2**63 - 1, -(2**63)))
    tree = Tree(
        feature=[0, -1, -1], threshold=[np.nan] * 3, category=[1, -1, -1],
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[[1, 3], [1, 0], [0, 3]], rows=[4, 1, 3], columns=(column,), classes=["a", "b"],
    )  # fmt: skip
    compiled = Compiled(tree, str(tmp_path), "other")
    module: dict = {}
    exec(to_python(tree), module)
    for value in column.categories:
        assert compiled({"id": value}) == int(value != big + 1)
        assert module["predict"]({"id": value}) == ("a" if value == big + 1 else "b")


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "leaf"}, "The 'output' parameter of to_python must be"),
        ({"name": "two words"}, "The 'name' parameter of to_python must be"),
        ({"name": "class"}, "The 'name' parameter of to_python must be"),
        ({"name": "_number"}, "The 'name' parameter of to_python must be"),
        ({"name": "CLASSES"}, "The 'name' parameter of to_python must be"),
        ({"name": "bool"}, "The 'name' parameter of to_python must be"),
        ({"name": "ValueError"}, "The 'name' parameter of to_python must be"),
    ],
)
def test_options_are_checked(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_python(random_tree(0, 2), **options)


def test_a_column_may_be_called_as_the_function() -> None:
    module: dict = {}
    exec(to_python(named_tree("score", "real"), name="score"), module)
    assert module["score"]({"score": 0.2, "other": 1}) == "no"


@pytest.mark.parametrize(
    "name", ["two words", "asm", "x_age", "x", "é", "", "1st", "NAN", "exp", "strlen", "_row"]
)
def test_the_name_of_a_c_function_is_checked(name: str) -> None:
    with pytest.raises(ValueError, match="The 'name' parameter of to_c must be a C identifier"):
        to_c(random_tree(0, 2), name=name)


def test_categories_of_mixed_types_are_refused_with_the_column_named() -> None:
    tree = Tree(
        feature=[0, -1, -1], threshold=[np.nan] * 3, category=[0, -1, -1],
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[[2, 2], [1, 1], [1, 1]], rows=[4, 2, 2],
        columns=(Column("mix", "nominal", ("a", 1)),), classes=[0, 1],
    )  # fmt: skip
    for form in (to_python, to_c):
        with pytest.raises(ValueError, match="The categories of the column 'mix' must be all text"):
            form(Model(tree, reading=ReadingOptions("majority")))  # which must know all categories


def test_c_refuses_the_character_nul() -> None:
    tree = Tree(
        feature=[-1], threshold=[np.nan], category=[-1], missing_left=[False], left=[-1],
        right=[-1], counts=[[1, 1]], rows=[2], columns=(), classes=["a\0b", "c"],
    )  # fmt: skip
    with pytest.raises(ValueError, match="cannot hold the character NUL"):
        to_c(tree)
