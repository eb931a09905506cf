"""Compiled kernels on disk, so that the next process need not compile them again.

An entry is machine code that will be run: the directory must belong to the user and be closed to others, or it is not
used; each entry carries a checksum and is discarded when damaged. Entries appear under their final name at once and
complete, so that concurrent processes never see half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"chasles kernel 1\n"
_SUFFIX = ".kernel"


@dataclass(frozen=True)
class CacheInfo:
    """What the cache holds.

    Attributes
    ----------
    path
        Its directory.
    entries
        Number of kernels.
    size
        Bytes that they take.
    usable
        Whether the directory is private to the user, or can be made so.
    """

    path: Path
    entries: int
    size: int
    usable: bool


def directory() -> Path:
    """Return the cache's directory: ``CHASLES_CACHE_DIR``, or the place that the system keeps for caches."""
    chosen = os.environ.get("CHASLES_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "chasles"


def load(key: str) -> bytes | None:
    """Return the machine code kept under a key, or None; a damaged entry is removed."""
    path = directory() / f"{key}{_SUFFIX}"
    if not _is_private():
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    header = len(_MAGIC) + 32
    code = content[header:]
    if content[:header] == _MAGIC + hashlib.sha256(code).digest():
        return code
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def store(key: str, code: bytes) -> None:
    """Keep machine code under a key. Failing to (a full disk, no right to write) only means compiling again later."""
    with contextlib.suppress(OSError):
        directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private():
            return
        handle, name = tempfile.mkstemp(dir=directory())
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(name, directory() / f"{key}{_SUFFIX}")
        except OSError:
            os.unlink(name)


def info() -> CacheInfo:
    """Return where the cache is and what it holds."""
    sizes = [path.stat().st_size for path in _entries()]
    return CacheInfo(directory(), len(sizes), sum(sizes), _is_private() or not directory().exists())


def clear() -> int:
    """Remove every kernel and return how many there were."""
    count = 0
    for path in _entries():
        with contextlib.suppress(OSError):
            path.unlink()
            count += 1
    return count


def _entries() -> list[Path]:
    return sorted(directory().glob(f"*{_SUFFIX}")) if directory().is_dir() else []


def _is_private() -> bool:
    """Whether nobody but the user can write to the directory."""
    if os.environ.get("CHASLES_CACHE") == "0":
        return False
    try:
        status = directory().stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: the user's own profile is private
        return True
    return status.st_uid == os.getuid() and status.st_mode & 0o022 == 0
