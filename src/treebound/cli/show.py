"""``treebound show``."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from treebound.cli.app import command
from treebound.cli.models import loaded_any
from treebound.cli.options import Force, Model, Output
from treebound.cli.output import check_output, write_result
from treebound.exchange import to_c, to_onnx, to_python, to_sql
from treebound.model import RegressionModel
from treebound.model.model import Model as FittedModel
from treebound.show import to_dot, to_html, to_latex, to_rules, to_text

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "text": to_text, "rules": to_rules, "dot": to_dot, "latex": to_latex, "html": to_html,
    "python": to_python, "c": to_c, "sql": to_sql, "onnx": to_onnx,
}  # fmt: skip
_PICTURES = ("svg", "png", "pdf")
_LIMITED = ("text", "dot", "latex", *_PICTURES)  # those that a depth can limit
Form: Any = Literal[(*_FUNCTIONS, *_PICTURES)]


@command(
    "treebound show model.json",
    "treebound show model.json --as svg -o tree.svg",
    "treebound show model.json --as sql > score.sql",
)
def show(
    model: Model,
    /,
    *,
    as_: Annotated[Form, Parameter(name=["--as"])] = "text",
    max_depth: int | None = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Show the tree of a model as text, rules, a picture, a report, or code.

    Parameters
    ----------
    as_
        The form.
    max_depth
        Maximum depth that is shown (text, dot, latex and pictures).
    output
        A file; by default standard output.
    """
    check_output(output, as_, reads=[model], force=force)
    write_result(_shown(loaded_any(model), as_, max_depth), output)


def _shown(model: FittedModel | RegressionModel, form: str, max_depth: int | None) -> str | bytes:
    if max_depth is not None and form not in _LIMITED:
        raise ValueError(f"A tree as {form} is always whole. Hint: leave out --max-depth.")
    limited = {} if max_depth is None else {"max_depth": max_depth}
    try:
        if form in _PICTURES:
            return _picture(model, form, limited)
        shown = _FUNCTIONS[form](model, **limited)
    except TypeError as error:
        if isinstance(model, FittedModel):
            raise
        raise ValueError(f"A regression tree cannot be shown as {form}: {error}") from None
    return bytes(shown.SerializeToString()) if form == "onnx" else str(shown)


def _picture(model: FittedModel | RegressionModel, form: str, options: dict[str, Any]) -> bytes:
    from treebound.show import TreeDisplay

    display = TreeDisplay.from_estimator(model, **options)
    stream = BytesIO()
    display.figure_.savefig(stream, format=form, bbox_inches="tight")
    return stream.getvalue()
