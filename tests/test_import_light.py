"""``import treebound`` loads neither the optional packages nor its own rooms."""

import subprocess
import sys

import pytest

# What an install without extras brings, beyond the standard library.
ALLOWED = {"treebound"}
EXTRAS = (
    "matplotlib", "pandas", "polars", "pyarrow", "pooch", "xlrd", "rustworkx", "dask",
    "distributed", "onnx", "onnxruntime", "lightgbm", "xgboost", "pyspark", "duckdb",
    "jsonschema", "skops",
)  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """The top-level packages that some code loads, the standard library apart."""
    script = (
        "import sys; before = set(sys.modules)\n"
        f"{code}\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def of_treebound(names: set[str]) -> set[str]:
    """Without the private helpers of installers and compiled packages."""
    return {name for name in names if not name.startswith(("_", "cython_runtime"))}


def test_import_loads_nothing_but_itself():
    assert of_treebound(loaded_by("import treebound")) <= ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        "import treebound as tb; tb.BoundTreeClassifier",
        "import treebound as tb; tb.BoundTreeClassifier().fit([[0.0], [1.0]], [0, 1])",
        "import treebound as tb; tb.Landscape(real=2), tb.TreeShape.leaf(), tb.bounds",
        "import treebound as tb; tb.show, tb.exchange, tb.pruning",
    ],
)
def test_no_extra_is_loaded_before_it_is_needed(code):
    # scikit-learn itself may load pandas or pyarrow where they are installed.
    by_scikit_learn = loaded_by("import sklearn.tree, sklearn.utils, scipy.sparse")
    modules = loaded_by(code) - by_scikit_learn
    assert not modules & set(EXTRAS)
