"""States, forces and accelerations in MuJoCo's coordinates, for robots that were read from MJCF.

MuJoCo's `qpos`, `qvel` and `qacc` hold the joints in the same order as q, qd and qdd of `chasles.load`. Two
things differ:

- A free joint has the position before the quaternion in `qpos`, and in `qvel` the velocity of the body's origin *along
  the axes of the world* before the angular velocity in the axes of the body. Here the quaternion and the angular
  velocity come first, and all velocities are in the axes of the body.
- A joint that an equality constraint ties to another has coordinates in MuJoCo, and none here: it mimics.

All arrays may have leading batch axes. The package mujoco is not needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry import rotation_from_quaternion
from chasles.interop.layouts import Slot, VectorLayout, array
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]


def configuration_from_mujoco(robot: Robot, qpos: ArrayLike) -> FloatArray:
    """Configuration q, shape (..., nq), of MuJoCo's `qpos`.

    Examples
    --------
    >>> import chasles as ch
    >>> ball = ch.Robot(ch.model.parse_mjcf('''<mujoco><worldbody><body name="ball"><freejoint/>
    ... <geom size="0.1"/></body></worldbody></mujoco>'''))
    >>> configuration_from_mujoco(ball, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    array([1., 0., 0., 0., 1., 2., 3.])
    """
    layout = _layout(robot)
    theirs = array(qpos, layout.nq, "qpos")
    q = np.empty((*theirs.shape[:-1], robot.nq))
    for slot in layout.independent:
        coordinates = theirs[..., slot.q_theirs]
        q[..., slot.q_ours] = np.roll(coordinates, -3, axis=-1) if slot.joint.kind == "free" else coordinates
    return q


def configuration_to_mujoco(robot: Robot, q: ArrayLike) -> FloatArray:
    """MuJoCo's `qpos` of a configuration q, shape (..., nq)."""
    layout = _layout(robot)
    ours = array(q, robot.nq, "q")
    qpos = np.empty((*ours.shape[:-1], layout.nq))
    for slot in layout.slots:
        coordinates = ours[..., slot.q_ours]
        if slot.joint.kind == "free":
            coordinates = np.roll(coordinates, 3, axis=-1)
        qpos[..., slot.q_theirs] = slot.ratio * coordinates + slot.offset
    return qpos


def velocity_map(robot: Robot, q: ArrayLike) -> FloatArray:
    """Matrix P with ``qvel = P qd`` at a configuration, shape (..., nv of MuJoCo, nv).

    Jacobians of MuJoCo times P are those of Chasles, and ``P.T @ M @ P`` is the mass matrix.
    """
    layout = _layout(robot)
    configuration = array(q, robot.nq, "q")
    P = np.zeros((*configuration.shape[:-1], layout.nv, robot.n))
    for slot in layout.slots:
        count = len(slot.joint.freedoms)
        if slot.joint.kind == "free":
            turning, sliding = slot.v_theirs.start + 3, slot.v_theirs.start
            first = slot.v_ours.start
            P[..., turning : turning + 3, first : first + 3] = np.eye(3)
            P[..., sliding : sliding + 3, first + 3 : first + 6] = _rotation(configuration, slot)
        else:
            P[..., slot.v_theirs, slot.v_ours] = slot.ratio * np.eye(count)
    return P


def velocity_from_mujoco(robot: Robot, qpos: ArrayLike, qvel: ArrayLike) -> FloatArray:
    """Velocity qd, shape (..., nv), of MuJoCo's `qvel` at `qpos`."""
    P = _independent_map(robot, configuration_from_mujoco(robot, qpos))
    return _times(np.swapaxes(P, -1, -2), array(qvel, P.shape[-2], "qvel"))


def velocity_to_mujoco(robot: Robot, q: ArrayLike, qd: ArrayLike) -> FloatArray:
    """MuJoCo's `qvel` of a velocity qd at q."""
    return _times(velocity_map(robot, q), array(qd, robot.n, "qd"))


def acceleration_from_mujoco(robot: Robot, qpos: ArrayLike, qvel: ArrayLike, qacc: ArrayLike) -> FloatArray:
    """Acceleration qdd, shape (..., nv), of MuJoCo's `qacc` at `qpos` and `qvel`."""
    q = configuration_from_mujoco(robot, qpos)
    P = _independent_map(robot, q)
    qdd = _times(np.swapaxes(P, -1, -2), array(qacc, P.shape[-2], "qacc"))
    return qdd - _turning_axes(robot, velocity_from_mujoco(robot, qpos, qvel))


def acceleration_to_mujoco(robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> FloatArray:
    """MuJoCo's `qacc` of an acceleration qdd at q and qd."""
    acceleration = array(qdd, robot.n, "qdd") + _turning_axes(robot, array(qd, robot.n, "qd"))
    return _times(velocity_map(robot, q), acceleration)


def force_from_mujoco(robot: Robot, qpos: ArrayLike, force: ArrayLike) -> FloatArray:
    """Torques tau, shape (..., nv), of forces in MuJoCo's coordinates such as `qfrc_applied`."""
    P = velocity_map(robot, configuration_from_mujoco(robot, qpos))
    return _times(np.swapaxes(P, -1, -2), array(force, P.shape[-2], "force"))


def force_to_mujoco(robot: Robot, q: ArrayLike, tau: ArrayLike) -> FloatArray:
    """Forces in MuJoCo's coordinates of torques tau; joints that mimic others get none."""
    return _times(_independent_map(robot, array(q, robot.nq, "q")), array(tau, robot.n, "tau"))


def _layout(robot: Robot) -> VectorLayout:
    for joint in robot.description.ordered_joints:
        if joint.kind in ("helical", "universal", "cylindrical", "planar"):
            raise ArgumentError(f"robot '{robot.name}': MuJoCo has no {joint.kind} joints like joint '{joint.name}'")
    return VectorLayout.of(robot.description)


def _independent_map(robot: Robot, q: FloatArray) -> FloatArray:
    """Velocity map with zeros for the joints that mimic others: its transpose is its inverse."""
    P = velocity_map(robot, q)
    for slot in _layout(robot).slots:
        if slot.joint.mimic is not None:
            P[..., slot.v_theirs, :] = 0.0
    return P


def _turning_axes(robot: Robot, qd: FloatArray) -> FloatArray:
    """Return ω × v, the difference of the accelerations of free joints, whose axes rotate here."""
    missing = np.zeros_like(qd)
    for slot in _layout(robot).independent:
        if slot.joint.kind == "free":
            first = slot.v_ours.start
            missing[..., first + 3 : first + 6] = np.cross(qd[..., first : first + 3], qd[..., first + 3 : first + 6])
    return missing


def _rotation(q: FloatArray, slot: Slot) -> FloatArray:
    start = slot.q_ours.start
    quaternion = q[..., start : start + 4]
    unit = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    R: Any = rotation_from_quaternion(unit)
    return np.asarray(R)


def _times(A: FloatArray, x: FloatArray) -> FloatArray:
    product: FloatArray = (A @ x[..., None])[..., 0]
    return product
