"""How a model came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treebound.certificate.row_record import RowRecord
from treebound.data.draws import Draw
from treebound.model.edits import Edit


@dataclass(frozen=True, eq=False)
class Provenance:
    """The parameters and rows that a model was fitted with, and its changes by hand.

    Attributes
    ----------
    parameters : mapping
        The parameters of the classifier that fitted it; empty if it is not known.
    row_record : RowRecord or None
        Sketches of the rows that were used for fitting, to notice if they are used again.
    draw : Draw or None
        The key by which ``fit`` drew rows for calibration, validation or the prior, and which.
    edits : tuple of Edit
        Changes by hand after fitting; as text each is a sentence.
    groups : int
        Number of groups of the rows of ``fit``; 0 if each row was independent.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    row_record: RowRecord | None = None
    draw: Draw | None = None
    edits: tuple[Edit, ...] = ()
    groups: int = 0
