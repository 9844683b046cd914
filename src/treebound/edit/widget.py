"""The page of an editor in a notebook, by anywidget."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treebound.edit.editor import Editor


def mime_bundle(editor: Editor, **options: Any) -> Any:
    """What a notebook shows: the page, or the text where anywidget is not installed."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        hint = "Hint: pip install 'treebound[edit]' shows the tree here, to edit it by mouse."
        return {"text/plain": f"{editor!r}\n{hint}"}
    from treebound.edit.page import EditorPage

    page = EditorPage(editor, title="Edit the tree")

    class Widget(anywidget.AnyWidget):
        """The page in a frame of its own; commands and answers pass through messages."""

        _esm = files("treebound.edit").joinpath("static/widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode().tag(sync=True)

    widget = Widget(page=page.html())

    def receive(sender: Any, content: Any, buffers: Any) -> None:
        sender.send({"id": content["id"], "answer": page.answer(content["request"])})

    widget.on_msg(receive)
    return widget._repr_mimebundle_(**options)
