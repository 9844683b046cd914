"""Make ``support`` importable from every test file, and keep hypothesis calm on busy machines."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Helpers of tests; the root too, as workers in other processes import the test modules by name.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

settings.register_profile(
    "treebound", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("treebound")


@pytest.fixture(scope="session")
def raw_files() -> Path:
    """The folder with the raw files; tests that need it are skipped where there is none."""
    import support

    folder = support.data_folder()
    if folder is None:
        pytest.skip("needs the raw data files: name their folder with TREEBOUND_DATA")
    return folder


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """A browser for the tests of a module."""
    from browser import chromium

    with chromium() as browser:
        yield browser
