"""A tree changed by hand in a browser: ``treebound edit``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from treebound._utils.validation import as_clause, invalid
from treebound.cli.app import command, for_command_line
from treebound.cli.options import Data, Force, LabelledOptions, Model, Output, Switch, Target
from treebound.cli.output import check_output, print_message, print_result

if TYPE_CHECKING:
    from treebound.model import RegressionModel
    from treebound.model.model import Model as FittedModel


@command(
    "treebound edit model.json data.csv",
    "treebound edit model.json data.csv --test test.csv -o better.json",
    "treebound edit model.json data.csv --recover",
)
def edit(
    model: Model,
    data: Data,
    /,
    *,
    target: Target = None,
    test: Path | None = None,
    weight_column: str | None = None,
    calibration_unseen: Switch = False,
    output: Output = None,
    force: Force = False,
    recover: Switch = False,
    port: int = 0,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
    options: LabelledOptions = LabelledOptions(),  # noqa: B008  # frozen
) -> None:
    """Change the tree of a model by hand, in a browser.

    The editor is served to this machine only, at an address with a secret; Ctrl-C ends it.
    Every step is stored in a file next to the model until the model is saved.

    Parameters
    ----------
    test
        A table to show the test error of; its rows are spent by that.
    weight_column
        The column with the weights of the rows, if the model was fitted with one.
    calibration_unseen
        State that no figure of the calibration rows was seen, the certificate of the fitted tree
        included: they certify the tree that is saved first. Otherwise the training rows certify
        a tree that predicts classes, and nothing certifies one that predicts numbers.
    output
        File that "Save model" writes; the report goes next to it. By default MODEL.edited.json.
    recover
        Take up the steps again that were not saved.
    port
        The port of the editor; by default a free one.
    browser
        Open the editor in the browser.
    """
    from treebound._utils.extras import require
    from treebound.cli.models import labelled_rows, loaded_any
    from treebound.cli.weighting import WeightOptions
    from treebound.edit import Editor
    from treebound.edit.page import EditorPage
    from treebound.edit.server import serve

    for module in ("starlette", "uvicorn"):
        require(module, extra="edit", why="The editor in a browser")
    if not 0 <= port <= 65535:
        raise invalid("port", "", "from 0 to 65535", port)
    if "-" in (str(model), str(data), str(test), str(output)):
        raise ValueError("The editor needs files, not standard input or output.")
    output = output or model.with_name(f"{model.stem}.edited.json")
    reads = [model, data, test, options.schema]
    check_output(output, "model", reads=reads, force=force)
    check_output(output.with_suffix(".html"), "html", reads=reads, force=force)
    steps = model.with_name(f"{model.name}.steps")
    if steps.exists() and not recover:
        raise ValueError(
            f"{steps} has steps that were not saved. Hint: --recover takes them up; delete the "
            "file to begin anew."
        )
    fitted = loaded_any(model)
    table, y = labelled_rows(fitted, data, options, target, weight_column)
    X, weights, _ = WeightOptions(weight_column=weight_column).divided(table)
    test_rows = None if test is None else labelled_rows(fitted, test, options, target)
    editor = Editor(fitted, X, y, test=test_rows, sample_weight=weights, autosave=steps)
    if recover:
        print_message(f"Recovered: {len(editor.recover()):,} steps of {steps}.")
    if calibration_unseen:
        editor.check_calibration()
    elif editor.notice:
        hint = " Hint: --calibration-unseen states that none was seen."
        print_message(editor.notice + hint * editor.calibration_can_certify)
    save = partial(_save, output=output, steps=steps, rows=data.name)
    page = EditorPage(
        editor, title=f"Edit {model.name}", save=save, calibration_unseen=calibration_unseen
    )
    try:
        serve(page, port=port, started=partial(_started, browser=browser))
    finally:
        if steps.exists():
            print_message(f"Some steps are not saved. Hint: --recover takes them up ({steps}).")


def _save(
    command: str, edited: FittedModel | RegressionModel, *, output: Path, steps: Path, rows: str
) -> str:
    """Write the model, or the report next to it; return a message with its path."""
    from treebound.cli.models import write_model
    from treebound.show import to_html

    if command == "report":
        to_html(edited, output.with_suffix(".html"), facts={"Rows": rows})
        return f"The report is in {output.with_suffix('.html')}."
    write_model(edited, output)
    steps.unlink(missing_ok=True)
    saved = f"The model is saved in {output}."
    if not edited.certificate_reason:
        return saved
    return f"{saved} No certificate: {for_command_line(as_clause(edited.certificate_reason))}"


def _started(address: str, *, browser: bool) -> None:
    print_result(f"The editor is at {address}\nCtrl-C ends it.")
    if browser:
        import webbrowser

        webbrowser.open(address)
