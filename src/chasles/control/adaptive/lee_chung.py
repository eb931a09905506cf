"""Adaptive perturbation control of Lee and Chung: A and B of the errors' equation are identified on-line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.adaptive.recursive_least_squares import (
    bounded_covariance,
    packed,
    recursive_least_squares,
    unpacked,
)
from chasles.control.adaptive.tuning import perturbation_gains
from chasles.control.floating_base import NO_REGULATOR, deviation
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.engine.linear.symmetric import factor, solve
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NUMBER, POSITIVE, Bound, Relation, real, reals
from chasles.robot.robot import Robot


class LeeChung(RobotController):
    """tau = ID(q_ref, qd_ref, qdd_ref) + u, u = -(R + Bᵀ Q B)⁻¹ Bᵀ Q A x, with A and B by recursive least squares.

    The nominal torque of the planned motion moves a perfect model as planned. The deviation x = (q - q_ref, qd -
    qd_ref) obeys x(k+1) = A x(k) + B u(k) with slowly varying A and B, which recursive least squares with forgetting
    estimates from x and u. In each period u minimises x(k+1)ᵀ Q x(k+1) + uᵀ R u.

    Source: Lee and Chung, "An adaptive control strategy for mechanical manipulators", IEEE Trans. Automatic Control
    29(9), 1984; the strategy that Mazure's report builds on. There is no proof of stability. It requires a model for
    the nominal torque and for the initial A and B.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    rate
        Decay rate, 1/s: Q is chosen so that xᵀ Q x = |s|² with s = qd - qd_ref + rate (q - q_ref). On s = 0 errors
        decay as exp(-rate t).
    state_weight
        Q, given in place of ``rate``: symmetric and positive semidefinite, shape (2 n, 2 n) or its diagonal (2 n,).
    torque_weight
        R / period², in 1/(kg·m²)² when Q comes from ``rate``; a scalar or one value per joint. For a joint of inertia
        J, the value 1 / J² halves s in a period, and (1 / J²) / (mu period) makes it decay as exp(-mu t).
    forgetting
        Forgetting factor rho in (0, 1] of the least squares; the effective memory is 1 / (1 - rho) samples.
    covariance
        Diagonal of the initial P: a scalar, or one value per element of (x, u) or (x, u, 1); default 1 for x, 1e-3 for
        u and 100 for 1. Small values keep the estimates near the model. In closed loop u is nearly a function of x, so
        that their effects can hardly be separated: give B a smaller covariance than A.
    covariance_limit
        Upper bound on the mean growth of P's diagonal; forgetting is suspended above it.
    offset
        Whether a constant disturbance d(k) of x(k+1) is identified and compensated as well; in slow motion it
        represents the error of the nominal torque. The original law has no such term.
    initial_pose
        Configuration at rest about which the initial A and B are linearised exactly; default the home configuration.

    Notes
    -----
    The identified quantities are (A - 1) / period and B / period, nearly the matrices of x' = A x + B u. They are
    equivalent to A and B, better conditioned in floating point, and their initial values do not depend on the period.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.LeeChung(arm, rate=20.0, torque_weight=20.0)
    """

    name = "Lee-Chung"
    kind = "lee-chung"
    knows = Knowledge(
        beforehand=True,
        learns="A and B of the errors, by the rule an offset",
        first_values="the model's at the start of the motion",
    )
    is_linear = False
    design_damping = 1.0
    state_weight: Array
    torque_weight: Array
    forgetting: Array
    covariance: Array
    covariance_limit: Array
    bounds: Mapping[str, Bound] = {
        "torque_weight": POSITIVE,
        "forgetting": Bound(above=0.0, at_most=1.0),
        "covariance": POSITIVE,
        "covariance_limit": Bound(at_least=1.0, infinite=True),
    }
    refuses_free_joints = NO_REGULATOR

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float | None = None,
        state_weight: ArrayLike | None = None,
        torque_weight: ArrayLike,
        forgetting: float = 0.99,
        covariance: ArrayLike | None = None,
        covariance_limit: float = 1.0,
        offset: bool = False,
        initial_pose: ArrayLike | None = None,
    ) -> None:
        self.offset = bool(offset)
        n = robot.n
        size = 3 * n + self.offset
        default = np.repeat([1.0, 1e-3, 100.0], [2 * n, n, int(self.offset)])
        spread = reals(default if covariance is None else covariance, "covariance", (size,), broadcast=True)
        parameters = {
            "state_weight": _state_weight(rate, state_weight, n),
            "torque_weight": reals(torque_weight, "torque_weight", (n,), broadcast=True),
            "forgetting": reals(forgetting, "forgetting", ()),
            "covariance": spread,
            "covariance_limit": reals(covariance_limit, "covariance_limit", (), bound=NUMBER),
        }
        pose = robot.home if initial_pose is None else reals(initial_pose, "initial_pose", (robot.nq,), broadcast=True)
        A, B = robot.linearize(pose, np.zeros(n), robot.gravity_torque(pose))
        start = {
            "matrices": np.concatenate([A, B, np.zeros((2 * n, size - 3 * n))], axis=1),
            "covariance": packed(np.diag(spread)),
            "last": np.zeros(size),
        }
        super().__init__(robot, parameters, start)

    def relations(self, parameters: Mapping[str, Any]) -> list[Relation]:
        """A quadratic cost has a symmetric matrix."""
        weight = parameters["state_weight"]
        symmetric = (weight == np.swapaxes(weight, -2, -1)).all(axis=(-2, -1))
        return [Relation(symmetric, "state_weight must be symmetric")]

    @classmethod
    def gains(cls, design: PoleDesign, *, reaching: float = 10.0) -> dict[str, Any]:
        """Return weights by `perturbation_gains`; s = 0 is reached ``reaching`` times as fast as errors decay."""
        return perturbation_gains(design, reaching)

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory holds the estimates."""
        n = self.robot.n
        x = np.concatenate([deviation(self.robot, now.q, now.reference), now.qd - now.reference.qd])
        last, P = now.memory.last, unpacked(now.memory.covariance, len(now.memory.last))
        fitted = recursive_least_squares(
            now.memory.matrices, P, last, (x - last[: 2 * n]) / now.period, forgetting=self.forgetting
        )
        covariance = bounded_covariance(fitted.covariance, self.covariance, self.covariance_limit, self.forgetting)
        A, B, d = fitted.estimate[:, : 2 * n], fitted.estimate[:, 2 * n : 3 * n], fitted.estimate[:, 3 * n :]
        expected = x + now.period * (A @ x + (d[:, 0] if self.offset else 0.0))
        weighted = self.state_weight @ B
        cost = np.diag(self.torque_weight) + B.T @ weighted
        u = -solve(factor(cost), weighted.T @ expected) / now.period
        nominal = self.robot.inverse_dynamics(*now.reference)
        known = np.concatenate([x, u, np.ones(1)]) if self.offset else np.concatenate([x, u])
        now.memory.matrices, now.memory.covariance, now.memory.last = fitted.estimate, packed(covariance), known
        return nominal + u

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {self.memory['last'].size} columns identified)"


def _state_weight(rate: float | None, weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    if (rate is None) == (weight is None):
        raise ArgumentError("give rate or state_weight, one of them")
    if rate is not None:
        mixture = np.concatenate([real(rate, "rate") * np.eye(n), np.eye(n)], axis=1)
        return np.asarray(mixture.T @ mixture)
    array = reals([] if weight is None else weight, "state_weight")
    matrix = np.diag(array) if array.ndim == 1 else array
    if matrix.shape != (2 * n, 2 * n):
        raise ArgumentError(f"state_weight must be symmetric, of shape ({2 * n}, {2 * n}) or its diagonal ({2 * n},)")
    return matrix
