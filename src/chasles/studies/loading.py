"""Loading a study: one that comes with Chasles by its name, or a file."""

from __future__ import annotations

from pathlib import Path

from chasles.base.errors import UnknownNameError
from chasles.base.packaged_files import folder_of
from chasles.studies.study import Study


def shipped() -> tuple[str, ...]:
    """Return the names of the studies that come with Chasles.

    Examples
    --------
    >>> shipped()
    ('best', 'faults', 'mazure', 'predictive')
    """
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def shipped_path(name: str) -> Path:
    """Return the file of a study that comes with Chasles.

    Raises
    ------
    UnknownNameError
        The study does not exist.
    """
    if name not in shipped():
        raise UnknownNameError("study", name, [*shipped(), "or the path of a .toml file"])
    return _folder() / f"{name}.toml"


def _folder() -> Path:
    return folder_of("chasles.studies") / "shipped"


def load(name_or_path: str | Path) -> Study:
    """Load a study that comes with Chasles, by name, or a TOML file.

    Examples
    --------
    >>> [robot.title for robot in load("mazure").robots][:3]
    ["Mazure's arm", 'SCARA', 'PUMA 560']
    """
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or text.endswith(".toml") or "/" in text or "\\" in text
    return Study.from_toml(text if is_path and text not in shipped() else shipped_path(text))
