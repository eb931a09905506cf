"""Gain scheduling: a regulator for all time, computed anew from time to time along the motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.floating_base import NO_REGULATOR
from chasles.control.linear_quadratic.along_motion import (
    change_of_rows,
    integral_count,
    period_of,
    regulator_law,
    regulator_memory,
    regulator_rows,
    regulator_take_over,
    regulator_weights,
    settled_rows,
    stationary_gain_slopes,
    stationary_gains,
)
from chasles.control.linear_quadratic.weighted_regulator import WeightedRegulator
from chasles.control.linear_quadratic.weights import regulator_gains
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.engine.validators import real, truth
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


class GainScheduledRegulator(WeightedRegulator):
    """tau(t_k) = ID(q_ref, qd_ref, qdd_ref) - K (q - q_ref, qd - qd_ref, z), K recomputed at a chosen period.

    At times ``update_period`` apart, K is the stationary linear-quadratic regulator of the exact linear model there, as
    if the robot stayed in that state for ever. Between these times K is held or interpolated. The law models a
    controller that solves its Riccati equation on line, at a lower rate than it samples. Each frozen loop is stable
    with its own K; the time-varying loop has no such proof (see `loop_margins`). It requires the full dynamic model.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    update_period
        Time between two computations of K, s; rounded to whole periods of the controller, at least one.
    interpolate
        Whether K is interpolated linearly between computations instead of held.
    Q, R, integral_error
        See `TimeVaryingRegulator`.

    Raises
    ------
    RegulatorError
        When the schedule is computed, if somewhere along the motion no regulator exists.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> regulator = GainScheduledRegulator(arm, update_period=0.1)
    >>> run = ch.simulate(arm.with_payload(1.0), regulator, motion)
    >>> float(abs(run.error).max()) < 0.05
    True
    """

    name = "nominal torque + gain-scheduled regulator"
    design_damping = 1.1
    kind = "gain-scheduled-regulator"
    refuses_free_joints = NO_REGULATOR

    def __init__(
        self,
        robot: Robot,
        *,
        update_period: float,
        interpolate: bool = False,
        Q: ArrayLike | None = None,
        R: ArrayLike | None = None,
        integral_error: ArrayLike | None = None,
    ) -> None:
        weights = regulator_weights(robot, Q, R, integral_error)
        super().__init__(robot, {}, regulator_memory(robot, weights))
        self.weights = weights
        self.update_period = real(update_period, "update_period", above=0.0)
        self.interpolate = truth(interpolate, "interpolate")
        if integral_count(weights):
            self.name += ", with integral action"

    def schedule(self, times: Floats, motion: Motion) -> Floats:
        """Nominal torque and gains of every call, shape (..., k, n, 1 + m)."""
        updates = self._updates(times)
        gains = stationary_gains(self.robot, _at(motion, updates), self.weights, period_of(times))
        return regulator_rows(self.robot, motion, self._between(gains, updates, len(times)))

    def design_slopes(self, times: Floats, motion: Motion) -> dict[str, Floats]:
        """Derivatives of the rows by the diagonals of the weights, (p, k, n, 1 + m)."""
        period, updates = period_of(times), self._updates(times)
        if period is None:
            raise ArgumentError("derivatives by weights need at least two calls")
        places, changes = _at(motion, updates), self._weight_changes
        slopes = stationary_gain_slopes(self.robot, places, self.weights, changes, period)
        return {"": change_of_rows(self._between(slopes, updates, len(times)))}

    def _updates(self, times: Floats) -> NDArray[np.intp]:
        """Numbers of the calls at which K is computed."""
        period = period_of(times)
        between = 1 if period is None else max(1, round(self.update_period / period))
        calls = np.arange(len(times))
        return np.append(calls[::between], calls[-1]) if self.interpolate else calls[::between]

    def _between(self, gains: Floats, updates: NDArray[np.intp], count: int) -> Floats:
        """Gains of all calls, held or interpolated from those at the updates."""
        calls = np.arange(count)
        before = np.searchsorted(updates[: max(1, len(updates) - self.interpolate)], calls, side="right") - 1
        held = gains[..., before, :, :]
        if not self.interpolate:
            return held
        length = np.maximum(updates[before + 1] - updates[before], 1)
        share = ((calls - updates[before]) / length)[:, None, None]
        return np.asarray(held + share * (gains[..., before + 1, :, :] - held))

    def settled_schedule(self, motion: Motion, period: float) -> Floats:
        """Nominal torque and gains of each place, shape (k, n, 1 + m)."""
        return settled_rows(self.robot, motion, stationary_gains(self.robot, motion, self.weights, period))

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return weights of `TimeVaryingRegulator`; the regulator is computed anew at each sample."""
        return regulator_gains(design) | {"update_period": design.period}

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the integral for the torques tau."""
        regulator_take_over(self.robot, now.schedule, now, tau)

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the integral of the deviation."""
        return regulator_law(self.robot, now.schedule, now)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, update_period={self.update_period:g})"


def _at(motion: Motion, calls: NDArray[np.intp]) -> Motion:
    return Motion(*(np.asarray(part)[..., calls, :] for part in motion))
