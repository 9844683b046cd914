"""The page of an editor for a browser on this machine: a server for one user."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from treebound._utils.extras import require
from treebound._utils.validation import Setting, WordedError
from treebound.edit.page import EditorPage

_HOST = "127.0.0.1"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_MAX_BYTES = 1_000_000


def application(page: EditorPage, token: str, port: int) -> Any:
    """The server as a Starlette application.

    Only requests to this machine's own address, from a page of this server, with the token in the
    URL or a header, get a reply; all others get 403. So no other page in the browser and no other
    user of the machine can read or change anything.
    """
    require("starlette", extra="edit", why="The editor in a browser")
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    hosts = {f"{_HOST}:{port}", f"localhost:{port}"}
    refused = PlainTextResponse("Forbidden", 403, headers=_HEADERS)

    def allowed(request: Request, shown: str | None) -> bool:
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        same_origin = host in hosts and (origin is None or origin == f"http://{host}")
        return same_origin and secrets.compare_digest((shown or "").encode(), token.encode())

    async def show(request: Request) -> Response:
        if not allowed(request, request.query_params.get("token")):
            return refused
        return HTMLResponse(page.html(token), headers=_HEADERS)

    async def command(request: Request) -> Response:
        if not allowed(request, request.headers.get("x-token")):
            return refused
        stated = request.headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated) > _MAX_BYTES:
            return refused
        body = bytearray()
        async for chunk in request.stream():  # in chunks, no header states the length
            body += chunk
            if len(body) > _MAX_BYTES:
                return refused
        try:
            content = json.loads(bytes(body))
        except (ValueError, RecursionError):
            content = None
        return JSONResponse(page.reply(content), headers=_HEADERS)

    async def nothing_else(request: Request) -> Response:
        return refused

    return Starlette(
        routes=[
            Route("/", show, methods=["GET"]),
            Route("/command", command, methods=["POST"]),
            Route("/{path:path}", nothing_else, methods=["GET", "POST", "PUT", "DELETE"]),
        ],
        exception_handlers={404: lambda *_: refused, 405: lambda *_: refused},
    )


def serve(page: EditorPage, *, port: int = 0, started: Callable[[str], None]) -> None:
    """Serve the page until it is interrupted; ``started`` gets its address."""
    uvicorn = require("uvicorn", extra="edit", why="The editor in a browser")
    require("starlette", extra="edit", why="The editor in a browser")
    # a socket that names its protocol: asyncio sends short replies at once only on such
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except OSError as error:
            message = f"Port {port} cannot be used: {error.strerror}. Hint: give another "
            raise WordedError(message, Setting("port"), ", or none.") from None
        listening.listen()
        token, port = secrets.token_urlsafe(24), listening.getsockname()[1]
        server = application(page, token, port)
        config = uvicorn.Config(server, log_level="error", ws="none", lifespan="off")
        started(f"http://{_HOST}:{port}/?token={token}")
        with suppress(KeyboardInterrupt):  # the way to end it
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
