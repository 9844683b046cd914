"""Make ``slow_tree`` importable from the test files of growing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "growing"))
