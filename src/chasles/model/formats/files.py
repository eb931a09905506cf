"""Reading a model file's bytes with a bound on their number."""

from __future__ import annotations

from pathlib import Path

from chasles.errors import ModelError


def read_bytes(path: str | Path, limit: int) -> bytes:
    """Return the bytes of a file; a ModelError names it when it cannot be read or has more than `limit` bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > limit:
        raise ModelError(f"{path}: the file has more than {limit} bytes")
    return data
