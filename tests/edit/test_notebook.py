"""An editor in a notebook of JupyterLab, with a real kernel and a real browser."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from browser import chromium
from edit.window import Window, until

pytestmark = [pytest.mark.browser, pytest.mark.heavy]
MADE = """import sys
sys.path.insert(0, {tests!r})
from edit.editor_case import passengers
clf, X, y = passengers()
editor = clf.edit(X, y)
editor"""
KERNEL = "return jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
RUN = "jupyterapp.commands.execute(arguments[0])"
OUTPUT = "return [...document.querySelectorAll('.jp-OutputArea-output')].at(-1)?.textContent ?? ''"


def notebook(*cells: str) -> str:
    """The text of a notebook with these cells."""
    made = [
        {"cell_type": "code", "id": f"cell{at}", "metadata": {}, "source": text, "outputs": [],
         "execution_count": None}
        for at, text in enumerate(cells)
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def address(tmp_path) -> Iterator[str]:
    """A notebook with an editor in a JupyterLab with empty settings."""
    lab = pytest.importorskip("jupyterlab")
    for name in ("ipykernel", "anywidget"):
        pytest.importorskip(name)
    tests = str(Path(__file__).parents[1])
    cells = (MADE.format(tests=tests), "print(*editor.history, sep='\\n')")
    (tmp_path / "edit.ipynb").write_text(notebook(*cells), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = Path(lab.__file__).parents[4] / "share" / "jupyter"
    folders = {
        f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
        "--expose-app-in-browser", f"--LabApp.app_dir={shared / 'lab'}", f"--ServerApp.port={port}",
        "--IdentityProvider.token=secret", f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with (tmp_path / "lab.log").open("w") as log:
        environment = {**os.environ, **folders, "JUPYTER_PATH": str(shared)}
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            base = f"http://127.0.0.1:{port}"
            until(lambda: responds(f"{base}/api/status?token=secret"), "JupyterLab", 60)
            yield f"{base}/lab/tree/edit.ipynb?token=secret"
        finally:
            server.terminate()
            server.wait(20)


def responds(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def test_a_tree_is_edited_in_a_notebook(address) -> None:
    with chromium() as driver:
        driver.get(address)
        ready = "return document.querySelectorAll('.jp-Notebook .jp-CodeCell').length === 2"
        until(lambda: driver.execute_script(ready), "the notebook", 90)
        until(lambda: driver.execute_script(KERNEL) == "idle", "a kernel", 90)
        driver.execute_script(RUN, "notebook:run-all-cells")
        frame = until(lambda: frames(driver), "the editor", 90)[0]
        driver.switch_to.frame(frame)
        window = Window(driver)
        until(lambda: driver.find_elements("css selector", ".candidate"), "alternatives")
        until(lambda: driver.execute_script("return view.scale") > 0.3, "the frame in its width")
        window.choose("R")
        window.press("#collapse")
        window.shows("collapsed to")
        window.ready("R")
        window.press("#undo")
        window.shows("Undone")
        window.choose("L")
        age = driver.execute_script("return data.columns.findIndex((c) => c.name === 'age')")
        window.press(f'[data-column="{age}"]')
        window.press(".candidate.open .split")
        window.shows("age <= ")
        steps = window.text("steps")
        driver.switch_to.default_content()
        driver.execute_script(RUN, "notebook:run-cell")  # the last one, which prints the steps
        until(lambda: steps in driver.execute_script(OUTPUT), steps)


def frames(driver: Any) -> list[Any]:
    return driver.find_elements("css selector", ".jp-OutputArea-output iframe")
