"""The display of a run: lines, and a table on a terminal."""

import io

import stand_ins
from rich.console import Console
from stand_ins import run_study

from treebound._utils.progress import Progress
from treebound.study.display import StudyDisplay
from treebound.study.splits import seeds_of


def watched(console, study, path, **how):
    with StudyDisplay(console, **how) as display:
        run_study(study, path, observer=display)
    return console.file.getvalue()


def test_lines_show_complete_data_sets_and_the_best_model(tmp_path):
    console = Console(file=io.StringIO(), width=200)
    study = stand_ins.study(stand_ins.trees(), draws=2)
    first, *rest = watched(console, study, tmp_path / "r.sqlite").splitlines()
    assert first == "toy: 0 of 8 results, 8 left"
    assert [line.split(":")[0] for line in rest] == ["toy0", "toy1"]
    assert "best full" in rest[0] or "best stump" in rest[0]
    assert "8 of 8 results, 0 left" in rest[-1]
    assert "per second" in rest[-1]


def test_a_terminal_shows_the_models_on_the_sets_that_are_worked_on(tmp_path):
    console = Console(file=io.StringIO(), width=80, height=40, force_terminal=True)
    models = (stand_ins.Fails("fails", seeds_of(2)[0]), *stand_ins.trees())
    shown = watched(console, stand_ins.study(models, draws=2), tmp_path / "r.sqlite")
    for word in ("toy0: complete", "toy1: complete", "12 of 12 results", "2 failed"):
        assert word in shown
    plain = Console(file=io.StringIO(), width=80)
    with StudyDisplay(console) as display:
        display.start(stand_ins.study(models, draws=2, count=9), [])
        row = {"dataset": "toy8", "draw": 0, "error": None}
        for done, further in enumerate(
            (
                {"model": "full", "test_accuracy": 0.5},
                {"model": "stump", "test_accuracy": 0.25},
                {"model": "fails", "test_accuracy": None, "error": "no luck"},
            ),
            1,
        ):
            display.show(Progress("measuring", done, 54, result={**row, **further}))
        plain.print(display.render())
        assert display.best("toy8") == ("full", 0.5)
    status, *lines = [line.split() for line in plain.file.getvalue().splitlines()]
    assert " ".join(status).startswith("3 of 54 results, 51 left, ")
    assert {"per", "second,", "failed"} < set(status)
    assert ["toy8", "full", "1", "1", "50.00%"] in lines
    assert ["toy8", "stump", "1", "1", "25.00%"] in lines
    assert ["toy8", "fails", "1", "1", "-"] in lines
    assert not [line for line in lines if "toy0" in line]


def test_what_the_store_has_is_counted_and_not_the_draws_beyond(tmp_path):
    models, path = stand_ins.trees(), tmp_path / "r.sqlite"
    run_study(stand_ins.study(models, draws=4), path)
    display = StudyDisplay(Console(file=io.StringIO()))
    run_study(stand_ins.study(models, draws=2), path, observer=display)
    assert display.status == "8 of 8 results, 0 left"


def test_lines_come_while_a_large_set_is_worked_on(tmp_path):
    console = Console(file=io.StringIO(), width=200)
    study = stand_ins.study(stand_ins.trees(), draws=2)
    lines = watched(console, study, tmp_path / "r.sqlite", every=0.0).splitlines()
    assert len(lines) == 1 + 8
    assert lines[1].startswith("toy")
    assert ", draw " in lines[1]
    assert "1 of 8 results, 7 left" in lines[1]
