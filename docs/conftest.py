"""The examples in these pages run in an empty folder; what Sphinx made is not collected."""

import pytest

collect_ignore_glob = ["conf.py", "_ext/*", "_build/*", "api/*", "gallery/*"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """A place for the files that examples write, and no window for their pictures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
