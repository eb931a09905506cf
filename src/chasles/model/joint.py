"""A joint: where it sits, how it moves, its limits, friction and motor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ModelError
from chasles.engine.validators import Bound as ParameterBound
from chasles.model.freedoms import (
    JOINT_KINDS,
    Freedom,
    JointKind,
    coordinate_labels,
    coordinate_units,
    displacement_units,
    freedoms,
    has_quaternion,
    velocity_labels,
)
from chasles.model.numbers import BOUNDED, LARGEST_DAMPING, LARGEST_NUMBER, SMALLEST_DIVISOR, number, unit_vector
from chasles.model.placement import frozen_placement
from chasles.model.record import DescriptionRecord, shortened

Y_AXIS = (0.0, 1.0, 0.0)
Bound = float | tuple[float, ...]
#: Largest share of the transmitted torque that friction may take; from 1 on a driven joint would lock itself.
LARGEST_LOAD_FRICTION = 0.99
#: Shares that must sum to 1 may miss it by the rounding of a file with six digits.
SHARES_TOLERANCE = 1e-5
VELOCITY = ParameterBound(at_least=0.0, at_most=LARGEST_NUMBER, smallest=SMALLEST_DIVISOR)
#: Parameters of a joint that can be varied, with their bounds. The Coulomb velocity may be several numbers.
JOINT_PARAMETERS: Mapping[str, ParameterBound] = {
    "viscous_friction": ParameterBound(at_least=0.0, at_most=LARGEST_DAMPING),
    "coulomb_friction": ParameterBound(at_least=0.0, at_most=LARGEST_NUMBER),
    "coulomb_velocity": VELOCITY,
    "load_friction": ParameterBound(at_least=-LARGEST_LOAD_FRICTION, at_most=LARGEST_LOAD_FRICTION),
    "load_velocity": VELOCITY,
    "torque_offset": BOUNDED,
    "torque_sine": BOUNDED,
    "torque_cosine": BOUNDED,
    "motor_inertia": ParameterBound(at_least=0.0, at_most=LARGEST_NUMBER),
    "gear_ratio": BOUNDED,
}
#: Torques of a joint that depend on its position alone.
NOT_NEGATIVE = ParameterBound(at_least=0.0, at_most=LARGEST_NUMBER)
POSITION_TORQUES = ("torque_offset", "torque_sine", "torque_cosine")


@dataclass(frozen=True, eq=False)
class Limits(DescriptionRecord):
    """Limits of a joint; infinite by default, and where a file states a value beyond 1e9.

    Each limit is one number or, for a joint with several degrees of freedom, optionally one for each of them.

    Parameters
    ----------
    lower, upper
        Position, rad or m.
    velocity
        Largest speed, rad/s or m/s.
    effort
        Largest torque or force, N·m or N.

    Examples
    --------
    >>> Limits(-1.0, 1.0).velocity
    inf
    """

    lower: Bound = -math.inf
    upper: Bound = math.inf
    velocity: Bound = math.inf
    effort: Bound = math.inf

    def __post_init__(self) -> None:
        self._set(**{name: _bound(getattr(self, name), f"limit '{name}'") for name in self.field_names()})
        counts = {len(bound) for bound in self._bounds() if isinstance(bound, tuple)}
        if len(counts) > 1:
            raise ModelError(
                f"limits for {' and '.join(map(str, sorted(counts)))} degrees of freedom do not go together"
            )
        count = max(counts, default=1)
        for lower, upper in zip(self.each("lower", count), self.each("upper", count), strict=True):
            if not lower <= upper:
                raise ModelError(f"the lower limit {lower} is not below the upper limit {upper}")
            if math.inf in (lower, -upper):
                raise ModelError(
                    f"the limits {lower} to {upper} leave no position of at most {LARGEST_NUMBER:g} in size"
                )
        for name in ("velocity", "effort"):
            for value in self.each(name, count):
                if not value >= 0.0:
                    raise ModelError(f"the {name} limit {value} must not be negative")

    def each(self, name: str, count: int) -> tuple[float, ...]:
        """Values of one of the limits, one for each degree of freedom of the joint.

        Examples
        --------
        >>> Limits(velocity=2.0).each("velocity", 3)
        (2.0, 2.0, 2.0)
        """
        bound: Bound = getattr(self, name)
        return bound if isinstance(bound, tuple) else (bound,) * count

    def _bounds(self) -> tuple[Bound, ...]:
        return tuple(getattr(self, name) for name in self.field_names())


@dataclass(frozen=True, eq=False)
class Mimic(DescriptionRecord):
    """A joint that follows another: position = ratio * (position of `joint`) + offset."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("ratio", "offset"):
            self._set(**{name: number(getattr(self, name), f"mimic '{name}'")})


@dataclass(frozen=True, eq=False)
class Joint(DescriptionRecord):
    """A joint between two links: ``T_parent_child(q) = T_parent_joint · motion(axis, q) · T_joint_child``.

    Coordinates by kind: an angle ("revolute", "continuous", "helical") or a distance ("prismatic"); the angles about
    `axis` and then about the `second_axis`, which the first carries along ("universal"); angle and distance
    ("cylindrical"); two distances across the axis and the angle ("planar": along x and y if the axis is z); a unit
    quaternion w, x, y, z ("spherical"), and with it a position ("free"). The velocities of the last two are the angular
    velocity and, of a free joint, the velocity of the moved joint frame, in its own axes. None: "fixed".

    Parameters
    ----------
    name, kind
        `kind` is one of `chasles.model.freedoms.JOINT_KINDS`.
    parent, child
        Names of the links.
    T_parent_joint
        Placement of the joint frame in the parent link, shape (4, 4).
    T_joint_child
        Placement of the child link frame in the moved joint frame, shape (4, 4); the identity in URDF, not in DH.
    axis
        Direction in the joint frame, shape (3,), at least 1e-9 long; it is normalised.
    pitch
        Travel along the axis for each rad, m/rad; helical joints only.
    second_axis
        Second direction of a universal joint, perpendicular to the first, shape (3,). Other joints ignore it.
    limits
        See `Limits`. Spherical and free joints have no position limits.
    viscous_friction, coulomb_friction
        Friction at the joint, N·m·s/rad and N·m (N·s/m and N for prismatic joints). In a joint with several degrees of
        freedom, each value applies to all of them.
    coulomb_velocity, coulomb_shares
        Velocity scale v, rad/s or m/s, 0 or at least 1e-9: Coulomb friction is ``coulomb_friction * tanh(qd / v)``,
        with `sign` in place of tanh if the scale is 0. Or several scales, with a share of the friction for each, not
        negative and with the sum 1: ``coulomb_friction * sum(shares * tanh(qd / velocities))``.
    load_friction, load_velocity
        Friction that grows with the load, as that of gears does: ``load_friction * |tau| * tanh(qd / load_velocity)``,
        with the torque tau that the joint transmits without friction, ``M qdd + c + g + armature qdd - Jᵀ w``.
        Dimensionless, at most 0.99 in size; velocity scale as `coulomb_velocity`. A joint that mimics another, or that
        is part of a robot with loops, has none.
    torque_offset, torque_sine, torque_cosine
        Torque ``offset + sine * sin(q) + cosine * cos(q)`` that the motor must overcome, N·m: of cables, springs and
        eccentric gears or sensors. It is conservative, and so part of potential energy and gravity torque. An offset
        needs one degree of freedom (prismatic: N), the others a revolute or continuous joint.
    motor_inertia, gear_ratio
        Rotor inertia, kg·m², and motor revolutions per joint revolution; the armature is ``gear_ratio² *
        motor_inertia``.
    drive_coupling
        Shares of other joints' rates in that of this joint's motor, by joint name: the motor rate is ``qd + sum(share *
        qd_other)`` at the joint side of the reduction. In a wrist whose motors sit in the forearm, the motor of joint 6
        turns with joint 5 too. Rotor inertia, friction and position torques are then those of the motor, at its rate
        and position, and the other joints feel their share of its torque. Torques and limits of a robot are those of
        its joints. Only joints with one degree of freedom, that neither mimic nor are mimicked, have such drives.
    mimic
        The joint that this one follows, or None.

    Raises
    ------
    ModelError
        A field is invalid; the message names the joint.

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
    second_axis: NDArray[np.float64] = field(default_factory=lambda: np.array(Y_AXIS))
    limits: Limits = field(default_factory=Limits)
    viscous_friction: float = 0.0
    coulomb_friction: float = 0.0
    coulomb_velocity: float | tuple[float, ...] = 0.0
    coulomb_shares: tuple[float, ...] = (1.0,)
    load_friction: float = 0.0
    load_velocity: float = 0.0
    torque_offset: float = 0.0
    torque_sine: float = 0.0
    torque_cosine: float = 0.0
    motor_inertia: float = 0.0
    gear_ratio: float = 1.0
    drive_coupling: tuple[tuple[str, float], ...] = ()
    mimic: Mimic | None = None

    if TYPE_CHECKING:  # what is given becomes arrays

        def __init__(
            self,
            name: str,
            kind: JointKind,
            parent: str,
            child: str,
            T_parent_joint: ArrayLike = ...,
            T_joint_child: ArrayLike = ...,
            axis: ArrayLike = (0.0, 0.0, 1.0),
            pitch: float = 0.0,
            second_axis: ArrayLike = Y_AXIS,
            limits: Limits = ...,
            viscous_friction: float = 0.0,
            coulomb_friction: float = 0.0,
            coulomb_velocity: float | ArrayLike = 0.0,
            coulomb_shares: ArrayLike = (1.0,),
            load_friction: float = 0.0,
            load_velocity: float = 0.0,
            torque_offset: float = 0.0,
            torque_sine: float = 0.0,
            torque_cosine: float = 0.0,
            motor_inertia: float = 0.0,
            gear_ratio: float = 1.0,
            drive_coupling: Mapping[str, float] | Iterable[tuple[str, float]] = (),
            mimic: Mimic | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        of_joint = f"of joint {shortened(self.name)}"
        if self.kind not in JOINT_KINDS:
            raise ModelError(
                f"the kind {of_joint} is {shortened(self.kind)}; it must be one of {', '.join(JOINT_KINDS)}"
            )
        self._set(
            T_parent_joint=frozen_placement(self.T_parent_joint, f"T_parent_joint {of_joint}"),
            T_joint_child=frozen_placement(self.T_joint_child, f"T_joint_child {of_joint}"),
            axis=unit_vector(self.axis, 3, f"the axis {of_joint}"),
            second_axis=unit_vector(
                self.second_axis if self.kind == "universal" else Y_AXIS, 3, f"the second_axis {of_joint}"
            ),
        )
        self._set(pitch=number(self.pitch, f"the pitch {of_joint}"))
        for name, bound in JOINT_PARAMETERS.items():
            given, what = getattr(self, name), f"the {name} {of_joint}"
            several = name == "coulomb_velocity" and np.ndim(given) == 1 and np.size(given) > 0
            values = tuple(_bounded(value, bound, what) for value in (given if several else (given,)))
            self._set(**{name: values[0] if len(values) == 1 else values})
        self._set(coulomb_shares=self._checked_shares(f"the coulomb_shares {of_joint}"))
        self._set(drive_coupling=_shares_by_name(self.drive_coupling, f"the drive_coupling {of_joint}"))
        if self.kind != "helical" and self.pitch != 0.0:
            raise ModelError(f"the pitch {of_joint} is {self.pitch}, but only a helical joint has a pitch")
        if self.kind == "continuous" and (self.limits.lower, self.limits.upper) != (-math.inf, math.inf):
            raise ModelError(f"the position limits {of_joint} must be infinite, because it is continuous")
        if len(self.freedoms) != 1 and self.mimic is not None:
            raise ModelError(
                f"joint {shortened(self.name)} is {self.kind} and cannot mimic another joint: "
                "only one with one degree of freedom can"
            )
        self._check_freedoms(of_joint)

    def _checked_shares(self, what: str) -> tuple[float, ...]:
        count = len(self.coulomb_velocities)
        given = self.coulomb_shares if np.ndim(self.coulomb_shares) == 1 else (self.coulomb_shares,)
        if len(given) != count:
            raise ModelError(f"{what} are {len(given)} numbers; each of the {count} coulomb_velocity needs one")
        shares = tuple(_bounded(share, NOT_NEGATIVE, what) for share in given)
        if abs(sum(shares) - 1.0) > SHARES_TOLERANCE:
            raise ModelError(f"{what} must sum to 1, not {sum(shares):.9g}")
        return shares

    def _check_freedoms(self, of_joint: str) -> None:
        count = len(self.freedoms)
        for name in ("load_friction", *POSITION_TORQUES):
            if getattr(self, name) and name not in self.parameters:
                reason = "it mimics another joint" if name == "load_friction" else f"it is {self.kind}"
                raise ModelError(f"the {name} {of_joint} must be 0, because {reason}")
        for name in Limits.field_names():
            bound = getattr(self.limits, name)
            if isinstance(bound, tuple) and (count < 2 or len(bound) != count):
                raise ModelError(
                    f"the {name} limits {of_joint} are {len(bound)} numbers, but it has {count} degrees of freedom"
                )
        if has_quaternion(self.kind) and np.isfinite([*self.position_limits[0], *self.position_limits[1]]).any():
            raise ModelError(f"the position limits {of_joint} must be infinite, because it is {self.kind}")
        if self.kind == "universal" and abs(float(self.axis @ self.second_axis)) > 1e-9:
            raise ModelError(f"the second_axis {of_joint} must be at a right angle to its axis")

    @property
    def moves(self) -> bool:
        """Whether the joint lets its child move."""
        return self.kind != "fixed"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that a joint of this kind can have."""
        absent: set[str] = set()
        if len(self.freedoms) != 1:
            absent |= set(POSITION_TORQUES)
        if self.kind not in ("revolute", "continuous"):
            absent |= {"torque_sine", "torque_cosine"}
        if self.mimic is not None:
            absent |= {"load_friction", "load_velocity"}
        return tuple(name for name in JOINT_PARAMETERS if name not in absent)

    @property
    def coulomb_velocities(self) -> tuple[float, ...]:
        """Velocity scales of Coulomb friction, one for each of the `coulomb_shares`."""
        return self.coulomb_velocity if isinstance(self.coulomb_velocity, tuple) else (self.coulomb_velocity,)

    @cached_property
    def freedoms(self) -> tuple[Freedom, ...]:
        """Rotations and translations of the joint; see `chasles.model.freedoms`."""
        return freedoms(self.kind, self.axis, self.pitch, self.second_axis)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the joint's coordinates: the joint name, with a suffix if there are several.

        Examples
        --------
        >>> Joint("hip", "universal", "body", "leg").coordinate_names
        ('hip.first', 'hip.second')
        """
        return tuple(f"{self.name}.{label}" if label else self.name for label in coordinate_labels(self.kind))

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the joint's velocities.

        Examples
        --------
        >>> Joint("hip", "spherical", "body", "leg").velocity_names
        ('hip.wx', 'hip.wy', 'hip.wz')
        """
        return tuple(f"{self.name}.{label}" if label else self.name for label in velocity_labels(self.kind))

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the joint's coordinates: "rad", "m", or empty for elements of a quaternion."""
        return coordinate_units(self.kind)

    @property
    def displacement_units(self) -> tuple[str, ...]:
        """Units of the joint's displacements, "rad" or "m"; velocities have these units per second."""
        return displacement_units(self.kind)

    @property
    def has_quaternion(self) -> bool:
        """Whether the joint's first four coordinates are a unit quaternion."""
        return has_quaternion(self.kind)

    @property
    def position_limits(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lowest and highest values of the joint's coordinates."""
        count = len(self.coordinate_names)
        return self.limits.each("lower", count), self.limits.each("upper", count)


def _bounded(given: object, bound: ParameterBound, what: str) -> float:
    value = number(given, what, largest=bound.at_most)
    if value < bound.at_least:
        required = "not be negative" if bound.at_least == 0.0 else f"be at least {bound.at_least:g}"
        raise ModelError(f"{what} must {required}, but is {value}")
    if 0.0 < value < bound.smallest:
        raise ModelError(f"{what} must be 0 or at least {bound.smallest:g}, not {value}")
    return value


def _shares_by_name(given: object, what: str) -> tuple[tuple[str, float], ...]:
    pairs: Any = list(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(pairs, list | tuple) or any(not isinstance(p, list | tuple) or len(p) != 2 for p in pairs):
        raise ModelError(f"{what} must give a share of the rate for each joint name, not {shortened(given)}")
    names = [name for name, _ in pairs]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ModelError(f"{what} must name each joint once, as text, not {shortened(names)}")
    return tuple((name, number(share, f"{what}: the share of {shortened(name)}")) for name, share in pairs)


def _bound(value: object, what: str) -> Bound:
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0):
        return tuple(_limit(item, what) for item in value)
    return _limit(value, what)


def _limit(value: object, what: str) -> float:
    limit = number(value, what, may_be_infinite=True)
    return math.copysign(math.inf, limit) if abs(limit) > LARGEST_NUMBER else limit
