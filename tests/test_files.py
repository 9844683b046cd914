"""Files appear whole or not at all, wherever they are written."""

import errno
import os
import threading

import pytest

from treebound._utils.files import atomic_write, write_text


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("as it was")

    def write_half():
        with atomic_write(path) as stream:
            stream.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "as it was"
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "real.txt", tmp_path / "link.txt"
    path.write_text("old")
    link.symlink_to("real.txt")
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_a_pipe_may_have_no_name_but_that_of_its_end():
    reader, writer = os.pipe()
    write_text(f"/dev/fd/{writer}", "hello")
    os.close(writer)
    with open(reader) as stream:
        assert stream.read() == "hello"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "hello")
    reader.join()
    assert read == ["hello"]
    assert pipe.is_fifo()


def test_a_full_disk_is_an_error_with_the_name_of_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*model\.json") as caught:
        write_text(tmp_path / "model.json", "text")
    assert caught.value.filename == str(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_names_another_file_is_not_changed(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.csv"), atomic_write(tmp_path / "a"):
        (tmp_path / "absent.csv").read_text()
