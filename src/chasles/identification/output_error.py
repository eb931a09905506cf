"""Gauss-Newton on a simulated closed loop beside its log: unknowns, simulated outputs, steps that shorten themselves.

Sensitivities are exact: the loop is differentiated in forward mode (`chasles.simulation.sensitivities`), along the
steps that the error controls where it does.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import Controller
from chasles.engine.validators import real
from chasles.identification.filtering import Signals, filtered_like
from chasles.identification.logs.log import Log
from chasles.identification.regression import HUBER, Prior, WeightedFit, weighted_fit
from chasles.integrators import Integrator, Steps, Within
from chasles.model import parameter_value
from chasles.model.placement import FloatArray
from chasles.simulation import DivergenceWarning, SaturationWarning, State, StickingWarning
from chasles.simulation.plant import Plant
from chasles.simulation.preparation import Setup
from chasles.simulation.sensitivities import Sensitivities, sensitivities
from chasles.simulation.simulate import simulated

if TYPE_CHECKING:
    from chasles.simulation.results import Run  # needs xarray

SPREAD = 1.0
"""Prior deviation of the logarithm of a positive parameter: a factor of 2.7 up or down."""
STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
ITERATIONS = 40
CONVERGED = 1e-4
"""Change of all unknowns, in standard errors, at which the iteration ends."""


@dataclass(frozen=True, eq=False)
class FreeParameters:
    """Numbers to find: logarithms of positive parameters, others as they are."""

    names: tuple[str, ...]
    first: Mapping[str, FloatArray]
    is_log: NDArray[np.bool_]
    prior: Prior

    @classmethod
    def of(cls, plant: Plant, parameters: Sequence[str] | Mapping[str, float]) -> FreeParameters:
        """Unknown parameters of a plant by name, with prior knowledge of them."""
        if isinstance(parameters, str):
            raise ArgumentError(f"parameters must be a list of names or a mapping, not the text {parameters!r}")
        first: dict[str, FloatArray] = {}
        for name in parameters:
            if name not in plant.parameters:
                raise UnknownNameError("parameter of the plant", name, plant.parameters)
            own = plant.values.get(name)
            first[name] = (
                parameter_value(plant.robot.description, name) if own is None else np.asarray(own, dtype=float)
            )
        if not first:
            raise ArgumentError("there are no parameters to refine")
        flat = np.concatenate([value.ravel() for value in first.values()])
        is_log = flat > 0.0
        given = dict(parameters) if isinstance(parameters, Mapping) else {}
        spread = np.concatenate(
            [
                np.full(value.size, real(given.get(name, SPREAD), f"deviation of '{name}'", above=0.0))
                for name, value in first.items()
            ]
        )
        labels = tuple(
            name + (f"[{', '.join(map(str, index))}]" if value.ndim else "")
            for name, value in first.items()
            for index in np.ndindex(value.shape)
        )
        start = np.where(is_log, np.log(np.where(is_log, flat, 1.0)), flat)
        return cls(labels, first, is_log, Prior(start, spread))

    def numbers(self, x: FloatArray) -> FloatArray:
        """Parameters (..., p) of unknowns (..., p)."""
        return np.where(self.is_log, np.exp(np.where(self.is_log, x, 0.0)), x)

    def values(self, x: FloatArray) -> dict[str, FloatArray]:
        """Arrays by name, for ``vary=``, from unknowns (..., p)."""
        flat, start, values = self.numbers(x), 0, {}
        for name, first in self.first.items():
            values[name] = flat[..., start : start + first.size].reshape((*x.shape[:-1], *first.shape))
            start += first.size
        return values


@dataclass(frozen=True, eq=False)
class ReplayedLoop:
    """The closed loop beside its log."""

    plant: Plant
    law: Controller
    motion: Any
    log: Log
    signals: Signals
    unknowns: FreeParameters
    outputs: Sequence[str]
    period: float
    share: float
    velocity: FloatArray | None
    integrator: str | Integrator | Steps | Within

    @property
    def measured(self) -> FloatArray:
        """Filtered outputs of the log at the samples that are kept, (k, outputs)."""
        own = {"q": self.signals.q, "tau": self.signals.effort}
        return np.concatenate([own[name] for name in self.outputs], axis=1)[self.signals.kept()]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(f"{name} of {joint}" for name in self.outputs for joint in self.plant.robot.joint_names)

    def simulated(self, x: FloatArray) -> FloatArray:
        """Outputs of the simulation, sampled and filtered as the log was, (..., k, outputs), for unknowns (..., p)."""
        time = self.log.time - self.log.time[0]
        values = self.unknowns.values(np.atleast_2d(x))
        run = self._run(values, float(time[-1]) + self.period, self._start(values))
        found = self._as_logged(run["time"].values, {str(name): run[name].values for name in run})
        return found.reshape(*x.shape[:-1], *self.measured.shape)

    def linearized(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Outputs (k, outputs) and their derivatives (k, outputs, p) by the unknowns (p,)."""
        rates = np.where(self.unknowns.is_log, np.exp(np.where(self.unknowns.is_log, x, 0.0)), 1.0)
        first = self._sensitivities(x, self.period, self.log.q[0], 0.0)
        seen, shown = (
            found["q_measured"][..., 0, :] - found["q"][..., 0, :] if "q_measured" in found else 0.0
            for found in (first.values, first.slopes)
        )
        slopes = np.broadcast_to(-np.asarray(shown), (len(x), self.plant.robot.nq))
        duration = float(self.log.time[-1] - self.log.time[0]) + self.period
        found = self._sensitivities(x, duration, self.log.q[0] - seen, slopes)
        both = {name: np.concatenate([found.values[name][None], found.slopes[name]]) for name in found.values}
        outputs = self._as_logged(found.time, both)
        return outputs[0], (outputs[1:] * rates[:, None, None]).transpose(1, 2, 0)

    def _sensitivities(self, x: FloatArray, duration: float, q: FloatArray, slopes: ArrayLike) -> Sensitivities:
        with _quiet():
            return sensitivities(
                self.plant,
                self.law,
                self.motion,
                self.unknowns.values(x),
                duration=duration,
                period=self.period,
                start=State(q, self.velocity),
                start_slopes=slopes,
                integrator=self.integrator,
            )

    def _start(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Configurations in which the simulated encoders show the log's first sample.

        Encoders may sit on the motors' side of elastic joints; these begin where the log does.
        """
        start = self._run(values, self.period, self.log.q[0])
        deflection = (start["q_measured"] - start["q"]).values[:, 0] if "q_measured" in start else 0.0
        return np.asarray(self.log.q[0] - deflection)

    def _as_logged(self, clock: FloatArray, recorded: Mapping[str, FloatArray]) -> FloatArray:
        """Outputs (batch, k, outputs) of recorded variables, at the log's times, filtered as the log was."""
        time = self.log.time - self.log.time[0]
        names = ["q_measured" if name == "q" and "q_measured" in recorded else name for name in self.outputs]
        raw = np.concatenate([recorded[name] for name in names], axis=2)
        kept = self.signals.kept()
        results = []
        for one in raw:
            sampled = np.stack([np.interp(time, clock - clock[0], column) for column in one.T], axis=1)
            results.append(
                filtered_like(self.log, self.signals, sampled)[kept]
                if np.isfinite(sampled).all()
                else np.full_like(self.measured, np.nan)
            )
        return np.stack(results)

    def _run(self, values: Mapping[str, FloatArray], duration: float, q: FloatArray) -> Run:
        start = State(q, self.velocity)
        setup = Setup(self.plant, self.law, self.motion, duration, self.period, start, self.integrator)
        with _quiet():
            return simulated(setup, values, progress=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Trial values may diverge or saturate; only the ones found matter."""
    with warnings.catch_warnings():
        for category in (DivergenceWarning, SaturationWarning, StickingWarning):
            warnings.simplefilter("ignore", category)
        yield


@dataclass(frozen=True, eq=False)
class OutputErrorFit:
    """Unknowns at the end of the iteration, and the residuals of all samples before and after it."""

    loop: ReplayedLoop
    used: NDArray[np.bool_]
    x: FloatArray
    A: FloatArray
    fit: WeightedFit
    before: FloatArray

    @property
    def cost(self) -> float:
        """Sum of squares of the fitted part, of each output relative to its variation."""
        return float(np.sum((np.where(self.used, self.fit.residuals, 0.0) / variation(self.loop.measured)) ** 2))


def fitted(loop: ReplayedLoop) -> OutputErrorFit | None:
    """Gauss-Newton with the weights of `weighted_fit`; each step is shortened until the sum of squares falls.

    None if the simulation with the first values diverges.
    """
    prior, measured = loop.unknowns.prior, loop.measured
    time = loop.signals.time[loop.signals.kept()]
    end = loop.signals.time[0] + loop.share * (loop.signals.time[-1] - loop.signals.time[0])
    used = np.repeat((time <= end)[:, None], measured.shape[1], axis=1)
    x = prior.mean.copy()

    def costs(outputs: FloatArray, x: FloatArray, deviations: FloatArray) -> FloatArray:
        size = np.where(used, np.abs(measured - outputs) / deviations, 0.0)
        loss = np.where(size <= HUBER, size**2, HUBER * (2.0 * size - HUBER)).sum(axis=(-2, -1))
        total = loss + np.sum(((x - prior.mean) / prior.deviation) ** 2, axis=-1)
        return np.asarray(np.where(np.isfinite(total), total, np.inf))

    outputs, A = loop.linearized(x)
    if not np.isfinite(A).all():
        return None
    before = measured - outputs
    deviations = root_mean_square(before, used)
    for _ in range(ITERATIONS):
        fit = weighted_fit(A, measured - outputs + A @ x, used, prior, deviations)
        trials = x + np.array(STEP_LENGTHS)[:, None] * (fit.values - x)
        present = root_mean_square(measured - outputs, used)
        found = costs(loop.simulated(trials), trials, present)
        best = int(np.argmin(found))
        if found[best] >= costs(outputs, x, present) * (1.0 - 1e-10):
            break
        moved, x = trials[best] - x, trials[best]
        following = loop.linearized(x)
        if not np.isfinite(following[1]).all():
            break
        (outputs, A), deviations = following, fit.deviations
        if (np.abs(moved) * np.sqrt(np.diag(fit.information))).max() < CONVERGED:
            break
    fit = weighted_fit(A, measured - outputs + A @ x, used, prior, deviations)
    return OutputErrorFit(loop, used, x, A, replace(fit, values=x, residuals=measured - outputs), before)


def root_mean_square(residuals: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
    """RMS of each output over the samples that are used; NaN if none are."""
    count = used.sum(axis=0)
    squares = np.where(used, residuals, 0.0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=0) / np.where(count, count, np.nan)) + 1e-15)


def variation(measured: FloatArray) -> FloatArray:
    """Standard deviation of each output over the log, by which the outputs are compared."""
    deviation = measured.std(axis=0)
    return np.asarray(np.maximum(deviation, 1e-6 * max(float(deviation.max()), 1e-12)))
