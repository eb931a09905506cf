"""The kinematic tree that the algorithms read: moving bodies only, each turning about or sliding along its own z axis.

Fixed joints are folded into the bodies that they join. The frame of a body sits on its joint axis, with z along the
axis, at the point of the axis that is nearest to the parent body's origin (if the axis is along one of the parent's
coordinate axes): that leaves the most zeros for tracing to fold away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ArgumentError, UnknownNameError
from chasles.geometry.elementary import rotation_taking_z_to
from chasles.model.description import Description
from chasles.model.inertia import Inertia
from chasles.model.joint import JOINT_PARAMETERS, Joint
from chasles.model.parameters import parameter_shapes
from chasles.model.placement import tidy_rotation

WORLD = -1


@dataclass(frozen=True, eq=False)
class Body:
    """A moving body: all links that fixed joints hold together.

    Its pose in the parent body at joint position s is ``R_parent_body Rz(angular s)`` and
    ``p_parent_body + R_parent_body [0, 0, pitch s]``. The inertial parameters and friction may be traced scalars.

    Parameters
    ----------
    name, joint
        Name of the first link of the body and of the joint that moves it.
    parent
        Index of the parent body; -1 for the world.
    R_parent_body, p_parent_body
        Pose in the parent body (or world) at joint position zero.
    angular
        1.0 for a joint that turns, 0.0 for a prismatic one.
    pitch
        Travel along z for each unit of joint position: 1.0 prismatic, m/rad helical, 0.0 revolute.
    coordinate, ratio, offset
        The joint position is ``ratio * q[coordinate] + offset``; ratio and offset are 1 and 0 except for mimic joints.
    mass, first_moment, inertia
        kg; mass times centre of mass in body axes, kg m; inertia about the origin of the body frame, kg m².
    armature
        Motor inertia felt by the joint, kg m² (prismatic: kg).
    viscous_friction, coulomb_friction, coulomb_velocity
        As for a `Joint`.
    """

    name: str
    joint: str
    parent: int
    R_parent_body: NDArray[np.float64]
    p_parent_body: NDArray[np.float64]
    angular: float
    pitch: float
    coordinate: int
    ratio: float
    offset: float
    mass: Any
    first_moment: NDArray[Any]
    inertia: NDArray[Any]
    armature: Any
    viscous_friction: Any
    coulomb_friction: Any
    coulomb_velocity: Any


@dataclass(frozen=True, eq=False)
class Placement:
    """A frame fixed to a body: `body` is its index, -1 for the world."""

    body: int
    R_body_frame: NDArray[np.float64]
    p_body_frame: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """Moving bodies (parents before children), every link and frame by name, the length n of q, and gravity (3,)."""

    bodies: tuple[Body, ...]
    frames: dict[str, Placement]
    n: int
    gravity: NDArray[Any]


def build_tree(description: Description, values: Mapping[str, Any] | None = None) -> Tree:
    """Return the kinematic tree of a robot.

    Parameters
    ----------
    description
        The robot.
    values
        Parameters to replace, by the names of `parameter_shapes`, with numbers or traced scalars (object arrays). Of an
        inertia matrix the upper triangle is read.

    Returns
    -------
    Tree
        Its arrays are exact where the description is: axis-aligned rotations hold 0, 1 and -1.

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
    parameters = _Parameters(description, values or {})
    places, moved = _place_links(description)
    carried: dict[int, list[tuple[str, Inertia, Placement]]] = {index: [] for index in range(len(moved))}
    for link in description.links:
        if places[link.name].body != WORLD:
            carried[places[link.name].body].append((f"links.{link.name}", link.inertia, places[link.name]))
    frames = dict(places)
    for frame in description.frames:
        T = frame.T_link_frame
        frames[frame.name] = _onward(places[frame.link], T[:3, :3], T[:3, 3])
    tool = frames[description.tool]
    if tool.body != WORLD:
        carried[tool.body].append(("payload", description.payload, tool))

    coordinate = {joint.name: index for index, joint in enumerate(description.coordinates)}
    bodies = []
    for index, (joint, parent, R, p) in enumerate(moved):
        driver, ratio, offset = description.mimics[joint.name]
        motor = {name: parameters(f"joints.{joint.name}.{name}", getattr(joint, name)) for name in JOINT_PARAMETERS}
        mass, first_moment, inertia = _composite(parameters, carried[index])
        bodies.append(
            Body(
                name=joint.child,
                joint=joint.name,
                parent=parent,
                R_parent_body=R,
                p_parent_body=p,
                angular=0.0 if joint.kind == "prismatic" else 1.0,
                pitch=1.0 if joint.kind == "prismatic" else joint.pitch,
                coordinate=coordinate[driver],
                ratio=ratio,
                offset=offset,
                mass=mass,
                first_moment=first_moment,
                inertia=inertia,
                armature=motor["gear_ratio"] * motor["gear_ratio"] * motor["motor_inertia"],
                viscous_friction=motor["viscous_friction"],
                coulomb_friction=motor["coulomb_friction"],
                coulomb_velocity=motor["coulomb_velocity"],
            )
        )
    return Tree(tuple(bodies), frames, description.n, parameters("gravity", description.gravity))


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


def _onward(place: Placement, R: NDArray[np.float64], p: NDArray[np.float64]) -> Placement:
    """Return the frame at R, p as seen from another frame, placed in the latter's body."""
    return Placement(
        place.body,
        tidy_rotation(place.R_body_frame @ R),
        place.R_body_frame @ p + place.p_body_frame + 0.0,
    )


def _place_links(
    description: Description,
) -> tuple[dict[str, Placement], list[tuple[Joint, int, NDArray[np.float64], NDArray[np.float64]]]]:
    """Return the place of every link in its body, and each moving joint with parent body and pose of its body there."""
    T = description.T_world_base
    places = {description.root: Placement(WORLD, T[:3, :3], T[:3, 3])}
    moved: list[tuple[Joint, int, NDArray[np.float64], NDArray[np.float64]]] = []
    for joint in description.ordered_joints:
        T_pj, T_jc = joint.T_parent_joint, joint.T_joint_child
        joint_place = _onward(places[joint.parent], T_pj[:3, :3], T_pj[:3, 3])
        if not joint.moves:
            places[joint.child] = _onward(joint_place, T_jc[:3, :3], T_jc[:3, 3])
            continue
        R_joint_body = rotation_taking_z_to(joint.axis)
        R_parent_body = tidy_rotation(joint_place.R_body_frame @ R_joint_body)
        p_parent_body, slide = _nearest_point(joint_place.p_body_frame, R_parent_body[:, 2])
        body = Placement(len(moved), tidy_rotation(R_joint_body.T), np.array([0.0, 0.0, -slide]))
        places[joint.child] = _onward(body, T_jc[:3, :3], T_jc[:3, 3])
        moved.append((joint, joint_place.body, R_parent_body, p_parent_body))
    return {link: places[link] for link in description.link_names}, moved


def _nearest_point(p: NDArray[np.float64], axis: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Slide p along a coordinate axis so that its component there vanishes; other directions would gain no zero."""
    along = np.flatnonzero(axis)
    if len(along) != 1:
        return p, 0.0
    nearest = p.copy()
    nearest[along] = 0.0
    return nearest, -float(axis[along[0]] * p[along[0]])


def _composite(
    parameters: _Parameters, parts: list[tuple[str, Inertia, Placement]]
) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Mass, first moment and inertia about the body's origin of the parts together (parallel-axis theorem)."""
    total_mass: Any = 0.0
    total_moment: NDArray[Any] = np.zeros(3)
    total_inertia: NDArray[Any] = np.zeros((3, 3))
    for prefix, own, place in parts:
        mass = parameters(f"{prefix}.mass", own.mass)
        center = parameters(f"{prefix}.center_of_mass", own.center_of_mass)
        matrix = _mirrored(parameters(f"{prefix}.inertia", own.matrix))
        R = place.R_body_frame
        x, y, z = r = R @ center + place.p_body_frame
        parallel_axis = np.array(
            [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z], [-x * z, -y * z, x * x + y * y]]
        )
        total_mass = total_mass + mass
        total_moment = total_moment + mass * r
        total_inertia = total_inertia + R @ matrix @ R.T + mass * parallel_axis
    return total_mass, total_moment, _mirrored(total_inertia)


def _mirrored(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the symmetric matrix with this upper triangle."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = matrix
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
