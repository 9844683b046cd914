"""The page of an editor: the front end sends commands and gets JSON, Python keeps all state."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.extras import install
from treebound._utils.html import assembled, fixed_width
from treebound.data import Column
from treebound.edit.candidates import Candidate
from treebound.edit.editor import Editor
from treebound.edit.places import node_at, where
from treebound.edit.steps import Step
from treebound.exchange import dumps
from treebound.exchange.regression_file import regression_text
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.show import TreeDisplay, to_html
from treebound.show.distributions import histogram
from treebound.show.report_data import alternative_rows
from treebound.show.words import branch_condition, number, typeset
from treebound.tree.parsing import parse_split
from treebound.tree.split import one_line

_ELSEWHERE = "The tree was changed in another window; this is how it is now. Please try again."
_MAX_CATEGORIES = 500
_PICTURE_DEPTH = 6  # of the picture in an exported notebook
_THREADS = min(4, os.cpu_count() or 1)  # a user waits for the reply


class EditorPage:
    """Reply to the commands of the page of an editor.

    ``save`` writes a model and a report, and returns where; without it the browser downloads them.
    ``calibration_unseen`` states that no figure of the calibration rows was seen: they certify the
    tree that is saved first, whose certificate is then seen.
    """

    def __init__(
        self,
        editor: Editor,
        *,
        title: str,
        save: Callable[[str, Model | RegressionModel], str] | None = None,
        calibration_unseen: bool = False,
    ) -> None:
        self._editor, self._title, self._save = editor, title, save
        self._calibration_unseen = calibration_unseen
        self._version = 0
        self._saved: tuple[int, Model | RegressionModel] | None = None

    def html(self, token: str | None = None) -> str:
        """The page; with a token it talks to a server, otherwise to the window around it."""
        static, shared = (files(f"treebound.{room}") / "static" for room in ("edit", "show"))
        return assembled(
            static / "editor.html",
            title=self._title,
            data={**self._state(), "token": token},
            styles=[shared / "report.css", static / "editor.css"],
            scripts=[
                shared / "report_model.js",
                shared / "report_tree.js",
                static / "editor_node.js",
                static / "editor.js",
            ],
            parts={"TOP": shared / "top.html", "TREE": shared / "tree.html"},
            connect=token is not None,
        )

    def reply(self, request: Any) -> dict[str, Any]:
        """Return the reply to a command; an error is reported and changes nothing."""
        try:
            return self._reply(request)
        except (ValueError, TypeError, KeyError, IndexError, OSError, RecursionError) as error:
            # what is no command at all comes from no page of ours
            bad = isinstance(error, KeyError | TypeError | IndexError | RecursionError)
            return {"error": "This is not a command of the editor." if bad else str(error)}

    def _reply(self, request: Any) -> dict[str, Any]:
        command = request["do"]
        if command == "state":
            return {"state": self._state()}
        if request["version"] != self._version:
            return {"state": self._state(), "error": _ELSEWHERE}
        if command == "node":
            return {"node": self._node(str(request["node"]))}
        if command == "surrogates":
            return {"surrogates": self._surrogates(str(request["node"]))}
        if command == "preview":
            return {"preview": self._preview(str(request["node"]), str(request["text"]))}
        if command in ("save", "report"):
            return self._written(command)
        try:
            step = self._step(command, request)
        except OSError as error:  # the step was taken before it was to be kept in a file
            self._version += 1
            return {"state": self._state(), "error": f"The step could not be saved: {error}"}
        self._version += 1
        return {"state": self._state(), "message": step.sentence}

    def _step(self, command: str, request: dict[str, Any]) -> Step:
        if command in ("undo", "redo"):
            return self._editor.undo() if command == "undo" else self._editor.redo()
        values = {name: value for name, value in request.items() if name != "version"}
        if command == "split":
            values["text"] = self._observed(values["node"], values["text"])
        return self._editor.take(values)

    # -- what it shows -----------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        editor = self._editor
        changed, kind = editor.changes(), editor.kind
        model = editor.model()
        better, worse = kind.effects
        return {
            **kind.report_data(model, editor.training_rows),
            "version": self._version,
            "alternatives": [] if editor.offered is None else alternative_rows(editor.offered),
            "notice": editor.notice,
            "saved": self._saved is not None and self._saved[0] == self._version,
            "figures": editor.figures.lines(editor.figures_before),
            "history": [one_line(sentence) for sentence in editor.history],
            "undone": editor.undone,
            "changed": [
                {
                    "path": line["path"],
                    "where": where(editor.tree, line["leaf"], model.reading.handle_unknown),
                    "change": [kind.in_words(line[when]) for when in ("before", "now")],
                    "rows": line["rows"],
                    "effects": [line[better], line[worse]],
                    "numbers": None if line["numbers"] is None else line["numbers"][:100],
                }
                for line in changed
            ],
            "effects": kind.effect_heads,
        }

    def _node(self, path: str) -> dict[str, Any]:
        """A node with the best split of every column, and the classes along the columns."""
        editor = self._editor
        at, here = node_at(editor.tree, path), editor.rows_of(path)
        bands = editor.kind.bands(here.sample, editor.training_rows)
        with ThreadPoolExecutor(_THREADS) as pool:
            listed = list(
                pool.map(partial(self._candidate, here.sample, *bands), here.candidates(_THREADS))
            )
        return {
            "key": path,
            "where": where(editor.tree, at, editor.model().reading.handle_unknown),
            "candidates": listed,
        }

    def _candidate(
        self, here: Any, bands: NDArray[np.int32], n_bands: int, candidate: Candidate
    ) -> dict[str, Any]:
        split, column = candidate.split, candidate.split.column
        values = here.X.values[candidate.test.feature]
        drawn = histogram(split, values, bands, here.weights, n_bands)
        assert drawn is not None
        return {
            "column": candidate.test.feature,
            "name": one_line(column.name),
            "written": json.dumps(column.name, ensure_ascii=False),
            "kind": column.kind,
            "words": typeset(branch_condition(split, left=True)),
            "gain": candidate.gain,
            "loss": self._editor.kind.loss_in_words(candidate.loss),
            "rows": candidate.rows,
            "agreement": candidate.agreement,
            "missing": column.missing,
            "missing_left": bool(candidate.test.missing_left),
            "presence": split.kind == "missing",
            "threshold": split.threshold if math.isfinite(split.threshold) else None,
            "whole": bool(column.kind == "real" and _whole(values)),
            "code": split.codes[-1] if split.codes else -1,
            "categories": _listed(column),
            "bars": drawn.counts.tolist(),
            "left": drawn.left,
            "cut": drawn.cut,
            "ends": drawn.ends,
            "edges": drawn.edges,
        }

    def _surrogates(self, path: str) -> list[dict[str, Any]]:
        """The splits of other columns that divide the rows of an inner node most alike."""
        return [
            {"words": candidate.entry("loss")["split"], "agreement": candidate.agreement}
            for candidate in self._editor.rows_of(path).surrogates()
        ]

    def _preview(self, path: str, text: str) -> dict[str, Any]:
        """The result of a split of the rows of a node."""
        text = self._observed(path, text)
        test = parse_split(text, self._editor.tree.columns)
        left, halves = self._editor.rows_of(path).divided(test)
        kind = self._editor.kind
        loss = kind.loss_in_words(kind.loss(halves))
        return {"rows": [int(left.sum()), int((~left).sum())], "loss": loss, "text": text}

    def _observed(self, path: str, text: str) -> str:
        """The split with a training value as threshold, if the model names splits by rows."""
        tree = self._editor.tree
        test = parse_split(text, tree.columns)
        column = tree.columns[test.feature]
        if (
            getattr(tree, "names", None) is None
            or column.kind != "real"
            or math.isinf(test.threshold)
        ):
            return text
        values = self._editor.rows_of(path).sample.X.values[test.feature]
        below = values[values <= test.threshold]
        if not len(below):
            return text
        end = " or missing" if text.endswith(" or missing") else ""
        written = json.dumps(column.name, ensure_ascii=False)
        return f"{written} <= {number(float(below.max()))}{end}"

    # -- files ---------------------------------------------------------------------------------

    def _written(self, command: str) -> dict[str, Any]:
        """Save the model, or the report on it; calibration rows are counted when it is saved."""
        if command == "save" and (self._saved is None or self._saved[0] != self._version):
            edited = self._editor.done(calibration_unseen=self._calibration_unseen)
            self._saved = self._version, as_any_model(edited, "edit")
            if self._editor.history:
                self._calibration_unseen = False
        model = self._editor.model()
        if self._saved is not None and self._saved[0] == self._version:
            model = self._saved[1]
        reply: dict[str, Any] = {"state": self._state()}
        if self._save is not None:
            return {**reply, "message": self._save(command, model)}
        text = to_html(model) if command != "save" else _written_model(model)
        name = "model.json" if command == "save" else "report.html"
        return {**reply, "message": f"{name} is downloaded.", "file": {"name": name, "text": text}}


def _written_model(model: Model | RegressionModel) -> str:
    return regression_text(model) if isinstance(model, RegressionModel) else dumps(model)


def _whole(values: np.ndarray[Any, Any]) -> bool:
    """Return True if all numbers are whole."""
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return bool((numbers == np.floor(numbers)).all())


def _listed(column: Column) -> list[tuple[str, str]]:
    """Categories as they are shown, and as a split names them."""
    return [
        (one_line(category), json.dumps(str(category), ensure_ascii=False))
        for category in (column.categories or ())[:_MAX_CATEGORIES]
    ]


def mime_bundle(editor: Editor, **options: Any) -> Any:
    """Return the output of a notebook cell: the page, and a picture and text for exports.

    A notebook without a kernel, such as an exported one, shows the picture and the text; without
    anywidget this is all there is.
    """
    static = {"text/plain": repr(editor), "text/html": _static_html(editor)}
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        hint = f"Hint: to edit the tree here by mouse, {install('edit')}."
        return {**static, "text/plain": f"{editor!r}\n{hint}"}
    page = EditorPage(editor, title="Edit the tree")

    class Widget(anywidget.AnyWidget):
        """The page in a frame of its own; commands and replies are messages."""

        _esm = files("treebound.edit").joinpath("static/widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode().tag(sync=True)

    widget = Widget(page=page.html())

    def receive(sender: Any, content: Any, buffers: Any) -> None:
        sender.send({"id": content["id"], "reply": page.reply(content["request"])})

    widget.on_msg(receive)
    bundle = widget._repr_mimebundle_(**options)
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
    return {**data, **static}, metadata


def _static_html(editor: Editor) -> str:
    """The tree of an editor as a picture, if matplotlib is installed, and as text."""
    return f"{_picture(editor.model())}{fixed_width(str(editor))}"


def _picture(model: Model | RegressionModel) -> str:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        return ""
    display, file = TreeDisplay(model, max_depth=_PICTURE_DEPTH), BytesIO()
    with pyplot.ioff():
        display.plot()
    display.figure_.savefig(file, format="svg")
    pyplot.close(display.figure_)  # or the notebook would show it once more
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="The tree" style="max-width: 100%" src="data:image/svg+xml;base64,{content}">'
