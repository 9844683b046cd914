"""What is shown of a run: a live table on a terminal, lines elsewhere."""

import io
from copy import copy

import stand_ins
from rich.console import Console

from treebound.bench import Store, seeds_of
from treebound.bench.display import Lines, LiveTable, display_for


def replace_name(model, name):
    found = copy(model)
    object.__setattr__(found, "name", name)
    return found


def watched(display, study):
    with Store(":memory:") as store, display as observer:
        study.run(store, observer=observer)
    return observer


def test_lines_tell_what_is_complete_and_who_is_best():
    stream = io.StringIO()
    console = Console(file=stream, width=200)
    study = stand_ins.study(stand_ins.trees(), draws=2)
    assert isinstance(watched(display_for(console), study), Lines)
    first, *rest = stream.getvalue().splitlines()
    assert first == "toy: 0 of 8 results, 8 left"
    assert [line.split(":")[0] for line in rest] == ["toy0", "toy1"]
    assert "best full" in rest[0] or "best stump" in rest[0]
    assert "8 of 8 results, 0 left" in rest[-1]
    assert "per second" in rest[-1]


def test_live_table_has_a_line_a_set_and_a_column_a_model():
    stream = io.StringIO()
    console = Console(file=stream, width=120, height=40, force_terminal=True)
    display = display_for(console)
    assert isinstance(display, LiveTable)
    models = (stand_ins.Fails("fails", seeds_of(2)[0]), *stand_ins.trees())
    watched(display, stand_ins.study(models, draws=2))
    plain = Console(file=io.StringIO(), width=120)
    plain.print(display.render())
    shown = " ".join(plain.file.getvalue().split())  # a caption may be wrapped
    for word in ("toy0", "toy1", "stump", "full", "fails", "12 of 12 results", "2 failed"):
        assert word in shown


def test_what_the_store_has_is_counted_and_not_the_draws_beyond():
    models = stand_ins.trees()
    with Store(":memory:") as store:
        stand_ins.study(models, draws=4).run(store)
        display = Lines(Console(file=io.StringIO()))
        stand_ins.study(models, draws=2).run(store, observer=display)
    assert display.left == 0
    assert sum(display.done.values()) == 8


def test_a_low_terminal_shows_the_sets_that_are_worked_on():
    console = Console(file=io.StringIO(), width=120, height=12, force_terminal=True)
    display = LiveTable(console)
    study = stand_ins.study(stand_ins.trees(), draws=2, count=9)
    with display:
        display.start(study, [])
        row = {"draw": 0, "model": "full", "error": None, "test_accuracy": 0.5}
        display.result({**row, "dataset": "toy8"})
        shown = display._shown()
    assert len(shown) == 4
    assert "toy8" in shown


def test_lines_come_while_a_large_set_is_worked_on():
    stream = io.StringIO()
    display = Lines(Console(file=stream, width=200), every=0.0)
    study = stand_ins.study(stand_ins.trees(), draws=2)
    with Store(":memory:") as store:
        study.run(store, observer=display)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1 + 8
    assert lines[1].startswith("toy")
    assert ", draw " in lines[1]
    assert "1 of 8 results, 7 left" in lines[1]


def test_a_narrow_terminal_shows_the_best_instead_of_every_model():
    models = tuple(
        replace_name(model, f"{model.name} {word}")
        for model in stand_ins.trees()
        for word in ("pessimistic", "cost-complexity", "kearns-mansour", "misclassification")
    )
    for width, folded in ((80, True), (220, False)):
        stream = io.StringIO()
        console = Console(file=stream, width=width, height=40, force_terminal=True)
        display = LiveTable(console)
        watched(display, stand_ins.study(models, draws=1))
        plain = Console(file=io.StringIO(), width=width)
        plain.print(display.render())
        shown = plain.file.getvalue()
        assert ("best so far" in shown) is folded
        assert ("misclassification" in shown.split("best so far")[0]) is not folded
        assert all(len(line) <= width for line in shown.splitlines())
        name, accuracy = display.best("toy0")
        assert f"{100 * accuracy:.1f}" in shown
        assert not folded or name in shown
