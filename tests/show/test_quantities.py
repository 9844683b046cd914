"""Numbers of a regression target as text: no exponent, commas, all digits before the point."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treebound as tb
from treebound._utils.quantities import quantity
from treebound.certificate.monitor import Alarm, tolerance_monitor

SHOWN = {
    63_037.2: "63,037",
    3_482.3: "3,482",
    -186_955.4: "-186,955",
    0.0123: "0.0123",
    2.71828: "2.718",
    999.96: "1,000",
    50_000.0: "50,000",
    1e-4: "0.0001",
    0.0: "0",
    9.99e14: "999,000,000,000,000",
    1e15: "1e+15",
    -1.23456e-7: "-1.235e-07",
}


@pytest.mark.parametrize(("value", "text"), SHOWN.items())
def test_numbers_have_commas_and_four_digits(value, text) -> None:
    assert quantity(value) == text


@given(st.floats(1e-4, 9e14), st.integers(1, 8))
def test_no_exponent_and_as_close_as_the_digits(value, digits) -> None:
    text = quantity(value, digits)
    assert "e" not in text
    shown = float(text.replace(",", ""))
    assert abs(shown - value) <= max(0.5 * 10.0 ** (1 - digits), 1e-15) * value or value > 1
    assert abs(shown - value) <= 0.5
    assert float(quantity(value, digits, upwards=True).replace(",", "")) >= value * (1 - 1e-8)


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [(1987.25, 5.0, "1,987.25"), (0.004, 50.0, "0"), (300.0, 0.01, "300"), (1e-6, 50.0, "0")],
)
def test_a_scale_sets_the_decimals(value, scale, text) -> None:
    assert quantity(value, 3, scale) == text


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_report_has_the_same_format() -> None:
    script = (files("treebound.show") / "static" / "report_model.js").read_text("utf-8")
    function = script[script.index("const quantity") : script.index("// Ties are rounded")]
    values = [*SHOWN, *(10.0 ** np.random.default_rng(0).uniform(-6, 12, 300)).tolist()]
    calls = [[value, *more] for value in values for more in ([], [3], [3, 41.5], [6])]
    program = (
        f"{function};console.log(JSON.stringify({json.dumps(calls)}.map((a) => quantity(...a))))"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == [quantity(*call) for call in calls]


def test_prices_have_no_exponent(capsys) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"area": rng.uniform(30, 300, 600), "rooms": rng.integers(1, 9, 600)})
    y = 2_500.0 * X["area"] + 20_000.0 * X["rooms"] + rng.normal(0, 40_000, 600)
    reg = tb.BoundTreeRegressor(certificate="held-out", tolerance=50_000).fit(X, y)
    other = tb.BoundTreeRegressor(max_leaves=2, certificate=None).fit(X, y)
    explained = reg.explain(X.iloc[0], reach=(100_000.0, 150_000.0))
    texts = [
        reg.summary(),
        explained,
        reg.to_rules(),
        reg.to_text(),
        reg.model_.pruning.choice.explain(),
    ]
    texts += [tb.compare(reg, other, X, y), reg.model_.certificate.monitor().streams[0].name]
    for text in map(str, texts):
        assert "e+0" not in text
    assert "off by more than 50,000 (" in reg.summary()
    assert str(reg.estimate_.rmse) in reg.summary()


def test_an_alarm_rounds_the_bound_up() -> None:
    stream = tolerance_monitor(0.26101, 50_000.0).streams[0]
    alarm = Alarm(stream.name, stream.bound, 100, 200.0, 0, 0.5)
    assert "off by more than 50,000 is above its certified bound of 26.2 %" in str(alarm)
