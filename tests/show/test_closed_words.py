"""``sex = male`` instead of ``sex ≠ female`` where no third value can come, in every form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from show.test_html import document

import treebound as tb
from treebound.show import TreeDisplay, to_notebook


def root_split(page: str) -> str:
    data = document(page)
    root = data["nodes"][data["steps"][data["start"]]["root"]]
    return " ".join(data["splits"][root[1]][:3])


FORMS = {
    "text": lambda clf: clf.to_text(),
    "dot": lambda clf: clf.to_dot(),
    "notebook": to_notebook,
    "page": lambda clf: root_split(clf.to_html()),
    "latex": lambda clf: clf.to_latex().replace(r"$\neq$", "≠").replace("{=}", "="),
}


def fitted(
    *, declared: bool = True, missing: bool = False, handle_unknown: str = "error", third=False
):
    values = np.array(["female", "male"] * 30 + ["other"] * (30 if third else 0), dtype=object)
    y = values == "female"
    if missing:
        values[:4] = None
    sex = pd.Series(pd.Categorical(values) if declared else values)
    return tb.BoundTreeClassifier(handle_unknown=handle_unknown).fit(pd.DataFrame({"sex": sex}), y)


@pytest.mark.parametrize("form", FORMS)
def test_the_other_of_two_categories_is_named(form: str) -> None:
    shown = FORMS[form](fitted())
    assert "= female" in shown
    assert "= male" in shown
    assert "≠" not in shown


@pytest.mark.parametrize(
    "open_",
    [{"declared": False}, {"missing": True}, {"handle_unknown": "other"},
     {"handle_unknown": "stop"}, {"third": True}],
)  # fmt: skip
@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_named_where_another_value_can_come(form: str, open_: dict) -> None:
    shown = FORMS[form](fitted(**open_))
    assert "= male" not in shown
    assert "≠" in shown


def test_the_figure_and_the_explanation_follow() -> None:
    clf = fitted()
    assert len(TreeDisplay.from_estimator(clf).places_) == 3
    assert "sex = male" in str(clf.explain(["male"]))
