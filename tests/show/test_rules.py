"""Rules predict exactly as the tree does: as objects, and as text read by a parser of its own."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from random_trees import Case, cases, random_tree, route, used_categories

import treebound as tb
from treebound.model import Model, PredictionOptions, ReadingOptions
from treebound.show import to_rules

TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|<=|>=|!=|[<>=(){},#]|-?(?:inf|\d[\d.]*(?:e[+-]?\d+)?)(?!\w)|[^\W\d]\w*)'
)


class Parser:
    """Reads one rule as documented by ``Rules``; knows nothing of how it was written."""

    def __init__(self, line: str) -> None:
        self.tokens, place = [], 0
        while self.tokens[-1:] != ["#"]:
            match = TOKEN.match(line, place)
            assert match, line[place:]
            self.tokens.append(match[1])
            place = match.end()

    def take(self, *expected: str) -> str:
        token = self.tokens.pop(0)
        assert not expected or token in expected, (token, expected)
        return token

    def rule(self):
        self.take("if")
        conditions = []
        if self.tokens[0] == "true":
            self.take("true")
        else:
            conditions.append(self.condition())
        while self.take("and", "then") == "and":
            conditions.append(self.condition())
        return conditions, self.value(self.take())

    @staticmethod
    def value(token: str):
        return json.loads(token) if token not in ("inf", "-inf") else float(token)

    def condition(self):
        closing = self.tokens[0] == "("
        if closing:
            self.take("(")
        if self.tokens[0] == "false":
            self.take("false")
            return lambda row: False
        low = None
        if self.tokens[1] == "<":
            low = float(self.take())
            self.take("<")
        token = self.take()
        name = json.loads(token) if token.startswith('"') else token
        accept = self.body(name, low)
        missing = accept == "missing"
        if closing:
            self.take("or")
            self.take("missing")
            self.take(")")
            missing = True

        def inside(row) -> bool:
            value = row[name]
            if value is None or value != value:
                return missing
            return accept(value) if callable(accept) else accept == "present"

        return inside

    def body(self, name: str, low: float | None):
        word = self.take("<=", ">", "=", "!=", "in", "not", "is")
        if word == "is":
            return self.take("missing", "present")
        if word in ("<=", ">"):
            bound = float(self.take())
            if word == ">":
                return lambda value: value > bound
            return lambda value: (low is None or low < value) and value <= bound
        if word in ("=", "!="):
            wanted = self.value(self.take())
            return lambda value: (value == wanted) == (word == "=")
        if word == "not":
            self.take("in")
        members = self.members()
        return lambda value: (value in members) == (word == "in")

    def members(self) -> list:
        self.take("{")
        values = []
        while (token := self.take()) != "}":
            if token != ",":
                values.append(self.value(token))
        return values


def mentioned(case: Case, row: dict, handle_unknown: str) -> bool:
    """Return True if the text covers a row: its missing values are of columns that had some."""
    unknown_is_missing = handle_unknown == "missing"
    return all(
        column.missing
        or (unknown_is_missing and column.kind != "real")
        or (row[column.name] is not None and row[column.name] == row[column.name])
        for column in case.tree.columns
    )


def nodes_reached(case: Case, handle_unknown: str) -> np.ndarray:
    return route(case.tree, case.X, handle_unknown)


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing"])
@given(case=cases())
@settings(max_examples=60)
def test_exactly_one_rule_matches_and_it_is_the_node_reached(
    handle_unknown: str, case: Case
) -> None:
    made = to_rules(Model(case.tree, reading=ReadingOptions(handle_unknown)))
    for row, node in zip(case.rows, nodes_reached(case, handle_unknown), strict=True):
        assert [rule.node for rule in made if rule.matches(row)] == [node]


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing"])
@given(case=cases())
@settings(max_examples=60)
def test_text_read_by_a_parser_predicts_as_the_tree(handle_unknown: str, case: Case) -> None:
    lines = str(to_rules(Model(case.tree, reading=ReadingOptions(handle_unknown)))).split("\n")
    parsed = [Parser(line).rule() for line in lines]
    for row, label in zip(case.rows, case.labels(nodes_reached(case, handle_unknown)), strict=True):
        labels = [label_read for tests, label_read in parsed if all(test(row) for test in tests)]
        assert labels == [label] or not mentioned(case, row, handle_unknown)


def test_missing_values_are_mentioned_only_if_training_had_some() -> None:
    rows = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, np.nan]] * 5
    clf = tb.BoundTreeClassifier(pruning=None).fit(rows, ["a", "b", "a", "b"] * 5)
    first = tb.BoundTreeClassifier(pruning=None).fit([row[:1] for row in rows], [*"abab"] * 5)
    assert "missing" not in str(to_rules(first))
    assert "missing" in str(to_rules(clf)) or not (clf.tree_.feature == 1).any()


@given(case=cases())
@settings(max_examples=30)
def test_text_is_one_line_a_leaf_even_for_names_with_newlines(case: Case) -> None:
    made = to_rules(case.tree)
    assert len(made) == case.tree.n_leaves
    assert len(str(made).splitlines()) == case.tree.n_leaves


@given(case=cases())
@settings(max_examples=30)
def test_unseen_categories_match_no_rule_when_they_are_an_error(case: Case) -> None:
    rules = to_rules(Model(case.tree, reading=ReadingOptions("error")))
    parsed = [Parser(line).rule() for line in str(rules).split("\n")]
    refused = (case.X[:, used_categories(case.tree)] == -1).any(axis=1)
    for row, gone, node in zip(case.rows, refused, nodes_reached(case, "other"), strict=True):
        assert [rule.node for rule in rules if rule.matches(row)] == ([] if gone else [node])
        matching = sum(all(test(row) for test in tests) for tests, _ in parsed)
        assert matching == (not gone) or not mentioned(case, row, "error")


def test_support_counts_and_probabilities_are_those_of_the_leaf() -> None:
    tree = random_tree(5, 9)
    rules = to_rules(Model(tree, prediction=PredictionOptions(None)))
    for rule, leaf in zip(rules, tree.leaves, strict=True):
        assert rule.node == leaf
        assert rule.rows == tree.rows[leaf]
        assert list(rule.counts.values()) == tree.counts[leaf].tolist()
        assert rule.probability == pytest.approx(tree.counts[leaf].max() / tree.weight[leaf])
        assert math.isclose(sum(rule.probabilities), 1.0)


def test_frame_has_a_row_a_rule_and_a_count_a_class() -> None:
    tree = random_tree(5, 9)
    frame = to_rules(tree).to_frame()
    assert len(frame) == 9
    assert frame["rows"].tolist() == tree.rows[tree.leaves].tolist()
    for k, label in enumerate(tree.classes.tolist()):
        assert frame[f"count {label}"].tolist() == tree.counts[tree.leaves, k].tolist()


def test_a_single_leaf_is_the_rule_true() -> None:
    assert str(to_rules(random_tree(0, 1))).startswith("if true then ")


def test_very_deep_trees_have_rules() -> None:
    tree = random_tree(1, 2000, chain=True)
    assert tree.depth == 1999
    made = to_rules(tree)
    assert len(made) == 2000


def test_unknown_policy_is_checked() -> None:
    with pytest.raises(ValueError, match="'handle_unknown' parameter of ReadingOptions must be"):
        ReadingOptions("nearest")  # type: ignore[arg-type]
