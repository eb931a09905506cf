"""Compiled kernels on disk, so that the next process need not compile them again.

An entry is machine code that will be run, so that much is checked before it is:

- The directory must belong to the user and be closed to others' writing, or it is not used.
- An entry must be a regular file, not a link, that belongs to the user and that others cannot write to.
- An entry carries one hash of its key and its code: a damaged one, or one that was copied under another's name, is
  removed and compiled anew.

Entries appear under their final name at once and complete, so that concurrent processes never see half of one. Those
not used for longest go when all together pass the limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MAGIC = b"chasles kernel 2\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_SUFFIX = ".kernel"
_UNFINISHED = ".unfinished"
#: Seconds after which a file that is still being written was left behind by a process that was killed.
_LEFT_BEHIND = 600.0
#: Bytes that all entries together may take, unless ``CHASLES_CACHE_LIMIT`` says otherwise (in MB).
_LIMIT = 512_000_000
#: What opening an entry must not do: follow a link, wait for a writer (of a pipe), or pass on to child processes.
_OPENING = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


@dataclass(frozen=True)
class CacheInfo:
    """Contents of the cache.

    Attributes
    ----------
    path
        Directory of the cache; None without a home directory, or where the cache is switched off.
    entries
        Number of kernels and records of programs.
    size
        Size of all entries together, bytes.
    usable
        Whether the directory is private to the user, or can be made so.
    limit
        Size above which the entries not used for longest are removed, bytes.
    """

    path: Path | None
    entries: int
    size: int
    usable: bool
    limit: int


def directory() -> Path | None:
    """Return the cache's directory; None without a home directory, or where the cache is switched off.

    It is ``CHASLES_CACHE_DIR``, which may be ``none``, or the place that the system keeps for caches.
    """
    chosen = os.environ.get("CHASLES_CACHE_DIR")
    if chosen == "none":
        return None
    if chosen:
        return Path(chosen)
    folders = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, below_home = folders.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    if base := os.environ.get(variable):
        return Path(base) / "chasles"
    try:
        return Path.home() / below_home / "chasles"
    except RuntimeError:  # no HOME, and a user that the system does not know, as in containers
        return None


def load(key: str) -> bytes | None:
    """Return the machine code kept under a key, or None; an entry that cannot be trusted is removed."""
    place = directory()
    if place is None or not is_private():
        return None
    path = place / f"{key}{_SUFFIX}"
    try:
        handle = os.open(path, _OPENING)
    except FileNotFoundError:
        return None
    except OSError:  # a link, or nothing that can be read
        _remove(path)
        return None
    try:
        content = b""
        if _is_own(os.fstat(handle), stat.S_ISREG):
            with open(handle, "rb", closefd=False) as file:
                content = file.read()
    finally:
        os.close(handle)
    code = content[_HEADER:]
    if content[:_HEADER] != _MAGIC + _seal(key, code):
        _remove(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the time of the last use, by which entries are evicted
    return code


def store(key: str, code: bytes) -> None:
    """Keep machine code under a key. Failing to (a full disk, no right to write) only means compiling again later."""
    place = directory()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private():
            return
        _tidy_once(place)
        handle, name = tempfile.mkstemp(_UNFINISHED, dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _seal(key, code) + code)
            os.replace(name, place / f"{key}{_SUFFIX}")
        except BaseException:
            os.unlink(name)
            raise


def info() -> CacheInfo:
    """Return where the cache is and what it holds."""
    place = directory()
    sizes = [status.st_size for _, status in _entries(place)]
    usable = place is not None and (is_private() or not place.exists())
    return CacheInfo(place, len(sizes), sum(sizes), usable, _limit())


def clear() -> int:
    """Remove every kernel and return their number; what killed processes left behind goes, too."""
    place = directory()
    for path, _ in _entries(place, _UNFINISHED):
        _remove(path)
    return sum(_remove(path) for path, _ in _entries(place))


def _seal(key: str, code: bytes) -> bytes:
    """Hash that binds machine code to its key."""
    return hashlib.sha256(key.encode() + b"\n" + code).digest()


def _entries(place: Path | None, suffix: str = _SUFFIX) -> list[tuple[Path, os.stat_result]]:
    """Files of the cache with their status, those not used for longest first."""
    entries = []
    for path in place.glob(f"*{suffix}") if place is not None and place.is_dir() else []:
        with contextlib.suppress(OSError):  # another process may have removed it
            entries.append((path, path.lstat()))
    return sorted(entries, key=lambda entry: entry[1].st_mtime)


def _remove(path: Path) -> bool:
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False


def _limit() -> int:
    try:
        return max(0, int(float(os.environ["CHASLES_CACHE_LIMIT"]) * 1e6))
    except (KeyError, ValueError, OverflowError):
        return _LIMIT


@cache
def _tidy_once(place: Path) -> None:
    """Remove, once a process, what killed processes left behind and the entries beyond the limit."""
    for path, status in _entries(place, _UNFINISHED):
        if time.time() - status.st_mtime > _LEFT_BEHIND:
            _remove(path)
    entries = _entries(place)
    excess = sum(status.st_size for _, status in entries) - _limit()
    for path, status in entries:
        if excess <= 0:
            break
        excess -= status.st_size
        _remove(path)


def is_private() -> bool:
    """Whether nobody but the user can write to the directory."""
    place = directory()
    try:
        return place is not None and _is_own(place.stat(), stat.S_ISDIR)
    except OSError:
        return False


def _is_own(status: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a file is of a kind, belongs to the user and is closed to others' writing."""
    if not kind(status.st_mode):
        return False
    if not hasattr(os, "getuid"):  # Windows: the user's own profile is private
        return True
    return status.st_uid == os.getuid() and status.st_mode & 0o022 == 0
