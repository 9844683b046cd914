"""Make ``stand_ins`` and ``published`` importable, also in the processes that the tests start."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDERS = [str(HERE), str(HERE.parents[1] / "benchmarks")]
sys.path += FOLDERS
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*FOLDERS, os.environ.get("PYTHONPATH")]))
