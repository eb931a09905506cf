"""ROBOOP's `Clik` (clik.h): closed-loop inverse kinematics, ``q̇ = J⁻¹ [ṗ_d + Kp (p_d - p); ω_d + Ko ṽ]``.

The inverse is damped near singularities, and q is the integral of q̇ by the trapezoidal rule. Mended: the error is that
of the call and not of the one before, which in ROBOOP is zero in the first call.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.interop.roboop.controllers import diagonal, orientation_error
from chasles.interop.roboop.quaternion import Quaternion
from chasles.interop.roboop.robot import Robot_basic
from chasles.inverse_kinematics import selectively_damped_inverse

Vector = NDArray[np.float64]


class Clik:
    """Joint motion that follows a motion of the end; it keeps the positions and the last velocities.

    ``Clik(other)`` is a copy, with a copy of the robot.

    Parameters
    ----------
    robot
        The robot; its positions are where the motion begins, and are those that it returns.
    Kp, Ko
        Gains of position and orientation, 1/s: diagonal (3, 3) or (3,).
    eps, lambda_max
        Smallest singular value below which the inverse is damped, and the largest damping.
    dt
        Time between two calls, s.

    Examples
    --------
    >>> from chasles import model
    >>> from chasles.interop.roboop import Robot
    >>> from chasles.model.formats.to_roboop import roboop_table
    >>> arm = Robot(roboop_table(model.load("puma560")).matrix)
    >>> arm.set_q([0.1, 0.5, -0.8, 0.2, 0.7, 0.3])
    >>> goal = arm.kine()
    >>> arm.set_q(arm.get_q() + 0.05)
    >>> clik = Clik(arm, np.eye(3) * 20.0, np.eye(3) * 20.0, 0.01, 0.01, dt=0.01)
    >>> for _ in range(300):
    ...     q, qp = clik.q_qdot(Quaternion(goal), goal[:3, 3], np.zeros(3), np.zeros(3))
    >>> bool(np.allclose(arm.kine(), goal, atol=1e-6))
    True
    """

    def __init__(
        self,
        robot: Robot_basic | Clik,
        Kp: ArrayLike | None = None,
        Ko: ArrayLike | None = None,
        eps: float = 0.04,
        lambda_max: float = 0.04,
        dt: float = 1.0,
    ) -> None:
        self._robot: Robot_basic
        if isinstance(robot, Clik):
            self.__dict__.update(copy.deepcopy({k: v for k, v in vars(robot).items() if k != "_robot"}))
            self._robot = copy.copy(robot._robot)
            return
        if Kp is None or Ko is None:
            raise ArgumentError("Clik takes a robot and the gains Kp and Ko, or another Clik")
        self._robot = robot
        self._Kp, self._Ko = diagonal(Kp, 3, "Kp"), diagonal(Ko, 3, "Ko")
        self._eps, self._lambda_max = real(eps, "eps", above=0.0), real(lambda_max, "lambda_max", at_least=0.0)
        self._dt = real(dt, "dt", above=0.0)
        self._q = robot.get_available_q()
        self._qp_prev = np.zeros_like(self._q)

    def q_qdot(self, qd: Quaternion, pd: ArrayLike, pdd: ArrayLike, wd: ArrayLike) -> tuple[Vector, Vector]:
        """Return joint positions and velocities (m,) for the end's desired motion, after `dt`.

        Parameters
        ----------
        qd, pd
            Desired orientation and position (3,).
        pdd, wd
            Desired velocity and angular velocity, (3,), in base axes.
        """
        self._robot.set_q(self._q)
        T = self._robot.kine()
        linear = reals(pdd, "pdd", (3,)) + self._Kp * (reals(pd, "pd", (3,)) - T[:3, 3])
        angular = reals(wd, "wd", (3,)) + self._Ko * orientation_error(qd, Quaternion(T))
        inverse = selectively_damped_inverse(self._robot.jacobian(), self._eps, self._lambda_max)
        qp = inverse @ np.concatenate([linear, angular])
        self._q = self._q + 0.5 * self._dt * (qp + self._qp_prev)
        self._qp_prev = qp
        self._robot.set_q(self._q)
        return self._q.copy(), qp.copy()
