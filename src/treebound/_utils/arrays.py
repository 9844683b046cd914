"""Types of arrays that many modules name, and their inner product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]  # classes, categories, columns and nodes as the kernels have them
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer[Any]]


def sum_of_products(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The sum of the products, always added in the same order.

    With many numbers ``a @ b`` is added in an order that depends on the threads of BLAS, which
    then wait busily.
    """
    return float((a * b).sum())
