"""ROBOOP's simulation (dynamics_sim.h): a robot under a controller along a trajectory, by Runge-Kutta steps in Python.

`chasles.simulate` does this compiled, with integrators that control their error. Mended: the set-point is that of each
stage's time, and not held for a whole step; the computed torque knows the desired acceleration; the last sample is its
own; an impedance controller shapes the motion that resolved acceleration follows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, whole_number
from chasles.interop.roboop.codes import CARTESIAN_SPACE, CTM, JOINT_SPACE, NONE, PD, RRA
from chasles.interop.roboop.controllers import Control_Select
from chasles.interop.roboop.quaternion import Quaternion
from chasles.interop.roboop.robot import Robot_basic
from chasles.interop.roboop.trajectories import Trajectory_Select

Vector = NDArray[np.float64]


class Dynamics:
    """A simulation: set controller, trajectory and times, then `Runge_Kutta4`. Subclasses override `plot`.

    Parameters
    ----------
    robot
        The robot; its positions and velocities are set as the simulation goes on.

    Attributes
    ----------
    x
        State [q; q̇], (2 n,).
    time, to, tf_cont, nsteps
        Time, its start, the end of the simulation and the number of steps.
    q, qp, qpp, qd, qpd, qppd, tau
        Positions, velocities, accelerations, desired ones, and torques of the last call of `xdot`, (n,).
    pd, ppd, pppd, quatd, wd, wpd
        Desired motion of the end in Cartesian space.
    """

    instance: ClassVar[Dynamics | None] = None

    def __init__(self, robot: Robot_basic) -> None:
        type(self).instance = Dynamics.instance = self
        self.control = Control_Select()
        self.path_select = Trajectory_Select()
        self.nsteps, self.to, self.tf, self.tf_cont = 50, 0.0, 0.1, 1.0
        self.pd, self.ppd, self.pppd, self.wd, self.wpd = (np.zeros(3) for _ in range(5))
        self.quatd = Quaternion()
        self.set_dof(robot)

    @classmethod
    def Instance(cls) -> Dynamics | None:
        """Return the simulation that was made last."""
        return cls.instance

    def set_dof(self, robot: Robot_basic) -> None:
        """Take another robot, at rest where it stands."""
        self.robot, self.ndof = robot, robot.get_dof()
        self.q, self.qp = robot.get_q(), robot.get_qp()
        self.qpp, self.qd, self.qpd, self.qppd, self.tau = (np.zeros(self.ndof) for _ in range(5))
        self.x = np.concatenate([self.q, self.qp])
        self.reset_time()

    def set_controller(self, control: Control_Select) -> None:
        """Take a controller; its number of joints is the robot's."""
        if control.type != NONE and control.get_dof() != self.ndof:
            raise ArgumentError(f"the controller is for {control.get_dof()} joints, the robot has {self.ndof}")
        self.control = control

    def set_trajectory(self, path_select: Trajectory_Select) -> None:
        """Take a trajectory in the controller's space, and its final time."""
        if path_select.type != self.control.space_type:
            names = {NONE: "no space", JOINT_SPACE: "joint space", CARTESIAN_SPACE: "Cartesian space"}
            raise ArgumentError(
                f"the trajectory is in {names[path_select.type]}, the controller works in "
                f"{names[self.control.space_type]}"
            )
        self.path_select = path_select
        if path_select.path is not None:
            self.tf_cont = path_select.path.get_final_time()

    def set_robot_on_first_point_of_splines(self) -> Vector:
        """Put the robot where the trajectory begins, at rest, and return the state (2 n,)."""
        path = self.path_select.path
        if path is None:
            raise ArgumentError("there is no trajectory yet; call set_trajectory")
        start = path.p(self.to)
        if self.path_select.type == JOINT_SPACE:
            self.robot.set_q(reals(start, "the first point", (self.ndof,)))
        else:
            pose = np.eye(4)
            quaternions = self.path_select.path_quat
            pose[:3, :3] = (self.robot.kine()[:3, :3]) if quaternions is None else quaternions.quat(self.to).R()
            pose[:3, 3] = start
            q, reached = self.robot.inv_kin(pose, converge=True)
            if not reached:
                raise ArgumentError(f"the robot does not reach the first pose of the trajectory, at {start.tolist()}")
            self.robot.set_q(q)
        self.robot.set_qp(np.zeros(self.ndof))
        self.x = np.concatenate([self.robot.get_q(), np.zeros(self.ndof)])
        return self.x.copy()

    def set_time_frame(self, nsteps: int) -> None:
        """Set the number of steps."""
        self.nsteps = whole_number(nsteps, "nsteps", 1, 10_000_000)

    def set_final_time(self, tf: float) -> None:
        """Set the end of the simulation, s."""
        self.tf_cont = real(tf, "tf", above=self.to)

    def reset_time(self) -> None:
        """Begin again at time `to`."""
        self.time = self.to

    def _desired(self, t: float) -> None:
        path, quaternions = self.path_select.path, self.path_select.path_quat
        if self.path_select.type == JOINT_SPACE and path is not None:
            self.qd, self.qpd, self.qppd = path.p_pdot_pddot(t)
        elif self.path_select.type == CARTESIAN_SPACE:
            if path is not None:
                self.pd, self.ppd, self.pppd = path.p_pdot_pddot(t)
            if quaternions is not None:
                self.quatd, self.wd = quaternions.quat_w(t)

    def _command(self) -> Vector:
        kind, robot = self.control.type, self.robot
        if kind == PD:
            return self.control.pd.torque_cmd(robot, self.qd, self.qpd)
        if kind == CTM:
            return self.control.ctm.torque_cmd(robot, self.qd, self.qpd, self.qppd)
        if kind == RRA:
            desired: Any = (self.pppd, self.ppd, self.pd, self.wpd, self.wd, self.quatd)
            return self.control.rra.torque_cmd(robot, *desired)
        if kind != NONE:
            raise ArgumentError("an impedance controller has no gains in a file and commands no torques; give another")
        return np.zeros(self.ndof)

    def xdot(self, xin: ArrayLike) -> Vector:
        """Return the derivative [q̇; q̈], (2 n,), of a state at `time`, and call `plot`."""
        state = reals(xin, "xin", (2 * self.ndof,))
        self.q, self.qp = state[: self.ndof], state[self.ndof :]
        self.robot.set_q(self.q)
        self.robot.set_qp(self.qp)
        self._desired(self.time)
        self.tau = self._command()
        self.qpp = self.robot.acceleration(self.q, self.qp, self.tau)
        self.plot()
        return np.concatenate([self.qp, self.qpp])

    def plot(self) -> None:
        """Override it to record: every call of `xdot` ends here."""

    def Runge_Kutta4_Real_time(self) -> bool:
        """Go on by a step, and return whether time is left."""
        h = (self.tf_cont - self.to) / self.nsteps
        if self.time >= self.tf_cont - 0.5 * h:
            return False
        x, start = self.x, self.time
        end = min(start + h, self.tf_cont)
        rates = [self.xdot(x)]
        for t, weight in ((start + 0.5 * h, 0.5 * h), (start + 0.5 * h, 0.5 * h), (end, h)):
            self.time = t
            rates.append(self.xdot(x + weight * rates[-1]))
        self.x = x + h / 6.0 * (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3])
        self.q, self.qp = self.x[: self.ndof], self.x[self.ndof :]
        self.robot.set_q(self.q)
        self.robot.set_qp(self.qp)
        return True

    def Runge_Kutta4(self) -> Vector:
        """Go through to the end, and return the last state."""
        self.reset_time()
        while self.Runge_Kutta4_Real_time():
            pass
        return self.x.copy()


class New_dynamics(Dynamics):
    """ROBOOP's example of a subclass: it records every state that `xdot` sees.

    Attributes
    ----------
    tout, xout
        Times (k,) and states (2 n, k), a state a column.
    """

    def __init__(self, robot: Robot_basic) -> None:
        self._times: list[float] = []
        self._states: list[Vector] = []
        super().__init__(robot)

    def plot(self) -> None:
        """Record time and state."""
        self._times.append(self.time)
        self._states.append(np.concatenate([self.q, self.qp]))

    @property
    def tout(self) -> Vector:
        """Times of the states, (k,), s."""
        return np.array(self._times)

    @property
    def xout(self) -> Vector:
        """States, (2 n, k)."""
        return np.array(self._states).reshape(-1, 2 * self.ndof).T
