"""Equations of motion of a log, linear in what is unknown: base parameters and friction of each joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.identification.filtering import Signals
from chasles.identification.friction import friction_column, friction_slope
from chasles.mechanics.base_parameters import BaseParameters
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

REFERENCE_STATES = 200
REFERENCE_SPEED, REFERENCE_ACCELERATION = 1.0, 5.0
"""Motions, in rad/s and rad/s², at which the size of a parameter's torque is judged."""
PRIOR_WIDTH = 3.0
"""A parameter is not expected to cause more than this many times the largest measured effort."""

Terms = Mapping[str, tuple[str, ...]]
"""Friction of each joint, by its name: the columns of its terms; see `columns_of`."""


@dataclass(frozen=True)
class UnknownNames:
    """Names and order of the unknowns of an identification.

    Attributes
    ----------
    base
        Base parameters of the robot; those of friction are replaced by `terms`.
    inertial
        Indices of the base parameters that are unknown here: all but those of friction.
    terms
        Columns of the friction of each joint.
    """

    base: BaseParameters
    inertial: NDArray[np.intp]
    terms: Terms

    @property
    def friction(self) -> list[tuple[int, str]]:
        """Joint and column of each friction unknown, in order."""
        return [(joint, term) for joint, own in enumerate(self.terms.values()) for term in own]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all unknowns."""
        joints = list(self.terms)
        return (
            *(self.base.names[k] for k in self.inertial),
            *(f"{joints[joint]}.{term}" for joint, term in self.friction),
        )

    def of_joint(self, joint: int) -> list[int]:
        """Indices of one joint's friction unknowns."""
        return [len(self.inertial) + k for k, (own, _) in enumerate(self.friction) if own == joint]


def unknowns(robot: Robot, terms: Terms) -> UnknownNames:
    """Unknowns of a robot with these friction terms."""
    base = robot.inertial.base()
    inertial = [k for k, name in enumerate(base.names) if not name.endswith(("viscous_friction", "coulomb_friction"))]
    return UnknownNames(base, np.array(inertial, dtype=np.intp), terms)


class TorqueEquations:
    """Regressor and efforts of filtered signals.

    Parameters
    ----------
    robot, unknowns
        Robot and what is unknown of it.
    signals
        Filtered log.
    coupling
        Motor rates from joint rates, shape (n, n); friction acts at the motors. See `chasles.Log`.
    end
        Time at which the fitted part of the log ends, s; default: the end of the signals.

    Attributes
    ----------
    unknowns
        Unknowns given.
    columns
        Filtered columns of the inertial unknowns at the kept samples, shape (k, n, inertial).
    effort
        Filtered efforts, shape (k, n).
    moving, saturated
        Shapes (k, n).
    segments
        Slices of the kept samples without gaps.
    hours
        Time of all samples of the signals after `end`, shape (samples,), h.
    """

    def __init__(
        self, robot: Robot, unknowns: UnknownNames, signals: Signals, coupling: FloatArray, end: float | None = None
    ) -> None:
        self.unknowns = unknowns
        self.hours = (signals.time - (signals.time[-1] if end is None else end)) / 3600.0
        self.signals = signals
        self.coupling = coupling
        self.motor_rates = signals.qd @ coupling.T
        self._angles = signals.q @ coupling.T
        self.kept = signals.kept()
        columns = tuple(unknowns.base.independent[unknowns.inertial].tolist())
        self._raw = np.asarray(robot.regressors.torque(signals.q, signals.qd, signals.qdd, columns=columns))
        self.columns = signals.filter(self._raw)[self.kept]
        self.effort = signals.effort[self.kept]
        self.moving, self.saturated = signals.moving[self.kept], signals.saturated[self.kept]
        ends = [int(np.searchsorted(self.kept, part.stop)) for part in signals.segments]
        starts = [int(np.searchsorted(self.kept, part.start)) for part in signals.segments]
        self.segments = tuple(slice(a, b) for a, b in zip(starts, ends, strict=True) if b > a)

    def load(self, inertial: FloatArray) -> FloatArray:
        """Torques without friction at all samples of the signals, shape (samples, n)."""
        return np.asarray(self._raw @ inertial)

    def friction(self, unknowns: UnknownNames, v0: FloatArray, load: FloatArray) -> FloatArray:
        """Filtered columns of the friction unknowns at the kept samples, shape (k, n, friction)."""
        parts = unknowns.friction
        raw = np.empty((len(self.signals.time), self.effort.shape[1], len(parts)))
        for k, (joint, term) in enumerate(parts):
            if term == "rotor":
                raw[:, :, k] = self._coupled_rotor(joint)
            else:
                rate, angle = self.motor_rates[:, joint], self._angles[:, joint]
                column = friction_column(term, rate, v0[joint], load[:, joint], self.hours, angle)
                raw[:, :, k] = column[:, None] * self.coupling[joint]
        return self.signals.filter(raw)[self.kept]

    def _coupled_rotor(self, joint: int) -> FloatArray:
        """Torques of a unit of rotor inertia by the other joints' accelerations, shape (samples, n)."""
        row = self.coupling[joint]
        return np.asarray((self.signals.qdd @ row)[:, None] * row - self.signals.qdd * row**2)

    def friction_slopes(
        self, unknowns: UnknownNames, values: FloatArray, v0: FloatArray, load: FloatArray
    ) -> FloatArray:
        """Filtered derivatives of the torques by log v0 of each motor at the kept samples, shape (k, n, n)."""
        n = self.effort.shape[1]
        raw = np.empty((len(self.signals.time), n, n))
        for joint, own in enumerate(unknowns.terms.values()):
            coefficients = values[unknowns.of_joint(joint)]
            rate, angle = self.motor_rates[:, joint], self._angles[:, joint]
            slope = friction_slope(own, coefficients, rate, v0[joint], load[:, joint], angle)
            raw[:, :, joint] = slope[:, None] * self.coupling[joint]
        return self.signals.filter(raw)[self.kept]


def plausible_sizes(robot: Robot, unknowns: UnknownNames, effort: FloatArray) -> FloatArray:
    """Largest plausible size of each unknown, shape (unknowns,): more would cause efforts far beyond the measured ones.

    Efforts are those of moderate motions (1 rad/s, 5 rad/s²) all over the robot's range.
    """
    rng = np.random.default_rng(0)
    lower = np.maximum(robot.lower_limits, -np.pi)
    upper = np.minimum(robot.upper_limits, np.pi)
    q = rng.uniform(lower, upper, (REFERENCE_STATES, robot.n))
    qd = REFERENCE_SPEED * rng.normal(size=q.shape)
    qdd = REFERENCE_ACCELERATION * rng.normal(size=q.shape)
    columns = unknowns.base.columns(robot.regressors.torque(q, qd, qdd))[:, :, unknowns.inertial]
    effects = np.sqrt(np.mean(columns**2, axis=0))
    largest = np.abs(effort).max(axis=0)
    largest = np.maximum(largest, 1e-3 * largest.max(initial=0.0)) + 1e-300
    with np.errstate(divide="ignore"):
        sizes = np.min(np.where(effects > 1e-12, largest[:, None] / effects, np.inf), axis=0)
    of_friction = [largest[joint] / (largest[joint] if term == "load" else 1.0) for joint, term in unknowns.friction]
    return np.asarray(PRIOR_WIDTH * np.concatenate([np.where(np.isfinite(sizes), sizes, 1.0), of_friction]))
