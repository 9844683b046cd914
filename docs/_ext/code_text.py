"""How code is shown: short names stay whole, ``$`` is the prompt, protocols have no arguments."""

import re
from typing import Any

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx

# Words of code that fit on any line; browsers would break them at hyphens.
_SHORT = re.compile(r'<span class="pre">((?:[^<&]|&\w+;){1,26})</span>')


class Transcript(BashSessionLexer):
    """Commands and their output, which may begin with ``#``."""

    name = "Transcript"
    aliases = ("console",)
    filenames = ()
    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def _whole(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if "body" in context:
        context["body"] = _SHORT.sub(r'<span class="pre whole">\1</span>', context["body"])


def _no_arguments(
    app: Sphinx, what: str, name: str, thing: Any, options: object, given: str, returns: str
) -> tuple[str, str] | None:
    return ("", returns) if getattr(thing, "_is_protocol", False) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all."""
    app.add_lexer("console", Transcript)
    app.connect("html-page-context", _whole)
    app.connect("autodoc-process-signature", _no_arguments)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
