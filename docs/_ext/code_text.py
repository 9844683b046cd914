"""How code is shown: names, prompts, signatures and the values that a parameter can have."""

import re
from dataclasses import fields, is_dataclass
from html import unescape
from typing import Any

import msgspec
from docutils import nodes
from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_SHORT = 26  # characters of code that fit on any line; browsers would break them at hyphens
_CODE = re.compile(r'<span class="pre">([^<]*)</span>')
_TITLE = re.compile(r"<h1>[^<]*")
_JOINT = re.compile(r"(?<=[._])(?=\w)|(?<=[a-z])(?=[A-Z])")


class Transcript(BashSessionLexer):
    """Commands and their output, which may begin with ``#``."""

    name = "Transcript"
    aliases = ("console",)
    filenames = ()
    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def _jointed(text: str) -> str:
    """Long names break between their words."""
    return _JOINT.sub("<wbr>", text)


def _code(match: re.Match[str]) -> str:
    kind = "pre whole" if len(unescape(match[1])) <= _SHORT else "pre"
    return f'<span class="{kind}">{_jointed(match[1])}</span>'


def _names(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if "body" in context:
        body = _CODE.sub(_code, context["body"])
        context["body"] = _TITLE.sub(lambda match: _jointed(match[0]), body)
    if context.get("toc"):
        context["toc"] = _CODE.sub(lambda match: _jointed(match[0]), context["toc"])
    for near in (context.get("prev"), context.get("next")):
        if near and "<" not in near["title"]:
            near["title"] = _jointed(near["title"])


def _signature(
    app: Sphinx, kind: str, name: str, thing: Any, options: object, given: str, returns: str
) -> tuple[str, str] | None:
    """Protocols have no arguments; what makes a default is named."""
    if getattr(thing, "_is_protocol", False):
        return "", returns
    if given and "=<factory>" in given:
        for field in fields(thing) if is_dataclass(thing) else msgspec.structs.fields(thing):
            made = getattr(field.default_factory, "__name__", "...")
            given = given.replace(f"{field.name}=<factory>", f"{field.name}={made}()")
        return given, returns
    return None


class StraightQuotes(SphinxTransform):
    """Types keep the quotes of Python: ``{"a", "b"}``."""

    default_priority = 740  # before quotes become curly

    def apply(self, **options: Any) -> None:
        for node in self.document.findall(nodes.classifier):
            node["support_smartquotes"] = False


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all."""
    app.add_lexer("console", Transcript)
    app.add_transform(StraightQuotes)
    app.connect("html-page-context", _names)
    app.connect("autodoc-process-signature", _signature)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
