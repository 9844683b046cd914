"""Rules on splits: monotone columns, splits that come first, columns that may be combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError, invalid
from treebound.data import Column
from treebound.data.columns import place_of
from treebound.growing.kernel_types import KernelRules
from treebound.growing.options import GROWING_RULES, GrowOptions
from treebound.tree.monotone import Monotone
from treebound.tree.parsing import parse_split
from treebound.tree.split import SplitTest

# The kernel has a bit for each group of columns.
_MAX_GROUPS = 64


def kernel_rules(
    options: GrowOptions,
    columns: Sequence[Column],
    monotone: Monotone | None,
    limits: Sequence[float] | None = None,
) -> KernelRules | None:
    """The rules as the kernels take them; None if there are none."""
    # limits are the least and the greatest of each upper sum at the root.
    if monotone is None and not any(vars(options)[name] for name in GROWING_RULES[1:]):
        return None
    groups = groups_of(options.interaction_cst, columns)
    bits = [
        sum(1 << bit for bit, group in enumerate(groups) if at in group)
        for at in range(len(columns))
    ]
    order = () if monotone is None else monotone.order[::-1]
    wide = [0.0, 1.0] * max(len(order) - 1, 0)
    return {
        "signs": np.array(() if monotone is None else monotone.signs, dtype=np.int32),
        "order": np.array(order, dtype=np.int32),
        "groups": np.array(bits, dtype=np.uint64),
        "first": forced_splits(options, columns),
        "names": [column.name for column in columns],
        "root": (0, 2**_MAX_GROUPS - 1, wide if limits is None else list(limits)),
    }


# -- monotonic_cst -----------------------------------------------------------------------------


def monotone_of(
    options: GrowOptions, columns: Sequence[Column], classes: NDArray[Any]
) -> Monotone | None:
    """The columns with an order; None if there are none, or only one class."""
    if options.monotonic_cst is None:
        return None
    signs = _signs(options.monotonic_cst, columns)
    if not any(signs) or len(classes) < 2:
        return None
    for sign, column in zip(signs, columns, strict=True):
        if sign and column.kind == "nominal":
            why = "which is nominal: its categories have no order"
            hint = "declare it in 'ordinal_features'."
            raise invalid("monotonic_cst", "", f"0 for column {column.name!r}, {why}", sign, hint)
    return Monotone(signs, _class_order(options.class_order, classes.tolist()))


def _signs(constraints: Any, columns: Sequence[Column]) -> tuple[int, ...]:
    if isinstance(constraints, Mapping):
        names = [column.name for column in columns]
        signs_of = constraints.items()
        by_place = {place_of(name, names, "monotonic_cst"): sign for name, sign in signs_of}
        signs = [by_place.get(at, 0) for at in range(len(columns))]
    else:
        signs = np.asarray(constraints).tolist()
        if not isinstance(signs, list) or len(signs) != len(columns):
            must = f"a dict, or have a number for each of the {len(columns)} columns"
            raise invalid("monotonic_cst", "", must, constraints)
    wrong = [sign for sign in signs if not isinstance(sign, int | float) or sign not in (-1, 0, 1)]
    if wrong:
        raise invalid("monotonic_cst", "", "-1, 0 or 1 for each column", wrong[0])
    return tuple(int(sign) for sign in signs)


def _class_order(order: Sequence[Any] | None, classes: list[Any]) -> tuple[int, ...]:
    """Return the classes from low to high; two without an order are sorted."""
    if order is None:
        if len(classes) == 2:
            return (0, 1)
        raise WordedError(
            "The ",
            Setting("monotonic_cst", python="'monotonic_cst' parameter"),
            f" needs two classes, or an order of all {len(classes)}. Hint: declare the order of "
            "the target, from low to high (",
            Setting("ordinal", python="y as an ordered categorical"),
            ").",
        )
    listed = [str(label) for label in order]
    absent = [label for label in classes if str(label) not in listed]
    if absent:
        raise ValueError(f"The order of the classes must contain each class, {absent[0]!r} too.")
    return tuple(sorted(range(len(classes)), key=lambda at: listed.index(str(classes[at]))))


# -- forced_splits, interaction_cst ------------------------------------------------------------


def forced_splits(options: GrowOptions, columns: Sequence[Column]) -> list[SplitTest]:
    """Return the splits that come first."""
    texts = _listed(options.forced_splits, "forced_splits")
    try:
        return [parse_split(text, columns) for text in texts]
    except (TypeError, ValueError) as error:
        raise ValueError(f"The 'forced_splits' parameter must list splits: {error}") from None


def groups_of(constraints: Any, columns: Sequence[Column]) -> list[set[int]]:
    """The groups of columns that may be used on one path; the last is of those not named."""
    everywhere = range(len(columns))
    if constraints is None:
        return [set(everywhere)]
    if constraints == "no_interactions":
        groups = [{at} for at in everywhere]
    elif constraints == "pairwise":
        groups = [set(pair) for pair in combinations(everywhere, 2)] or [set(everywhere)]
    elif isinstance(constraints, str) or not isinstance(constraints, Iterable):
        must = "'no_interactions', 'pairwise' or a list of groups of columns"
        raise invalid("interaction_cst", "", must, constraints)
    else:
        groups = [{*places_of(group, columns, "interaction_cst")} for group in constraints]
        rest = set(everywhere).difference(*groups)
        groups += [rest] if rest else []
    if len(groups) > _MAX_GROUPS:
        must = f"at most {_MAX_GROUPS} groups"
        raise invalid("interaction_cst", "", must, f"{len(groups)} groups")
    return groups


def _listed(values: Any, parameter: str) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise invalid(parameter, "", "a list", values, f"write {parameter}=[{values!r}].")
    return list(values)


def places_of(names: Any, columns: Sequence[Column], parameter: str) -> list[int]:
    """The places of columns that are listed by name or number."""
    order = [column.name for column in columns]
    return [place_of(name, order, parameter) for name in _listed(names, parameter)]
