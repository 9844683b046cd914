"""The benchmark on unseen tables, on a small table of its own."""

import hashlib
import json
from pathlib import Path
from typing import Any

import catalogue
import evidence
import numpy as np
import pytest
import unseen
from catalogue import TableSpec, half

NAMES = ["made-up/squares", "made-up/circles", "made-up/lines", "made-up/dots", "made-up/rings"]
METHODS = ["default", "unpruned"]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TableSpec]:
    """Tables of 80 rows in a package that is a folder; measured in this process."""
    folder = tmp_path / "made_up_tables"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(
        catalogue.PACKAGES, "made-up-tables",
        catalogue.Package("made_up_tables", catalogue._file("{0}.csv"), catalogue._csv),
    )  # fmt: skip
    specs = []
    for seed, name in enumerate(NAMES):
        x = np.random.default_rng(seed).integers(0, 9, size=(80, 2))
        rows = "".join(f"{a},{'xyz'[b % 3]},{'yes' if a > 4 else 'no'}\n" for a, b in x)
        content = ("size,colour,kind\n" + rows).encode()
        (folder / f"{name.split('/')[1]}.csv").write_bytes(content)
        checksum = hashlib.sha256(content).hexdigest()
        specs.append(
            TableSpec(name, "made-up-tables", "kind", (), "MIT", name, checksum, "classes")
        )

    def run_here(tasks: Any, work: Any, store: evidence.Store, **options: Any) -> None:
        for task in tasks:
            if task not in store.results([task]):
                store.add(task, work(task))

    monkeypatch.setattr(unseen, "CLASSIFICATION", tuple(specs))
    monkeypatch.setattr(unseen, "_SPECS", {spec.name: spec for spec in specs})
    monkeypatch.setattr(unseen, "run_tasks", run_here)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    unseen._table.cache_clear()
    return specs


def run(folder: Path, *arguments: str) -> None:
    """Run the script with its files in a folder."""
    unseen.main(
        [
            *arguments, "--methods", *METHODS, "--draws", "2", "--store",
            str(folder / "store.sqlite"), "--log", str(folder / "log.json"), "--results",
            str(folder),
        ]
    )  # fmt: skip


def test_the_development_half_writes_results_and_no_log(
    tables: list[TableSpec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path)
    summary = json.loads((tmp_path / "unseen.json").read_text())
    development = [spec.name for spec in tables if half(spec.name) == "development"]
    assert list(summary["tables"]) == development
    assert 0 < len(development) < len(tables)
    assert list(summary["methods"]) == METHODS
    assert summary["fits"] == 2 * 2 * len(development)
    assert summary["half"] == "development"
    assert (tmp_path / "unseen.png").stat().st_size > 1000
    assert "unpruned" in capsys.readouterr().out
    assert not (tmp_path / "log.json").exists()


def test_each_run_of_the_test_half_is_logged(tables: list[TableSpec], tmp_path: Path) -> None:
    run(tmp_path, "--test-half")
    run(tmp_path, "--test-half", "--again", "default")
    entries = json.loads((tmp_path / "log.json").read_text())
    assert [entry["half"] for entry in entries] == ["test", "test"]
    assert all(entry["commit"] and entry["date"] for entry in entries)
    assert (
        entries[0]["methods"]["default"]["accuracy"] == entries[1]["methods"]["default"]["accuracy"]
    )
    assert entries[0]["tables"] == sum(half(spec.name) == "test" for spec in tables)
    assert not (tmp_path / "unseen.json").exists()


def test_results_are_not_computed_again(
    tables: list[TableSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path)
    monkeypatch.setattr(unseen, "measure", None)  # would fail
    run(tmp_path)


def test_an_unknown_method_is_an_error(
    tables: list[TableSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        unseen.main(["--again", "oracle"])
    assert "no method oracle" in capsys.readouterr().err


def test_alphas_are_spread_from_the_smallest_tree() -> None:
    alphas = np.linspace(0.0, 1.0, 500)
    spread = unseen.spread(alphas)
    assert len(spread) <= unseen.MAX_ALPHAS
    assert (np.diff(spread) > 0).all()
    assert set(spread[[0, -1]]) == {0.0, 1.0}
    np.testing.assert_array_equal(unseen.spread(alphas[:7]), alphas[:7])


def test_log_loss_of_a_class_that_training_lacks() -> None:
    probabilities = np.array([[0.25, 0.75], [1.0, 0.0]])
    loss = unseen.log_loss(np.array(["b", "c"]), probabilities, np.array(["a", "b"]))
    assert loss == pytest.approx(-(np.log(0.75) + np.log(unseen.MIN_PROBABILITY)) / 2)


@pytest.mark.parametrize("method", unseen.methods())
def test_every_method_can_be_measured(tables: list[TableSpec], method: str) -> None:
    task = evidence.Task(tables[0].name, 0, method, "1")
    figures = unseen.measure(task)
    assert set(figures) == set(unseen.FIGURES)
    assert figures["accuracy"] is not None
    assert figures["accuracy"] > 80
