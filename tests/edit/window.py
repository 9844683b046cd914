"""The page of an editor in a browser: its server, and what people do there."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from treebound.cli.models import write_model
from treebound.edit import Editor
from treebound.edit.page import EditorPage
from treebound.edit.server import application

__all__ = ["Window", "opened_page", "served", "until"]

RESTS = "return !busy && chosen.node !== null && document.querySelector(arguments[0]) !== null"


@contextmanager
def served(editor: Editor, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of the page of an editor, and what stops its server."""
    uvicorn = pytest.importorskip("uvicorn")

    def write(command: str, model: Any) -> str:
        if command == "save":
            write_model(model, folder / "edited.json")
        return f"{command} done"

    page = EditorPage(editor, title="Edit", save=write)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    config = uvicorn.Config(application(page, "secret", port), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = server.force_exit = True
        thread.join(10)

    try:
        yield f"http://127.0.0.1:{port}/?token=secret", stop
    finally:
        stop()
        listening.close()


def until(true: Callable[[], Any], wish: str = "", seconds: float = 20) -> Any:
    """Return the value of a condition as soon as it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = true()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"the page never shows it: {wish}")


class Window:
    """The page in a browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def text(self, name: str) -> str:
        return self.driver.execute_script(
            "return document.getElementById(arguments[0]).textContent", name
        )

    def press(self, selector: str, *keys: str) -> None:
        """Click an element, or type keys into it, when the page has come to rest."""
        until(lambda: self.driver.execute_script(RESTS, selector), selector)
        element = self.driver.find_element("css selector", selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        self.rests(element)
        if keys:
            element.send_keys(*keys)
        else:
            element.click()

    def rests(self, element: Any) -> None:
        """Wait until an element stays where it is."""
        before = None
        while before != (before := element.rect):
            time.sleep(0.1)

    def choose(self, key: str) -> None:
        """Click a node and wait for its alternatives."""
        self.press(f'.node[data-key="{key or "root"}"]')
        self.ready(key)

    def ready(self, key: str) -> None:
        until(
            lambda: self.driver.execute_script(
                "return chosen.key === arguments[0] && chosen.node?.key === arguments[0]", key
            ),
            f"node {key!r}",
        )

    def shows(self, words: str) -> None:
        until(lambda: words in self.text("message"), words)

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def opened_page(
    driver: Any, editor: Editor, folder: Path
) -> Iterator[tuple[Window, Callable[[], None]]]:
    """The page of an editor in a browser, ready to be used, and what stops its server."""
    with served(editor, folder) as (address, stop):
        driver.get_log("browser")  # of the tests before
        driver.get(address)
        window = Window(driver)
        window.ready("")
        yield window, stop
