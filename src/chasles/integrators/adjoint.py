"""Derivatives of an integration by initial state and parameters: the adjoint of its steps, run backward.

The steps are those that the integration took, and their lengths count as constant, so the result is the derivative of
what was computed (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.6). States between
the ends of steps are those of the interpolant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, Layout, Record, trace
from chasles.engine.adjoints import LoopAdjoint
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.adaptive import Problem, integrate_adaptively
from chasles.integrators.arguments import GivenParameters
from chasles.integrators.compiled import CompiledIntegrator
from chasles.integrators.fixed import grid
from chasles.integrators.integration import Floats, Pieces
from chasles.integrators.integrator import interpolant_of


class InitialValueGradient(NamedTuple):
    """Derivatives of a number by the initial state and the parameters of each run; NaN for runs that failed.

    Attributes
    ----------
    y0
        By the initial state, (*batch, n), or a mapping of its parts.
    parameters
        By the parameters, each (*batch, *shape): a tuple in their order, or a mapping if they were given by name.
    """

    y0: Floats | Record
    parameters: tuple[Floats, ...] | dict[str, Floats]


@dataclass(frozen=True, eq=False)
class IntegrationAdjoint:
    """An integration that can be differentiated.

    Attributes
    ----------
    compiled
        Loops of the method.
    problem
        What was integrated.
    given
        Names and shapes of the parameters.
    layout, batch
        Parts of the state, and shape of the batch.
    steps
        Number of steps between two times, where the error does not control them.
    controlled
        Relative and absolute tolerance and the largest number of attempts, where the error controls the steps.
    arrived
        Whether each run reached the last time, (R,).
    named
        Whether the parameters were given by name.
    """

    compiled: CompiledIntegrator
    problem: Problem
    given: GivenParameters
    layout: Layout
    batch: tuple[int, ...]
    steps: int
    controlled: tuple[float, Floats, int] | None
    arrived: NDArray[np.bool_]
    named: bool

    def __call__(self, of_y: Floats) -> InitialValueGradient:
        """Return the derivatives for those by all states (*batch, K, n)."""
        of_start, of_parameters = self._of_runs(of_y.reshape(-1, *of_y.shape[-2:]))
        parts = tuple(np.reshape(part, (*self.batch, *part.shape[1:])) for part in of_parameters)
        by_name = dict(zip(self.given.names, parts, strict=True)) if self.named else parts
        return InitialValueGradient(self.layout.split(of_start.reshape(*self.batch, -1)), by_name)

    def _of_runs(self, of_y: Floats) -> tuple[Floats, tuple[Floats, ...]]:
        """Return the adjoints of initial states (R, n) and parameters (R, *shape), for those of states (R, K, n)."""
        names = ["y", *(f"parameters.{k}" for k in range(len(self.given.shapes)))]
        adjoint = LoopAdjoint(self.compiled.fixed.kernel, names, "float64")
        direct: Sequence[Floats] = [np.zeros(())] * len(self.given.shapes)
        if self.controlled is None:
            rows = grid(self.problem.times, self.steps).reshape(-1, self.steps, 2)
            of_end, of_samples = of_y[:, -1], of_y[:, :-1]
        else:
            rows, of_samples, direct = self._along_own_steps(of_y, self.controlled)
            of_end = np.zeros(self.problem.y0.shape)
        found = adjoint(self.problem.y0, rows, *self.problem.parameters, of_end, of_samples)
        of_start, *of_parameters = found if isinstance(found, tuple) else (found,)
        runs = len(of_y)
        summed = (each + more for each, more in zip(of_parameters, direct, strict=True))
        shaped = (np.broadcast_to(each, (runs, *shape)) for each, shape in zip(summed, self.given.shapes, strict=True))
        return self._arrived(of_start), tuple(map(self._arrived, shaped))

    def _arrived(self, adjoint: Floats) -> Floats:
        """Return adjoints (R, *shape) with NaN for the runs that failed."""
        return np.where(self.arrived.reshape(-1, *[1] * (adjoint.ndim - 1)), adjoint, np.nan)

    def _along_own_steps(
        self, of_y: Floats, controlled: tuple[float, Floats, int]
    ) -> tuple[Floats, Floats, list[Floats]]:
        """Return the steps of each run, adjoints of the states before them, and of the parameters within them."""
        problem = self.problem
        pieces = integrate_adaptively(self.compiled, problem, *controlled, True).pieces
        assert pieces is not None
        runs, n = problem.y0.shape
        counts = np.diff(pieces.first)
        rows = np.zeros((runs, max(1, int(counts.max())), 2))  # a step of no length changes nothing
        place = np.repeat(np.arange(runs), counts), np.arange(counts.sum()) - np.repeat(pieces.first[:-1], counts)
        rows[place] = np.stack([pieces.begin, pieces.end - pieces.begin], axis=-1)
        run, step, at = _steps_at(pieces, problem.times)
        within = rows[run, step]
        theta = (problem.times[at] - within[:, 0]) / within[:, 1]
        y = pieces.y[pieces.first[run] + step]
        pulled = self._within(within[:, 0], within[:, 1], theta, y, *problem.of(run), of_y[run, at])
        of_begin, *of_parameters = pulled if isinstance(pulled, tuple) else (pulled,)
        samples = np.zeros((*rows.shape[:2], n))
        np.add.at(samples, (run, step), of_begin)
        direct = [np.zeros((runs, *shape)) for shape in self.given.shapes]
        for total, part in zip(direct, of_parameters, strict=True):
            np.add.at(total, run, part)
        return rows[:, :, None], samples, direct

    @property
    def _within(self) -> Callable[..., Any]:
        """Adjoint of a state within a step: (t, h, θ, y, *parameters, adjoint) -> adjoints of y and parameters."""
        compiled, n = self.compiled, self.compiled.n

        def state(t: Real, h: Real, theta: Real, y: Array, *parameters: Real) -> Array:
            f = compiled.right_hand_side(parameters)
            interpolant, value = interpolant_of(compiled.integrator.step(f, t, y, h), f, t, y, h), np.zeros(n)
            for coefficients in interpolant[::-1]:
                value = (value + coefficients) * theta
            return np.asarray(y + value)

        further = {f"parameters.{k}": shape for k, shape in enumerate(self.given.shapes)}
        program = trace(state, {"t": (), "h": (), "theta": (), "y": (n,), **further}, name="within", outputs=["state"])
        return Function(program).vjp(wrt=["y", *further])


def _steps_at(pieces: Pieces, times: Floats) -> tuple[Any, ...]:
    """Return run, its step and index of the time, of all times that the runs reached."""
    direction, found = np.sign(times[-1] - times[0]), []
    for run, (first, stop) in enumerate(zip(pieces.first[:-1], pieces.first[1:], strict=True)):
        step = np.searchsorted(direction * pieces.end[first:stop], direction * times)
        at = np.flatnonzero(step < stop - first)
        found.append((np.full(len(at), run), step[at], at))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))
