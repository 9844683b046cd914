from typing import Any

import numpy as np
from numpy.typing import NDArray

def factorize_objects(values: Any) -> tuple[list[str], NDArray[np.int32]] | None: ...
def factorize_bytes(
    ends: NDArray[np.signedinteger[Any]], data: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None: ...
def factorize_views(
    views: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None: ...
def code_integers(
    values: NDArray[np.integer[Any]],
    low: int,
    codes: NDArray[np.int32],
    present: NDArray[np.uint8],
) -> None: ...
def summarise_numbers(
    X: NDArray[np.floating[Any]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> None: ...
def count_codes(codes: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None: ...
