"""The UR5e with masses: the model of robosuite (MIT licence), where lengths are rounded to mm."""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.geometry.elementary import pose
from chasles.model import Description, Inertia, Joint, Limits, Link

Row = tuple[
    tuple[float, float, float],
    tuple[float, float, float, float],
    tuple[float, float, float],
    float,
    tuple[float, float, float],
    tuple[float, float, float],
    float,
]
_TURNED = (0.5**0.5, 0.0, 0.5**0.5, 0.0)
_AS_IT_IS, _Y, _Z = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

#: Place and rotation of a joint in the link before, its axis; mass, centre of mass and principal moments of the link
#: behind it; the largest torque.
_JOINTS: tuple[Row, ...] = (
    ((0.0, 0.0, 0.163), _AS_IT_IS, _Z, 3.7, (0.0, 0.0, 0.0), (0.0102675, 0.0102675, 0.00666), 150.0),
    ((0.0, 0.138, 0.0), _TURNED, _Y, 8.393, (0.0, 0.0, 0.2125), (0.133886, 0.133886, 0.0151074), 150.0),
    ((0.0, -0.131, 0.425), _AS_IT_IS, _Y, 2.275, (0.0, 0.0, 0.196), (0.0311796, 0.0311796, 0.004095), 150.0),
    ((0.0, 0.0, 0.392), _TURNED, _Y, 1.219, (0.0, 0.127, 0.0), (0.0025599, 0.0025599, 0.0021942), 28.0),
    ((0.0, 0.127, 0.0), _AS_IT_IS, _Z, 1.219, (0.0, 0.0, 0.1), (0.0025599, 0.0025599, 0.0021942), 28.0),
    ((0.0, 0.0, 0.1), _AS_IT_IS, _Y, 0.1889, (0.0, 0.0771683, 0.0), (9.90863e-05, 0.000132134, 9.90863e-05), 28.0),
)


def ur5e() -> ch.Robot:
    """The arm, its first link fixed to the world."""
    links, joints = [Link("base")], []
    for k, (place, quaternion, axis, mass, centre, moments, effort) in enumerate(_JOINTS, start=1):
        links.append(Link(f"link{k}", Inertia(mass, centre, np.diag(moments))))
        T = pose(np.asarray(ch.geometry.rotation_from_quaternion(quaternion)), np.array(place))
        limits = Limits(-2.0 * np.pi, 2.0 * np.pi, effort=effort)
        joints.append(Joint(f"joint{k}", "revolute", links[k - 1].name, f"link{k}", T, axis=axis, limits=limits))
    return ch.Robot(Description("ur5e", tuple(links), tuple(joints)))
