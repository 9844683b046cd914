"""Make ``support`` importable from every test file, and keep hypothesis calm on busy machines."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Helpers of tests; the root too, as workers in other processes import the test modules by name.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

settings.register_profile(
    "treebound", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("treebound")
