"""Growing on Ray: actors hold the blocks of a dataset, and only counts reach the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, Self

from treebound._extras import require
from treebound._validation import said_of
from treebound.data.folds import LeftOut
from treebound.data.learned import LearnedSchema, put_together
from treebound.data.parts import PartReader, PartRows, count_rows, learn_part
from treebound.data.raw import columns_to_learn
from treebound.data.streams import split_frame
from treebound.data.weights import WeightTotal
from treebound.growing._kernels import Bins
from treebound.growing.engine import Engine
from treebound.growing.questions import Subtree
from treebound.growing.shard import (
    Coded,
    Facts,
    code_part,
    gather_rows,
    grow_subtree,
    make_bundle,
)

# Actors whose answers one of them puts together.
_FAN = 8
# Values of real columns that bins are chosen from, in all blocks.
_SAMPLE_ROWS = 1 << 17


class Holder:
    """What an actor does: it reads some blocks, codes them and answers questions about them."""

    def __init__(self, columns: list[str], target: str, weight: str | None) -> None:
        self._names = columns, target, weight
        self._coded: list[Coded] = []

    def read(self, number: int, block: Any, first: int, function: Callable[..., Any]) -> Any:
        """What a function gives for the columns, labels and weights of a block."""
        with said_of(f"Block {number} of the dataset"):
            rows = split_frame(block, *self._names) if block.num_rows else (None, (), None)
            return function(*rows, first=first)

    def code(self, number: int, block: Any, first: int, reader: PartReader, bins: Bins) -> Facts:
        """Keep the rows of a block as codes and values."""
        self._coded.append(code_part(self.read(number, block, first, reader.read), bins))
        return self._coded[-1].facts

    def start(self, *options: Any) -> None:
        """Make a bundle of all blocks, by :func:`make_bundle`."""
        self._bundle = make_bundle(self._coded, *options)
        self._coded = []

    def answer(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What a function tells of the bundle."""
        return function(self._bundle, *args)

    def keep(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Replace the bundle by what a function makes of it."""
        self._bundle = function(self._bundle, *args)

    def combine(self, function: Callable[[Sequence[Any]], Any], *answers: Any) -> Any:
        """Put the answers of several actors together."""
        return function(answers)

    def grow(self, subtrees: Sequence[Subtree], *pieces: Any) -> list[dict[str, Any]]:
        """The trees below some nodes, from the rows that each actor has of them."""
        by_node = zip(*pieces, subtrees, strict=True)
        return [grow_subtree(parts, subtree.kernel) for *parts, subtree in by_node]


class RayEngine(Engine):
    """Bundles on the actors of Ray; answers are put together there too."""

    def __init__(self, ray: Any, bins: Bins, n_classes: int, gather_rows: int) -> None:
        super().__init__(bins, n_classes)
        self._ray, self.gather_rows = ray, gather_rows

    @property
    def places(self) -> int:
        """Small nodes are finished by all actors."""
        return len(self._bundles)

    def bundle(self, coded: Sequence[Any], total: WeightTotal, starts: Sequence[int]) -> Any:
        """The actor that has the rows."""
        coded[0].start.remote(self.bins, total, starts, self._n_classes)
        return coded[0]

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """What actors are asked; :meth:`reduce` or :meth:`keep` sends it."""
        return function, self._ray.put(args)

    def reduce(self, function: Callable[[Sequence[Any]], Any], results: Any) -> Any:
        """Ask all actors; few of them put the answers together, and one gives the sum."""
        answers = [actor.answer.remote(*results) for actor in self._bundles]
        while len(answers) > 1:
            answers = [
                self._bundles[k].combine.remote(function, *answers[k : k + _FAN])
                for k in range(0, len(answers), _FAN)
            ]
        return fetch(self._ray, answers[0])

    def keep(self, results: Any) -> None:
        """Let the actors replace their bundles."""
        fetch(self._ray, [actor.keep.remote(*results) for actor in self._bundles])

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """Grow below small nodes: every actor gets the rows of some of them from the others."""
        n = min(len(subtrees), self.places)
        groups = [subtrees[k::n] for k in range(n)]
        pieces = [
            [
                actor.answer.remote(gather_rows, ([own.slot for own in group],))
                for actor in self._bundles
            ]
            for group in groups
        ]
        grown = fetch(
            self._ray,
            [
                actor.grow.remote(group, *own)
                for actor, group, own in zip(self._bundles, groups, pieces, strict=False)
            ],
        )
        return [grown[k % n][k // n] for k in range(len(subtrees))]


class RayTable:
    """A dataset of Ray on actors; one of its columns is the target, one may be the weight."""

    def __init__(self, dataset: Any, target: Any, weight: Any, columns: Any) -> None:
        self._ray, self.target = require("ray", extra="ray", why="A dataset of Ray"), target
        names = dataset.columns()
        if names is None:
            raise ValueError("The dataset of Ray has no rows, nor names of columns.")
        own = columns_to_learn(names, "the dataset", columns, target, weight)
        wanted = [*own, *(name for name in (target, weight) if name is not None)]
        if len(wanted) < len(names):
            dataset = dataset.select_columns(wanted)
        self._blocks = dataset.to_arrow_refs()
        n = min(len(self._blocks), int(self._ray.cluster_resources().get("CPU", 1)))
        # without processors of their own: a cluster that is in use is not waited for
        holder = self._ray.remote(num_cpus=0, scheduling_strategy="SPREAD")(Holder)
        actors = [holder.remote(own, target, weight) for _ in range(max(1, n))]
        self._actors = [actors[k % len(actors)] for k in range(len(self._blocks))]
        self._first = [0] * len(self._blocks)

    def __enter__(self) -> Self:
        self._first = [0, *accumulate(fetch(self._ray, self._send("read", count_rows)))][:-1]
        return self

    def __exit__(self, *error: object) -> None:
        """End the actors; what they hold goes with them."""
        for actor in dict.fromkeys(self._actors):
            self._ray.kill(actor)

    def _send(self, method: str, *args: Any) -> list[Any]:
        """Call a method of actors for every block."""
        sent = [self._ray.put(argument) for argument in args]
        return [
            getattr(actor, method).remote(k, self._blocks[k], self._first[k], *sent)
            for k, actor in enumerate(self._actors)
        ]

    def learn(self, *, held_out: LeftOut | None, **options: Any) -> LearnedSchema:
        """What the dataset is without the rows held out."""
        class_weight = options.pop("class_weight")
        rows = max(256, _SAMPLE_ROWS // len(self._blocks))
        learn = partial(learn_part, sample_rows=rows, held_out=held_out, **options)
        return put_together(fetch(self._ray, self._send("read", learn)), class_weight=class_weight)

    def rows(self, reader: PartReader) -> Iterator[PartRows]:
        """The rows, block by block, here."""
        for part in self._send("read", reader.read):
            yield fetch(self._ray, part)

    def engine(
        self, reader: PartReader, bins: Bins, *, n_threads: int, gather_rows: int
    ) -> RayEngine:
        """An engine on the actors, once they have coded their blocks."""
        schema = reader.schema
        reader = replace(reader, schema=replace(schema, sample=()))
        facts = fetch(self._ray, self._send("code", reader, bins))
        numbers: dict[Any, list[int]] = {}
        for k, actor in enumerate(self._actors):
            numbers.setdefault(actor, []).append(k)
        engine = RayEngine(self._ray, bins, len(schema.classes), gather_rows)
        engine.start(self._actors, facts, list(numbers.values()))
        return engine


def fetch(ray: Any, answers: Any) -> Any:
    """Answers of actors, here; errors in them as if they happened here."""
    try:
        return ray.get(answers)
    except ray.exceptions.RayActorError as error:
        raise RuntimeError(
            "An actor of Ray died, and the rows that it held are lost. Hint: fit again, on more "
            "machines if memory was short; with checkpoint='file' the tree is not lost."
        ) from error
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
