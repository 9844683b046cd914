"""The benchmarks are scripts: their folder is added to the import path, and that of helpers."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[2] / "benchmarks"), str(Path(__file__).parent)]
