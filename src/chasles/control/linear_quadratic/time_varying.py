"""The strategy of Mazure's report: nominal torques and a time-varying regulator along the motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.delayed_hold import MOST_DELAY
from chasles.control.floating_base import NO_REGULATOR
from chasles.control.linear_model import LinearModel
from chasles.control.linear_quadratic.algebraic_riccati import discrete_riccati
from chasles.control.linear_quadratic.along_motion import (
    change_of_rows,
    integral_count,
    last_of,
    period_of,
    regulator_law,
    regulator_memory,
    regulator_rows,
    regulator_take_over,
    regulator_weights,
    sampled_model,
    settled_rows,
    stationary_gains,
    weights_of_period,
    with_pending_weights,
)
from chasles.control.linear_quadratic.gain_slopes import regulator_slopes
from chasles.control.linear_quadratic.riccati import FiniteHorizon, backward_riccati
from chasles.control.linear_quadratic.weighted_regulator import WeightedRegulator
from chasles.control.linear_quadratic.weights import Weights, regulator_gains, weight_matrix
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


class TimeVaryingRegulator(WeightedRegulator):
    """tau(t_k) = ID(q_ref, qd_ref, qdd_ref) - K_k (q - q_ref, qd - qd_ref, z) with the optimal gain at every sample.

    Before the motion begins, the exact linear models A(t), B(t) along it are computed and discretised for held torques.
    The Riccati recursion from the end to the start then gives the gains that minimise

        Σ h (δxᵀ Q δx + δτᵀ R δτ) + δx(T)ᵀ P_T δx(T).

    It requires the full dynamic model before the motion only; on line, each call is one small matrix product. The
    terminal weight P_T defaults to the infinite-horizon cost at the end of the motion, so that gains do not fade. As
    torques are held, ID is the mean of the nominal torques at this sample and the next.

    Source: Mazure, "An adaptive linearization and control strategy for mechanical manipulators" (1987), section 4:
    nominal torques from the Newton–Euler recursion, and a regulator on the linear model of the perturbations.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    Q
        Weight of deviations, (2n, 2n), (2n,) or a scalar: 1/rad² for positions and s²/rad² for velocities (m for
        prismatic joints). Default by Bryson's rule, see `bryson_weights`.
    R
        Weight of torques, (n, n), (n,) or a scalar, 1/(N·m)². Default as for Q.
    terminal
        Terminal weight P_T, (m, m), (m,) or a scalar. m = 2n, or 3n with integral action, plus n for each period of
        delay, rounded up.
    integral_error
        Largest tolerable integral of each joint's deviation, rad·s, which sets its weight by Bryson's rule; None for no
        integral action. With integral action, constant disturbances leave no error at rest. A joint's integrator is
        held while its torque exceeds the model's effort limit and the deviation would push it further.

    delay
        Design delay from a call to the effect of its torque, in sample periods, 0 to 10: the delay of
        `chasles.simulate` divided by the period. Torques still to act become states, and the nominal torques are
        evaluated at the time at which they act. Source: Åström and Wittenmark, Computer-Controlled Systems (1997).
    velocity_lag
        Lag of the measured velocities, in sample periods: a half for differences of positions. The gains, but not the
        nominal torques, are designed for so much more delay.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> run = ch.simulate(arm.with_payload(1.0), TimeVaryingRegulator(arm), motion)
    >>> float(abs(run.error).max()) < 0.05
    True
    """

    name = "nominal torque + time-varying regulator"
    kind = "time-varying-regulator"
    design_damping = 1.1
    refuses_free_joints = NO_REGULATOR

    def __init__(
        self,
        robot: Robot,
        *,
        Q: ArrayLike | None = None,
        R: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        integral_error: ArrayLike | None = None,
        delay: float = 0.0,
        velocity_lag: float = 0.0,
    ) -> None:
        weights = regulator_weights(robot, Q, R, integral_error)
        self.delay = real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
        self.velocity_lag = real(velocity_lag, "velocity_lag", at_least=0.0, at_most=MOST_DELAY)
        late = self.delay + self.velocity_lag
        super().__init__(robot, {}, regulator_memory(robot, weights, late))
        self.weights = weights
        if integral_count(weights):
            self.name += ", with integral action"
        if self.delay:
            self.name += f", for a delay of {self.delay:g} periods"
        size = len(with_pending_weights(weights, late).Q)
        self.terminal = None if terminal is None else weight_matrix(terminal, size, "terminal", definite=False)

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return weights that give the regulator of the mean mass matrix the designed poles; see `regulator_gains`."""
        return regulator_gains(design) | {"delay": design.delay, "velocity_lag": design.velocity_lag}

    def horizon(self, times: ArrayLike, motion: Motion) -> FiniteHorizon:
        """Gains and cost-to-go along a motion.

        Parameters
        ----------
        times
            Times of the calls, shape (k,) with k ≥ 2, s, evenly spaced.
        motion
            Planned motion at these times, each part (..., k, n).

        Returns
        -------
        FiniteHorizon
            Gains K (..., k, n, m) of u = -K δx; P (..., m, m) at the start.
        """
        period = period_of(np.asarray(times, dtype=float))
        if period is None:
            raise ArgumentError("a horizon needs at least two times")
        model, costs = self._sampled(motion, period)
        return self._along(model, costs)

    def _sampled(self, motion: Motion, period: float) -> tuple[LinearModel, Weights]:
        """Sampled models along a motion, and the weights of a period."""
        late = self.delay + self.velocity_lag
        model = sampled_model(self.robot, motion, period, integral=integral_count(self.weights) > 0, delay=late)
        return model, weights_of_period(self.weights, period, late)

    def _along(self, model: LinearModel, costs: Weights, *, every_cost: bool = False) -> FiniteHorizon:
        """Gains and costs-to-go of sampled models."""
        last = self.terminal
        if last is None:
            last = discrete_riccati(*last_of(model), *costs).P
        return backward_riccati(*model, *costs, last, every_cost=every_cost)

    def design_slopes(self, times: Floats, motion: Motion) -> dict[str, Floats]:
        """Derivatives of the rows by the diagonals of the weights, (p, k, n, 1 + m)."""
        period = period_of(times)
        if period is None:
            raise ArgumentError("derivatives by weights need at least two calls")
        model, costs = self._sampled(motion, period)
        changes = weights_of_period(self._weight_changes, period, self.delay + self.velocity_lag)
        regulator = self._along(model, costs, every_cost=True)
        slopes = regulator_slopes(model, costs.R, regulator, changes, ends_stationary=self.terminal is None)
        return {"": change_of_rows(slopes)}

    def settled_schedule(self, motion: Motion, period: float) -> Floats:
        """Nominal torque and stationary gains of each place, shape (k, n, 1 + m)."""
        model, costs = self._sampled(motion, period)
        return settled_rows(self.robot, motion, discrete_riccati(*model, *costs).K)

    def schedule(self, times: Floats, motion: Motion) -> Floats:
        """Nominal torque and gains of every call, shape (..., k, n, 1 + m)."""
        if len(times) < 2 and not self.delay + self.velocity_lag:
            return regulator_rows(self.robot, motion, stationary_gains(self.robot, motion, self.weights, None))
        return regulator_rows(self.robot, motion, self.horizon(times, motion).K, self.delay)

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the integral for the torques tau."""
        regulator_take_over(self.robot, now.schedule, now, tau)

    def law(self, now: Now) -> Any:
        """Return the torques; the memory holds the deviation's integral and the corrections still to act."""
        return regulator_law(self.robot, now.schedule, now)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r})"
