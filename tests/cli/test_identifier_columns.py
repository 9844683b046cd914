"""Identifiers on the command line: fit names them, --nominal and a schema insist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run


def _table(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "key": [f"P{at:05d}" for at in rng.permutation(n)],
        "size": rng.normal(size=n).round(2),
        "colour": rng.choice(["blue", "green", "red"], n),
    })  # fmt: skip
    frame["y"] = ((frame["size"] > 0) ^ (frame["colour"] == "red") ^ (rng.random(n) < 0.1)) * 1
    return frame


@pytest.mark.parametrize("more", [[], ["--stream"], ["--certificate", "held-out"]])
def test_the_command_line_prints_it_and_nominal_insists(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    _table().to_csv(path, index=False)
    command = ["fit", path, "--target", "y", "--pruning", "none", *more]
    code, out, err = run(capsys, *command)
    assert code == 0
    assert err.count("identifies rows") == 1
    assert "--nominal" in err
    assert "categorical_features" not in err
    assert "key" not in out
    code, out, err = run(capsys, *command, "--nominal", "key")
    assert code == 0
    assert "identifies rows" not in err
    assert "key = P" in out
    schema = tmp_path / "schema.toml"
    schema.write_text('[columns]\nkey = "nominal"\n', encoding="utf-8")
    code, out, err = run(capsys, *command, "--schema", schema)
    assert code == 0
    assert "identifies rows" not in err
    assert "key = P" in out
