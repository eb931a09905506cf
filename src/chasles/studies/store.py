"""Results on disk: one file for each part of a study, found by what it is the result of."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.base.writing import UNFINISHED, write
from chasles.engine.identity import UnidentifiedError
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch
from chasles.studies.measures import LOOP, MEASURES, PROFILE
from chasles.studies.origin import Origin, Origins
from chasles.studies.tuning import COLUMNS

Arrays = Mapping[str, NDArray[np.float64]]
#: Arrays by name, or why the controller is refused.
PartResult = Arrays | str

#: Age, s, from which a file that was never completed is no other process's work any more.
_ABANDONED = 3600.0
_REFUSAL = "refusal"


class Store:
    """Results of a study in a folder.

    Each part has a file of its own, written whole or not at all. Its name contains the digest of all that the result
    depends on: the robot, the motion, the controller, the unknowns, the runs, the source of Chasles and the versions of
    what it computes with (see `chasles.studies.origin`). A file that is damaged counts as missing. Results of a
    controller that nothing identifies are not kept.

    Parameters
    ----------
    folder
        Made if it does not exist.
    study
        Study whose results are kept.

    Raises
    ------
    ArgumentError
        If the folder cannot be made or written.
    """

    def __init__(self, folder: str | os.PathLike[str], study: Definition) -> None:
        self.folder = Path(folder).absolute()
        self.study = study
        self.origins = Origins(study)
        self.damaged: list[Path] = []
        self.unidentified: dict[str, str] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
            self._remove_abandoned()
            if study.source is not None:
                write(self.folder / "study.toml", study.source)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ArgumentError(f"results cannot be stored in {self.folder}: {reason}") from None

    def path(self, part: RunBatch) -> Path:
        """File of a part."""
        robot, controller = self.study.robots[part.robot], self.study.controllers[part.controller]
        words = f"{robot.title} {controller.title} {part.rate:g}Hz {part.delay:g}T {part.first}-{part.last}"
        readable = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")[:80]
        return self.folder / f"{readable}-{self.origin(part).digest[:24]}.npz"

    def origin(self, part: RunBatch) -> Origin:
        """Origin of a part's result.

        Raises
        ------
        UnidentifiedError
            Nothing tells it from the origins of other results.
        """
        return self.origins.of(part)

    def load(self, part: RunBatch) -> PartResult | None:
        """Results of a part, or None if there are none, the file is damaged, or nothing identifies the controller."""
        try:
            path = self.path(part)
        except UnidentifiedError as error:
            self.unidentified[self.study.controllers[part.controller].title] = str(error)
            return None
        if not path.is_file():
            return None
        try:
            return _checked(path, self._shapes(part), self.origin(part).digest)
        except Exception:  # a damaged archive can fail in any way
            self.damaged.append(path)
            return None

    def save(self, part: RunBatch, result: PartResult) -> None:
        """Store results of a part, whole or not at all; those of a controller that nothing identifies are not kept.

        Raises
        ------
        ArgumentError
            If the file cannot be written.
        """
        try:
            arrays = {_REFUSAL: np.array(result)} if isinstance(result, str) else result
            content: dict[str, Any] = {**arrays, "digest": np.array(self.origin(part).digest)}
        except UnidentifiedError:
            return
        file = io.BytesIO()
        np.savez(file, **content)
        write(self.path(part), file.getvalue())

    def _shapes(self, part: RunBatch) -> dict[str, tuple[int, ...]]:
        """Shapes of a part's arrays by name; -1 for any length."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(MEASURES, (part.runs,))
        shapes |= {"profile": (part.runs, len(PROFILE)), "loop": (len(LOOP),)}
        if self.study.tuning is not None:
            shapes |= {"candidates": (self.study.tuning.evaluations, len(COLUMNS)), "gains": (-1,), "start": ()}
        return shapes

    def _remove_abandoned(self) -> None:
        """Remove what processes that were killed while they wrote have left."""
        for path in self.folder.glob(f".*{UNFINISHED}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()


def _checked(path: Path, shapes: Mapping[str, tuple[int, ...]], digest: str) -> PartResult:
    most = 64 * 1024 + 16 * sum(abs(int(np.prod(shape))) for shape in shapes.values())
    if path.stat().st_size > most:
        raise ValueError("too long")
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        if str(archive["digest"]) != digest:
            raise ValueError("the result of something else")
        if _REFUSAL in archive:
            return str(archive[_REFUSAL])
        arrays = {name: archive[name] for name in shapes}
    for name, array in arrays.items():
        expected = tuple(size if size >= 0 else array.size for size in shapes[name])
        if array.shape != expected or array.dtype != np.float64:
            raise ValueError(f"{name} has a wrong shape")
    return arrays
