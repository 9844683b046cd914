"""Folder, cache and network: the right file, or one clear error and nothing half-written."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from treebound.study import datasets
from treebound.study.datasets import DatasetError, sources
from treebound.study.datasets.registry import DatasetInfo

PAYLOAD = b"5.1,3.5,1.4,0.2,Iris-setosa\n" * 40
OTHER = PAYLOAD.replace(b"3.5", b"3.6")


def sha256(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """A small data set named iris whose file is PAYLOAD."""
    entry = replace(datasets.info("iris"), sha256=sha256(PAYLOAD), size=len(PAYLOAD))
    monkeypatch.setattr(sources, "info", lambda name: entry)
    return entry


@pytest.fixture
def zipped(entry: DatasetInfo) -> DatasetInfo:
    return replace(entry, path="some/where.zip", member="iris.data")


def put(folder: Path, entry: DatasetInfo, payload: bytes, name: str | None = None) -> Path:
    path = folder / entry.name / (name or entry.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(payload)
    return path


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, payload in members.items():
            opened.writestr(name.replace("_", "."), payload)
    return stream.getvalue()


def files_under(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# -- the order of places -------------------------------------------------------------------


def test_the_folder_comes_before_the_cache_and_the_cache_before_the_network(
    entry, cache, mirror, tmp_path
):
    mirror.files[entry.path] = PAYLOAD
    folder = tmp_path / "mine"
    mine, cached = put(folder, entry, PAYLOAD), put(cache, entry, PAYLOAD)
    assert sources.file_bytes(entry, data=folder) == (PAYLOAD, mine)
    mine.unlink()
    assert sources.file_bytes(entry, data=folder) == (PAYLOAD, cached)
    cached.unlink()
    assert mirror.requests == []
    assert sources.file_bytes(entry, data=folder) == (PAYLOAD, cached)
    assert mirror.requests == [entry.path]


def test_a_download_is_kept_in_the_cache(entry, cache, mirror):
    mirror.files[entry.path] = PAYLOAD
    for _ in range(3):
        assert sources.file_bytes(entry)[0] == PAYLOAD
    assert mirror.requests == [entry.path]
    assert files_under(cache) == ["iris.data"]


def test_the_environment_names_the_folder(entry, tmp_path, monkeypatch):
    path = put(tmp_path / "mine", entry, PAYLOAD)
    monkeypatch.setenv("TREEBOUND_DATA", str(tmp_path / "mine"))
    assert sources.file_bytes(entry) == (PAYLOAD, path)


def test_a_named_folder_that_is_none_is_an_error(entry, tmp_path):
    with pytest.raises(DatasetError, match=r"nowhere is not a folder. Hint: .*TREEBOUND_DATA"):
        sources.file_bytes(entry, data=tmp_path / "nowhere")


# -- wrong files ---------------------------------------------------------------------------


def test_a_wrong_file_in_the_folder_is_named_with_both_checksums(entry, tmp_path):
    path = put(tmp_path, entry, OTHER)
    with pytest.raises(DatasetError) as caught:
        sources.file_bytes(entry, data=tmp_path, accept=True)
    message = str(caught.value)
    for part in (str(path), sha256(OTHER), entry.sha256, entry.url, "iris/iris.data"):
        assert part in message
    assert "cut short" not in message


def test_a_file_that_is_cut_short_is_reported(entry, tmp_path):
    put(tmp_path, entry, PAYLOAD[:100])
    with pytest.raises(DatasetError, match=r"100 bytes .* expected were 1120 bytes .* cut short"):
        sources.file_bytes(entry, data=tmp_path)


def test_a_wrong_download_is_not_kept(entry, cache, mirror):
    mirror.files[entry.path] = OTHER
    with pytest.raises(DatasetError, match=sha256(OTHER)):
        sources.file_bytes(entry)
    assert files_under(cache) == []


def test_a_download_that_breaks_off_is_not_kept(entry, cache, mirror):
    mirror.files[entry.path] = PAYLOAD[:500]
    mirror.promised[entry.path] = len(PAYLOAD)
    with pytest.raises(DatasetError, match=r"iris\.data"):
        sources.file_bytes(entry)
    assert files_under(cache) == []


def test_a_damaged_cache_file_is_fetched_again(entry, cache, mirror):
    mirror.files[entry.path] = PAYLOAD
    path = put(cache, entry, PAYLOAD[:100])
    with pytest.warns(UserWarning, match="cut short.*downloaded again"):
        assert sources.file_bytes(entry)[0] == PAYLOAD
    assert path.read_bytes() == PAYLOAD


def test_without_a_network_the_error_states_which_file_goes_where(entry, cache):
    with pytest.raises(DatasetError) as caught:
        sources.file_bytes(entry)
    message = str(caught.value)
    place = str(cache / "iris" / "iris.data")
    for part in ("'iris'", "127.0.0.1:9", entry.url, entry.page, entry.sha256, place):
        assert part in message
    assert "\n" not in message


def test_a_page_that_is_gone_is_an_error(entry, cache, mirror):
    with pytest.raises(DatasetError, match="failed: 404"):
        sources.file_bytes(entry)
    assert files_under(cache) == []


# -- checksums that were never recorded ----------------------------------------------------


def test_an_unrecorded_checksum_may_be_accepted_and_is_remembered(entry, cache, mirror):
    unsure = replace(entry, recorded=False)
    mirror.files[entry.path] = OTHER
    with pytest.raises(DatasetError, match=r"No checksum of UCI's own file.*accept=True") as caught:
        sources.file_bytes(unsure)
    assert sha256(OTHER) in str(caught.value)
    assert entry.sha256 in str(caught.value)
    with pytest.warns(UserWarning, match=f"{sha256(OTHER)}.*{entry.sha256}.*accept=True"):
        assert sources.file_bytes(unsure, accept=True)[0] == OTHER
    with pytest.warns(UserWarning, match="accept=True"):
        assert sources.file_bytes(unsure)[0] == OTHER
    assert len(mirror.requests) == 2
    # What was accepted is that file, not any file.
    put(cache, entry, PAYLOAD[:50])
    with (
        pytest.warns(UserWarning, match="cut short.*downloaded again"),
        pytest.raises(DatasetError, match="No checksum of UCI's own file"),
    ):
        sources.file_bytes(unsure)


def test_a_recorded_checksum_cannot_be_overridden(entry, mirror):
    mirror.files[entry.path] = OTHER
    with pytest.raises(DatasetError, match=sha256(OTHER)):
        sources.file_bytes(entry, accept=True)


# -- archives ------------------------------------------------------------------------------


def test_the_member_of_an_archive_is_kept_not_the_archive(zipped, cache, mirror):
    mirror.files[zipped.path] = archive(iris_data=PAYLOAD, README=b"read me")
    assert sources.file_bytes(zipped)[0] == PAYLOAD
    assert files_under(cache) == ["iris.data"]


def test_an_archive_put_into_the_folder_by_hand_will_do(zipped, tmp_path):
    path = put(tmp_path, zipped, archive(iris_data=PAYLOAD), "where.zip")
    assert sources.file_bytes(zipped, data=tmp_path) == (PAYLOAD, path)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"<html>not found</html>", "not a zip file"),
        (archive(iris_data=PAYLOAD)[:80], "not a zip file"),
        (archive(other_data=PAYLOAD), "no member 'iris.data'"),
        (archive(iris_data=bytes(10**7)), "larger than"),
        (archive(iris_data=OTHER), "SHA-256"),
    ],
    ids=["no archive", "cut short", "no member", "bomb", "wrong member"],
)
def test_a_bad_archive_is_refused(zipped, cache, mirror, payload, why):
    mirror.files[zipped.path] = payload
    with pytest.raises(DatasetError, match=why) as caught:
        sources.file_bytes(zipped)
    assert "by hand" in str(caught.value)
    assert files_under(cache) == []


def test_an_archive_damaged_in_the_middle_is_refused(zipped, mirror):
    payload = bytearray(archive(iris_data=os.urandom(4000)))
    payload[1000:1010] = bytes(10)
    mirror.files[zipped.path] = bytes(payload)
    with pytest.raises(DatasetError, match="not the archive of the data set 'iris'"):
        sources.file_bytes(zipped)


def test_members_that_point_outside_write_nothing(zipped, cache, mirror, tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        opened.writestr("../../evil", b"evil")
        opened.writestr("/tmp/evil", b"evil")
        opened.writestr("iris.data", PAYLOAD)
    mirror.files[zipped.path] = stream.getvalue()
    sources.file_bytes(zipped)
    assert files_under(tmp_path) == ["iris.data"]


# -- fetching ------------------------------------------------------------------------------


def test_fetch_stores_the_file_in_the_given_folder(entry, cache, mirror, tmp_path):
    mirror.files[entry.path] = PAYLOAD
    mine = tmp_path / "mine"
    mine.mkdir()
    assert datasets.fetch("iris", data=mine) == mine / "iris" / "iris.data"
    assert datasets.fetch("iris", data=mine) == mine / "iris" / "iris.data"
    assert len(mirror.requests) == 1
    assert datasets.fetch("iris") == cache / "iris" / "iris.data"


def test_fetch_leaves_what_the_named_folder_already_has(entry, mirror, tmp_path, monkeypatch):
    path = put(tmp_path / "mine", entry, PAYLOAD)
    monkeypatch.setenv("TREEBOUND_DATA", str(tmp_path / "mine"))
    assert datasets.fetch("iris") == path
    assert mirror.requests == []


def test_a_write_that_fails_leaves_no_file(entry, cache, mirror, monkeypatch):
    mirror.files[entry.path] = PAYLOAD

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DatasetError, match=r"Cannot keep .*No space left .*TREEBOUND_CACHE"):
        sources.file_bytes(entry)
    assert files_under(cache) == []


def test_fetching_at_the_same_time_is_safe(entry, cache, mirror):
    mirror.files[entry.path] = PAYLOAD
    with ThreadPoolExecutor(8) as pool:
        contents = list(pool.map(lambda _: sources.file_bytes(entry)[0], range(24)))
    assert set(contents) == {PAYLOAD}
    assert files_under(cache) == ["iris.data"]


def test_a_whole_data_set_loads_over_the_network(mirror, cache, raw_files):
    entry = datasets.info("zoo")
    mirror.files[entry.path] = (raw_files / "zoo" / entry.file).read_bytes()
    zoo = datasets.load("zoo")
    assert zoo.n_examples == 101
    assert zoo.source == str(cache / "zoo" / entry.file)


def test_a_workbook_that_is_none_is_a_clear_error(monkeypatch, tmp_path):
    from treebound.study.datasets import loaders

    junk = b"not a workbook" * 100
    entry = datasets.info("cardiotocography10")
    entry = replace(entry, sha256=sha256(junk), size=len(junk))
    monkeypatch.setattr(loaders, "info", lambda name: entry)
    put(tmp_path, entry, junk)
    with pytest.raises(DatasetError, match=r"CTG\.xls is not a readable workbook"):
        datasets.load("cardiotocography10", data=tmp_path)
