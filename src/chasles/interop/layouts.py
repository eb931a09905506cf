"""Indices of the joints of a robot in the state vectors of other programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.model import Description, Joint


@dataclass(frozen=True)
class Slot:
    """Places of one moving joint in our vectors and in those of the other program.

    A joint that mimics another has the places of that one here, and its position there is ``ratio * q + offset``.
    """

    joint: Joint
    q_ours: slice
    v_ours: slice
    q_theirs: slice
    v_theirs: slice
    ratio: float
    offset: float


@dataclass(frozen=True)
class VectorLayout:
    """The moving joints, and the lengths of the other program's vectors."""

    slots: tuple[Slot, ...]
    nq: int
    nv: int

    @property
    def independent(self) -> list[Slot]:
        """The joints that have coordinates of their own."""
        return [slot for slot in self.slots if slot.joint.mimic is None]

    @classmethod
    def of(
        cls,
        description: Description,
        slices_of: Callable[[Joint], tuple[slice, slice]] | None = None,
        size: tuple[int, int] = (0, 0),
    ) -> VectorLayout:
        """Return the layout of a robot.

        Parameters
        ----------
        description
            The robot.
        place
            Places of a joint in the other program's configurations and velocities. None: one joint after the other, as
            in the description, those that mimic others too.
        size
            Lengths of the other program's configurations and velocities, if `place` is given.
        """
        slots = []
        end_q = end_v = 0
        for joint in description.ordered_joints:
            if not joint.moves:
                continue
            nq, nv = len(joint.coordinate_names), len(joint.velocity_names)
            driver, ratio, offset = description.mimics[joint.name]
            q, v = description.starts[driver]
            q_theirs, v_theirs = slice(end_q, end_q + nq), slice(end_v, end_v + nv)
            if slices_of is not None:
                q_theirs, v_theirs = slices_of(joint)
            slots.append(Slot(joint, slice(q, q + nq), slice(v, v + nv), q_theirs, v_theirs, ratio, offset))
            end_q, end_v = end_q + nq, end_v + nv
        return cls(tuple(slots), *((end_q, end_v) if slices_of is None else size))


def array(values: ArrayLike, length: int, name: str) -> NDArray[np.float64]:
    """Return values as an array whose last axis has this length; an ArgumentError names it."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim == 0 or vector.shape[-1] != length:
        raise ArgumentError(f"{name} must have shape (..., {length}), not {vector.shape}")
    return vector
