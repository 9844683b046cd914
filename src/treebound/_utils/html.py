"""Self-contained HTML pages from a template, a style, scripts and data."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="@POLICY@">
<link rel="icon" href="data:,">
<title>@TITLE@</title>
<style>@STYLE@</style>
</head>
<body>
"""


def assembled(
    template: Traversable,
    *,
    title: str,
    data: Any,
    styles: Sequence[Traversable],
    scripts: Sequence[Traversable],
    parts: Mapping[str, Traversable] | None = None,
    connect: bool = False,
) -> str:
    """Fill the placeholders of a template, such as ``@TITLE@``; ``parts`` are files to include.

    The template begins with ``@HEAD@``, which all pages share.

    The page loads nothing, and a content-security policy allows only its own style and script,
    by hash: text in the title or the data cannot run. With ``connect`` it may send requests to the
    server that it came from.
    """
    style, script = (
        "".join(file.read_text(encoding="utf-8") for file in files) for files in (styles, scripts)
    )
    page = template.read_text(encoding="utf-8")
    for name, file in (parts or {}).items():
        page = page.replace(f"@{name}@", file.read_text(encoding="utf-8"))
    page = page.replace("@HEAD@", _HEAD)
    texts = {
        "TITLE": html.escape(title),
        "POLICY": (
            f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
            f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
            + ("; connect-src 'self'" if connect else "")
        ),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _embedded(data),
    }
    # One pass over the template: inserted text is not searched again.
    return re.sub(r"@([A-Z]+)@", lambda match: texts[match[1]], page)


_FIXED_WIDTH = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Courier New', monospace"


def fixed_width(text: str, kind: str = "treebound-text") -> str:
    """Text in a fixed-width font, as HTML for a notebook."""
    style = f"font-family: {_FIXED_WIDTH}; white-space: pre; line-height: 1.3; overflow-x: auto"
    return f'<pre class="{kind}" style="{style}">{html.escape(text)}</pre>'


def paragraphs(text: str) -> str:
    """Lines of text as HTML for a notebook: the first in bold, those after a dash as a list."""
    first, *rest = text.splitlines()
    parts, items = [f"<div><b>{html.escape(first)}</b></div>"], list[str]()
    for line in [*rest, ""]:
        if line.startswith("- "):
            items.append(f"<li>{html.escape(line[2:])}</li>")
            continue
        if items:
            parts.append(f"<ul>{''.join(items)}</ul>")
            items = []
        if line:
            parts.append(f"<div>{html.escape(line)}</div>")
    return "".join(parts)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _embedded(data: Any) -> str:
    """JSON that cannot close its script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
