"""Secondary objectives: motions of redundant robots that leave the target where it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from chasles.engine import Function, log, trace
from chasles.engine.linear.symmetric import factor
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.iteration import Objective

#: Length of a step against the gradient of an objective.
_GAIN = 0.2


def center_objective(frame: RobotFrame) -> Objective:
    """Towards the middle of the joints' ranges; joints without limits stay where they are."""
    ranges = frame.ranges
    limited = np.isfinite(ranges.lower) & np.isfinite(ranges.upper)
    middle = np.where(limited, ranges.middle, 0.0)
    return lambda q, _: _GAIN * _of_steps(frame, limited * (middle - q))


def posture_objective(frame: RobotFrame) -> Objective:
    """Towards the posture of the call."""
    difference = frame.robot.difference.specialize()
    return lambda q, arguments: _GAIN * np.asarray(difference(q, arguments["posture"]))


def manipulability_objective(frame: RobotFrame) -> Objective:
    """Up the gradient of log sqrt(det(J Jᵀ)), which Yoshikawa (1985) calls manipulability."""

    def logarithm(q: Array) -> Real:
        J = np.asarray(frame.motion(q)[1])
        J = J if len(J) <= frame.n else J.T
        return -0.5 * sum(log(d) for d in factor(J @ J.T + 1e-9 * np.eye(len(J))).reciprocal)

    gradient = Function(trace(logarithm, {"q": (frame.nq,)}, name="log_manipulability")).jacobian()
    if frame.nq == frame.n:
        return lambda q, _: _GAIN * gradient(q)
    rates = frame.robot.configuration_rate.specialize().jacobian(wrt="qd")
    return lambda q, _: _GAIN * (np.asarray(rates(q, np.zeros(frame.n))).T @ gradient(q))


OBJECTIVES: dict[str, Callable[[RobotFrame], Objective]] = {
    "center": center_objective,
    "manipulability": manipulability_objective,
    "posture": posture_objective,
}


def objective_of(name: str | None, frame: RobotFrame) -> Objective | None:
    """Objective of a name, for one frame; None for none."""
    if name is None:
        return None
    direction = OBJECTIVES[choice(name, "objective", OBJECTIVES)](frame)
    moving = _of_steps(frame, frame.ranges.moving.astype(float), elsewhere=1.0)
    return lambda q, arguments: moving * direction(q, arguments)


def _of_steps(frame: RobotFrame, values: Array, elsewhere: float = 0.0) -> Array:
    """Elements (n,) of a step that belong to those of configurations (nq,); another value where quaternions move."""
    coordinates = frame.steps.places
    if coordinates is None:
        return values
    return np.array([values[place] if place >= 0 else elsewhere for place in coordinates])
