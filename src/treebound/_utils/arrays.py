"""Types of arrays that many modules name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]  # classes, categories, columns and nodes as the kernels have them
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer[Any]]
