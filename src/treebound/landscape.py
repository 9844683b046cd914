"""The feature landscape: the features a tree may split on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treebound._utils.frozen import set_fields
from treebound._utils.validation import as_int, invalid


@dataclass(frozen=True)
class Landscape:
    """The features a tree may test: how many real ones, and the categories of the others.

    Parameters
    ----------
    real : int
        Number of real-valued features (threshold tests), the paper's ``ell``.
    ordinal : sequence of int
        Number of categories of each ordinal feature (threshold tests), the paper's ``O``.
    nominal : sequence of int or None
        Number of categories of each nominal feature (unitary comparison ``x == category``), the
        paper's ``N``. None is a column whose categories were not declared in advance: it counts
        as unbounded, that is as many categories as there are examples.

    Raises
    ------
    ValueError
        If a count is not an int, or too small.

    Examples
    --------
    >>> import treebound as tb
    >>> landscape = tb.Landscape(real=10, ordinal=(3, 5), nominal=(2, None))
    >>> landscape.n_features
    14
    >>> tb.Landscape(ordinal=(1, 3), nominal=(1,)).informative
    Landscape(real=0, ordinal=(3,), nominal=())
    """

    real: int = 0
    ordinal: tuple[int, ...] = ()
    nominal: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        real = _count("real", self.real, least=0)
        ordinal = tuple(_count("ordinal", o, least=1) for o in _sequence("ordinal", self.ordinal))
        nominal = tuple(
            None if n is None else _count("nominal", n, least=1)
            for n in _sequence("nominal", self.nominal)
        )
        set_fields(self, real=real, ordinal=ordinal, nominal=nominal)

    @property
    def n_features(self) -> int:
        """Number of features of any kind."""
        return self.real + len(self.ordinal) + len(self.nominal)

    @property
    def informative(self) -> Landscape:
        """The same landscape without features of one category: no test is made on them."""
        return Landscape(
            self.real,
            tuple(o for o in self.ordinal if o > 1),
            tuple(n for n in self.nominal if n is None or n > 1),
        )


def _count(name: str, value: object, least: int) -> int:
    meaning = "count of features" if name == "real" else "count of categories"
    return as_int(name, "Landscape", value, least, f"a {meaning}, an int")


def _sequence(name: str, values: object) -> Iterable[object]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise invalid(name, "Landscape", "a sequence of category counts", values)
    return values
