"""Make ``library_tables`` importable from the test files next to it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
