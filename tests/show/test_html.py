"""The report page and the notebook picture: what they hold, and that names stay text."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from random_trees import Case, cases, random_tree
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

import treebound as tb
from treebound.data import Column
from treebound.model import Model
from treebound.pruning import PruningResult
from treebound.show import to_html, to_notebook, to_text
from treebound.tree import Tree


class Elements(HTMLParser):
    """Every element of a page, and the text of the scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.inside = False
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = tag in ("script", "style")
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, text: str) -> None:
        if self.inside:
            self.scripts[-1] += text


def document(page: str) -> dict:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


def rebuilt(data: dict, root: int) -> list[tuple]:
    """The nodes of a tree of the page, in pre-order: rows, label, counts, words of the test."""
    nodes, stack = [], [root]
    while stack:
        node = data["nodes"][stack.pop()]
        rows, label, counts, _ = data["stats"][node[0]]
        nodes.append((rows, label, counts, data["splits"][node[1]] if len(node) > 1 else None))
        stack += reversed(node[2:])
    return nodes


class FakePath:
    """A path that collapses one node after the other, from the back."""

    counted = "errors"
    limit = None

    def __init__(self, tree: Tree, chosen: int) -> None:
        inner = np.flatnonzero(~tree.is_leaf)[::-1]
        self.trees = [tree, *(tree.collapsed(inner[: k + 1]) for k in range(len(inner)))]
        self.leaves = np.array([t.n_leaves for t in self.trees])
        self.errors = np.array([t.errors for t in self.trees])
        self.scores = self.errors + 0.7 * self.leaves
        self.chosen = chosen

    def __len__(self) -> int:
        return len(self.trees)

    def tree(self, step: int) -> Tree:
        return self.trees[step]

    def step(self, step: int) -> int:
        return step

    @property
    def first(self) -> Tree:
        return self.trees[0]


def on_path(tree: Tree, path: FakePath) -> Model:
    return Model(tree, pruning=PruningResult(tree, path, 0.0, fit_time=0.0))


@given(case=cases())
@settings(max_examples=30)
def test_the_page_holds_the_tree(case: Case) -> None:
    data = document(to_html(case.tree))
    nodes = rebuilt(data, data["steps"][data["start"]]["root"])
    tree = case.tree
    assert [node[0] for node in nodes] == tree.rows.tolist()
    assert [node[1] for node in nodes] == tree.label.tolist()
    assert [node[2] for node in nodes] == tree.counts.tolist()
    assert [node[3] is None for node in nodes] == tree.is_leaf.tolist()


def test_the_page_holds_the_tree_of_every_step() -> None:
    path = FakePath(random_tree(4, 40), chosen=20)
    data = document(to_html(on_path(path.tree(20), path)))
    assert (data["start"], data["chosen"], data["last"]) == (20, 20, len(path) - 1)
    assert [step["leaves"] for step in data["steps"]] == path.leaves.tolist()
    assert [step["score"] for step in data["steps"]] == path.scores.tolist()
    for step, tree in zip(data["steps"], path.trees, strict=True):
        assert [node[0] for node in rebuilt(data, step["root"])] == tree.rows.tolist()


def test_the_page_opens_at_the_tree_it_was_given() -> None:
    path = FakePath(random_tree(4, 40), chosen=20)
    assert document(to_html(on_path(path.tree(7), path)))["start"] == 7


def test_a_long_path_over_a_large_tree_stays_small() -> None:
    path = FakePath(random_tree(8, 500), chosen=400)  # step k has 500 - k leaves
    page = to_html(on_path(path.tree(400), path))
    data = document(page)
    steps = [step["step"] for step in data["steps"]]
    assert 30 <= len(steps) <= 40
    assert {100, *range(395, 406), 499} <= set(steps)
    assert min(steps) == 100  # four times as many leaves as the chosen tree
    assert data["steps"][data["chosen"]]["step"] == 400
    assert data["grown"] == 500
    assert len(json.dumps(data, separators=(",", ":"))) < 120_000  # the rest is the same for all
    small = document(to_html(on_path(path.tree(490), FakePath(path.first, chosen=490))))
    assert max(step["leaves"] for step in small["steps"]) == 64


def test_the_tree_of_the_model_is_shown_even_if_it_is_larger_than_the_others() -> None:
    path = FakePath(random_tree(8, 500), chosen=495)
    model = replace(on_path(path.tree(3), path), step=3)
    data = document(to_html(model))
    assert len(data["steps"]) <= 40
    assert data["steps"][data["start"]]["step"] == 3
    assert data["steps"][data["chosen"]]["step"] == 495


def test_a_very_deep_tree_has_a_page() -> None:
    tree = random_tree(5, 1500, chain=True)
    data = document(to_html(tree))
    assert len(rebuilt(data, data["steps"][0]["root"])) == tree.n_nodes
    assert "... " in to_notebook(tree)


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>@DATA@ @SCRIPT@"


def hostile_tree() -> Tree:
    return Tree(
        feature=[0, -1, 1, -1, -1], threshold=[np.nan, np.nan, 0.5, np.nan, np.nan],
        category=[0, -1, -1, -1, -1], missing_left=[False] * 5, left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1], counts=[[4, 4], [4, 0], [0, 4], [0, 1], [0, 3]],
        rows=[8, 4, 4, 1, 3],
        columns=(Column(HOSTILE, "nominal", (HOSTILE, "b")), Column("<!--")),
        classes=[HOSTILE, "'\"><b>"],
    )  # fmt: skip


def test_hostile_names_add_no_element_to_the_page() -> None:
    columns = (Column("a", "nominal", ("x", "y")), Column("c"))
    tame = Tree(**vars_of(hostile_tree()), columns=columns, classes=["u", "v"])
    hostile = Elements(to_html(hostile_tree(), title=HOSTILE)).elements
    assert hostile == Elements(to_html(tame, title="plain")).elements
    in_notebook = Elements(to_notebook(hostile_tree())).elements
    assert [tag for tag, _ in in_notebook] == ["pre"]


def vars_of(tree: Tree) -> dict:
    names = ("feature", "threshold", "category", "missing_left", "left", "right", "counts", "rows")
    return {name: getattr(tree, name) for name in names}


def test_only_the_script_of_the_page_may_run_and_nothing_is_fetched() -> None:
    page = to_html(hostile_tree())
    elements = Elements(page)
    (policy,) = (attrs["content"] for tag, attrs in elements.elements if attrs.get("http-equiv"))
    style, _, script = elements.scripts
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    addresses = [attrs.get("src") or attrs.get("href") for _, attrs in elements.elements]
    assert [address for address in addresses if address] == ["data:,"]


def test_test_rows_are_a_pair() -> None:
    with pytest.raises(ValueError, match="'test' parameter of to_html must be a tuple"):
        to_html(hostile_tree(), test=[[1.0, 2.0]])


def test_the_page_is_written_to_a_file(tmp_path: Path) -> None:
    page = to_html(hostile_tree(), path=tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_a_notebook_shows_the_beginning_of_the_text() -> None:
    lines = to_notebook(random_tree(6, 400)).split("\n")
    assert len(lines) <= 42
    assert html.unescape(lines[1]) == to_text(random_tree(6, 400)).split("\n")[0]


def test_the_page_states_how_the_size_was_chosen() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = (rng.random(1200) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))).astype(int)
    clf = tb.BoundTreeClassifier().fit(X, y)
    data = document(to_html(clf))
    choice = clf.pruning_result_.choice
    assert data["choice"]["words"] == (
        "It is the smallest size within half a standard error of the least cross-validated error."
    )
    assert data["steps"][data["choice"]["small"]]["leaves"] == choice.leaves[choice.at("small")]
    assert document(to_html(clf.tree_))["choice"] is None
    weighted = tb.BoundTreeClassifier(class_weight="balanced").fit(X, y)
    page = document(to_html(weighted))
    assert page["factors"] == weighted.tree_.factors.tolist()
    root = page["stats"][page["nodes"][page["steps"][page["start"]]["root"]][0]]
    assert root[2] == np.bincount(y).tolist()
    assert root[3] == pytest.approx([0.5, 0.5])


def test_rows_used_for_fitting_are_no_test_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier().fit(X[::2], y[::2])
    with pytest.raises(ValueError, match=r"with these rows: .* equal training rows.* as 'test'"):
        to_html(clf, test=(X[::2], y[::2]))


def test_the_page_states_how_good_probabilities_are_on_test_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier().fit(X[::2], y[::2])
    test_X, test_y = X[1::2], y[1::2]
    steps = document(to_html(clf, test=(test_X, test_y)))["steps"]
    quality = next(step["quality"] for step in steps if step["leaves"] == clf.n_leaves_)
    shares = clf.predict_proba(test_X)
    assert f"AUC {roc_auc_score(test_y, shares[:, 1]):.3f}" in quality["words"]
    assert sum(rows for _, _, rows in quality["calibration"]) == len(test_y)
    top = sum(share * rows for share, _, rows in quality["calibration"]) / len(test_y)
    assert top == pytest.approx(shares.max(axis=1).mean())
    assert all(step["quality"] is None for step in document(to_html(clf))["steps"])


def test_class_weights_leave_rows_rows_and_errors_are_called_weighted() -> None:
    X, y = np.arange(90.0)[:, None], np.arange(90) > 20
    model = tb.BoundTreeClassifier(class_weight="balanced").fit(X, y).model_
    data = document(to_html(model))
    assert data["unit"] == "weighted errors"
    assert not data["weighted"]
    weighted = tb.BoundTreeClassifier().fit(X, y, sample_weight=X[:, 0] + 0.5)
    assert document(to_html(weighted))["weighted"]


def facts_of(clf) -> tuple[dict[str, str], list]:
    """The rows of the fit and the settings that a report lists."""
    data = document(clf.to_html())
    return dict(data["fit_rows"]), data["settings"]


def test_the_rows_of_the_fit_are_listed_by_their_role() -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(900, 3)), np.arange(900) // 3
    y = X[:, 0] > rng.normal(size=900)
    rows, _ = facts_of(tb.BoundTreeClassifier(certificate="held-out").fit(X, y))
    assert rows == {"Training rows": "750", "Validation rows": "none", "Calibration rows": "150"}
    rows, _ = facts_of(tb.BoundTreeClassifier(certificate="held-out").fit(X, y, groups=groups))
    assert rows["Groups"] == "300"
    assert rows["Calibration rows"] == "270; 90 of them count, one of each group"
    rows, _ = facts_of(tb.BoundTreeClassifier(certificate="folds").fit(X, y))
    assert rows["Calibration rows"] == "225, the best of 4 folds"
    clf = tb.BoundTreeClassifier(certificate="training").fit(X[:600], y[:600])
    pruned = tb.prune(clf, pruner="reduced-error", validation=(X[600:], y[600:]))
    rows, _ = facts_of(pruned)
    assert rows == {"Training rows": "600", "Validation rows": "300", "Calibration rows": "none"}


def test_a_report_of_numbers_lists_its_rows_settings_and_rules() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    frame = {"a": X[:, 0], "b": X[:, 1]}
    reg = tb.BoundTreeRegressor(
        monotonic_cst={"a": 1}, tolerance=2.5, smoothing=None, certificate="held-out"
    ).fit(pd.DataFrame(frame), X[:, 0] + rng.normal(size=600))
    rows, listed = facts_of(reg)
    assert rows == {"Training rows": "450", "Validation rows": "none", "Calibration rows": "150"}
    assert dict(listed)["Largest error that does not count"] == "2.5"
    assert dict(listed)["Shrinkage of the predictions"] == "none"
    assert dict(listed)["Columns with a fixed direction"] == "a: 1"
    assert document(reg.to_html())["rules"] == ["The prediction only rises with a."]


def test_a_report_of_a_tree_with_costs_has_the_bound_on_the_mean_cost() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(certificate="held-out", costs={0: 3.0}).fit(X, y)
    data = document(clf.to_html())
    lines = [data["lines"][line] for line in data["steps"][data["start"]]["certified"]]
    assert lines[0] == str(clf.certify_cost())
    assert lines[1] == "Each of these statements holds separately, with its own probability."
    assert data["lines"][data["steps"][data["start"]]["headline"]].startswith("Estimated mean cost")
