"""States and forces in Pinocchio's coordinates, for one robot in both libraries.

Pinocchio's vectors hold the joints in its own order, so each function takes its model (a `pinocchio.Model`) besides the
robot; joints are found by their names. Further differences:

- quaternions are (x, y, z, w) there;
- a free-flyer has the position before the quaternion in q, and the linear before the angular velocity in v. Both are in
  the axes of the body, as here. Its joint may have another name ("root_joint") than the free joint here;
- a continuous joint has (cos q, sin q) in q there.

Velocities, accelerations and forces differ in their order only. A joint that mimics another here has coordinates of its
own there (unless Pinocchio was told to mimic, which is not supported). All arrays may have leading batch axes. The
package pinocchio is not needed. Unlike those of `chasles.interop.mujoco`, which know the order from the robot's MJCF
file, each function takes ``(robot, model, q)`` or ``(robot, model, v)``; accelerations go by `velocity_to_pinocchio`.

Examples
--------
With pinocchio installed the model is ``pinocchio.buildModelFromUrdf("arm.urdf")``; what is read of it is this:

>>> from types import SimpleNamespace
>>> import chasles as ch
>>> arm = ch.load("planar2r")
>>> model = SimpleNamespace(names=["universe", "joint2", "joint1"], nqs=[0, 1, 1], nvs=[0, 1, 1],
...                         idx_qs=[-1, 0, 1], idx_vs=[-1, 0, 1], nq=2, nv=2)
>>> configuration_to_pinocchio(arm, model, [0.1, 0.2])
array([0.2, 0.1])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.interop.layouts import VectorLayout, array
from chasles.model import Joint
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]
#: Numbers of coordinates in Pinocchio of the kinds of joints that both have.
_SIZES = {"revolute": (1,), "prismatic": (1,), "continuous": (1, 2), "spherical": (4,), "free": (7,)}


def configuration_from_pinocchio(robot: Robot, model: Any, q: ArrayLike) -> FloatArray:
    """Configuration of Chasles, shape (..., nq), of Pinocchio's `q`. Continuous joints come between -pi and pi."""
    layout = _layout(robot, model)
    theirs = array(q, layout.nq, "q")
    ours = np.empty((*theirs.shape[:-1], robot.nq))
    for slot in layout.independent:
        coordinates = theirs[..., slot.q_theirs]
        if slot.joint.kind == "free":
            coordinates = coordinates[..., [6, 3, 4, 5, 0, 1, 2]]
        elif slot.joint.kind == "spherical":
            coordinates = coordinates[..., [3, 0, 1, 2]]
        elif coordinates.shape[-1] == 2:
            coordinates = np.arctan2(coordinates[..., 1:], coordinates[..., :1])
        ours[..., slot.q_ours] = coordinates
    return ours


def configuration_to_pinocchio(robot: Robot, model: Any, q: ArrayLike) -> FloatArray:
    """Pinocchio's `q` of a configuration, shape (..., nq)."""
    layout = _layout(robot, model)
    configuration = array(q, robot.nq, "q")
    theirs = np.empty((*configuration.shape[:-1], layout.nq))
    for slot in layout.slots:
        coordinates = configuration[..., slot.q_ours]
        if slot.joint.kind == "free":
            coordinates = coordinates[..., [4, 5, 6, 1, 2, 3, 0]]
        elif slot.joint.kind == "spherical":
            coordinates = coordinates[..., [1, 2, 3, 0]]
        else:
            coordinates = slot.ratio * coordinates + slot.offset
            if slot.q_theirs.stop - slot.q_theirs.start == 2:
                coordinates = np.concatenate([np.cos(coordinates), np.sin(coordinates)], axis=-1)
        theirs[..., slot.q_theirs] = coordinates
    return theirs


def velocity_map(robot: Robot, model: Any) -> FloatArray:
    """Constant matrix P, shape (nv of Pinocchio, nv): velocities and accelerations there are P times those here.

    Forces here are ``P.T`` times those there; ``P.T @ M @ P`` is the mass matrix here.
    """
    layout = _layout(robot, model)
    P = np.zeros((layout.nv, robot.n))
    for slot in layout.slots:
        count = len(slot.joint.freedoms)
        block = np.roll(np.eye(6), 3, axis=0) if slot.joint.kind == "free" else slot.ratio * np.eye(count)
        P[slot.v_theirs, slot.v_ours] = block
    return P


def velocity_from_pinocchio(robot: Robot, model: Any, v: ArrayLike) -> FloatArray:
    """Velocity or acceleration here, shape (..., nv), of Pinocchio's."""
    P = velocity_map(robot, model)
    for slot in _layout(robot, model).slots:
        if slot.joint.mimic is not None:
            P[slot.v_theirs] = 0.0
    result: FloatArray = array(v, P.shape[0], "v") @ P
    return result


def velocity_to_pinocchio(robot: Robot, model: Any, qd: ArrayLike) -> FloatArray:
    """Velocity or acceleration in Pinocchio's order, shape (..., nv), of ours."""
    result: FloatArray = array(qd, robot.n, "qd") @ velocity_map(robot, model).T
    return result


def force_from_pinocchio(robot: Robot, model: Any, tau: ArrayLike) -> FloatArray:
    """Torques here, shape (..., nv), of Pinocchio's."""
    P = velocity_map(robot, model)
    result: FloatArray = array(tau, P.shape[0], "tau") @ P
    return result


def _layout(robot: Robot, model: Any) -> VectorLayout:
    names = list(model.names)

    def number(joint: Joint) -> int:
        if joint.name in names:
            return names.index(joint.name)
        if joint.kind == "free" and len(names) > 1 and int(model.nqs[1]) == 7:
            return 1
        raise ArgumentError(f"Pinocchio's model has no joint '{joint.name}'; it has {', '.join(names[1:])}")

    def place(joint: Joint) -> tuple[slice, slice]:
        index = number(joint)
        nq, nv = int(model.nqs[index]), int(model.nvs[index])
        if nq not in _SIZES.get(joint.kind, ()):
            raise ArgumentError(
                f"joint '{joint.name}' is {joint.kind} and has {nq} coordinates in Pinocchio; supported are "
                f"{', '.join(_SIZES)} joints, and followers with coordinates of their own"
            )
        q, v = int(model.idx_qs[index]), int(model.idx_vs[index])
        return slice(q, q + nq), slice(v, v + nv)

    return VectorLayout.of(robot.description, place, (int(model.nq), int(model.nv)))
