"""treebound edit, as a user runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from commands import refused, run
from edit.editor_case import fares, passengers

from treebound.exchange import load, load_regression

pytest.importorskip("uvicorn")


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    clf, X, y = passengers()
    clf.save(tmp_path / "model.json")
    X.assign(fate=y).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "model.json", tmp_path / "rows.csv"


class EditorProcess:
    """The editor as a process, and its web interface as a program uses it."""

    def __init__(self, *argv: str | Path) -> None:
        command = [sys.executable, "-m", "treebound", "edit", *map(str, argv), "--no-browser"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        self.address, self.token = re.search(r"(http://[\d.:]+/)\?token=(\S+)", line).groups()
        self.version = 0

    def send(self, **command: object) -> dict:
        request = urllib.request.Request(
            f"{self.address}command",
            json.dumps({"version": self.version, **command}).encode(),
            {"x-token": self.token, "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            state = json.load(response)
        self.version = state.get("state", {}).get("version", self.version)
        return state

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=30)
        return self.process.returncode, err


def test_steps_survive_a_kill_and_are_gone_when_saved(files, capsys) -> None:
    model, rows = files
    steps = model.with_name("model.json.steps")
    process = EditorProcess(model, rows)
    process.send(do="collapse", node="R")
    history = process.send(do="swap", node="")["state"]["history"]
    process.end(signal.SIGKILL)
    assert "--recover" in refused(capsys, "edit", model, rows)
    process = EditorProcess(model, rows, "--recover")
    assert process.send(do="state")["state"]["history"] == history
    assert "edited.html" in process.send(do="report")["message"]
    assert "edited.json" in process.send(do="save")["message"]
    assert not steps.exists()
    code, err = process.end()
    assert code == 0
    assert "not saved" not in err
    edited = load(model.with_name("model.edited.json"))
    assert list(map(str, edited.provenance.edits)) == history
    assert edited.certificate is not None
    assert model.with_name("model.edited.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("unseen", [False, True])
def test_calibration_rows_certify_the_edited_tree_if_the_user_states_it(unseen, tmp_path) -> None:
    clf, X, y = passengers(certificate="held-out", random_state=0)
    model, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    clf.save(model)
    X.assign(fate=y).to_csv(rows, index=False)
    process = EditorProcess(model, rows, *(["--calibration-unseen"] if unseen else []))
    process.send(do="collapse", node="R")
    assert "saved" in process.send(do="save")["message"]
    _, err = process.end()
    assert ("Hint: --calibration-unseen states that none was seen." in err) is not unseen
    kind = "held-out" if unseen else "training"
    assert load(model.with_name("model.edited.json")).certificate.kind == kind


@pytest.mark.parametrize("unseen", [False, True])
def test_a_regression_tree_is_edited(unseen, tmp_path) -> None:
    reg, X, y = fares(certificate="held-out", tolerance=8)
    model, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    reg.save(model)
    X.assign(fare=y).to_csv(rows, index=False)
    process = EditorProcess(model, rows, *(["--calibration-unseen"] if unseen else []))
    process.send(do="collapse", node="R")
    reply = process.send(do="save")["message"]
    assert ("No certificate: the tree was edited" in reply) is not unseen
    assert "edited.html" in process.send(do="report")["message"]
    code, err = process.end()
    assert code == 0
    assert ("The edited tree has no certificate." in err) is not unseen
    edited = load_regression(model.with_name("model.edited.json"))
    assert (edited.certificate is None) is not unseen
    assert edited.tree.n_leaves < reg.n_leaves_


def test_weights_are_those_of_fit(tmp_path, capsys) -> None:
    _, X, y = passengers()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    model, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    X.assign(fate=y, copies=weight).to_csv(rows, index=False)
    weighing = ("--weight-column", "copies")
    assert run(capsys, "fit", rows, "--target", "fate", *weighing, "-o", model)[0] == 0
    assert "its weights (--weight-column)" in refused(capsys, "edit", model, rows)
    process = EditorProcess(model, rows, *weighing)
    process.send(do="grow", node="", max_leaves=4)
    assert "saved" in process.send(do="save")["message"]
    assert process.end() == (0, "")
    assert load(model.with_name("model.edited.json")).tree.weight[0] == weight.sum()


def test_bad_input_is_one_line(files, capsys, tmp_path, monkeypatch) -> None:
    model, rows = files
    assert "needs files" in refused(capsys, "edit", model, "-")
    line = refused(capsys, "edit", model, rows, "--calibration-unseen")
    assert "There are no calibration rows: fit held none out." in line
    assert "--port must be" in refused(capsys, "edit", model, rows, "--port", "99999")
    assert "does not exist" in refused(capsys, "edit", model, rows, "--recover")
    other = tmp_path / "other.csv"
    other.write_text("\n".join(rows.read_text().splitlines()[:50]) + "\n")
    assert "rows that the tree was trained on" in refused(capsys, "edit", model, other)
    monkeypatch.setitem(sys.modules, "starlette", None)
    line = refused(capsys, "edit", model, rows)
    assert "Hint: pip install 'anywidget>=" in line
    assert "'starlette>=" in line
