"""Make the modules of the benchmarks importable, also in the processes that the tests start."""

import os
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parents[2] / "benchmarks")
if FOLDER not in sys.path:
    sys.path.append(FOLDER)  # behind the other folders: benchmarks has a module 'shell', too
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")]))
