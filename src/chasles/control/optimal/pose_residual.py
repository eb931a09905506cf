"""The residual of a pose, with derivatives in closed form.

With the twist r from a target to a frame, T_target⁻¹ T = exp(r), and the Jacobian J of the frame in its own axes, r
changes by D J, where D(r) is the inverse of the right Jacobian of SE(3). For weights g, f = Dᵀ g is a wrench on the
frame. In the axes of the frame a joint i moves the screws of joints before it and not those beyond it, so that

    ∂² (gᵀ r) / ∂q_i ∂q_j = J_jᵀ (∂f/∂r) D J_i    for joints j beyond i.

A twist r = (φ, ρ) is the rotation vector φ + ε ρ of dual numbers, of which D is 1 + ½ [φ] + γ [φ]² with a quotient
γ(φ²) of cosine and sine. So f and ∂f/∂r are made of (1 - ½ [φ] + γ [φ]²) a and its rates for vectors a.

Source: Barfoot, State Estimation for Robotics (2017), section 7.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from chasles.engine import Function, jacobian, trace
from chasles.engine.program.scalar import Array
from chasles.engine.program.tracing import call_traced
from chasles.engine.validators import choice
from chasles.geometry import inverse_right_jacobian_pose, relative_twist, skew
from chasles.geometry.quotients import inverse_quotient
from chasles.robot.robot import Robot

SIZE = 6


@dataclass(frozen=True)
class PoseResidual:
    """Twist from a target pose to that of a frame, (6,), of the robot, its positions, and what the target is.

    Attributes
    ----------
    frame
        Frame or link of the robot; empty for its tool.
    target
        Elements of a constant target, row by row.
    follows
        Whether the target is the frame's pose at given positions.
    """

    frame: str = ""
    target: tuple[float, ...] = ()
    follows: bool = False

    def __call__(self, robot: Robot, q: Array, *given: Array) -> Array:
        """The residual, for numbers or traced scalars."""
        if self.follows:
            target = self.pose(robot, *given)
        else:
            target = np.reshape(self.target, (4, 4)) if self.target else given[0]
        return np.asarray(relative_twist(target, self.pose(robot, q)))

    def pose(self, robot: Robot, q: Array) -> Array:
        """Pose of the frame."""
        return np.asarray(robot.forward_kinematics(q, **self._options(robot)))

    def _options(self, robot: Robot) -> dict[str, Any]:
        return {"target": choice(self.frame, "frame", robot.frame_names)} if self.frame else {}

    def slopes(self, robot: Robot, q: Array, *given: Array) -> Array:
        """Derivatives D J (6, n), of traced scalars."""
        return np.asarray(inverse_right_jacobian_pose(self(robot, q, *given)) @ self._jacobian(robot, q))

    def curvature(self, g: Array, robot: Robot, q: Array, *given: Array) -> Array:
        """Second derivatives of gᵀ r (n, n), of traced scalars."""
        r, J = self(robot, q, *given), self._jacobian(robot, q)
        by_r = slopes_of_wrench(r, g)
        upper = J.T @ (by_r @ self.slopes(robot, q, *given))
        n = len(upper)
        return np.array([[upper[max(i, j), min(i, j)] for j in range(n)] for i in range(n)])

    def _jacobian(self, robot: Robot, q: Array) -> Array:
        function = robot.jacobian.specialize(frame="body", **self._options(robot))
        return np.asarray(call_traced(function.program, [q], inline=True))


def slopes_of_wrench(r: Array, g: Array) -> Array:
    """Derivatives of D(r)ᵀ g to r, (6, 6), of traced scalars."""
    (phi, rho), (a, b) = np.split(r, 2), np.split(g, 2)
    quotient, rate, rate_of_rate = call_traced(_quotients().program, [phi @ phi], inline=True)
    along, twice = phi @ rho, phi * (phi @ b) - (phi @ phi) * b
    twice_rate = phi * (b @ rho) + rho * (phi @ b) - 2.0 * b * along

    def rates_of_twice(a: Array, phi: Array) -> Array:
        """Derivatives of [φ]² a to φ."""
        return np.asarray((phi @ a) * np.eye(3) + np.outer(phi, a) - 2.0 * np.outer(a, phi))

    def slopes(a: Array) -> Array:
        """Derivatives of (1 - ½ [φ] + γ [φ]²) a to φ."""
        of_quotient = np.outer(phi * (phi @ a) - (phi @ phi) * a, phi)
        return np.asarray(0.5 * skew(a) + quotient * rates_of_twice(a, phi) + 2.0 * rate * of_quotient)

    of_rate = np.outer(twice_rate, phi) + np.outer(twice, rho) + along * rates_of_twice(b, phi)
    mixed = quotient * rates_of_twice(b, rho) + 2.0 * rate * of_rate + 4.0 * rate_of_rate * along * np.outer(twice, phi)
    upper = np.concatenate([slopes(a) + mixed, slopes(b)], axis=1)
    return np.concatenate([upper, np.concatenate([slopes(b), np.zeros((3, 3))], axis=1)])


@cache
def _quotients() -> Function:
    """Return the function s -> γ with its first and second derivatives."""
    quotient = trace(inverse_quotient, {"s": ()}, name="quotient", outputs=["quotient"])
    rate = jacobian(quotient, wrt="s")
    programs = quotient, rate, jacobian(rate, wrt="s")

    def work(s: Any) -> tuple[Any, ...]:
        return tuple(call_traced(program, [s], inline=True) for program in programs)

    return Function(trace(work, {"s": ()}, name="quotients", outputs=["quotient", "rate", "rate_of_rate"]))


def has_order(robot: Robot) -> bool:
    """Whether each coordinate moves one joint, so that later ones are beyond it or beside it."""
    description = robot.description
    follows = any(joint.mimic is not None for joint in description.joints)
    return robot.nq == robot.n and not description.loops and not follows


class Twists:
    """Residuals of poses among those of a node, each once; their values may be inputs of a trace."""

    def __init__(self, values: Array | None = None) -> None:
        self.values = values
        self.residuals: dict[tuple[PoseResidual, tuple[str, ...]], None] = {}

    def value(self, residual: PoseResidual, arguments: tuple[str, ...], known: Mapping[str, Any]) -> Array:
        """Value of a residual that takes arguments of these names."""
        self.residuals.setdefault((residual, arguments))
        if self.values is None:
            return residual(*(known[name] for name in arguments))
        k = list(self.residuals).index((residual, arguments))
        return np.asarray(self.values[SIZE * k : SIZE * (k + 1)])
