"""Writing files atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w", **kwargs: Any) -> Iterator[IO[Any]]:
    """Open a file that is moved to ``path`` when the block ends without an error.

    The data are written to a temporary file in the same folder, which then replaces ``path`` in
    one step; on an error it is removed and ``path`` is unchanged. If ``path`` is a link, its target
    is replaced. Pipes and devices are written to directly.
    """
    if "b" not in mode:
        kwargs.setdefault("encoding", "utf-8")
        kwargs.setdefault("newline", "")
    if is_special(Path(path)):
        with open(path, mode, **kwargs) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    with _naming(path):
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
    try:
        with _naming(path), os.fdopen(handle, mode, **kwargs) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with _naming(path):
            os.chmod(name, _mode_of(target))
            os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system, such as a full disk, name the file and not a temporary one."""
    try:
        yield
    except OSError as error:
        named = error.filename is not None and ".part" not in os.fspath(error.filename)
        if error.errno is None or named:
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8, atomically."""
    with atomic_write(path) as stream:
        stream.write(text)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a binary file, atomically."""
    with atomic_write(path, "wb") as stream:
        stream.write(data)


def check_writable(path: Path) -> None:
    """Raise an OSError with the reason if a file cannot be written, before long work starts."""
    folder = path.parent
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    if not folder.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: there is no folder {folder}.")
    allowed = path if is_special(path) else folder
    if not may_write(allowed) or (path.exists() and not may_write(path)):
        raise PermissionError(f"Cannot write {path}: permission denied.")


def may_write(path: Path) -> bool:
    """Return True if this process may write to an existing file or folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_special(path: Path) -> bool:
    """Return True if the path is a pipe, a device or a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _mode_of(target: Path) -> int:
    """The permissions that a plain ``open`` would give the file."""
    try:
        return target.stat().st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
