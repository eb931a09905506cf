"""Files that come with a package, also where the package is in a zip file."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@cache
def folder_of(package: str) -> Path:
    """Return the folder of a package; of one in a zip file a copy, which lasts as long as the process.

    Examples
    --------
    >>> (folder_of("chasles") / "py.typed").is_file()
    True
    """
    file = sys.modules[package].__file__
    if file is not None and Path(file).parent.is_dir():
        return Path(file).parent
    import atexit  # the rest is for zip files
    import shutil
    import tempfile
    from importlib.resources import files

    copied = Path(tempfile.mkdtemp(prefix="chasles-"))
    atexit.register(shutil.rmtree, copied, ignore_errors=True)
    _copy(files(package), copied)
    return copied


def _copy(source: Traversable, folder: Path) -> None:
    for entry in source.iterdir():
        if entry.is_file():
            (folder / entry.name).write_bytes(entry.read_bytes())
        else:
            (folder / entry.name).mkdir()
            _copy(entry, folder / entry.name)
