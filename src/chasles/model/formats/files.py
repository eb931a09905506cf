"""The files of a model: read only if they are regular files of bounded size, and where the model may have them."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from chasles.base.errors import ModelError
from chasles.model.record import shortened

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)


@dataclass(frozen=True)
class Folder:
    """Where the files are that a model names.

    Parameters
    ----------
    path
        Folder of the model; None for a model that is a text, which has no files.
    trusted
        Whether the model may name files outside its folder.
    """

    path: Path | None = None
    trusted: bool = False

    def file(self, name: str, what: str) -> Path:
        """Return the path of a file that an element of the model names, or raise an error if it may not be opened."""
        if self.path is None:
            raise ModelError(
                f"{what}: the text of a model cannot use the file {shortened(name)}; load the model as a file"
            )
        base = Path(os.path.realpath(self.path))
        path = Path(os.path.realpath(base / name))  # unlike resolve, also of links that lead to themselves
        if not (self.trusted or path.is_relative_to(base)):
            raise ModelError(
                f"{what}: the file {shortened(name)} is outside the folder of the model, and is not opened; "
                "if you trust the model, load it with trust=True"
            )
        return path


def read_bytes(path: str | Path, limit: int) -> bytes:
    """Return the bytes of a regular file, without the byte order mark that some editors put before UTF-8 text.

    A ModelError names the file when it is no regular one, or has more than `limit` bytes.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > limit:
        raise ModelError(f"{path}: the file has more than {limit} bytes")
    return data.removeprefix(codecs.BOM_UTF8)


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
