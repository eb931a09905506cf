"""Kinds of arrays that must satisfy an equation: rotations, poses, unit quaternions, unit vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.errors import ArgumentError

#: Largest distance from the nearest rotation, … that `check=True` lets pass: what sums of rounding errors reach.
CHECK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Kind:
    """What an argument must be.

    Attributes
    ----------
    shape
        Shape of one sample.
    noun
        What it is; empty where every array of the shape will do.
    distance
        Function over batches of the distance from being one.
    remedy
        What to do with an array that is not one.
    """

    shape: tuple[int, ...]
    noun: str = ""
    distance: Callable[[Any], Any] | None = None
    remedy: str = ""

    @property
    def shape_text(self) -> str:
        """Shape of a batch of samples, as the docstrings write it: (..., 3, 3)."""
        return f"({', '.join(['...', *map(str, self.shape)])})"

    def check(self, array: Any, where: str) -> None:
        """Raise `ArgumentError` with the distance of the worst sample if one is not of this kind.

        NaN passes, and so does what is no array of numbers of this shape: the call that follows tells of it.
        """
        if self.distance is None or not self._fits(array):
            return
        distances = np.asarray(self.distance(array))
        if not np.any(distances > CHECK_TOLERANCE):
            return
        worst = np.unravel_index(np.nanargmax(distances), distances.shape)
        sample = f"sample {tuple(map(int, worst))} of it" if worst else "it"
        raise ArgumentError(
            f"{where} is not a {self.noun}: {sample} is {distances[worst]:.3g} away from one "
            f"(allowed {CHECK_TOLERANCE:g}). {self.remedy}"
        )

    def _fits(self, array: Any) -> bool:
        try:
            samples = np.asarray(array)
        except ValueError:  # rows of different lengths
            return False
        return samples.dtype.kind in "biuf" and samples.shape[samples.ndim - len(self.shape) :] == self.shape


def _from_rotation(R: Any) -> Any:
    from chasles.geometry.rotations import rotation_distance

    return rotation_distance(R)


def _from_pose(T: Any) -> Any:
    from chasles.geometry.rigid_motions import pose_distance

    return pose_distance(T)


def _from_unit(vector: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.abs(np.linalg.norm(np.asarray(vector, dtype=np.float64), axis=-1) - 1.0)


ROTATION = Kind((3, 3), "rotation matrix", _from_rotation, "`project_rotation` gives the nearest rotation")
POSE = Kind((4, 4), "pose", _from_pose, "`project_pose` gives the nearest pose")
UNIT_QUATERNION = Kind((4,), "unit quaternion", _from_unit, "`normalize_quaternion` makes it one")
UNIT_VECTOR = Kind((3,), "unit vector", _from_unit, "`normalize` makes it one")
