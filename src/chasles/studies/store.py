"""Results on disk: one file for each part of a study, found by what it is the result of."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import pickle
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import chasles
from chasles._version import __version__
from chasles.errors import ArgumentError
from chasles.studies.definition import Study
from chasles.studies.experiment import Part
from chasles.studies.measures import MEASURES, PROFILE

Arrays = Mapping[str, NDArray[np.float64]]

#: What of Chasles has no part in the numbers.
_NOT_COMPUTING = ("cli", "visual", "interop")


class Store:
    """Results of a study in a folder.

    Each part has a file of its own, written whole or not at all. Its name contains the digest of all that the result
    depends on: the robot, the motion, the controller, the unknowns, the runs, and the source of Chasles itself. A file
    that is damaged counts as missing.

    Parameters
    ----------
    folder
        Made if it does not exist.
    study
        Whose results.

    Raises
    ------
    ArgumentError
        If the folder cannot be made or written.
    """

    def __init__(self, folder: str | os.PathLike[str], study: Study) -> None:
        self.folder = Path(folder).absolute()
        self.study = study
        self.damaged: list[Path] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
            if study.source is not None:
                _write(self.folder / "study.toml", study.source.encode())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ArgumentError(f"results cannot be stored in {self.folder}: {reason}") from None

    def path(self, part: Part) -> Path:
        """File of a part."""
        robot, controller = self.study.robots[part.robot], self.study.controllers[part.controller]
        words = f"{robot.title} {controller.title} {part.rate:g}Hz {part.first}-{part.last}"
        readable = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")[:80]
        return self.folder / f"{readable}-{digest(self.study, part)[:24]}.npz"

    def load(self, part: Part) -> Arrays | None:
        """Results of a part, or None if there are none or the file is damaged."""
        path = self.path(part)
        if not path.is_file():
            return None
        try:
            return _checked(path, part, digest(self.study, part))
        except Exception:  # a damaged archive can fail in any way
            self.damaged.append(path)
            return None

    def save(self, part: Part, arrays: Arrays) -> None:
        """Store results of a part, whole or not at all.

        Raises
        ------
        ArgumentError
            If the file cannot be written.
        """
        path = self.path(part)
        try:
            with tempfile.TemporaryFile() as file:
                content: dict[str, Any] = {**arrays, "digest": np.array(digest(self.study, part))}
                np.savez(file, **content)
                file.seek(0)
                _write(path, file.read())
        except OSError as error:
            raise ArgumentError(f"the results {path} cannot be written: {error.strerror or error}") from None


def digest(study: Study, part: Part) -> str:
    """Digest of all that the result of a part depends on; titles have no part in it."""
    robot, controller = study.robots[part.robot], study.controllers[part.controller]
    content = {
        "chasles": (__version__, _source_digest()),
        "robot": (robot.toml, robot.times, robot.waypoints),
        "controller": _controller_content(controller.kind, controller.settings),
        "factors": _fields(study.factors),
        "design": _fields(study.design),
        "execution": _fields(study.execution),
        "part": (part.rate, part.first, part.last),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _controller_content(kind: Any, settings: Mapping[str, Any]) -> Any:
    if isinstance(kind, str):
        return kind, dict(settings)
    function = kind
    while isinstance(function, functools.partial):
        function = function.func
    try:
        source = inspect.getsource(function if inspect.isroutine(function) else type(function))
    except (OSError, TypeError):
        source = ""
    try:
        return source, hashlib.sha256(pickle.dumps(kind)).hexdigest()
    except Exception:  # functions that cannot be pickled, such as lambdas, fail in many ways
        return source, repr(getattr(function, "__qualname__", type(function).__qualname__))


@functools.cache
def _source_digest() -> str:
    """Digest of the source text that takes part in simulations."""
    root = Path(chasles.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _NOT_COMPUTING:
            total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _checked(path: Path, part: Part, wanted: str) -> Arrays:
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(MEASURES, (part.runs,))
    shapes["profile"] = (part.runs, len(PROFILE))
    most = 64 * 1024 + 16 * sum(int(np.prod(shape)) for shape in shapes.values())
    if path.stat().st_size > most:
        raise ValueError("too long")
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        if str(archive["digest"]) != wanted:
            raise ValueError("the result of something else")
        arrays = {name: archive[name] for name in shapes}
    for name, array in arrays.items():
        if array.shape != shapes[name] or array.dtype != np.float64:
            raise ValueError(f"{name} has a wrong shape")
    return arrays


def _write(path: Path, data: bytes) -> None:
    """Write a file that appears whole: written beside its place and then moved there."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
