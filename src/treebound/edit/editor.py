"""Editor: change a fitted tree by hand, and keep the certificate if it still holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from treebound._utils.validation import Whole, check, invalid
from treebound.edit.candidates import EditedTrees
from treebound.edit.kind import kind_of
from treebound.edit.nodes import LEAF, nodes_of
from treebound.edit.places import chosen_columns, conditions, node_at, path_of
from treebound.edit.rows import read_rows, with_categories
from treebound.edit.shown import ShownTree
from treebound.edit.steps import State, Step, Steps
from treebound.model import Model
from treebound.model.edits import Edit, NodeState, Remark
from treebound.model.methods import as_any_model
from treebound.model.regression import RegressionModel
from treebound.show.report_data import AlternativeTrees, check_alternatives
from treebound.tree.base import BaseTree
from treebound.tree.parsing import column_named, parse_split
from treebound.tree.recoding import recoded
from treebound.tree.split import SplitTest

# The methods that change the tree.
STEPS = ("split", "use", "collapse", "grow", "relabel", "swap", "adopt")


class Editor(ShownTree):
    """Change a fitted tree by hand.

    Made by :meth:`treebound.BoundTreeClassifier.edit` and
    :meth:`treebound.BoundTreeRegressor.edit`. A node is its number, or its path from the root as a
    text of ``L`` and ``R`` (the root is ``""``). The tree is counted again on the training rows
    after every step, so a certificate by tail inversion, which holds for all trees of its size at
    once, holds for the edited tree too. Trees that predict numbers have no such certificate. If
    ``fit`` held out calibration rows, they certify the edited tree only if you state that you have
    seen no figure of them: see :meth:`done`.

    Parameters
    ----------
    source : BoundTreeClassifier, BoundTreeRegressor, Model or RegressionModel
        It is not changed.
    X, y : table, and labels or numbers
        The rows it was fitted on.
    test : (X, y), optional
        Rows for the test error. They cannot be used for a certificate afterwards; the model
        records them.
    sample_weight, groups : array-like of shape (n_rows,), optional
        The weights and the groups of ``fit``.
    autosave : path, optional
        A file that keeps the steps, written after each of them, to
        :meth:`~treebound.edit.Editor.recover` them.
    alternatives : AlternativeTrees, optional
        Other good trees, from :meth:`treebound.BoundTreeClassifier.alternatives`, to
        :meth:`~treebound.edit.Editor.adopt` one of them.
    finish : callable, optional
        Makes the result of :meth:`done` of the edited model; by default it is the model.

    Raises
    ------
    ValueError
        If these are not the rows that the tree was trained on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import treebound as tb
    >>> iris = load_iris(as_frame=True)
    >>> y = iris.target_names[iris.target]
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, y)
    >>> editor = clf.edit(iris.data, y)
    >>> editor.split("R", "petal length (cm) <= 4.75").after.leaves
    3
    >>> print(editor.history[0])
    If petal length (cm) > 2: petal length (cm) <= 4.75 instead of petal width (cm) <= 1.75.
    >>> editor.done().model_.provenance.edits == editor.edits
    True
    """

    def __init__(
        self,
        source: Any,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        autosave: str | PathLike[str] | None = None,
        alternatives: AlternativeTrees | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        self._source = as_any_model(source, "edit")
        self.offered, self._finish = alternatives, finish
        self._start: Model | RegressionModel = with_categories(self._source, X)
        self.kind = kind_of(self._start)
        if alternatives is not None and isinstance(self._start, RegressionModel):
            raise invalid("alternatives", "edit", "None for a regression tree", type(alternatives))
        check_alternatives(alternatives, "edit")
        rows = self.kind.labelled(X, y, sample_weight, groups)
        self._rows = read_rows(self.kind, rows, test)
        self._trees = EditedTrees(self.kind, self._rows.sample)
        self._certifier = self.kind.certifier(self._rows)
        model = self._certifier.first()
        first = State(model, self.kind.figures(model, self._rows.test))
        self._steps = Steps(first, None if autosave is None else Path(autosave))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The page of the editor, in a notebook with anywidget."""
        from treebound.edit.page import mime_bundle

        return mime_bundle(self, **options)

    @property
    def notice(self) -> str:
        """Basis of the certificate of the edited tree, if ``fit`` held out calibration rows."""
        return self._certifier.notice(self.model())

    @property
    def calibration_can_certify(self) -> bool:
        """True if calibration rows can certify an edited tree, if no figure of them was seen."""
        return not self._certifier.calibration_reason

    def check_calibration(self) -> None:
        """Raise a ValueError if calibration rows cannot certify an edited tree."""
        self._certifier.check_calibration()

    # -- steps -----------------------------------------------------------------------------

    def split(
        self,
        node: int | str,
        text: str,
        *,
        keep: bool = True,
        note: str = "",
        author: str = "",
        time: datetime | str = "",
    ) -> Step:
        """Split a node by a condition.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        text : str
            A split as it is printed: ``"age <= 30"``, ``"sex = male"``, ``"age is missing"``.
        keep : bool
            Keep the subtrees below, without splits that no longer divide any rows. If False, both
            sides are grown again, with at most as many leaves as before.
        note, author : str, optional
            Why the step is taken, and by whom; the model keeps both.
        time : datetime or str, optional
            When it is taken, as ISO 8601 writes it; the model keeps it if it is given.

        Raises
        ------
        ValueError
            If this is no split of the columns, or all rows of the node go to one side.
        """
        at = self._node(node)
        test = parse_split(text, self.tree.columns)
        left, halves = self.rows_of(at).divided(test)
        if left.all() or not left.any():
            raise ValueError(
                f"{text!r} does not divide the rows: all {len(left):,} training rows of node "
                f"{node!r} go to one side."
            )
        if test.missing_left is None:  # no training value is missing: to the larger child
            test = test._replace(missing_left=bool(halves.mass[1] >= halves.mass[2]))
        step = {"do": "split", "node": path_of(self.tree, at), "text": text, "keep": keep}
        return self._split(at, test, step, Remark.of(note, author, time))

    def use(
        self,
        node: int | str,
        column: str,
        *,
        keep: bool = True,
        note: str = "",
        author: str = "",
        time: datetime | str = "",
    ) -> Step:
        """Split a node at the best threshold or category of a column.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        column : str
            The name of the column.
        keep, note, author, time
            See :meth:`split`.
        """
        at = self._node(node)
        feature = column_named(column, self.tree.columns, "use")
        best = self.rows_of(at).best_split(feature)
        if best is None:
            rows = int(self.tree.rows[at])
            raise ValueError(
                f"Column {column!r} has no split at node {node!r}: its {rows:,} rows are "
                f"all {self.kind.alike} or one value, or a side would be smaller than the options "
                "of growing allow."
            )
        step = {"do": "use", "node": path_of(self.tree, at), "column": column, "keep": keep}
        return self._split(at, best, step, Remark.of(note, author, time))

    def _split(self, node: int, test: SplitTest, step: dict[str, Any], remark: Remark) -> Step:
        edited = self._trees.split(self.tree, node, test, step["keep"])
        return self._did(edited, node, step, remark)

    def collapse(
        self, node: int | str, *, note: str = "", author: str = "", time: datetime | str = ""
    ) -> Step:
        """Make a node a leaf.

        Parameters
        ----------
        node : int or str
            The number or path of an inner node.
        note, author, time
            See :meth:`split`.
        """
        at, tree = self._inner_node(node, "collapse"), self.tree
        edited = self._trees.planted(tree, at, LEAF)
        step = {"do": "collapse", "node": path_of(tree, at)}
        return self._did(edited, at, step, Remark.of(note, author, time))

    def grow(
        self,
        node: int | str,
        *,
        columns: Sequence[str] | None = None,
        max_leaves: int = 2,
        note: str = "",
        author: str = "",
        time: datetime | str = "",
    ) -> Step:
        """Grow a subtree in the place of a node, with the options of ``fit``.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        columns : sequence of str, optional
            The columns to split on; by default all.
        max_leaves : int
            Maximum number of leaves of the subtree.
        note, author, time
            See :meth:`split`.
        """
        check("grow", {"max_leaves": max_leaves}, {"max_leaves": Whole(2)})
        at, tree = self._node(node), self.tree
        if isinstance(columns, str):
            raise invalid("columns", "grow", "a sequence of names", columns)
        places = self._trees.rules.columns(tree, at)
        if columns is not None:
            places = sorted({column_named(name, tree.columns, "grow") for name in columns})
        if not places:
            raise invalid("columns", "grow", "at least one name", columns)
        edited, leaves = self._trees.grown(tree, at, places, max_leaves)
        if leaves == 1:
            raise ValueError(
                f"Nothing grows at node {node!r}: its {int(tree.rows[at]):,} rows are "
                f"{self.kind.alike} or alike in these columns, or a leaf would be smaller than the "
                "options of growing allow."
            )
        step = {
            "do": "grow", "node": path_of(tree, at), "max_leaves": max_leaves,
            "columns": [tree.columns[place].name for place in places],
        }  # fmt: skip
        remark = Remark.of(note, author, time)
        return self._did(edited, at, step, remark, **chosen_columns(tree, places))

    def relabel(
        self,
        node: int | str,
        label: Any,
        *,
        note: str = "",
        author: str = "",
        time: datetime | str = "",
    ) -> Step:
        """Set the class or the number that a leaf predicts, whatever its rows are.

        Parameters
        ----------
        node : int or str
            The number or path of a leaf.
        label : object
            One of the classes, or a number.
        note, author, time
            See :meth:`split`.
        """
        at, tree = self._node(node), self.tree
        if tree.feature[at] >= 0:
            raise invalid("node", "relabel", "a leaf", node, "collapse it first.")
        predictions = self.kind.predictions(tree).copy()
        predictions[at] = self.kind.parse(label, tree)
        label = self.kind.stored(predictions[at])
        step = {"do": "relabel", "node": path_of(tree, at), "label": label}
        relabelled = self.kind.with_predictions(tree, predictions)
        return self._did(relabelled, at, step, Remark.of(note, author, time))

    def swap(
        self, node: int | str, *, note: str = "", author: str = "", time: datetime | str = ""
    ) -> Step:
        """Print the branches of a node in the other order.

        Only what is shown to people changes: rows go where they went, and node numbers and
        exported code stay.

        Parameters
        ----------
        node : int or str
            The number or path of an inner node.
        note, author, time
            See :meth:`split`.
        """
        at, tree = self._inner_node(node, "swap"), self.tree
        path = path_of(tree, at)
        swapped = self._steps.now.swapped ^ {path}
        step = {"do": "swap", "node": path}
        return self._did(tree, at, step, Remark.of(note, author, time), swapped=swapped)

    def adopt(
        self, number: int, *, note: str = "", author: str = "", time: datetime | str = ""
    ) -> Step:
        """Use one of the alternatives in the place of the whole tree.

        Parameters
        ----------
        number : int
            Its place among the alternatives that the editor was given, from 0.
        note, author, time
            See :meth:`split`.

        Raises
        ------
        ValueError
            If the editor was given no alternatives.
        """
        models = () if self.offered is None else self.offered.models
        if not models:
            raise ValueError(
                "The editor was given no alternatives. Hint: edit(X, y, "
                "alternatives=clf.alternatives(X, y))."
            )
        if not Whole(0).allows(number) or number >= len(models):
            raise invalid("number", "adopt", f"from 0 to {len(models) - 1}", number)
        tree = self.tree
        other = recoded(models[number].tree, tree.columns)
        nodes = nodes_of(other, 0, self.kind)
        edited = self._trees.planted(tree, 0, nodes)
        step = {"do": "adopt", "node": "", "number": number}
        return self._did(edited, 0, step, Remark.of(note, author, time), alternative=number + 1)

    def undo(self) -> Step:
        """Undo the last step."""
        return self._steps.undo()

    def redo(self) -> Step:
        """Redo the step that was undone last."""
        return self._steps.redo()

    def recover(self) -> tuple[str, ...]:
        """Take the steps of the autosave file again, before any other step.

        Returns
        -------
        tuple of str
            The steps, as ``history`` has them; those that had been undone can be redone.
        """
        file = self._steps.autosave
        if file is None:
            raise ValueError("There is no file to recover steps from. Hint: edit(autosave=FILE).")
        if self._steps.number or self._steps.undone:
            raise ValueError("The editor has steps already. Hint: recover in a new one.")
        steps, undone = self._steps.read(file)
        with self._steps.unwritten():  # the file stays whole until all are taken
            for step in steps:
                self.take(step)
            for _ in range(undone):
                self.undo()
        return self.history

    def take(self, step: dict[str, Any]) -> Step:
        """Take a step that is described as the autosave file does: its method and arguments."""
        arguments = {name: value for name, value in step.items() if name not in ("do", "node")}
        if step["do"] not in STEPS:
            raise KeyError(step["do"])
        if step["do"] == "relabel":
            arguments["label"] = self.kind.named(arguments["label"])
        if step["do"] == "adopt":
            return self.adopt(**arguments)
        taken: Step = getattr(self, step["do"])(step["node"], **arguments)
        return taken

    # -- the end ---------------------------------------------------------------------------

    def done(self, *, calibration_unseen: bool = False) -> Any:
        """Return the edited classifier or regressor.

        Parameters
        ----------
        calibration_unseen : bool
            State that you have seen no figure of the calibration rows that ``fit`` held out: not
            the certificate of the fitted tree, not that of an edited one. Then they certify the
            edited tree. By default it has the certificate from the training rows, or by the prior;
            a tree that predicts numbers has none.

        Returns
        -------
        BoundTreeClassifier or BoundTreeRegressor
            A fitted copy with the edited tree, without a pruning path; ``model_.provenance.edits``
            has the steps. If there is no certificate, ``certificate_reason_`` states why.

        Raises
        ------
        ValueError
            If the calibration rows cannot certify an edited tree.
        """
        model = self._source
        if self.edits:
            now = self.model()
            last = self._certifier.last(now.tree, calibration_unseen=calibration_unseen)
            model = replace(last, provenance=now.provenance, swapped=now.swapped)
        if self._rows.record is not self._start.provenance.row_record:
            provenance = replace(model.provenance, row_record=self._rows.record)
            model = replace(model, provenance=provenance)
        return model if self._finish is None else self._finish(model)

    # -- parts -----------------------------------------------------------------------------

    def _did(
        self,
        tree: Any,
        node: int,
        step: dict[str, Any],
        remark: Remark,
        *,
        swapped: frozenset[str] | None = None,
        **details: Any,
    ) -> Step:
        """Take a step; ``details`` are further fields of its record."""
        if swapped is None:  # splits below the node may have changed
            before = self._steps.now.swapped
            swapped = frozenset(at for at in before if not at.startswith(step["node"]))
        self._trees.rules.check(tree, f"{step['do']!r} at node {step['node']!r}")
        edit = Edit(
            step["do"],
            step["node"],
            conditions(self.tree, node, self._start.reading.handle_unknown),
            self._state(self.tree, node),
            self._state(tree, node),
            remark=remark,
            **details,
        )
        model, earlier = self._certifier.model(tree), self._start.provenance.edits
        model = replace(
            model,
            provenance=replace(model.provenance, edits=(*earlier, *self.edits, edit)),
            swapped=tuple(sorted(node_at(tree, path) for path in swapped)),
        )
        figures = self.kind.figures(model, self._rows.test)
        taken = {**step, **remark.arguments}
        return self._steps.add(State(model, figures, edit, taken, swapped))

    def _state(self, tree: BaseTree, node: int) -> NodeState:
        """A node as the record of an edit has it."""
        return NodeState(
            leaves=int(tree.size[node] + 1) // 2,
            prediction=self.kind.named(float(self.kind.predictions(tree)[node])),
            split=self._condition(tree, node) if tree.feature[node] >= 0 else None,
            share=self.kind.share(tree, node),
        )
