"""A private cache and a local web server for the tests of the data sets."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


class Mirror:
    """A web server on the loopback interface that serves given bytes and records requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.promised: dict[str, int] = {}  # bytes announced, where not the true number
        self.requests: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.lstrip("/")
                mirror.requests.append(path)
                if path not in mirror.files:
                    self.send_error(404)
                    return
                body = mirror.files[path]
                self.send_response(200)
                self.send_header("Content-Length", str(mirror.promised.get(path, len(body))))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, and nothing but a dead port for a network."""
    monkeypatch.setenv("TREEBOUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TREEBOUND_MIRROR", "http://127.0.0.1:9/")
    monkeypatch.delenv("TREEBOUND_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    server = Mirror()
    monkeypatch.setenv("TREEBOUND_MIRROR", server.url)
    yield server
    server.close()
