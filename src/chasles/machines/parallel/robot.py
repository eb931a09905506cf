"""A Stewart platform as a robot with loops: a tree of the platform and six legs, closed by spherical joints.

The platform hangs on the base by a free joint without motor. Each leg begins at a universal or spherical joint, of the
base (UPS, SPS) or of the platform (SPU), changes its length by a prismatic joint, and ends where a spherical joint
closes its loop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import pose, rotation_of, rotation_taking_z_to, translation_of
from chasles.geometry.quaternion_rotations import quaternion_from_rotation
from chasles.machines.parallel.dynamics import Mechanism
from chasles.machines.parallel.legs import LegBody
from chasles.model import Description, Inertia, Joint, Limits, Link, Loop
from chasles.robot.robot import Robot

Doubles = NDArray[np.float64]

_CLOSED = 1e-9  # largest residual of the loops, relative to coordinates above 1


def stewart_description(mechanism: Mechanism, leg_limits: Doubles, name: str, independent: str) -> Description:
    """Description of the robot whose loops close at the home pose."""
    links = [Link("base"), Link("platform", Inertia(mechanism.mass, mechanism.center_of_mass, mechanism.inertia))]
    joints = [Joint("platform", "free", "base", "platform")]
    R, p = rotation_of(mechanism.home), translation_of(mechanism.home)
    home = [*quaternion_from_rotation(R), *p]
    loops = []
    directions, lengths = _legs_from_their_roots(mechanism, mechanism.home)
    for k, (direction, length) in enumerate(zip(directions, lengths, strict=True)):
        body = mechanism.legs[k]
        first, last = (mechanism.geometry.base[k], mechanism.geometry.platform[k])
        halves = (f"lower_leg_{k}", body.lower), (f"upper_leg_{k}", body.upper)
        root, end = "base", "platform"
        if mechanism.architecture == "SPU":
            halves, first, last = halves[::-1], last, first
            root, end = end, root
        links += [_half(*halves[0], 1.0), _half(*halves[1], -1.0)]
        joints += _leg_joints(mechanism, k, root, halves[0][0], halves[1][0], first, direction, leg_limits[k])
        loops.append(Loop(f"ball_{k}", "spherical", halves[1][0], end, T_second_joint=pose(np.eye(3), last)))
        home += [*_REST[joints[-2].kind], float(length)]
    return Description(
        name,
        tuple(links),
        tuple(joints),
        gravity=mechanism.gravity,
        tool="platform",
        home=np.array(home),
        loops=tuple(loops),
        actuated=tuple(f"leg_{k}" for k in range(6)),
        independent=_independent(mechanism) if independent == "platform" else (),
    )


def _independent(mechanism: Mechanism) -> tuple[str, ...]:
    """Velocities that determine the others: the platform's, and the spins of legs that can spin."""
    return "platform", *(f"joint_{k}.wz" for k in range(6) if mechanism.architecture == "SPS")


#: Coordinates of a leg's first joint at the home pose.
_REST = {"universal": (0.0, 0.0), "spherical": (1.0, 0.0, 0.0, 0.0)}


def _half(name: str, body: LegBody, side: float) -> Link:
    """Half of a leg, whose z axis points along the leg away from its first joint; `side` says where its mass lies."""
    inertia = np.diag([body.transverse_inertia, body.transverse_inertia, body.axial_inertia])
    return Link(name, Inertia(body.mass, np.array([0.0, 0.0, side * body.center]), inertia))


def _leg_joints(
    mechanism: Mechanism, k: int, root: str, near: str, far: str, point: Doubles, direction: Doubles, limits: Doubles
) -> Iterator[Joint]:
    """First joint of a leg at a point of its root body, z along the leg at home, and the prismatic joint along z."""
    R_root_leg = rotation_taking_z_to(direction)
    placement = pose(R_root_leg, point)
    if mechanism.architecture == "SPS":
        yield Joint(f"joint_{k}", "spherical", root, near, placement)
    else:
        axis = R_root_leg.T @ mechanism.axes[k]
        across = np.cross(axis, [0.0, 0.0, 1.0])
        second_axis = across / np.linalg.norm(across)
        yield Joint(f"joint_{k}", "universal", root, near, placement, axis=axis, second_axis=second_axis)
    yield Joint(f"leg_{k}", "prismatic", near, far, limits=Limits(*limits))


def configurations_at(mechanism: Mechanism, robot: Robot, T: Doubles) -> Doubles:
    """Return configurations (..., nq) of a platform's robot at poses (..., 4, 4).

    The angles of a universal joint are those with the leg on the side of its first axis on which it is at home; a leg
    between two spherical joints turns the shortest way from home.

    Raises
    ------
    ArgumentError
        The robot is another one's.
    """
    positions = _joint_positions(mechanism, T)
    starts = robot.description.starts
    if set(starts) != set(positions):
        raise ArgumentError(f"robot '{robot.name}' is not the platform's; take the one that stewart.robot() returns")
    q = np.empty((*T.shape[:-2], robot.nq))
    for name, values in positions.items():
        q[..., starts[name][0] : starts[name][0] + values.shape[-1]] = values
    gap = float(np.abs(np.asarray(robot.loops.constraints(q).residual)).max(initial=0.0))
    if gap > _CLOSED * max(1.0, float(np.abs(q).max(initial=0.0))):
        raise ArgumentError(
            f"the loops of robot '{robot.name}' stay open by {gap:.3g} m where those of the platform are closed; take "
            "the robot that stewart.robot() returns"
        )
    return q


def _joint_positions(mechanism: Mechanism, T: Doubles) -> dict[str, Doubles]:
    """Coordinates (..., k) of each joint at poses (..., 4, 4)."""
    positions = {
        "platform": np.concatenate([np.asarray(quaternion_from_rotation(T[..., :3, :3])), T[..., :3, 3]], axis=-1)
    }
    directions, lengths = _legs_from_their_roots(mechanism, T)
    at_home, _ = _legs_from_their_roots(mechanism, mechanism.home)
    for k in range(6):
        direction, home = directions[..., k, :], at_home[k]
        if mechanism.architecture == "SPS":
            positions[f"joint_{k}"] = _shortest_rotation(direction @ rotation_taking_z_to(home))
        else:
            positions[f"joint_{k}"] = _universal_angles(direction, home, mechanism.axes[k])
        positions[f"leg_{k}"] = lengths[..., k, None]
    return positions


def _legs_from_their_roots(mechanism: Mechanism, T: Doubles) -> tuple[Doubles, Doubles]:
    """Directions (..., 6, 3) of the legs from their first joints, in axes of the body that these are on, and lengths.

    A leg of length zero keeps the direction that it has at home.
    """
    R, p = T[..., :3, :3], T[..., :3, 3]
    base, platform = mechanism.geometry
    ways = p[..., None, :] + platform @ np.swapaxes(R, -1, -2) - base
    if mechanism.architecture == "SPU":
        ways = -ways @ R
    lengths = np.linalg.norm(ways, axis=-1)
    shrunk = lengths == 0.0
    if shrunk.any():
        at_home, _ = _legs_from_their_roots(mechanism, mechanism.home)
        ways = np.where(shrunk[..., None], at_home, ways)
    return ways / np.where(shrunk, 1.0, lengths)[..., None], lengths


def _universal_angles(direction: Doubles, home: Doubles, axis: Doubles) -> Doubles:
    """Angles (..., 2) about a fixed axis and about one across it that take a leg from its direction at home to another.

    With the axis u, v perpendicular to u and the leg at home, and c = u x v, the leg at angles α and β points along
    cos(β + φ) u - sin(β + φ) (cos(α) c - sin(α) v), where φ is its angle to u at home.
    """
    u = axis / np.linalg.norm(axis)
    v = np.cross(u, home)
    v /= np.linalg.norm(v)
    to_axis, to_axis_at_home = (np.arctan2(np.linalg.norm(np.cross(u, n), axis=-1), n @ u) for n in (direction, home))
    return np.stack([np.arctan2(direction @ v, -(direction @ np.cross(u, v))), to_axis - to_axis_at_home], axis=-1)


def _shortest_rotation(direction: Doubles) -> Doubles:
    """Quaternions (..., 4) of the shortest rotations that take the z axis to unit vectors (..., 3)."""
    x, y, z = np.moveaxis(direction, -1, 0)
    across = x * x + y * y
    ahead = np.where(z < 0.0, across / (1.0 - np.minimum(z, 0.0)), 1.0 + z)  # 1 + z without cancellation
    opposite = across + ahead == 0.0
    quaternion = np.stack([ahead, -y + opposite, x, np.zeros_like(x)], axis=-1)
    unit: Doubles = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return unit
