"""Robots shipped with Chasles: small files, each written from published tables with its citation inside."""

from __future__ import annotations

import re
from pathlib import Path

from chasles.base.errors import UnknownNameError
from chasles.base.packaged_files import folder_of


def shipped() -> tuple[str, ...]:
    """Return the names of the robots that `load` finds without a file.

    Examples
    --------
    >>> "puma560" in shipped()
    True
    """
    return tuple(sorted(file.stem for file in folder_of(__name__).iterdir() if file.suffix in (".toml", ".urdf")))


def title(name: str) -> str:
    """Return a short title of a shipped robot: the beginning of its file.

    Examples
    --------
    >>> title("ur5"), title("panda")
    ('Universal Robots UR5', 'Franka Emika Panda with its hand')
    """
    text = shipped_path(name).read_text(encoding="utf-8")
    comment = re.search(r"(?:# |<!-- )(.*?)(?:[,;:]| in | \(|\. |$)", text, re.MULTILINE)
    return comment[1] if comment else ""


def shipped_path(name: str) -> Path:
    """Return the path of a shipped robot's file; for a zipped package, of a copy that lasts as long as the process.

    Raises
    ------
    UnknownNameError
        An unknown robot; the message lists the shipped ones.

    Examples
    --------
    >>> shipped_path("panda").name
    'panda.urdf'
    """
    for file in folder_of(__name__).iterdir():
        if file.stem == name and file.suffix in (".toml", ".urdf"):
            return file
    raise UnknownNameError("robot", name, shipped())
