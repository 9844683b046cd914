"""Errors about optional packages name a command that installs them."""

import re
from importlib.metadata import requires

import pytest

from treebound._utils.extras import install, require

EXTRAS = ("plot", "study", "theory", "dask", "onnx", "sql", "excel", "edit")


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_installs_the_packages_of_the_extra(extra):
    packages = re.findall(r"'([^']+)'", install(extra))
    assert packages
    for package in packages:
        assert any(line.startswith(package) and extra in line for line in requires("treebound"))


def test_a_missing_module_is_reported_with_the_command():
    with pytest.raises(ModuleNotFoundError, match=r"Reading needs no_such_module.*pip install 'p"):
        require("no_such_module", extra="excel", why="Reading")
    assert install("no such extra") == (
        "in a clone of treebound, run pip install '.[no such extra]'"
    )
