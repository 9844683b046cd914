"""Formulas as MathML, which browsers draw by themselves: the pages need no network."""

import re
from typing import Any, NoReturn

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

# What docutils does not do by itself: the name of dots, and thin spaces around logarithms.
_REPLACED = (
    (r"\\dots\b", r"\\ldots"),
    (r"(?<=[\w})])\s*\\ln\b", r"\\,\\ln"),
    (r"\\ln\s+(?=[\\\w])", r"\\ln\\,"),
)
_LONG = 40  # characters of TeX; about what fits on a phone


def _formula(node: nodes.Element, *, as_block: bool) -> str:
    text = node.astext()
    for pattern, replacement in _REPLACED:
        text = re.sub(pattern, replacement, text)
    return tex2mathml(text, as_block=as_block)


def _inline(writer: Any, node: nodes.Element) -> NoReturn:
    # A long formula may scroll by itself, where the page is narrow.
    size = " long" if len(node.astext()) > _LONG else ""
    formula = _formula(node, as_block=False)
    writer.body.append(f'<span class="formula{size}">{formula}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> NoReturn:
    writer.body.append(f'<div class="formula">{_formula(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
