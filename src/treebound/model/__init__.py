"""Model: a fitted tree that reads rows, predicts, prunes and certifies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._utils.extras import loaded_late

if TYPE_CHECKING:
    from treebound.model.evidence import Evidence
    from treebound.model.model import Model
    from treebound.model.options import PredictionOptions, ReadingOptions
    from treebound.model.provenance import Provenance
    from treebound.model.regression import RegressionModel

__all__ = [
    "Evidence",
    "Model",
    "PredictionOptions",
    "Provenance",
    "ReadingOptions",
    "RegressionModel",
]

__getattr__ = loaded_late(
    __name__,
    {
        "Evidence": "treebound.model.evidence",
        "Model": "treebound.model.model",
        "PredictionOptions": "treebound.model.options",
        "Provenance": "treebound.model.provenance",
        "ReadingOptions": "treebound.model.options",
        "RegressionModel": "treebound.model.regression",
    },
)
