"""ROBOOP's controllers (controller.h, control_select.h): a law's torques at the state that a robot has.

Gains of n joints or three axes are diagonal matrices, or vectors of the diagonals. A wrong size raises an exception,
where ROBOOP prints a message and commands zero torque. With `chasles.control` laws run in compiled loops.

Mended: the rotational impedance of ROBOOP has the wrong sign and runs away; here the compliant frame is attracted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError, UnknownNameError
from chasles.control.compliant_frame import CompliantFrame
from chasles.engine.validators import real, reals
from chasles.interop.roboop.codes import CARTESIAN_SPACE, CTM, IMP, JOINT_SPACE, NONE, PD, RRA, one_based
from chasles.interop.roboop.config import Config
from chasles.interop.roboop.quaternion import Quaternion
from chasles.interop.roboop.robot import Robot_basic
from chasles.inverse_kinematics import selectively_damped_inverse
from chasles.trajectories import PoseMotion

Vector = NDArray[np.float64]
#: Damping of the inverse Jacobian in `Resolved_acc`.
_EPS, _LAMBDA_MAX = 0.015, 0.2


def diagonal(gains: ArrayLike, n: int, name: str) -> Vector:
    """Return the diagonal (n,) of gains given as a diagonal matrix (n, n) or a vector (n,).

    Examples
    --------
    >>> diagonal(np.diag([1.0, 2.0]), 2, "Kp")
    array([1., 2.])
    """
    values = reals(gains, name)
    return np.diagonal(values).copy() if values.shape == (n, n) else reals(values.reshape(-1), name, (n,))


class Proportional_Derivative:
    """``τ = Kp (q_d - q) + Kd (q̇_d - q̇)``.

    Examples
    --------
    >>> from chasles.interop.roboop import Robot
    >>> arm = Robot(2)
    >>> Proportional_Derivative(arm, [25.0, 25.0], [7.0, 7.0]).torque_cmd(arm, [1.0, 0.0], [0.0, 1.0])
    array([25.,  7.])
    """

    def __init__(self, robot: Robot_basic | int = 1, Kp: ArrayLike | None = None, Kd: ArrayLike | None = None) -> None:
        self.dof = robot if isinstance(robot, int) else robot.get_dof()
        self.Kp, self.Kd = np.zeros(self.dof), np.zeros(self.dof)
        if Kp is not None:
            self.set_Kp(Kp)
        if Kd is not None:
            self.set_Kd(Kd)

    def set_Kp(self, Kp: ArrayLike) -> None:
        """Set the gains of the positions."""
        self.Kp = diagonal(Kp, self.dof, "Kp")

    def set_Kd(self, Kd: ArrayLike) -> None:
        """Set the gains of the velocities."""
        self.Kd = diagonal(Kd, self.dof, "Kd")

    def _feedback(self, robot: Robot_basic, qd: ArrayLike, qpd: ArrayLike) -> Vector:
        shape = (self.dof,)
        position = self.Kp * (reals(qd, "qd", shape) - reals(robot.get_q(), "the positions of the robot", shape))
        return np.asarray(position + self.Kd * (reals(qpd, "qpd", shape) - robot.get_qp()))

    def torque_cmd(self, robot: Robot_basic, qd: ArrayLike, qpd: ArrayLike) -> Vector:
        """Return the torques (n,) for desired positions and velocities (n,)."""
        return self._feedback(robot, qd, qpd)


class Computed_torque_method(Proportional_Derivative):
    """``τ = M (q̈_d + Kd (q̇_d - q̇) + Kp (q_d - q)) + C + G``."""

    def torque_cmd(  # type: ignore[override]  # ROBOOP's
        self, robot: Robot_basic, qd: ArrayLike, qpd: ArrayLike, qppd: ArrayLike
    ) -> Vector:
        """Return the torques (n,) for desired positions, velocities and accelerations (n,)."""
        qpp = reals(qppd, "qppd", (self.dof,)) + self._feedback(robot, qd, qpd)
        return robot.torque(robot.get_q(), robot.get_qp(), qpp)


class Resolved_acc:
    """Resolved acceleration: ``q̈ = J⁻¹ (a - J̇ q̇)``, with feedback of the end's position and orientation in a.

    ``a_p = p̈_d + Kvp (ṗ_d - ṗ) + Kpp (p_d - p)`` and ``a_o = ω̇_d + Kvo (ω_d - ω) + Kpo ṽ``, with the vector part ṽ of
    the quaternion from the orientation to the desired one. The inverse is damped near singularities.
    """

    def __init__(
        self, robot: Robot_basic | int = 1, Kvp: float = 0.0, Kpp: float = 0.0, Kvo: float = 0.0, Kpo: float = 0.0
    ) -> None:
        self.dof = robot if isinstance(robot, int) else robot.get_dof()
        self.set_Kvp(Kvp)
        self.set_Kpp(Kpp)
        self.set_Kvo(Kvo)
        self.set_Kpo(Kpo)

    def set_Kvp(self, Kvp: float) -> None:
        """Set the gain of the linear velocity, 1/s."""
        self.Kvp = real(Kvp, "Kvp")

    def set_Kpp(self, Kpp: float) -> None:
        """Set the gain of the position, 1/s²."""
        self.Kpp = real(Kpp, "Kpp")

    def set_Kvo(self, Kvo: float) -> None:
        """Set the gain of the angular velocity, 1/s."""
        self.Kvo = real(Kvo, "Kvo")

    def set_Kpo(self, Kpo: float) -> None:
        """Set the gain of the orientation, 1/s²."""
        self.Kpo = real(Kpo, "Kpo")

    def torque_cmd(
        self,
        robot: Robot_basic,
        pdpp: ArrayLike,
        pdp: ArrayLike,
        pd: ArrayLike,
        wdp: ArrayLike,
        wd: ArrayLike,
        quatd: Quaternion,
        link_pc: int | None = None,
        dt: float = 0.0,
    ) -> Vector:
        """Return the torques (n,) for the end's desired motion.

        Parameters
        ----------
        robot
            The robot, with its positions and velocities.
        pdpp, pdp, pd
            Desired acceleration, velocity and position, (3,).
        wdp, wd, quatd
            Desired angular acceleration and velocity (3,), and orientation.
        link_pc
            Frame whose motion is desired; default the end. Joints behind it get no acceleration.
        dt
            Not needed: ROBOOP's argument.
        """
        last = len(robot.links)
        link = last if link_pc is None else one_based(link_pc, last, "link_pc")
        R, p = (state := robot.kine_pd(link))[:, :3], state[:, 3]
        J, moving = robot.jacobian(link, 0), robot.get_available_qp(link)
        velocity = J @ moving
        error = orientation_error(quatd, Quaternion(R))
        a_p = _three(pdpp, "pdpp") + self.Kvp * (_three(pdp, "pdp") - velocity[:3]) + self.Kpp * (_three(pd, "pd") - p)
        a_o = _three(wdp, "wdp") + self.Kvo * (_three(wd, "wd") - velocity[3:]) + self.Kpo * error
        bend = robot.jacobian_dot(link, 0) @ moving
        qpp = np.zeros(robot.get_dof())
        mobile = [index for index, joint in enumerate(robot.links[: min(link, robot.get_dof())])
                  if not joint.get_immobile()]  # fmt: skip
        qpp[mobile] = selectively_damped_inverse(J, _EPS, _LAMBDA_MAX) @ (np.concatenate([a_p, a_o]) - bend)
        return robot.torque(robot.get_q(), robot.get_qp(), qpp)


class Impedance:
    """A compliant frame: ``Mp p̃̈ + Dp p̃̇ + Kp p̃ = f`` and ``Mo ω̃̇ + Do ω̃ + K'o ṽ = n``, p̃ and ω̃ from the desired frame.

    `control` advances the frame by a step of `chasles.control.CompliantFrame`, in base axes; its K'o ṽ is
    ``2 (s Ko v + v × Ko v)`` of the quaternion (s, v) from the desired orientation to the compliant one.

    Attributes
    ----------
    qc, pc
        Orientation, a `Quaternion`, and position (3,) of the compliant frame.
    pcp, pcpp, wc, wcp
        Its velocity and acceleration, angular velocity and angular acceleration, (3,), after the step.

    Examples
    --------
    >>> from chasles.interop.roboop import Robot
    >>> ones = np.ones(3)
    >>> frame = Impedance(Robot(6), ones, 2.0 * ones, 100.0 * ones, ones, 2.0 * ones, 100.0 * ones)
    >>> still, upright = np.zeros(3), Quaternion()
    >>> for _ in range(4000):
    ...     frame.control(still, still, still, still, still, upright, [50.0, 0.0, 0.0], still, 0.01)
    >>> frame.pc.round(6)
    array([0.5, 0. , 0. ])
    """

    def __init__(
        self,
        robot: Robot_basic | None = None,
        Mp: ArrayLike = 1.0,
        Dp: ArrayLike = 1.0,
        Kp: ArrayLike = 1.0,
        Mo: ArrayLike = 1.0,
        Do: ArrayLike = 1.0,
        Ko: ArrayLike = 1.0,
    ) -> None:
        values = {"Mp": Mp, "Dp": Dp, "Kp": Kp, "Mo": Mo, "Do": Do, "Ko": Ko}
        self._gains = {name: diagonal(np.broadcast_to(value, (3,)) if np.ndim(value) == 0 else value, 3, name)
                       for name, value in values.items()}  # fmt: skip
        self._state: Any = None
        start = np.eye(4) if robot is None else robot.kine()
        self.qc, self.pc = Quaternion(start), start[:3, 3].copy()
        self.pcp, self.pcpp, self.wc, self.wcp = (np.zeros(3) for _ in range(4))

    def _set(self, name: str, value: ArrayLike, i: int | None) -> None:
        if i is None:
            self._gains[name] = diagonal(value, 3, name)
        else:
            self._gains[name][one_based(i, 3, "axis") - 1] = real(value, name)

    def set_Mp(self, Mp: ArrayLike, i: int | None = None) -> None:
        """Set the translational inertia, kg, or that of axis `i`."""
        self._set("Mp", Mp, i)

    def set_Dp(self, Dp: ArrayLike, i: int | None = None) -> None:
        """Set the translational damping, N·s/m, or that of axis `i`."""
        self._set("Dp", Dp, i)

    def set_Kp(self, Kp: ArrayLike, i: int | None = None) -> None:
        """Set the translational stiffness, N/m, or that of axis `i`."""
        self._set("Kp", Kp, i)

    def set_Mo(self, Mo: ArrayLike, i: int | None = None) -> None:
        """Set the rotational inertia, kg·m², or that of axis `i`."""
        self._set("Mo", Mo, i)

    def set_Do(self, Do: ArrayLike, i: int | None = None) -> None:
        """Set the rotational damping, N·m·s/rad, or that of axis `i`."""
        self._set("Do", Do, i)

    def set_Ko(self, Ko: ArrayLike, i: int | None = None) -> None:
        """Set the rotational stiffness, N·m/rad, or that of axis `i`."""
        self._set("Ko", Ko, i)

    def control(
        self,
        pdpp: ArrayLike,
        pdp: ArrayLike,
        pd: ArrayLike,
        wdp: ArrayLike,
        wd: ArrayLike,
        qd: Quaternion,
        f: ArrayLike,
        n: ArrayLike,
        dt: float,
    ) -> None:
        """Advance the compliant frame by `dt`, for a desired motion, and a force and moment (3,) in base axes."""
        gains = self._gains
        frame = CompliantFrame(
            stiffness=gains["Kp"],
            damping=gains["Dp"],
            inertia=gains["Mp"],
            rotational_stiffness=gains["Ko"],
            rotational_damping=gains["Do"],
            rotational_inertia=gains["Mo"],
            axes="world",
        )
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = qd.R(), _three(pd, "pd")
        twist = np.concatenate([_three(wd, "wd"), _three(pdp, "pdp")])
        acceleration = np.concatenate([_three(wdp, "wdp"), _three(pdpp, "pdpp")])
        wrench = np.concatenate([_three(n, "n"), _three(f, "f")])
        desired = PoseMotion(pose, twist, acceleration)
        state = frame.at_rest() if self._state is None else self._state
        self._state = frame.step(state, desired, wrench, real(dt, "dt", above=0.0))
        following = frame.motion(self._state, desired, wrench)
        self.qc, self.pc = Quaternion(following.pose), following.pose[:3, 3].copy()
        self.wc, self.pcp = following.twist[:3].copy(), following.twist[3:].copy()
        self.wcp, self.pcpp = following.acceleration[:3].copy(), following.acceleration[3:].copy()


class Control_Select:
    """A controller of a file with sections ``[CONTROLLER]`` and ``[GAINS]``.

    Attributes
    ----------
    type
        NONE, PD, CTM, RRA or IMP.
    space_type
        NONE, JOINT_SPACE or CARTESIAN_SPACE.
    ControllerName
        The word in the file.
    pd, ctm, rra, impedance
        The controller of this kind; the others are of one joint, without gains.
    """

    def __init__(self, filename: str | Path | None = None) -> None:
        self.type, self.space_type, self.ControllerName, self._dof = NONE, NONE, "", 0
        self.pd, self.ctm = Proportional_Derivative(), Computed_torque_method()
        self.rra, self.impedance = Resolved_acc(), Impedance()
        if filename is not None:
            self.set_control(filename)

    def get_dof(self) -> int:
        """Return the number of joints that the file states."""
        return self._dof

    def set_control(self, filename: str | Path) -> None:
        """Read a file.

        Raises
        ------
        ModelError
            The message names the section and what is missing or wrong.
        """
        conf = Config()
        conf.read_conf(filename)
        name = conf.select("CONTROLLER", "type")
        if name not in _CONTROLLERS:
            raise UnknownNameError("type of controller", name, _CONTROLLERS)
        dof = conf.select("CONTROLLER", "dof", int)
        if not 1 <= dof <= 1000:
            raise ModelError(f"{filename}: [CONTROLLER] dof must be from 1 to 1000, not {dof}")
        self.type, self.space_type = _CONTROLLERS[name]
        self.ControllerName, self._dof = name, dof
        if self.type in (PD, CTM):
            Kp, Kd = ([conf.select("GAINS", f"{gain}_{i}", float) for i in range(1, dof + 1)] for gain in ("Kp", "Kd"))
            if self.type == PD:
                self.pd = Proportional_Derivative(dof, Kp, Kd)
            else:
                self.ctm = Computed_torque_method(dof, Kp, Kd)
        elif self.type == RRA:
            self.rra = Resolved_acc(dof, *(conf.select("GAINS", gain, float) for gain in ("Kvp", "Kpp", "Kvo", "Kpo")))


_CONTROLLERS = {
    "PROPORTIONAL_DERIVATIVE": (PD, JOINT_SPACE),
    "COMPUTED_TORQUE_METHOD": (CTM, JOINT_SPACE),
    "RESOLVED_RATE_ACCELERATION": (RRA, CARTESIAN_SPACE),
    "IMPEDANCE": (IMP, CARTESIAN_SPACE),
}


def orientation_error(desired: Quaternion, actual: Quaternion) -> Vector:
    """Return the vector part (3,) of the quaternion from an orientation to the desired one, on the shorter way."""
    difference = desired * actual.i()
    return difference.v() if difference.s() >= 0.0 else -difference.v()


def _three(values: ArrayLike, name: str) -> Vector:
    return reals(values, name, (3,))
