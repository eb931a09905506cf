"""Reading a model file's bytes: of a regular file only, and with a bound on their number."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from chasles.errors import ModelError

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)


def read_bytes(path: str | Path, limit: int) -> bytes:
    """Return the bytes of a regular file; a ModelError names it when it is none, or has more than `limit` bytes."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > limit:
        raise ModelError(f"{path}: the file has more than {limit} bytes")
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a regular file, and nothing else; opening a pipe would wait for somebody who writes into it."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    # The descriptor is asked, not the path: a path may lead elsewhere a moment later.
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        raise OSError(f"it is {kind}, not a regular file")
    return descriptor
