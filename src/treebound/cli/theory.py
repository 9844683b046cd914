"""Commands for theorists: VC dimensions, growth functions, partitions, shapes, witnesses."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token, validators
from rich.table import Table

from treebound.cli.app import command, console, theory_app
from treebound.cli.options import Switch
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# More shapes than this are counted, not listed.
_MAX_SHAPE_LEAVES = 20
# Half a minute; each further example takes five times as long.
_MAX_WITNESS = 14
FORMS = ("fast", "tight", "closed", "chain", "chain-sum", "best")
_features = Group("Features a tree may test", sort_key=1)


def _category_counts(type_: Any, tokens: Iterable[Token]) -> tuple[int | None, ...]:
    """``3,5`` or ``3`` and ``5``; ``?`` is a column whose categories were not declared."""
    texts = [text.strip() for token in tokens for text in token.value.split(",")]
    for text in texts:
        if text != "?" and not (text.isdecimal() and int(text)):
            raise ValueError(f"{text!r} is not a number of categories, an integer >= 1.")
    return tuple(None if text == "?" else int(text) for text in texts)


Shape = Annotated[
    TreeShape,
    Parameter(converter=lambda type_, tokens: TreeShape.parse(tokens[0].value), n_tokens=1,
              allow_leading_hyphen=True, metavar="SHAPE",
              help="'.' is a leaf, '(XY)' a node, e.g. \"((..).)\"."),
]  # fmt: skip
AtLeastZero = Annotated[int, Parameter(validator=validators.Number(gte=0))]
AtLeastOne = Annotated[int, Parameter(validator=validators.Number(gte=1))]
Examples = Annotated[AtLeastOne, Parameter(help="Size of the sample.")]
Categories = Annotated[
    tuple[int | None, ...],
    Parameter(converter=_category_counts, n_tokens=1, negative=(), metavar="K,K"),
]
AsJson = Annotated[
    bool, Parameter(name="--json", negative=(), help="Write JSON instead of a table.")
]


@Parameter(name="*", group=_features)
@dataclass(frozen=True)
class FeatureOptions:
    """The options for features.

    Parameters
    ----------
    real
        Number of real-valued features.
    ordinal
        Category counts of the ordinal features, e.g. 3,5.
    nominal
        Category counts of the nominal features, e.g. 2,4; '?' for one not declared.
    """

    real: AtLeastZero = 0
    ordinal: Categories = ()
    nominal: Categories = ()

    def landscape(self) -> Landscape:
        """Return the features of the options, at least one."""
        if not (self.real or self.ordinal or self.nominal):
            raise ValueError("No features given. Hint: --real 10, --ordinal 3,5 or --nominal 2,4.")
        if None in self.ordinal:
            raise ValueError("--ordinal: '?' stands for an undeclared nominal column only.")
        ordinal = tuple(count for count in self.ordinal if count is not None)
        return Landscape(self.real, ordinal, self.nominal)


@Parameter(name="*")
@dataclass(frozen=True)
class ShapeOptions:
    """The options of the commands on a tree shape."""

    features: FeatureOptions = FeatureOptions()
    as_json: AsJson = False


_NONE = ShapeOptions()


@command(
    'treebound theory vcdim "((..).)" --real 10',
    'treebound theory vcdim "(..)" --real 2 --nominal 3,? --sample',
    of=theory_app,
)
def vcdim(
    shape: Shape,
    /,
    *,
    sample: Switch = False,
    options: ShapeOptions = _NONE,
) -> None:
    """VC dimension of a tree shape: exact, or between two bounds.

    Parameters
    ----------
    sample
        Print the sample that is shattered too, a line for each example.
    """
    from treebound import bounds

    landscape = options.features.landscape()
    result = bounds.vc_dimension(shape, landscape)
    rows = bounds.shattered_sample(shape, landscape).tolist() if sample else []
    if options.as_json:
        facts = asdict(result) | {"exact": result.exact} | ({"sample": rows} if sample else {})
        _print_json(shape=str(shape), **asdict(landscape), **facts)
        return
    headings = ("shape", "leaves", "at least", "at most", "exact")
    row = (shape, shape.leaves, result.lower, result.upper, result.exact)
    _print_table(_describe(landscape), headings, [row])
    print(f"at least {result.lower} by: {result.lower_by}")
    print(f"at most {result.upper} by: {result.upper_by}")
    _print_rows(rows)


@command(
    'treebound theory growth "((..).)" --real 10 --examples 1000 --classes 3',
    'treebound theory growth "(..)" --real 4 --examples 100 --all-forms',
    of=theory_app,
)
def growth(
    shape: Shape,
    /,
    *,
    examples: Examples,
    classes: AtLeastOne = 2,
    form: Literal["best", "tight", "chain-sum", "fast", "closed", "chain"] = "best",
    all_forms: Switch = False,
    options: ShapeOptions = _NONE,
) -> None:
    """Growth function of a tree shape: in how many ways it can label a sample, at most.

    Parameters
    ----------
    classes
        Number of classes.
    form
        Which bound.
    all_forms
        Every bound, and that of all shapes with as many leaves.
    """
    from treebound.bounds import log_growth, log_growth_leaves

    landscape = options.features.landscape()
    forms = FORMS if all_forms else (form,)
    logs = {name: log_growth(shape, examples, classes, landscape, form=name) for name in forms}
    everything = examples * math.log(classes)
    if all_forms:
        leaves = shape.leaves
        logs["all shapes"] = float(log_growth_leaves(leaves, examples, classes, landscape))
    if options.as_json:
        _print_json(
            shape=str(shape),
            **asdict(landscape),
            examples=examples,
            classes=classes,
            log_growth=logs,
            log_labellings=everything,
        )
        return
    title = f"{shape}, {examples:,} examples, {classes} classes, {_describe(landscape)}"
    rows = []
    for name, value in logs.items():
        digits = (everything - value) / math.log(10)
        share = f"1 in 10^{digits:.1f}" if value < everything else "all"
        label = f"all shapes of {shape.leaves} leaves" if name == "all shapes" else name
        rows.append((label, f"{value:.4f}", f"{value / math.log(10):.2f}", share))
    _print_table(title, ("form", "ln tau", "log10 tau", "of all labellings"), rows)


@command('treebound theory partitions "((..).)" --examples 6 --real 2 --search 200', of=theory_app)
def partitions(
    shape: Shape,
    /,
    *,
    examples: Examples,
    parts: AtLeastOne = 2,
    search: AtLeastZero = 0,
    options: ShapeOptions = _NONE,
) -> None:
    """Partitioning function of a tree shape: in how many ways it can split a sample, at most.

    Parameters
    ----------
    parts
        Number of parts.
    search
        Count the partitions of up to this many samples, for a lower bound.
    """
    from treebound import bounds

    landscape = options.features.landscape()
    upper = bounds.partitions(shape, parts, examples, landscape)
    facts: dict[str, Any] = {"at most": upper}
    if search:
        worst = bounds.worst_sample(
            shape, parts, examples, landscape, max_samples=search, stop_at=upper
        )
        facts |= {"at least": worst.count, "exact": worst.exact or worst.count == upper}
    if options.as_json:
        named = {name.replace(" ", "_"): value for name, value in facts.items()}
        _print_json(shape=str(shape), **asdict(landscape), examples=examples, parts=parts, **named)
        return
    title = f"{shape} into {parts} parts, {examples:,} examples, {_describe(landscape)}"
    _print_table(title, facts, [facts.values()])


@command("treebound theory shapes --leaves 5", of=theory_app)
def shapes(
    *,
    leaves: AtLeastOne,
    count: Switch = False,
    as_json: AsJson = False,
) -> None:
    """Every tree shape with this many leaves, once each.

    Parameters
    ----------
    leaves
        Number of leaves.
    count
        Only print how many there are.
    """
    from treebound.bounds.counting import wedderburn_etherington

    number = wedderburn_etherington(leaves)
    if count:
        _print_json(leaves=leaves, count=number) if as_json else print(number)
        return
    if leaves > _MAX_SHAPE_LEAVES:
        raise ValueError(
            f"--leaves: {number:,} shapes have {leaves} leaves, too many to list (at most "
            f"{_MAX_SHAPE_LEAVES} leaves). Hint: --count only counts them."
        )
    result = TreeShape.enumerate(leaves)
    if as_json:
        rows = [{"shape": str(s), "depth": s.depth, "symmetries": s.symmetries} for s in result]
        _print_json(leaves=leaves, count=number, shapes=rows)
        return
    title = f"{number:,} shapes with {leaves} leaves"
    listed = ((shape, shape.depth, shape.symmetries) for shape in result)
    _print_table(title, ("shape", "depth", "symmetries"), listed)


@command("treebound theory witness 5 3", of=theory_app)
def witness(examples: AtLeastOne, features: AtLeastOne, /, *, as_json: AsJson = False) -> None:
    """A sample of real features that a stump splits in as many ways as there can be.

    Parameters
    ----------
    examples
        Number of rows.
    features
        Number of real features, the columns.
    """
    from treebound import bounds

    if examples > _MAX_WITNESS:
        raise ValueError(
            f"EXAMPLES: the construction matches subsets of the examples, at most {_MAX_WITNESS} "
            f"of them here. Got {examples}. Hint: treebound.bounds.witness has no limit."
        )
    X = bounds.witness(examples, features)
    check = bounds.check_witness(X)
    if as_json:
        _print_json(X=X.tolist(), count=check.count, bound=check.bound, by_size=list(check.by_size))
        return
    _print_rows(X.tolist())
    attained = "attained" if check.attained else "missed"
    print(f"{check.count} 2-partitions; the bound is {check.bound}: {attained}")


# --- what the commands share ------------------------------------------------------------------


def _print_rows(rows: list[list[int]]) -> None:
    """Plain lines: a table would be cut at the width of the terminal."""
    width = max((len(str(value)) for row in rows for value in row), default=1)
    for row in rows:
        print(" ".join(f"{value:{width}d}" for value in row))


def _describe(landscape: Landscape) -> str:
    """The landscape in words, for titles."""
    words = [f"{landscape.real} real"] if landscape.real else []
    for kind, counts in (("ordinal", landscape.ordinal), ("nominal", landscape.nominal)):
        if counts:
            listed = ", ".join("?" if k is None else str(k) for k in counts)
            words.append(f"{kind} ({listed})")
    return " + ".join(words) + " features"


def _print_table(title: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A table of texts in the first column and numbers in the others."""
    table = Table(title=title)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*("yes" if v is True else "no" if v is False else str(v) for v in row))
    console.print(table)


def _print_json(**facts: Any) -> None:
    print(json.dumps(facts))
