"""The law that follows a plan of optimal control."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic.along_motion import regulator_law
from chasles.control.now import Now
from chasles.control.optimal.plan import Plan
from chasles.control.robot_controller import RobotController
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion

Floats = NDArray[np.float64]


class PlanFollowing(RobotController):
    """tau(t) = tau_k - K_k (q - q_plan(t), qd - qd_plan(t)) with the torques and gains of the plan's step k.

    The gains are those of the last iteration: Mazure's regulator with the second derivatives of the plan's own cost and
    constraints as weights. They vanish where a torque is at its limit. Robots with fewer motors than joints are
    followed too. After the plan's end its last torques and gains remain. Of a plan for a plant with a delay, each
    torque is sent that much before it acts.

    Source: Mazure (1987), section 4; Jacobson and Mayne, Differential Dynamic Programming (1970), for the gains.

    Parameters
    ----------
    robot
        Robot of the plan.
    plan
        Plan of one problem, also given to `chasles.simulate` as the motion.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> from chasles.control.optimal import residuals
    >>> rest_at_goal = [residuals.position([1.0, 0.5]), residuals.velocity()]
    >>> gentle = [residuals.torque(), 100.0 * residuals.velocity()]
    >>> swing = ch.OptimalControl(arm, duration=1.0, nodes=100, running=gentle, exact_end=rest_at_goal)
    >>> plan = swing.solve([0.0, 0.0])
    >>> run = ch.simulate(arm, PlanFollowing(arm, plan), plan, period=0.01)
    >>> float(abs(run.error).max()) < 0.01
    True
    """

    name = "plan of optimal control"

    def __init__(self, robot: Robot, plan: Plan) -> None:
        if plan.batch:
            raise ArgumentError(f"the plan is a batch {plan.batch}; a law follows one")
        if (plan.n, plan.nv) != (robot.nq, robot.n):
            raise ArgumentError(
                f"the plan is of {plan.n} coordinates and {plan.nv} velocities, but robot '{robot.name}' has "
                f"{robot.nq} and {robot.n}"
            )
        if np.isnan(plan.gains).any():
            raise ArgumentError(
                "the plan has no gains of torques, since their rates were chosen; follow it with another law, such as "
                "chasles.control.ComputedTorque"
            )
        super().__init__(robot, {}, {"integral": np.zeros(0), "pending": np.zeros(0)})
        self.plan = plan

    def schedule(self, times: Floats, motion: Motion) -> Floats:
        """Torques and gains of each call, (k, n, 1 + 2n)."""
        times = times + self.plan.delay + 1e-9 * self.plan.duration
        steps = np.searchsorted(self.plan.knots, times, side="right") - 1
        step = np.clip(steps, 0, len(self.plan.torques) - 1)
        return np.concatenate([self.plan.torques[step][..., None], self.plan.gains[step]], axis=-1)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        return regulator_law(self.robot, now.schedule, now)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {self.plan!r})"
