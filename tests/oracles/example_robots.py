"""The URDF files of the package example-robot-data."""

from __future__ import annotations

import math
import re
import sysconfig
from importlib import metadata
from pathlib import Path


def example_files() -> list[Path]:
    """Every URDF file of example-robot-data, sorted."""
    return sorted(_example_folder().rglob("*.urdf"))


def example(name: str) -> Path:
    """One file of example-robot-data by the end of its path."""
    matching = [path for path in example_files() if path.as_posix().endswith(f"/{name}")]
    if len(matching) != 1:
        raise FileNotFoundError(f"example-robot-data has {len(matching)} files whose path ends in {name!r}")
    return matching[0]


def _example_folder() -> Path:
    for file in metadata.files("example-robot-data") or []:
        parts = file.parts
        if "robots" in parts and parts[0] == "cmeel.prefix":
            return Path(str(file.locate())).joinpath(*[".."] * (len(parts) - parts.index("robots") - 1)).resolve()
    return Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def with_complete_digits_of_pi(urdf: str) -> str:
    """URDF text whose angles within 1e-11 of a multiple of pi/2 are that multiple, as Chasles reads them."""

    def complete(match: re.Match[str]) -> str:
        if "$" in match.group(1):
            return match.group(0)
        angles = []
        for angle in map(float, match.group(1).split()):
            exact = round(2 * angle / math.pi) * math.pi / 2
            angles.append(repr(exact if abs(angle - exact) < 1e-11 else angle))
        return f'rpy="{" ".join(angles)}"'

    return re.sub(r"""rpy=["']([^"']*)["']""", complete, urdf)
