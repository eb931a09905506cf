"""The linear-quadratic regulator at a pose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.floating_base import NO_REGULATOR
from chasles.control.linear_quadratic.along_motion import (
    integral_count,
    regulator_law,
    regulator_memory,
    regulator_take_over,
    regulator_weights,
    stationary_gain_slopes,
    stationary_gains,
)
from chasles.control.linear_quadratic.weighted_regulator import WeightedRegulator
from chasles.control.linear_quadratic.weights import regulator_gains
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.engine.validators import real, reals
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


class LinearQuadraticRegulator(WeightedRegulator):
    """tau = ID(q_ref, qd_ref, qdd_ref) - K (q - q_ref, qd - qd_ref, z) with a constant gain K for one pose.

    K minimises ∫ (δxᵀ Q δx + δτᵀ R δτ) dt, or its sum over the calls for torques held between them, for the exact
    linear model of the robot at rest in the pose, δx = (δq, δq̇). With ``integral_error`` the integral z of δq is
    weighted as well, and constant disturbances leave no error at rest. The reference may move near the pose. It
    requires the full dynamic model.

    Source: Anderson and Moore, Optimal Control: Linear Quadratic Methods.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    q
        The pose, shape (nq,); default the robot's home.
    Q
        Weight of deviations, (2n, 2n), (2n,) or a scalar: 1/rad² for positions and s²/rad² for velocities (m for
        prismatic joints). Default by Bryson's rule, see `bryson_weights`.
    R
        Weight of torques, (n, n), (n,) or a scalar, 1/(N·m)². Default as for Q.
    integral_error
        Largest tolerable integral of each joint's deviation, rad·s, which sets its weight by Bryson's rule; None for no
        integral action. A joint's integrator is held while its torque exceeds the model's effort limit.
    period
        Time between two calls, s, for which K is designed; default that of `chasles.simulate`. None designs K for
        continuous time; when sampled, such gains can destabilise light joints such as wrists.

    Attributes
    ----------
    K
        Gains, shape (n, 2n), or (n, 3n) with integral action: N·m/rad, N·m·s/rad, N·m/(rad·s).

    Raises
    ------
    RegulatorError
        If no regulator exists, for example because the weights let a joint drift.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> upright = ch.PointToPoint([1.57, 0.0], [1.57, 0.0], duration=2.0)
    >>> regulator = LinearQuadraticRegulator(arm, [1.57, 0.0])
    >>> run = ch.simulate(arm, regulator, upright, start=[1.3, 0.2])
    >>> float(abs(run.error.isel(time=-1)).max()) < 1e-6
    True
    """

    name = "linear-quadratic regulator"
    kind = "linear-quadratic-regulator"
    design_damping = 1.1
    refuses_free_joints = NO_REGULATOR

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | None = None,
        *,
        Q: ArrayLike | None = None,
        R: ArrayLike | None = None,
        integral_error: ArrayLike | None = None,
        period: float | None = 1e-3,
    ) -> None:
        weights = regulator_weights(robot, Q, R, integral_error)
        super().__init__(robot, {}, regulator_memory(robot, weights))
        self.weights = weights
        self.q = reals(robot.home if q is None else q, "q", (robot.nq,))
        if integral_count(weights):
            self.name += ", with integral action"
        self.period = None if period is None else real(period, "period", above=0.0)
        self.K = stationary_gains(robot, self._pose, self.weights, self.period)
        self.varies = ("K",)

    @property
    def _pose(self) -> Motion:
        rest = np.zeros(self.robot.n)
        return Motion(self.q, rest, rest)

    @property
    def design_values(self) -> dict[str, Floats]:
        """Diagonals of the weights, for held torques."""
        return {} if self.period is None else super().design_values

    @property
    def designed_parameters(self) -> tuple[str, ...]:
        """The gains, for held torques."""
        return () if self.period is None else ("K",)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the same law with another K, or with that of other diagonals of the weights."""
        other = super().with_values(values)
        if other.weights is self.weights:
            return other
        if "K" in values:
            raise ArgumentError("the gains K follow from the weights: give K, or Q and R")
        return other.with_values({"K": stationary_gains(self.robot, self._pose, other.weights, self.period)})

    def design_slopes(self, times: Floats, motion: Motion) -> dict[str, Floats]:
        """Derivatives of K by the diagonals of the weights, (p, n, m)."""
        if self.period is None:
            return {}
        changes = self._weight_changes
        return {"K": stationary_gain_slopes(self.robot, self._pose, self.weights, changes, self.period)}

    def period_warning(self, period: float) -> str | None:
        """Return a warning if K was designed for a much shorter period."""
        if self.period is None or period < 2.5 * self.period:
            return None
        return (
            f"its gains are designed for calls every {1e3 * self.period:g} ms and may be unstable with calls every "
            f"{1e3 * period:g} ms; give it period={period:g}"
        )

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return weights of `TimeVaryingRegulator` at the pose in the middle of the motion."""
        middle = 0.5 * (design.times[0] + design.times[-1])
        return regulator_gains(design) | {"q": design.motion(middle).q, "period": design.period}

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the integral for the torques tau."""
        regulator_take_over(self.robot, self._row(now), now, tau)

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the integral of the deviation."""
        return regulator_law(self.robot, self._row(now), now)

    def _row(self, now: Now) -> Any:
        """Nominal torque and gains."""
        nominal = self.robot.inverse_dynamics(*now.reference)
        return np.concatenate([nominal[:, None], self.K], axis=1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {self.q.tolist()})"
