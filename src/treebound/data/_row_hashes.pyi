from typing import Any

import numpy as np
from numpy.typing import NDArray

def add_rows(
    X: NDArray[np.floating[Any]],
    keys: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    exact: bool = False,
) -> None: ...
def add_codes(
    codes: NDArray[np.signedinteger[Any]], terms: NDArray[np.uint64], hashes: NDArray[np.uint64]
) -> None: ...
def chain_column(values: NDArray[Any], keys: NDArray[np.uint64]) -> None: ...
def finish(hashes: NDArray[np.uint64]) -> None: ...
def text_words(texts: list[bytes]) -> NDArray[np.uint64]: ...
