"""Loops: joints and rods that close a kinematic tree, and the constraints that each kind puts on two frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError
from chasles.geometry.elementary import rotation_taking_z_to
from chasles.model.joint import Y_AXIS
from chasles.model.numbers import SMALLEST_DIVISOR, number, unit_vector
from chasles.model.placement import frozen_placement
from chasles.model.record import DescriptionRecord, shortened

LoopKind = Literal[
    "revolute", "prismatic", "helical", "universal", "cylindrical", "planar", "spherical", "fixed", "rod"
]
LOOP_KINDS: tuple[LoopKind, ...] = get_args(LoopKind)
LARGEST_TOLERANCE = 0.01
"""m and rad."""


@dataclass(frozen=True)
class Constraint:
    """One scalar equation between the frames 1 and 2 of a loop, whose origins are o₁ and o₂.

    Parameters
    ----------
    kind
        "position": first · (o₂ - o₁) = 0. "direction": first · second = 0. "distance": the origins are `length` apart.
        "screw": first · (o₂ - o₁) is `pitch` times the angle about `first`, up to whole turns.
    first, second
        Directions, shape (3,), in the axes of frame 1 and of frame 2.
    length, pitch
        m, and m/rad.
    """

    kind: Literal["position", "direction", "distance", "screw"]
    first: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    second: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    pitch: float = 0.0


class LoopFields(TypedDict, total=False):
    """Fields of a `Loop` besides its name, kind, frames and placements."""

    axis: ArrayLike
    second_axis: ArrayLike
    pitch: float
    length: float
    tolerance: float


@dataclass(frozen=True, eq=False)
class Loop(DescriptionRecord):
    """A joint that closes a loop of the robot, between two frames of the tree.

    The loop constrains ``inverse(T_world_1) @ T_world_2`` to the motions that a joint of its kind allows. Frame 1 is
    ``T_world_first @ T_first_joint`` and frame 2 is ``T_world_second @ T_second_joint``. A loop joint has no
    coordinate, limit, friction or motor: put a joint that has them in the tree, and close the loop elsewhere.

    Parameters
    ----------
    name
        Name of the loop, different from those of the joints.
    kind
        One of `LOOP_KINDS`. Constraints: 1 "rod", 3 "spherical" and "planar", 4 "universal" and "cylindrical", 5
        "revolute", "prismatic" and "helical", 6 "fixed". A rod keeps the origins `length` apart.
    first, second
        Names of links or frames.
    T_first_joint, T_second_joint
        Placements of frame 1 in the first and of frame 2 in the second, shape (4, 4).
    axis, second_axis, pitch
        See `Joint`, with frame 1 as the joint frame and frame 2 as the frame that the joint moves.
    length
        Length of a rod, m, at least 1e-9; only for rods.
    tolerance
        Largest gap, m and rad, at most 0.01, that the loop may keep, for files with rounded values; default zero.
        Constraints are then fulfilled in the least-squares sense, and constraints that repeat others within the gap are
        left out. The gap spreads over loops that share joints, so the largest tolerance of a robot's loops applies to
        all.

    Raises
    ------
    ModelError
        A field is invalid; the message names the loop.

    Examples
    --------
    >>> Loop("pin", "revolute", "coupler_tip", "rocker_tip").constraint_count
    5
    """

    name: str
    kind: LoopKind
    first: str
    second: str
    T_first_joint: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    T_second_joint: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    axis: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    second_axis: NDArray[np.float64] = field(default_factory=lambda: np.array(Y_AXIS))
    pitch: float = 0.0
    length: float = 0.0
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        of_loop = f"of loop {shortened(self.name)}"
        if self.kind not in LOOP_KINDS:
            raise ModelError(f"the kind {of_loop} is {shortened(self.kind)}; it must be one of {', '.join(LOOP_KINDS)}")
        self._set(
            T_first_joint=frozen_placement(self.T_first_joint, f"T_first_joint {of_loop}"),
            T_second_joint=frozen_placement(self.T_second_joint, f"T_second_joint {of_loop}"),
            axis=unit_vector(self.axis, 3, f"the axis {of_loop}"),
            second_axis=unit_vector(
                self.second_axis if self.kind == "universal" else Y_AXIS, 3, f"the second_axis {of_loop}"
            ),
            pitch=number(self.pitch, f"the pitch {of_loop}"),
            length=number(self.length, f"the length {of_loop}"),
            tolerance=number(self.tolerance, f"the tolerance {of_loop}"),
        )
        if self.kind == "universal" and abs(float(self.axis @ self.second_axis)) > 1e-9:
            raise ModelError(f"the second_axis {of_loop} must be at a right angle to its axis")
        if self.kind == "helical" and abs(self.pitch) < SMALLEST_DIVISOR:
            raise ModelError(
                f"the pitch {of_loop} must be at least {SMALLEST_DIVISOR:g} in size, not {self.pitch}; "
                "without a pitch the loop is revolute"
            )
        if self.kind != "helical" and self.pitch != 0.0:
            raise ModelError(f"the pitch {of_loop} is {self.pitch}, but only a helical loop has a pitch")
        if not 0.0 <= self.tolerance <= LARGEST_TOLERANCE:
            raise ModelError(
                f"the tolerance {of_loop} must be from 0 to {LARGEST_TOLERANCE:g} (m, rad), not {self.tolerance:g}; it "
                "is meant for rounding, not for play"
            )
        if self.kind == "rod" and self.length < SMALLEST_DIVISOR:
            raise ModelError(f"the length {of_loop} must be at least {SMALLEST_DIVISOR:g} m, not {self.length}")
        if self.kind != "rod" and self.length != 0.0:
            raise ModelError(f"the length {of_loop} is {self.length}, but only a rod has a length")

    @property
    def constraint_count(self) -> int:
        """Number of scalar constraints: six minus the degrees of freedom of a joint of the same kind; one for a rod."""
        return len(self.constraints)

    @property
    def aligned(self) -> NDArray[np.float64]:
        """Directions, shape (k, 3), that must agree in frame 1 and frame 2; the constraints also allow the opposite.

        Examples
        --------
        >>> Loop("pin", "revolute", "a", "b").aligned
        array([[0., 0., 1.]])
        """
        if self.kind in ("fixed", "prismatic"):
            return np.eye(3)
        return np.zeros((0, 3)) if self.kind in ("universal", "spherical", "rod") else self.axis[None]

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Scalar constraints of the loop: translations along the joint's axes first, then rotations.

        Examples
        --------
        >>> [constraint.kind for constraint in Loop("pin", "revolute", "a", "b").constraints]
        ['position', 'position', 'position', 'direction', 'direction']
        """
        x, y, z = rotation_taking_z_to(self.axis).T
        along_x, along_y, along_z = (Constraint("position", axis) for axis in (x, y, z))
        point = (along_x, along_y, along_z)
        parallel = (Constraint("direction", x, z), Constraint("direction", y, z))
        aligned = (Constraint("direction", y, z), Constraint("direction", z, x), Constraint("direction", x, y))
        return {
            "fixed": (*point, *aligned),
            "revolute": (*point, *parallel),
            "prismatic": (along_x, along_y, *aligned),
            "helical": (along_x, along_y, Constraint("screw", z, z, pitch=self.pitch), *parallel),
            "cylindrical": (along_x, along_y, *parallel),
            "universal": (*point, Constraint("direction", z, self.second_axis)),
            "planar": (along_z, *parallel),
            "spherical": point,
            "rod": (Constraint("distance", length=self.length),),
        }[self.kind]
