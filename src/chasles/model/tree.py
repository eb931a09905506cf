"""The kinematic tree that the algorithms read: moving bodies only, each rotating about or translating along its z axis.

Fixed joints are folded into the bodies that they join. A joint with several degrees of freedom becomes a chain of
bodies, one for each, of which only the last has mass. The rotations and translations of a spherical or free joint are
those of its velocity: the first body of its chain takes the whole pose that the coordinates determine, the others stay
at rest relative to it, but have rates; see `chasles.algorithms.kinematics`.

The frame of a body sits on its joint axis, with z along the axis, at the point of the axis that is nearest to the
parent body's origin (if the axis is along one of the parent's coordinate axes): that leaves the most zeros for tracing
to fold away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import mirrored, rotation_taking_z_to
from chasles.model.description import Description
from chasles.model.freedoms import JointKind, has_quaternion
from chasles.model.inertia import Inertia, shift_of_first_moment
from chasles.model.joint import JOINT_PARAMETERS, POSITION_TORQUES, Joint
from chasles.model.loop import Constraint, Loop
from chasles.model.parameters import parameter_shapes
from chasles.model.placement import replaced_placement, tidy_rotation

WORLD = -1
#: Numbers of a joint that its moving body has under the same name.
FRICTION_OF_BODY = ("viscous_friction", "coulomb_friction", "load_friction", "load_velocity", *POSITION_TORQUES)
Placed = Literal["coordinate", "quaternion", "quaternion and position", "nothing"]


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A moving body: links joined by fixed joints.

    Its pose in the parent body at joint position s is ``R_parent_body Rz(angular s)`` and
    ``p_parent_body + R_parent_body [0, 0, pitch s]``. The inertial parameters and friction may be traced scalars.

    Parameters
    ----------
    name, joint
        Name of the first link of the body and of the velocity that its joint gives it: the joint's own name where it
        has one degree of freedom. A body without links has the name of its joint's velocity too.
    parent
        Index of the parent body; -1 for the world.
    R_parent_body, p_parent_body
        Pose in the parent body (or world) at joint position zero.
    angular
        1.0 for a joint that rotates, 0.0 for a prismatic one.
    pitch
        Travel along z for each unit of joint position: 1.0 prismatic, m/rad helical, 0.0 revolute.
    coordinate
        Index of its velocity in qd.
    position
        Index of its position in q; for the first body of a spherical or free joint that of qw, for the others -1.
    ratio, offset
        The joint position is ``ratio * q[position] + offset``; 1 and 0 except for mimic joints.
    placed
        Part of its pose that q determines: "coordinate", "quaternion" or "quaternion and position" for the first body
        of a spherical or free joint, "nothing" for the others, which continue the same joint.
    carries
        Whether links move with the body; of the bodies of a joint with several degrees of freedom only the last has
        links.
    mass, first_moment, inertia
        kg; mass times centre of mass in body axes, kg·m; inertia about the origin of the body frame, kg·m².
    armature
        Motor inertia at the joint side of the reduction, kg·m² (prismatic: kg).
    viscous_friction, coulomb_friction, coulomb_velocity, coulomb_shares
        See `Joint`.
    load_friction, load_velocity, torque_offset, torque_sine, torque_cosine
        See `Joint`.
    """

    name: str
    joint: str
    parent: int
    R_parent_body: NDArray[Any]
    p_parent_body: NDArray[Any]
    angular: float
    pitch: float
    coordinate: int
    position: int
    ratio: float
    offset: float
    placed: Placed
    carries: bool
    mass: Real
    first_moment: NDArray[Any]
    inertia: NDArray[Any]
    armature: Real
    viscous_friction: Real
    coulomb_friction: Real
    coulomb_velocity: Real | tuple[Real, ...]
    coulomb_shares: tuple[float, ...] = (1.0,)
    load_friction: Real = 0.0
    load_velocity: Real = 0.0
    torque_offset: Real = 0.0
    torque_sine: Real = 0.0
    torque_cosine: Real = 0.0

    @property
    def coulomb_velocities(self) -> tuple[Real, ...]:
        """Velocity scales of Coulomb friction, one for each of the `coulomb_shares`."""
        return self.coulomb_velocity if isinstance(self.coulomb_velocity, tuple) else (self.coulomb_velocity,)


@dataclass(frozen=True, eq=False)
class Placement:
    """A frame fixed to a body: `body` is its index, -1 for the world."""

    body: int
    R_body_frame: NDArray[Any]
    p_body_frame: NDArray[Any]


@dataclass(frozen=True, eq=False)
class LoopConstraint:
    """A loop of a robot: the two frames that it joins, each on its body, and its constraints; see `Loop`."""

    name: str
    first: Placement
    second: Placement
    constraints: tuple[Constraint, ...]
    aligned: NDArray[np.float64]
    tolerance: float


@dataclass(frozen=True, eq=False)
class Tree:
    """Moving bodies (parents before children), every link and frame by name, lengths of q and qd, gravity (3,).

    Parameters
    ----------
    loops
        Loop constraints that close the tree; empty for most robots.
    independent
        Indices of the independent velocities among the `n` of the tree; all of them without loops.
    constraints
        Indices, among the constraints of all loops, of the active ones; the others always hold.
    actuated
        Indices of the velocities that motors act on.
    drive_coupling
        Motor rates per unit of the velocities, shape (n, n); None if each motor turns as its joint does.
    """

    bodies: tuple[MovingBody, ...]
    frames: dict[str, Placement]
    nq: int
    n: int
    gravity: NDArray[Any]
    loops: tuple[LoopConstraint, ...] = ()
    independent: tuple[int, ...] = ()
    constraints: tuple[int, ...] = ()
    actuated: tuple[int, ...] = ()
    drive_coupling: NDArray[Any] | None = None

    @property
    def tolerance(self) -> float:
        """Largest gap, m and rad, that loops may keep."""
        return max((loop.tolerance for loop in self.loops), default=0.0)

    @property
    def carriers(self) -> list[int]:
        """Indices of the bodies that carry links."""
        return [index for index, body in enumerate(self.bodies) if body.carries]


def build_tree(description: Description, values: Mapping[str, Any] | None = None) -> Tree:
    """Return the kinematic tree of a robot.

    Parameters
    ----------
    description
        The robot.
    values
        Parameters to replace, by the names of `parameter_shapes`, with numbers or traced scalars (object arrays). Only
        the upper triangle of an inertia matrix is read.

    Returns
    -------
    Tree
        Tree with arrays as exact as the description: axis-aligned rotations hold 0, 1 and -1.

    Raises
    ------
    UnknownNameError
        `values` names no parameter of this robot.
    ArgumentError
        A value has a wrong shape.

    Examples
    --------
    >>> from chasles.model.description import Description, Link
    >>> from chasles.model.joint import JOINT_PARAMETERS, Joint
    >>> x_axis = Joint("hinge", "revolute", "wall", "door", axis=[1.0, 0.0, 0.0])
    >>> tree = build_tree(Description("door", links=(Link("wall"), Link("door")), joints=(x_axis,)))
    >>> tree.bodies[0].R_parent_body @ [0.0, 0.0, 1.0]
    array([1., 0., 0.])
    """
    return replace(
        spanning_tree(description, values),
        independent=description.independent_indices,
        constraints=description.mobility.constraints if description.loops else (),
        actuated=description.actuated_indices,
    )


def spanning_tree(description: Description, values: Mapping[str, Any] | None = None) -> Tree:
    """Return the kinematic tree with its loops, before their mobility is known; as for `build_tree`.

    Examples
    --------
    >>> from chasles.model import load
    >>> len(spanning_tree(load("planar2r")).bodies)
    2
    """
    parameters = _Parameters(description, values or {})
    placements, moving = _place_links(description, parameters)
    carried: dict[int, list[tuple[str, Inertia, Placement]]] = {index: [] for index in range(len(moving))}
    for link in description.links:
        if placements[link.name].body != WORLD:
            carried[placements[link.name].body].append((f"links.{link.name}", link.inertia, placements[link.name]))
    frames = dict(placements)
    for frame in description.frames:
        T = parameters.placement(f"frames.{frame.name}.", frame.T_link_frame)
        frames[frame.name] = _onward(placements[frame.link], T[:3, :3], T[:3, 3])
    tool = frames[description.tool]
    if tool.body != WORLD:
        carried[tool.body].append(("payload", description.payload, tool))

    bodies = []
    for index, moved in enumerate(moving):
        joint, freedom = moved.joint, moved.joint.freedoms[moved.freedom]
        driver, ratio, offset = description.mimics[joint.name]
        q_start, v_start = description.starts[driver]
        motor = {name: parameters(f"joints.{joint.name}.{name}", getattr(joint, name)) for name in JOINT_PARAMETERS}
        mass, first_moment, inertia = _composite(parameters, carried[index])
        velocity = joint.velocity_names[freedom.velocity]
        placed = _placed(joint.kind, moved.freedom)
        bodies.append(
            MovingBody(
                name=joint.child if moved.is_last else velocity,
                joint=velocity,
                parent=moved.parent,
                R_parent_body=moved.R_parent_body,
                p_parent_body=moved.p_parent_body,
                angular=freedom.angular,
                pitch=freedom.pitch,
                coordinate=v_start + freedom.velocity,
                position=-1 if placed == "nothing" else q_start if joint.has_quaternion else q_start + freedom.velocity,
                ratio=ratio,
                offset=offset,
                placed=placed,
                carries=moved.is_last,
                mass=mass,
                first_moment=first_moment,
                inertia=inertia,
                armature=motor["gear_ratio"] * motor["gear_ratio"] * motor["motor_inertia"],
                coulomb_velocity=_number_or_tuple(motor["coulomb_velocity"]),
                coulomb_shares=joint.coulomb_shares,
                **{name: motor[name] for name in FRICTION_OF_BODY},
            )
        )
    return Tree(
        bodies=tuple(bodies),
        frames=frames,
        nq=description.nq,
        n=len(description.joint_velocity_names),
        gravity=parameters("gravity", description.gravity),
        loops=tuple(_closed_loop(loop, frames) for loop in description.loops),
        drive_coupling=_drive_coupling(description, parameters) if description.has_coupled_drives else None,
    )


def _drive_coupling(description: Description, parameters: _Parameters) -> NDArray[Any]:
    """Return motor rates per unit of the velocities, with the shares that are replaced: shape (n, n)."""
    rows = description.drive_coupling.tolist()
    places = description.starts
    for joint in description.coordinates:
        shares = parameters(f"joints.{joint.name}.drive_coupling", [share for _, share in joint.drive_coupling])
        for (other, _), share in zip(joint.drive_coupling, shares, strict=True):
            rows[places[joint.name][1]][places[other][1]] = share
    return np.array(rows)


def _number_or_tuple(value: Any) -> Any:
    return tuple(value) if np.ndim(value) else value


def _closed_loop(loop: Loop, frames: Mapping[str, Placement]) -> LoopConstraint:
    first, second = (
        _onward(frames[frame], T[:3, :3], T[:3, 3])
        for frame, T in ((loop.first, loop.T_first_joint), (loop.second, loop.T_second_joint))
    )
    return LoopConstraint(loop.name, first, second, loop.constraints, loop.aligned, loop.tolerance)


class _Parameters:
    """Looks up a parameter: the replacement where there is one, else the description's number."""

    def __init__(self, description: Description, values: Mapping[str, Any]) -> None:
        known = parameter_shapes(description)
        for name, value in values.items():
            if name not in known:
                raise UnknownNameError("parameter", name, known)
            if np.shape(value) != known[name]:
                raise ArgumentError(f"parameter '{name}' must have shape {known[name]}, not {np.shape(value)}")
        self._values = values

    def __call__(self, name: str, default: Any) -> Any:
        value = self._values.get(name, default)
        return np.asarray(value) if np.ndim(value) else value

    def placement(self, prefix: str, T: NDArray[np.float64]) -> NDArray[Any]:
        """Return T (4, 4), of which the position or the angles may be replaced."""
        return replaced_placement(T, self._values.get(f"{prefix}position"), self._values.get(f"{prefix}roll_pitch_yaw"))


def _onward(place: Placement, R: NDArray[Any], p: NDArray[Any]) -> Placement:
    """Return the frame at R, p as seen from another frame, placed in the latter's body."""
    return Placement(
        place.body,
        tidy_rotation(place.R_body_frame @ R),
        place.R_body_frame @ p + place.p_body_frame + 0.0,
    )


@dataclass(frozen=True)
class _Moved:
    """A degree of freedom of a joint, with the parent body and the pose there of the body that it moves."""

    joint: Joint
    freedom: int
    parent: int
    R_parent_body: NDArray[Any]
    p_parent_body: NDArray[Any]

    @property
    def is_last(self) -> bool:
        return self.freedom == len(self.joint.freedoms) - 1


def _place_links(description: Description, parameters: _Parameters) -> tuple[dict[str, Placement], list[_Moved]]:
    """Return the place of every link in its body, and every degree of freedom."""
    T = parameters.placement("base.", description.T_world_base)
    placements = {description.root: Placement(WORLD, T[:3, :3], T[:3, 3])}
    moving: list[_Moved] = []
    for joint in description.ordered_joints:
        T_parent_joint = parameters.placement(f"joints.{joint.name}.", joint.T_parent_joint)
        T_joint_child = parameters.placement(f"joints.{joint.name}.child_", joint.T_joint_child)
        place = _onward(placements[joint.parent], T_parent_joint[:3, :3], T_parent_joint[:3, 3])
        for number, freedom in enumerate(joint.freedoms):
            # The frame that the joint moves, with all freedoms so far at zero, seen from the new body.
            R_joint_body = rotation_taking_z_to(freedom.direction)
            R_parent_body = tidy_rotation(place.R_body_frame @ R_joint_body)
            if joint.has_quaternion:
                p_parent_body, slide = place.p_body_frame, 0.0
            else:
                p_parent_body, slide = _nearest_point(place.p_body_frame, R_parent_body[:, 2])
            moving.append(_Moved(joint, number, place.body, R_parent_body, p_parent_body))
            place = Placement(len(moving) - 1, tidy_rotation(R_joint_body.T), np.array([0.0, 0.0, -slide]))
        placements[joint.child] = _onward(place, T_joint_child[:3, :3], T_joint_child[:3, 3])
    return {link: placements[link] for link in description.link_names}, moving


def _placed(kind: JointKind, freedom: int) -> Placed:
    if not has_quaternion(kind):
        return "coordinate"
    if freedom > 0:
        return "nothing"
    return "quaternion and position" if kind == "free" else "quaternion"


def _nearest_point(p: NDArray[Any], axis: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Slide p along a coordinate axis so that its component there vanishes; other directions would gain no zero."""
    if axis.dtype == object:
        return p, 0.0
    along = np.flatnonzero(axis)
    if len(along) != 1:
        return p, 0.0
    nearest = p.copy()
    nearest[along] = 0.0
    return nearest, -axis[along[0]] * p[along[0]]


def _composite(
    parameters: _Parameters, parts: list[tuple[str, Inertia, Placement]]
) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Mass, first moment and inertia about the body's origin of the parts together (parallel-axis theorem)."""
    total_mass: Any = 0.0
    total_moment: NDArray[Any] = np.zeros(3)
    total_inertia: NDArray[Any] = np.zeros((3, 3))
    for prefix, inertia, place in parts:
        mass = parameters(f"{prefix}.mass", inertia.mass)
        center = parameters(f"{prefix}.center_of_mass", inertia.center_of_mass)
        matrix = mirrored(parameters(f"{prefix}.inertia", inertia.matrix))
        R = place.R_body_frame
        x, y, z = r = R @ center + place.p_body_frame
        parallel_axis = np.array(
            [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z], [-x * z, -y * z, x * x + y * y]]
        )
        total_mass = total_mass + mass
        total_moment = total_moment + mass * r
        total_inertia = total_inertia + R @ matrix @ R.T + mass * parallel_axis
        if inertia.first_moment.any():
            h = R @ inertia.first_moment
            total_moment = total_moment + h
            total_inertia = total_inertia + shift_of_first_moment(h, place.p_body_frame)
    return total_mass, total_moment, mirrored(total_inertia)
