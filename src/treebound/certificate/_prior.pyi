from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Codes, Floats
from treebound.certificate.prior import PriorOptions

class PriorSearch:
    def __init__(
        self,
        a: Floats,
        b: Floats,
        order: Codes,
        y_a: Codes,
        y_b: Codes,
        kinds: Codes,
        sizes: Codes,
        costs: Floats,
        weight: Floats | None,
        options: PriorOptions,
        n_kept: int,
    ) -> None: ...
    def candidates(
        self, inside: NDArray[np.uint8], depth: int
    ) -> tuple[NDArray[np.void], float, float]: ...
    def run(self, trust: float, noise: float, seed: int, max_error_price: float) -> None: ...
    def least(self, an_error: float) -> dict[str, Any]: ...
    @property
    def work(self) -> int: ...
