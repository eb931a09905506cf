"""What redundant robots do with the freedom that a target leaves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.engine import Function, log, trace
from chasles.engine.linear_solve import factor
from chasles.errors import UnknownNameError
from chasles.inverse_kinematics.iteration import Objective
from chasles.inverse_kinematics.ranges import Ranges
from chasles.mechanics import Mechanics

#: Length of a step against the gradient of an objective.
_GAIN = 0.2


def center_objective(robot: Mechanics, target: str, ranges: Ranges) -> Objective:
    """Towards the middle of the joints' ranges; joints without limits stay where they are."""
    limited = np.isfinite(ranges.lower) & np.isfinite(ranges.upper)
    middle = np.where(limited, ranges.middle, 0.0)
    return lambda q, _: _GAIN * limited * (middle - q)


def posture_objective(robot: Mechanics, target: str, ranges: Ranges) -> Objective:
    """Towards the posture of the call."""
    return lambda q, arguments: _GAIN * (arguments["posture"] - q)


def manipulability_objective(robot: Mechanics, target: str, ranges: Ranges) -> Objective:
    """Up the gradient of log sqrt(det(J Jᵀ)), which Yoshikawa (1985) calls manipulability."""
    jacobian = robot.jacobian.specialize(frame="world-aligned", target=target)

    def logarithm(q: Any) -> Any:
        J = np.asarray(jacobian(q))
        J = J if len(J) <= robot.n else J.T
        return -0.5 * sum(log(d) for d in factor(J @ J.T + 1e-9 * np.eye(len(J))).reciprocal)

    gradient = Function(trace(logarithm, {"q": (robot.n,)}, name="log_manipulability")).jacobian()
    return lambda q, _: _GAIN * gradient(q)


OBJECTIVES: dict[str, Callable[[Mechanics, str, Ranges], Objective]] = {
    "center": center_objective,
    "manipulability": manipulability_objective,
    "posture": posture_objective,
}


def objective_of(name: str | None, robot: Mechanics, target: str, ranges: Ranges) -> Objective | None:
    """Objective of a name, for one robot and frame; None for none."""
    if name is None:
        return None
    if name not in OBJECTIVES:
        raise UnknownNameError("objective", name, OBJECTIVES)
    direction = OBJECTIVES[name](robot, target, ranges)
    return lambda q, arguments: ranges.moving * direction(q, arguments)
