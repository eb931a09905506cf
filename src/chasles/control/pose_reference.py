"""Reference motion of a frame, from a reference that moves the frame or the joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.robot import Robot
from chasles.trajectories.motion import Motion, PoseMotion


def pose_reference(robot: Robot, reference: Motion | PoseMotion, target: str = "tool") -> PoseMotion:
    """Pose, twist and its rate that a reference wants of a frame.

    Parameters
    ----------
    robot
        The model whose kinematics turn a motion of joints into one of the frame.
    reference
        A motion of the frame, which is returned as it is, or of the joints; one sample, of numbers or traced scalars.
    target
        Name of the frame.

    Returns
    -------
    PoseMotion
        Pose (4, 4); twist (ω, v) and its rate (6,) in world axes, of the frame's origin.

    Examples
    --------
    The stretched arm turns about its first joint at 2 rad/s: the tool moves along y and is accelerated towards -x.

    >>> import chasles as ch
    >>> motion = Motion(np.zeros(2), np.array([2.0, 0.0]), np.zeros(2))
    >>> wanted = pose_reference(ch.load("planar2r"), motion)
    >>> wanted.twist, wanted.acceleration
    (array([0. , 0. , 2. , 0. , 1.5, 0. ]), array([ 0.,  0.,  0., -3.,  0.,  0.]))
    """
    if isinstance(reference, PoseMotion):
        return reference
    q, qd, qdd = reference
    T, J = robot.pose_and_jacobian(q, frame="world-aligned", target=target)
    Jdot = robot.jacobian_derivative(q, qd, frame="world-aligned", target=target)
    return PoseMotion(T, _product(J, qd), _product(J, qdd) + _product(Jdot, qd))


def _product(matrix: Any, vector: Any) -> Any:
    return np.asarray(matrix) @ np.asarray(vector)
