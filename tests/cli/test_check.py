"""check: what the columns look like, and what is suspicious, with the option that helps."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import run

N = 400
OWN = "as almost every row has its own value, it is not learned from"


@pytest.fixture
def odd(tmp_path):
    rng = np.random.default_rng(1)
    y = rng.choice(["yes", "no"], N)
    age = np.where(np.arange(N) % 20 == 0, "?", rng.integers(18, 90, N).astype(str))
    frame = pd.DataFrame(
        {
            "row id": np.arange(N), "when": pd.date_range("2020-01-01", periods=N).astype(str),
            "price": [f"{1000 + i:,}" for i in range(N)], "age": age, "always": "x",
            "code": np.where(y == "yes", "A", "B"), "colour": rng.choice(["red", "blue"], N),
            "size": rng.normal(size=N), "y": y,
        }
    )  # fmt: skip
    path = tmp_path / "odd.csv"
    frame.to_csv(path, index=False)
    return path


def test_every_finding_is_named_with_its_remedy(odd, capsys):
    code, out, err = run(capsys, "check", odd, "--target", "y")
    assert (code, err) == (0, "")
    for line in (
        "odd.csv: 400 rows",
        "Column 'row id' numbers the rows.\n    Leave it out with --ignore \"row id\".",
        f"Column 'when' holds dates as text, such as '2020-01-01'; {OWN}.\n    Make numbers of it",
        f"Column 'price' holds numbers written as text, such as '1,000'; {OWN}.\n    Convert it",
        "Column 'age' holds numbers written as text, such as '18', and besides '?'.",
        "--missing TEXT",
        "Column 'always' has the same value in every row.\n    Leave it out with --ignore always.",
        "Column 'code' is 'y' in other words: one value per class.\n",
        "    Leave it out with --ignore code, unless it is known before 'y' is.",
    ):
        assert line in out, line
    assert "'colour' " not in out
    assert "'size'" not in out


def test_the_options_that_check_names_help(odd, capsys):
    fixed = ["--ignore", "row id,when,price,always", "--ignore", "code", "--missing", "?"]
    code, out, _ = run(capsys, "check", odd, "--target", "y", *fixed)
    assert code == 0
    assert "Nothing looks suspicious." in out
    age = next(line.split() for line in out.splitlines() if line.startswith("age"))
    assert age[:5] == ["age", "real", "71", "5.0", "%"]
    code, _, err = run(capsys, "fit", odd, "--target", "y", *fixed)
    assert code == 0
    assert "Warning" not in err


def test_fit_prints_the_same_in_short(odd, capsys):
    err = run(capsys, "fit", odd, "--target", "y")[2]
    lines = [line for line in err.splitlines() if line.startswith("Warning")]
    assert lines[0].startswith(
        "Warning: Column 'code' is 'y' in other words: one value per class. Hint: leave it"
    )
    assert len(lines) == 6
    assert lines[-1] == "Warning: 1 more. Hint: 'treebound check' lists them."
    assert run(capsys, "fit", odd, "--target", "y", "--quiet")[2] == ""


def test_json_has_all_of_it(odd, capsys):
    code, out, _ = run(capsys, "check", odd, "--target", "y", "--ignore", "row id", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["rows"] == N
    assert sum(report["classes"].values()) == N
    assert report["ignored"] == ["row id"]
    columns = {column["name"]: column for column in report["columns"]}
    assert columns["always"]["commonest"] == {"x": N}
    assert columns["size"]["values"] == N
    assert [one["column"] for one in report["findings"]] == [
        "code", "when", "price", "age", "always",
    ]  # fmt: skip


def test_targets_that_are_none(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{i},1,{i % 60}\n" for i, x in enumerate(rng.random(300))]
    path.write_text("x,many,one,few\n" + "".join(rows))
    out = run(capsys, "check", path, "--target", "many", "--task", "classify")[1]
    assert "Column 'many' has 300 classes for 300 rows." in out
    assert "Column 'one' is 1 in every row." in run(capsys, "check", path, "--target", "one")[1]


def test_rows_that_are_there_twice(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "y": rng.integers(0, 2, 200)})
    pd.concat([frame, frame]).to_csv(tmp_path / "t.csv", index=False)
    out = run(capsys, "check", tmp_path / "t.csv", "--target", "y")[1]
    assert "The table repeats rows: 50 % of them are copies of others" in out
    assert "    Drop the copies, or use --groups with a column of cases.\n" in out


def test_texts_of_several_lines_are_shown_on_one(tmp_path, capsys):
    texts = ["one\nword", "a text that goes on and on, and after that goes on for longer"]
    frame = pd.DataFrame({"x": texts * 30, "z": range(0, 120, 2), "y": [0, 1, 1] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = run(capsys, "check", tmp_path / "t.csv", "--target", "y")[1]
    (line,) = (line for line in out.splitlines() if line.startswith("x "))
    assert line.endswith("a text that goes on and on, and after... (30), one word (30)")


def test_what_reading_lost_is_named(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("zip,x,y\n" + "".join(f"0{1000 + i},{i * 0.5},{i % 2}\n" for i in range(60)))
    code, out, _ = run(capsys, "check", path, "--target", "y")
    assert code == 0
    assert "Column 'zip' holds codes with leading zeros, such as '01000'." in out
    assert "If they are codes, use --nominal zip" in out
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60), "x": range(60)})
    frame["y"] = frame.x % 2
    frame.to_parquet(tmp_path / "t.parquet")
    out = run(capsys, "check", tmp_path / "t.parquet", "--target", "y")[1]
    assert "Column 'day' holds dates or durations." in out
    out = run(capsys, "check", tmp_path / "t.parquet", "--target", "y", "--ignore", "day")[1]
    assert "holds dates" not in out
