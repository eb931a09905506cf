"""Arms that no test package brings, with the masses that their makers or the collections that have them publish.

xArm6: URDF file of UFACTORY's package xarm_ros (BSD licence), in which every joint has damping and friction 1. UR5e:
the model of robosuite (MIT licence), from the ROS package of Universal Robots; lengths are rounded to mm there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import chasles as ch
from chasles.geometry.elementary import pose
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.model.consistency import nearest_consistent

Row = tuple[
    tuple[float, float, float],
    tuple[float, float, float, float],
    tuple[float, float, float],
    float,
    tuple[float, float, float],
    Sequence[float],
    float,
]
_HALF = 0.5**0.5
_TURNED = {"x": (_HALF, -_HALF, 0.0, 0.0), "-x": (_HALF, _HALF, 0.0, 0.0), "y": (_HALF, 0.0, _HALF, 0.0)}
_AS_IT_IS, _Y, _Z = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

#: Place and rotation of a joint in the link before, its axis; of the link behind it mass, centre of mass and inertia
#: (ixx, iyy, izz, ixy, ixz, iyz); the largest torque.
XARM6: tuple[Row, ...] = (
    ((0.0, 0.0, 0.267), _AS_IT_IS, _Z, 2.16, (-0.002, 0.02692, -0.01332),
     (0.00539427, 0.0048979, 0.00311573, 1.095e-05, 1.635e-06, 0.000793), 50.0),
    ((0.0, 0.0, 0.0), _TURNED["x"], _Z, 1.71, (0.03531, -0.21398, 0.03386),
     (0.0248674, 0.00485548, 0.02387827, -0.00430651, -0.00067797, 0.00457245), 50.0),
    ((0.0535, -0.2845, 0.0), _AS_IT_IS, _Z, 1.384, (0.06781, 0.10749, 0.01457),
     (0.0053694, 0.0032423, 0.00501731, 0.0014185, -0.00092094, -0.00169178), 32.0),
    ((0.0775, 0.3425, 0.0), _TURNED["x"], _Z, 1.115, (-0.00021, 0.02578, -0.02538),
     (0.00439263, 0.0040077, 0.00110321, 5.028e-05, 1.374e-05, 0.00045338), 32.0),
    ((0.0, 0.0, 0.0), _TURNED["-x"], _Z, 1.275, (0.05428, 0.01781, 0.00543),
     (0.001202758, 0.0022876, 0.0026866, 0.000492428, -0.00039147, -0.0001235), 32.0),
    ((0.076, 0.097, 0.0), _TURNED["x"], _Z, 0.1096, (0.0, 0.00064, -0.00952),
     (4.5293e-05, 4.8111e-05, 7.9715e-05), 20.0),
)  # fmt: skip
UR5E: tuple[Row, ...] = (
    ((0.0, 0.0, 0.163), _AS_IT_IS, _Z, 3.7, (0.0, 0.0, 0.0), (0.0102675, 0.0102675, 0.00666), 150.0),
    ((0.0, 0.138, 0.0), _TURNED["y"], _Y, 8.393, (0.0, 0.0, 0.2125), (0.133886, 0.133886, 0.0151074), 150.0),
    ((0.0, -0.131, 0.425), _AS_IT_IS, _Y, 2.275, (0.0, 0.0, 0.196), (0.0311796, 0.0311796, 0.004095), 150.0),
    ((0.0, 0.0, 0.392), _TURNED["y"], _Y, 1.219, (0.0, 0.127, 0.0), (0.0025599, 0.0025599, 0.0021942), 28.0),
    ((0.0, 0.127, 0.0), _AS_IT_IS, _Z, 1.219, (0.0, 0.0, 0.1), (0.0025599, 0.0025599, 0.0021942), 28.0),
    ((0.0, 0.0, 0.1), _AS_IT_IS, _Y, 0.1889, (0.0, 0.0771683, 0.0), (9.90863e-05, 0.000132134, 9.90863e-05), 28.0),
)


def arm_of(name: str, rows: Sequence[Row]) -> ch.Robot:
    """Robot of a table, its first link fixed to the world.

    Inertias that no body has become the nearest possible, and 1e-9 kg·m² larger, so that MuJoCo takes them too.
    """
    links, joints = [Link("base")], []
    for k, (place, quaternion, axis, mass, centre, moments, effort) in enumerate(rows, start=1):
        ixx, iyy, izz, ixy, ixz, iyz = (*moments, 0.0, 0.0, 0.0)[:6]
        about_centre = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        links.append(Link(f"link{k}", Inertia(mass, centre, about_centre)))
        T = pose(np.asarray(ch.geometry.rotation_from_quaternion(quaternion)), np.array(place))
        limits = Limits(-2.0 * np.pi, 2.0 * np.pi, effort=effort)
        joints.append(Joint(f"joint{k}", "revolute", links[k - 1].name, f"link{k}", T, axis=axis, limits=limits))
    sound = nearest_consistent(Description(name, tuple(links), tuple(joints)))
    bodies = [(link, link.inertia) for link in sound.links]
    larger = [link.replace(inertia=body.replace(matrix=body.matrix + 1e-9 * np.eye(3))) for link, body in bodies[1:]]
    return ch.Robot(sound.replace(links=(bodies[0][0], *larger)))
