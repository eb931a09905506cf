"""Model predictive control that follows a motion, with costs by Bryson's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.knowledge import Knowledge
from chasles.control.linear_quadratic.weights import Weights, bryson_weights, weight_matrix
from chasles.control.optimal.limits import LIMITS
from chasles.control.optimal.predictive import ModelPredictive
from chasles.control.optimal.problem import OptimalControl
from chasles.control.optimal.residuals import Residual
from chasles.control.optimal.smoothness import with_smooth_friction
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot


class PredictiveTracking(ModelPredictive):
    """tau(t) = the first torques of the motion within limits that comes nearest to the planned one over a horizon.

    It minimises ∫ ½ (|q - q_ref|²/a² + |q̇ - q̇_ref|²/b² + |τ - τ_ref|²/c²) dt for the tolerable errors a and b and
    corrections c of the torques that the planned motion needs: Bryson's rule. Without limits in its way it is nearly
    the linear quadratic regulator along the motion; see `ModelPredictive` for how it is computed. Friction of the model
    that jumps at rest is smoothed over 0.1 rad/s (m/s).

    Source: Bryson and Ho, Applied Optimal Control (1975); `ModelPredictive`.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    horizon
        Time over which the motion is planned, s: several times the time in which errors fade.
    nodes
        Number of steps of the plan.
    position_error, velocity_error
        Largest tolerable deviations, rad and rad/s (m and m/s), a scalar or (n,).
    torque
        Largest tolerable correction of each torque, N·m (N), a scalar or (n,); default as `bryson_weights`.
    weights
        Weights Q (2n, 2n) and R (n, n) in place of those by Bryson's rule, such as those of a regulator that has been
        designed: where no limit is near, the law has that regulator's gains, and the margins of these.
    limits
        Limits of the robot that hold, as those of `chasles.OptimalControl`.
    delay, iterations, observer
        See `ModelPredictive`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.3, 0.2], duration=0.3)
    >>> law = ch.control.PredictiveTracking(arm, horizon=0.1, nodes=5)
    >>> run = ch.simulate(arm, law, motion, period=0.02)
    >>> float(abs(run.error).max()) < 0.01
    True
    """

    name = "model predictive control"
    kind = "model-predictive"
    knows = Knowledge(learns="with `observer`, an unknown load", first_values="0")

    def __init__(
        self,
        robot: Robot,
        *,
        horizon: float = 0.2,
        nodes: int = 10,
        position_error: ArrayLike = 0.01,
        velocity_error: ArrayLike = 0.5,
        torque: ArrayLike | None = None,
        weights: Weights | None = None,
        limits: Sequence[str] | Mapping[str, ArrayLike | None] = LIMITS,
        delay: float = 0.0,
        iterations: int = 3,
        observer: float = 0.0,
    ) -> None:
        model, n = with_smooth_friction(robot), robot.n
        if weights is None:
            chosen = bryson_weights(robot, position_error=position_error, velocity_error=velocity_error, torque=torque)
        else:
            Q, R = weights
            chosen = Weights(weight_matrix(Q, 2 * n, "Q", definite=False), weight_matrix(R, n, "R", definite=True))
        of_errors, of_torques = (_root(weight) for weight in chosen)

        def errors(robot: Robot, q: Array, qd: Array, q_reference: Array, qd_reference: Array) -> Array:
            away = np.asarray(robot.difference(q_reference, q))
            return np.asarray(of_errors @ np.concatenate([away, qd - qd_reference]))

        def corrections(tau: Array, tau_reference: Array) -> Array:
            return np.asarray(of_torques @ (tau - tau_reference))

        running = [Residual(errors), Residual(corrections)]
        problem = OptimalControl(model, duration=horizon, nodes=nodes, running=running, limits=limits)
        super().__init__(problem, delay=delay, iterations=iterations, observer=observer)


def _root(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a matrix L with Lᵀ L = W for a weight W, diagonal where that is."""
    if np.count_nonzero(weight) == np.count_nonzero(weight.diagonal()):
        return np.diag(np.sqrt(weight.diagonal()))
    values, vectors = np.linalg.eigh(weight)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
