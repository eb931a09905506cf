"""A joint: where it sits, how it moves, its limits, friction and motor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ModelError
from chasles.model.placement import frozen_placement
from chasles.model.record import Record, frozen_array, number, shortened

JointKind = Literal["revolute", "continuous", "prismatic", "helical", "fixed"]
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)
JOINT_PARAMETERS = ("viscous_friction", "coulomb_friction", "coulomb_velocity", "motor_inertia", "gear_ratio")


@dataclass(frozen=True, eq=False)
class Limits(Record):
    """Limits of a joint; infinite where there is none.

    Parameters
    ----------
    lower, upper
        Position, rad or m.
    velocity
        Largest speed, rad/s or m/s.
    effort
        Largest torque or force, N m or N.

    Examples
    --------
    >>> Limits(-1.0, 1.0).velocity
    inf
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def __post_init__(self) -> None:
        self._set(**{name: number(getattr(self, name), f"limit '{name}'") for name in self.field_names()})
        if not self.lower <= self.upper:
            raise ModelError(f"the lower limit {self.lower} is not below the upper limit {self.upper}")
        for name in ("velocity", "effort"):
            if not getattr(self, name) >= 0.0:
                raise ModelError(f"the {name} limit {getattr(self, name)} must not be negative")


@dataclass(frozen=True, eq=False)
class Mimic(Record):
    """A joint that follows another: position = ratio * (position of `joint`) + offset."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("ratio", "offset"):
            self._set(**{name: number(getattr(self, name), f"mimic '{name}'")})
            if not math.isfinite(getattr(self, name)):
                raise ModelError(f"mimic '{name}' must be finite, not {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Joint(Record):
    """A joint between two links: ``T_parent_child(q) = T_parent_joint · motion(axis, q) · T_joint_child``.

    Parameters
    ----------
    name, kind
        `kind` is "revolute", "continuous", "prismatic", "helical" or "fixed".
    parent, child
        Names of the links.
    T_parent_joint
        Placement of the joint frame in the parent link, shape (4, 4).
    T_joint_child
        Placement of the child link frame in the moved joint frame, shape (4, 4); the identity in URDF, not in DH.
    axis
        Direction in the joint frame, shape (3,); made a unit vector.
    pitch
        Travel along the axis for each rad, m/rad; helical joints only.
    limits
        See `Limits`.
    viscous_friction, coulomb_friction
        At the joint, N m s/rad and N m (N s/m and N for prismatic joints).
    coulomb_velocity
        rad/s or m/s: Coulomb friction is ``coulomb_friction * tanh(qd / coulomb_velocity)``, or with `sign` when it is
        0.
    motor_inertia, gear_ratio
        Rotor inertia, kg m², and motor turns per joint turn; the joint feels ``gear_ratio² * motor_inertia``.
    mimic
        The joint that this one follows, or None.

    Raises
    ------
    ModelError
        A field is impossible; the message names the joint.

    Examples
    --------
    >>> Joint("elbow", "revolute", "upper_arm", "forearm", axis=[0.0, 2.0, 0.0]).axis
    array([0., 1., 0.])
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    T_parent_joint: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    T_joint_child: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    axis: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    pitch: float = 0.0
    limits: Limits = field(default_factory=Limits)
    viscous_friction: float = 0.0
    coulomb_friction: float = 0.0
    coulomb_velocity: float = 0.0
    motor_inertia: float = 0.0
    gear_ratio: float = 1.0
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        of_joint = f"of joint {shortened(self.name)}"
        if self.kind not in JOINT_KINDS:
            raise ModelError(
                f"the kind {of_joint} is {shortened(self.kind)}; it must be one of {', '.join(JOINT_KINDS)}"
            )
        self._set(
            T_parent_joint=frozen_placement(self.T_parent_joint, f"T_parent_joint {of_joint}"),
            T_joint_child=frozen_placement(self.T_joint_child, f"T_joint_child {of_joint}"),
            axis=_unit_vector(self.axis, f"the axis {of_joint}"),
        )
        for name in ("pitch", *JOINT_PARAMETERS):
            value = number(getattr(self, name), f"the {name} {of_joint}")
            if not math.isfinite(value):
                raise ModelError(f"the {name} {of_joint} must be finite, not {value}")
            if value < 0.0 and name not in ("pitch", "gear_ratio"):
                raise ModelError(f"the {name} {of_joint} must not be negative, but is {value}")
            self._set(**{name: value})
        if self.kind != "helical" and self.pitch != 0.0:
            raise ModelError(f"the pitch {of_joint} is {self.pitch}, but only a helical joint has a pitch")
        if self.kind == "continuous" and (self.limits.lower, self.limits.upper) != (-math.inf, math.inf):
            raise ModelError(f"the position limits {of_joint} must be infinite, because it is continuous")
        if self.kind == "fixed" and self.mimic is not None:
            raise ModelError(f"joint {shortened(self.name)} is fixed and cannot mimic another joint")

    @property
    def moves(self) -> bool:
        """Whether the joint lets its child move."""
        return self.kind != "fixed"


def _unit_vector(value: object, what: str) -> NDArray[np.float64]:
    axis = frozen_array(value, (3,), what)
    largest = float(np.abs(axis).max())
    if not math.isfinite(largest) or largest == 0.0:
        raise ModelError(f"{what} must be a finite vector that is not zero, not {axis.tolist()}")
    length = float(np.linalg.norm(axis))
    # A vector that is unit to rounding stays as it is: reading back a written description changes no bit.
    if abs(length - 1.0) > 1e-15:
        scaled = axis / largest
        axis = frozen_array(scaled / np.linalg.norm(scaled), (3,), what)
    return axis
