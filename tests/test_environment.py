"""A user's environment does not turn the tests red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.heavy
def test_settings_of_a_user_change_no_page(tmp_path):
    cache = tmp_path / "cache" / "treebound" / "amphibians"
    cache.mkdir(parents=True)
    (cache / "dataset.csv").write_text("downloaded before")
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "zoo.data").write_text("a data folder of one's own")
    hostile = {
        "TREEBOUND_DATA": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "COLUMNS": "31",
        "NO_COLOR": "1",
        "FORCE_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "tr_TR.ISO-8859-9",
        "PYTHONIOENCODING": "ascii",
        "HOME": "/proc",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests = ["tests/test_pages.py::test_commands_print_what_the_page_shows"]
    done = subprocess.run(
        [*command, *tests],
        cwd=ROOT,
        env={**os.environ, **hostile},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-3000:]
