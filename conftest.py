"""Settings and packages of the user must not change the output of tests and examples.

Loaded before anything of the package: for the tests, the doctests and the documentation alike.
"""

import locale
import os
from contextlib import suppress
from pathlib import Path

# The data folder is for the tests that need it, under a name the package does not read.
if "TREEBOUND_DATA" in os.environ:
    os.environ["TREEBOUND_TEST_DATA"] = str(Path(os.environ["TREEBOUND_DATA"]).resolve())

_OURS = ("TREEBOUND_TEST_DATA", "TREEBOUND_SHARED")
_PREFIXES = ("TREEBOUND_", "XDG_", "LC_", "DASK_", "JOBLIB_", "MPL", "PYTHONIO", "RICH_", "TTY_")
_NAMES = (
    "LANG", "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM",
    "JUPYTER_COLUMNS", "JUPYTER_LINES", "MATPLOTLIBRC", "PYTHONUTF8", "SCIKIT_LEARN_DATA",
)  # fmt: skip

for _name in list(os.environ):
    if (_name.startswith(_PREFIXES) or _name in _NAMES) and _name not in _OURS:
        del os.environ[_name]

# A home of its own: no settings, no downloads, and it can be written to.
_home = Path(__file__).parent / ".pytest_cache" / "home"
_home.mkdir(parents=True, exist_ok=True)
os.environ.update(
    HOME=str(_home),
    COLUMNS="80",
    LINES="25",
    TERM="xterm",
    MPLBACKEND="Agg",
    LC_ALL="C.UTF-8",
    PYTHONIOENCODING="utf-8",
)
with suppress(locale.Error):  # a system without it has UTF-8 or nothing
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
