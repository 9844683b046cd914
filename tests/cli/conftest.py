"""A table and a model of it for the commands; ``commands`` is importable from the test files."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def table(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", 'a,"b"'], size=300)
    size = rng.normal(size=300).round(3)
    frame = pd.DataFrame({"colour": colour, "size": size, "n": rng.integers(0, 9, 300)})
    frame["label"] = np.where((colour == "red") ^ (size > 0.3), "yes", "no")
    frame.loc[::50, "size"] = np.nan
    frame.loc[::70, "colour"] = None
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(table, capsys) -> Path:
    from commands import run

    path = table.parent / "model.json"
    code, out, err = run(capsys, "fit", table, "--target", "label", "-o", path)
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("data.csv: 300 rows, 3 columns, target 'label' with 2 classes.")
    assert lines[1].startswith("Estimated error ")
    assert ", always 'no')" in lines[2]
    return path
