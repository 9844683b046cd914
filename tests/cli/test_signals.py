"""A signal leaves no process and no half-written file behind; faults of treebound itself."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib import import_module

import commands
import pytest

COMMAND = [sys.executable, "-m", "treebound"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")


def wait_for(condition, seconds=60.0):
    """Wait until a condition holds; what it returned last."""
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return met


@contextmanager
def started(*words, **pipes):
    """Start a command, and kill it if the test leaves it running."""
    with subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, **pipes) as command:
        try:
            yield command
        finally:
            command.kill()


@posix
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_study_leaves_no_process(tmp_path, number):
    psutil = pytest.importorskip("psutil")
    store = tmp_path / "results.sqlite"
    words = ["study", "run", "--sets", "sklearn:digits", "--jobs", "2", "--store", str(store)]
    with started(*words, stdout=subprocess.DEVNULL) as study:
        workers = wait_for(lambda: two_children(psutil.Process(study.pid)))
        assert len(workers) == 2
        study.send_signal(number)
        # ends when no process holds standard error any more
        err = study.communicate(timeout=60)[1].decode()
    assert wait_for(lambda: not any(worker.is_running() for worker in workers))
    if number == signal.SIGTERM:
        assert study.returncode == 128 + signal.SIGTERM
        (line,) = err.splitlines()
        assert line.startswith("treebound: stopped. ")


def two_children(process):
    children = process.children(recursive=True)
    return children if len(children) >= 2 else []


@posix
def test_a_terminated_command_leaves_no_part_of_a_file(tmp_path):
    model, table = tmp_path / "model.json", tmp_path / "table.csv"
    table.write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    subprocess.run([*COMMAND, "fit", table, "--target", "y", "-o", model, "--quiet"], check=True)
    words = ["predict", str(model), "-", "-o", str(tmp_path / "out.csv"), "--chunk-rows", "5"]
    with started(*words, stdin=subprocess.PIPE) as command:
        command.stdin.write(table.read_bytes())
        command.stdin.flush()
        assert wait_for(lambda: list(tmp_path.glob(".*.part")))
        command.send_signal(signal.SIGTERM)
        err = command.communicate(timeout=60)[1].decode()
    assert (command.returncode, err) == (143, "treebound: ended by SIGTERM\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "table.csv"]


@posix
def test_a_library_that_raises_its_own_error_does_not_hide_the_signal(capsys, monkeypatch):
    """As DuckDB does if a signal arrives in a query."""

    def query(*args, **kwargs):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr(import_module("treebound.cli.app"), "_called", lambda argv: query)
    code, out, err = commands.run(capsys, "fit")
    assert (code, out, err) == (143, "", "treebound: ended by SIGTERM\n")


@pytest.fixture
def broken(monkeypatch):
    def call(*args, **kwargs):
        raise TypeError("no such\nthing")

    monkeypatch.setattr(import_module("treebound.cli.app"), "_called", lambda argv: call)


def test_a_fault_of_ours_is_one_line_that_requests_a_report(capsys, broken):
    code, out, err = commands.run(capsys, "fit")
    (line,) = err.splitlines()
    assert (code, out) == (70, "")
    assert line.startswith("treebound: This is a fault of treebound: TypeError: no such thing.")
    assert "please report it" in line


def test_debug_adds_the_traceback(capsys, broken):
    code, _, err = commands.run(capsys, "fit", "--debug")
    assert code == 70
    assert err.startswith("Traceback")
    assert "please report it" in err.splitlines()[-1]


def test_a_full_disk_is_one_line(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "No space left" in line
