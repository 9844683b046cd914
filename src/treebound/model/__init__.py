"""Model: a fitted tree that reads rows, predicts, prunes and certifies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._utils.extras import loaded_late

if TYPE_CHECKING:
    from treebound.model.model import Model

__all__ = ["Model"]

__getattr__ = loaded_late(__name__, {"Model": "treebound.model.model"})
