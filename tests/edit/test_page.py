"""The page of an editor, without a browser: commands, replies, and a server for one person."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from edit.editor_case import passengers

from treebound import BoundTreeClassifier
from treebound.edit import Editor
from treebound.edit.page import EditorPage
from treebound.edit.server import application
from treebound.exchange import loads


@pytest.fixture(scope="module")
def case():
    return passengers()


@pytest.fixture
def page(case) -> EditorPage:
    clf, X, y = case
    return EditorPage(clf.edit(X, y), title="Edit")


def send(page: EditorPage, **command: object) -> dict:
    return json.loads(json.dumps(page.reply(command), allow_nan=False))


@pytest.mark.parametrize(
    "command",
    [
        {"do": "split", "node": "", "text": '"age" <= 30 or missing', "keep": True},
        {"do": "use", "node": "L", "column": "siblings", "keep": False},
        {"do": "collapse", "node": "R"},
        {"do": "grow", "node": "L", "max_leaves": 3, "columns": ["age", "port"]},
        {"do": "swap", "node": ""},
    ],
)
def test_a_step_gives_the_whole_new_state_and_can_be_undone(page, command) -> None:
    before = send(page, do="state")["state"]
    reply = send(page, version=0, **command)
    state = reply["state"]
    assert state["history"] == [reply["message"]]
    assert state["version"] == 1
    assert state["nodes"] != before["nodes"]
    undone = send(page, do="undo", version=1)["state"]
    assert undone["nodes"] == before["nodes"]
    assert undone["undone"] == 1
    assert send(page, do="redo", version=2)["state"]["nodes"] == state["nodes"]


def test_missing_values_of_an_ordinal_column_may_be_split_from_all_others() -> None:
    size = pd.Categorical(["S", "M", "L", None] * 30, ["S", "M", "L"], ordered=True)
    X = pd.DataFrame({"size": size, "x": np.arange(120.0) % 7})
    y = X["size"].isna().to_numpy()
    clf = BoundTreeClassifier().fit(X, y)
    node = send(EditorPage(clf.edit(X, y), title="Edit"), do="node", node="", version=0)["node"]
    first = node["candidates"][0]
    assert (first["name"], first["words"], first["code"]) == ("size", "≤ L", 2)


def test_surrogates_of_an_inner_node_are_those_of_the_editor(page, case) -> None:
    clf, X, y = case
    wanted = clf.edit(X, y).surrogates("")
    listed = send(page, do="surrogates", node="", version=0)["surrogates"]
    assert len(listed) > 1
    assert [line["words"] for line in listed] == wanted["split"].tolist()
    assert [line["agreement"] for line in listed] == wanted["agreement"].tolist()


def test_changed_rows_and_figures_stand_in_the_state(page, case) -> None:
    clf, X, y = case
    state = send(page, do="collapse", node="", version=0)["state"]
    editor = clf.edit(X, y)
    editor.collapse("")
    assert sum(line["rows"] for line in state["changed"]) == editor.changed()["rows"].sum()
    assert [tuple(line) for line in state["figures"]] == editor.figures.lines(editor.figures_before)


def test_a_node_has_its_alternatives_with_histograms(page, case) -> None:
    clf, X, y = case
    node = send(page, do="node", node="L", version=0)["node"]
    table = clf.edit(X, y).alternatives("L")
    assert [item["name"] for item in node["candidates"]] == table["column"].tolist()
    rows = int(clf.tree_.rows[clf.tree_.left[0]])
    for item in node["candidates"]:
        counted = sum(map(sum, item["bars"]))
        missing = int(X["age"].isna().sum()) if item["kind"] == "real" else 0
        assert rows - missing <= counted <= rows
        assert len(item["edges"]) in (0, len(item["bars"]) + 1)


def test_a_preview_counts_without_a_step(page, case) -> None:
    clf, X, y = case
    preview = send(page, do="preview", node="", text='"siblings" <= 2', version=0)["preview"]
    assert preview["rows"] == [int((X["siblings"] <= 2).sum()), int((X["siblings"] > 2).sum())]
    editor = clf.edit(X, y)
    editor.collapse("")
    editor.split("", "siblings <= 2")
    assert preview["loss"] == f"{editor.tree.errors:g} errors"
    assert send(page, do="state")["state"]["history"] == []


def test_a_moved_threshold_becomes_a_training_value_where_rows_name_the_splits() -> None:
    clf, X, y = passengers(thresholds="observed")
    page = EditorPage(clf.edit(X, y), title="Edit")
    send(page, do="split", node="", text='"age" <= 31.23456', keep=False, version=0)
    written = loads(send(page, do="save", version=1)["file"]["text"])
    below = X["age"][X["age"] <= 31.23456]
    assert written.tree.threshold[0] == below.max()
    assert written.tree.names[0] >= 0
    assert written.certificate.method == "compression"


def test_a_second_window_gets_an_error_and_changes_nothing(page) -> None:
    assert "error" not in send(page, do="collapse", node="L", version=0)
    reply = send(page, do="collapse", node="R", version=0)
    assert "another window" in reply["error"]
    assert len(reply["state"]["history"]) == 1


@pytest.mark.parametrize(
    "command",
    [None, 3, [], {}, {"do": "nothing", "version": 0}, {"do": "collapse", "version": 0},
     {"do": "grow", "node": "", "version": 0, "evil": 1},
     {"do": "relabel", "node": "L", "label": 99, "version": 0},
     {"do": "__class__", "node": "", "version": 0},
     {"do": "split", "version": 0, "node": "", "text": 3, "keep": True}],
)  # fmt: skip
def test_what_is_no_command_is_refused(page, command) -> None:
    assert page.reply(command)["error"]
    assert send(page, do="state")["state"]["history"] == []


def test_a_step_that_cannot_be_saved_is_reported_and_taken(case, tmp_path) -> None:
    clf, X, y = case
    folder = tmp_path / "gone"
    folder.mkdir()
    page = EditorPage(clf.edit(X, y, autosave=folder / "steps"), title="Edit")
    folder.rmdir()
    reply = send(page, do="collapse", node="R", version=0)
    assert "could not be saved" in reply["error"]
    assert reply["state"]["version"] == 1
    assert len(reply["state"]["history"]) == 1


@pytest.mark.parametrize("unseen", [False, True])
def test_calibration_rows_certify_the_first_model_saved_if_the_user_states_it(unseen) -> None:
    clf, X, y = passengers(certificate="held-out", random_state=0)
    page = EditorPage(Editor(clf, X, y), title="Edit", calibration_unseen=unseen)
    state = send(page, do="collapse", node="R", version=0)["state"]
    assert "computed from the training rows" in state["notice"]
    assert state["steps"][0]["certificate"] is not None
    report = send(page, do="report", version=1)["file"]["text"]
    assert "held-out examples" not in report
    kind = "held-out" if unseen else "training"
    for _ in range(2):
        first = loads(send(page, do="save", version=1)["file"]["text"])
        assert first.certificate.kind == kind
    send(page, do="collapse", node="", version=1)
    second = loads(send(page, do="save", version=2)["file"]["text"])
    assert second.certificate.kind == "training"


def test_the_page_embeds_its_state_and_loads_nothing(page) -> None:
    html = page.html("secret")
    assert "connect-src 'self'" in html
    assert "connect-src" not in page.html()
    assert not re.search(r"""(src|href)=["']?(?!data:)\w""", html.split("<script")[0])


# -- the server -----------------------------------------------------------------------------------


@pytest.fixture
def client(page):
    pytest.importorskip("httpx")
    testing = pytest.importorskip("starlette.testclient")
    server = application(page, "secret", 8000)
    return testing.TestClient(server, base_url="http://127.0.0.1:8000")


COMMAND = json.dumps({"do": "state"})


def test_the_page_and_its_commands_are_served_to_who_has_the_token(client) -> None:
    shown = client.get("/?token=secret")
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    assert shown.headers["x-frame-options"] == "DENY"
    reply = client.post("/command", content=COMMAND, headers={"x-token": "secret"})
    assert reply.json()["state"]["version"] == 0
    allowed = {"x-token": "secret", "origin": "http://127.0.0.1:8000"}
    assert client.post("/command", content=COMMAND, headers=allowed).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {}),
        ("GET", "/?token=", {}),
        ("GET", "/?token=guess", {}),
        ("GET", "/?token=secret", {"host": "evil.example"}),
        ("GET", "/?token=secret", {"host": "127.0.0.1:9"}),
        ("GET", "/?token=secret", {"origin": "http://evil.example"}),
        ("GET", "/?token=secret", {"origin": "null"}),
        ("GET", "/command", {"x-token": "secret"}),
        ("GET", "/etc/passwd?token=secret", {}),
        ("OPTIONS", "/command", {"origin": "http://evil.example"}),
        ("POST", "/?token=secret", {}),
        ("POST", "/command", {}),
        ("POST", "/command", {"x-token": "guess"}),
        ("POST", "/command", {"x-token": "secret", "origin": "http://evil.example"}),
        ("POST", "/command", {"x-token": "secret", "host": "evil.example"}),
        ("POST", "/command", {"x-token": "secret", "content-length": "2000000"}),
        ("POST", "/command", {"x-token": "secret", "content-length": "many"}),
        ("DELETE", "/command", {"x-token": "secret"}),
    ],
)  # fmt: skip
def test_all_other_requests_are_refused(client, method, path, headers) -> None:
    reply = client.request(method, path, headers=headers, content=COMMAND)
    assert (reply.status_code, reply.text) == (403, "Forbidden")


@pytest.mark.parametrize("body", [b"\xff{", b"[" * 100_000, b'{"a":' * 100_000])
def test_a_body_that_is_no_json_is_no_command(client, body) -> None:
    reply = client.post("/command", content=body, headers={"x-token": "secret"})
    assert reply.json() == {"error": "This is not a command of the editor."}


def test_a_command_that_is_nested_deeply_is_none(page) -> None:
    node: list[object] = []
    for _ in range(5000):
        node = [node]
    reply = page.reply({"do": "node", "version": 0, "node": node})
    assert reply == {"error": "This is not a command of the editor."}


def test_a_body_in_chunks_has_a_limit(client) -> None:
    sent = 0

    def chunks():
        nonlocal sent
        while sent < 50_000_000:
            sent += 100_000
            yield b" " * 100_000

    reply = client.post("/command", content=chunks(), headers={"x-token": "secret"})
    assert (reply.status_code, reply.text) == (403, "Forbidden")
    small = client.post("/command", content=iter([COMMAND.encode()]), headers={"x-token": "secret"})
    assert "content-length" not in small.request.headers
    assert small.json()["state"]["version"] == 0
