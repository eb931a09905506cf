"""A Stewart platform as a robot with loops: a tree of the platform and six legs, closed by spherical joints.

The platform hangs on the base by a free joint without motor. Each leg begins at a universal or spherical joint, of the
base (UPS, SPS) or of the platform (SPU), slides by a prismatic joint, and ends where a spherical joint closes its loop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chasles.geometry.elementary import pose, rotation_of, rotation_taking_z_to, translation_of
from chasles.geometry.quaternion_rotations import quaternion_from_rotation
from chasles.model import Description, Inertia, Joint, Limits, Link, Loop
from chasles.parallel.dynamics import Mechanism
from chasles.parallel.kinematics import leg_vectors
from chasles.parallel.legs import LegBody

Doubles = NDArray[np.float64]


def stewart_description(mechanism: Mechanism, leg_limits: Doubles, name: str, independent: str) -> Description:
    """Description of the robot whose loops close at the home pose."""
    links = [Link("base"), Link("platform", Inertia(mechanism.mass, mechanism.center_of_mass, mechanism.inertia))]
    joints = [Joint("platform", "free", "base", "platform")]
    R, p = rotation_of(mechanism.home), translation_of(mechanism.home)
    home = [*quaternion_from_rotation(R), *p]
    loops = []
    vectors = leg_vectors(mechanism.geometry, mechanism.home)
    for k, vector in enumerate(vectors):
        length = float(np.linalg.norm(vector))
        direction, body = vector / length, mechanism.legs[k]
        first, last = (mechanism.geometry.base[k], mechanism.geometry.platform[k])
        halves = (f"lower_leg_{k}", body.lower), (f"upper_leg_{k}", body.upper)
        root, end = "base", "platform"
        if mechanism.architecture == "SPU":
            direction, halves, first, last = -R.T @ direction, halves[::-1], last, first
            root, end = end, root
        links += [_half(*halves[0], 1.0), _half(*halves[1], -1.0)]
        joints += _leg_joints(mechanism, k, root, halves[0][0], halves[1][0], first, direction, leg_limits[k])
        loops.append(Loop(f"ball_{k}", "spherical", halves[1][0], end, T_second_joint=pose(np.eye(3), last)))
        home += [*_REST[joints[-2].kind], length]
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
