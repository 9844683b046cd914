"""Finding the files of the registry in a folder, the cache or the network, with checksums."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
import zipfile
import zlib
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from treebound._utils.extras import require
from treebound._utils.files import write_bytes, write_text
from treebound.study.datasets.registry import UCI, DatasetInfo, info

Folder = str | os.PathLike[str]

# Errors of zipfile for truncated, damaged, encrypted or unsupported archives.
_BROKEN_ZIP = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError,
)  # fmt: skip


class DatasetError(OSError):
    """The file of a data set is missing, cannot be fetched or is not the right one."""


def data_folder(data: Folder | None = None) -> Path | None:
    """The data folder, from the argument or from ``TREEBOUND_DATA``."""
    named = data if data is not None else os.environ.get("TREEBOUND_DATA") or None
    if named is None:
        return None
    if not Path(named).is_dir():
        raise DatasetError(
            f"The data folder {named} is not a folder. Hint: name one with the 'data' parameter, "
            "--data or TREEBOUND_DATA."
        )
    return Path(named)


def cache_folder() -> Path:
    """The folder of downloads: ``TREEBOUND_CACHE``, or the system's cache folder."""
    named = os.environ.get("TREEBOUND_CACHE")
    if named:
        return Path(named)
    pooch = require("pooch", extra="study", why="Keeping downloaded data sets")
    return Path(pooch.os_cache("treebound"))


def find_file(entry: DatasetInfo, folder: Path) -> Path | None:
    """The file of a data set in a folder, or its archive; None if there is neither."""
    for name in (entry.file, entry.archive):
        if name is not None and (folder / entry.name / name).is_file():
            return folder / entry.name / name
    return None


def file_bytes(
    entry: DatasetInfo, *, data: Folder | None = None, accept: bool = False
) -> tuple[bytes, Path]:
    """The checked bytes of a data set's file, and where it is.

    Looks in the data folder, then in the cache, then at UCI (downloads are cached).
    """
    return _located(entry, data_folder(data), cache_folder(), accept)


def fetch(name: str, *, data: Folder | None = None, accept: bool = False) -> Path:
    """Download the file of a data set, unless it is on disk.

    Parameters
    ----------
    name : str
        One of :func:`list`.
    data : path-like, optional
        The folder to keep it in; by default the cache (and files in ``TREEBOUND_DATA`` are not
        downloaded).
    accept : bool
        Accept a file with another checksum if that of UCI's own file was never recorded.

    Returns
    -------
    Path
        The file.
    """
    folder = data_folder(data)
    keep = cache_folder() if data is None or folder is None else folder
    return _located(info(name), folder, keep, accept)[1]


def _located(
    entry: DatasetInfo, folder: Path | None, keep: Path, accept: bool
) -> tuple[bytes, Path]:
    """The checked bytes of a file in one of two folders; one that is in neither is downloaded."""
    for place in dict.fromkeys((folder or keep, keep)):
        path = find_file(entry, place)
        if path is None:
            continue
        try:
            return _read_checked(entry, path, accept), path
        except DatasetError as error:
            if place == folder:
                raise
            warnings.warn(f"{error} It is downloaded again.", UserWarning, stacklevel=4)
    payload = _download(entry, accept, keep)
    return payload, _keep(entry, payload, keep)


def url_of(entry: DatasetInfo) -> str:
    """URL of the download: UCI, or the mirror ``TREEBOUND_MIRROR``."""
    base = os.environ.get("TREEBOUND_MIRROR") or UCI
    return base.rstrip("/") + "/" + entry.path


def check(entry: DatasetInfo, payload: bytes, where: str, *, accept: bool = False) -> None:
    """Raise unless the bytes are the data set's file (or an accepted one)."""
    digest = hashlib.sha256(payload).hexdigest()
    if digest == entry.sha256:
        return
    short = " It is cut short." if len(payload) < entry.size else ""
    message = (
        f"{where} is not the file {entry.file} of the data set {entry.name!r} that was expected:"
        f" it has {len(payload)} bytes and the SHA-256 {digest}, expected were {entry.size} bytes"
        f" and {entry.sha256}.{short}"
    )
    if entry.recorded:
        raise DatasetError(f"{message} {_by_hand(entry)}")
    if not accept:
        raise DatasetError(
            f"{message} No checksum of UCI's own file is known for this data set, so the file may "
            "still be right. Hint: pass accept=True (--accept) to use it, or "
            f"{_by_hand(entry)[6:]}"
        )
    warnings.warn(f"{message} Taken because accept=True.", UserWarning, stacklevel=4)


# -- the folder and the cache --------------------------------------------------------------


def _read_checked(entry: DatasetInfo, path: Path, accept: bool) -> bytes:
    try:
        payload = path.read_bytes()
    except OSError as error:
        raise DatasetError(
            f"Cannot read {path}, the file of the data set {entry.name!r}: "
            f"{error.strerror or error}."
        ) from None
    if path.name == entry.archive:
        payload = _member(entry, payload, str(path))
    with suppress(OSError):
        accept |= _note(path).read_text().strip() == hashlib.sha256(payload).hexdigest()
    check(entry, payload, str(path), accept=accept)
    return payload


def _keep(entry: DatasetInfo, payload: bytes, folder: Path) -> Path:
    """Store a checked file atomically."""
    path = folder / entry.name / entry.file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if hashlib.sha256(payload).hexdigest() != entry.sha256:
            write_text(_note(path), hashlib.sha256(payload).hexdigest() + "\n")
        write_bytes(path, payload)
    except OSError as error:
        raise DatasetError(
            f"Cannot keep the file {path} of the data set {entry.name!r}: "
            f"{error.strerror or error}. Hint: name another folder with TREEBOUND_CACHE."
        ) from None
    return path


def _note(path: Path) -> Path:
    """Has the checksum of a file that was accepted when it was fetched."""
    return path.with_name(path.name + ".accepted")


# -- the network ---------------------------------------------------------------------------


def _download(entry: DatasetInfo, accept: bool, folder: Path) -> bytes:
    pooch = require("pooch", extra="study", why="Downloading data sets")
    url = url_of(entry)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "download"
        try:
            pooch.HTTPDownloader(timeout=30)(url, path, None)
            payload = path.read_bytes()
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            reason = reason if len(reason) <= 300 else f"{reason[:300]} ..."
            raise DatasetError(
                f"The file {entry.file} of the data set {entry.name!r} is not here, and "
                f"downloading {url} failed: {reason}. {_by_hand(entry, folder)}"
            ) from None
    if entry.member is not None:
        payload = _member(entry, payload, url)
    check(entry, payload, url, accept=accept)
    return payload


def _member(entry: DatasetInfo, archive: bytes, where: str) -> bytes:
    """One member of a zip archive, read in memory and never unpacked to disk."""
    limit = 4 * entry.size
    try:
        with (
            zipfile.ZipFile(BytesIO(archive)) as opened,
            opened.open(entry.member or "") as stream,
        ):
            payload = stream.read(limit + 1)
        if len(payload) <= limit:
            return payload
        why = f"its member {entry.member!r} is larger than {limit} bytes"
    except KeyError:
        why = f"it has no member {entry.member!r}"
    except _BROKEN_ZIP as error:
        why = str(error) or type(error).__name__
    raise DatasetError(
        f"{where} is not the archive of the data set {entry.name!r} that was expected: {why}. "
        f"{_by_hand(entry)}"
    )


# -- words ---------------------------------------------------------------------------------


def _by_hand(entry: DatasetInfo, folder: Path | None = None) -> str:
    place = (folder or cache_folder()) / entry.name / entry.file
    inside = f" (the member {entry.member} of it)" if entry.member else ""
    return (
        f"Hint: get {entry.url}{inside} by hand (see {entry.page}), SHA-256 {entry.sha256}, and "
        f"put it at {place}, or at {entry.name}/{entry.file} in a folder named by TREEBOUND_DATA."
    )
