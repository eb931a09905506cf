"""Integration with steps of a fixed length."""

from __future__ import annotations

import numpy as np

from chasles.integrators.adaptive import DenseSolution, Problem
from chasles.integrators.attempts import IntegrationStatus
from chasles.integrators.compiled import CompiledIntegrator
from chasles.integrators.integration import Floats, Pieces


def grid(times: Floats, steps: int) -> Floats:
    """Begin and length of each step (S, 2), of so many from one time to the next."""
    h = np.repeat(np.diff(times) / steps, steps)
    begin = np.repeat(times[:-1], steps) + h * np.tile(np.arange(steps), times.size - 1)
    return np.stack([begin, h], axis=-1)


def integrate_with_fixed_steps(
    compiled: CompiledIntegrator, problem: Problem, steps: int, dense: bool
) -> DenseSolution:
    """Integrate all runs in so many steps from one time to the next.

    Parameters
    ----------
    compiled
        Loops of a method.
    problem
        Initial states, times and parameters.
    steps
        Number of steps between two times.
    dense
        Whether the polynomials inside the steps are kept.
    """
    times, y0 = problem.times, problem.y0
    given = grid(times, steps)
    begin = given[:, 0]
    pieces = None
    if dense:
        final, y, interpolant = compiled.fixed_dense(y0, given[:, None], *problem.parameters)
        count, number = y.shape[:2]
        ends = np.append(begin[1:], times[-1])
        pieces = Pieces(
            number * np.arange(count + 1),
            np.tile(begin, count),
            np.tile(ends, count),
            y.reshape(-1, y.shape[-1]),
            interpolant.reshape(-1, *interpolant.shape[-2:]),
        )
        y = y[:, ::steps]
    else:
        final, y = compiled.fixed(y0, given.reshape(times.size - 1, steps, 2), *problem.parameters)
    states = np.concatenate([y, final[:, None]], axis=1)
    finite = np.isfinite(states).all(axis=-1)
    # From the first state that is not finite on nothing is known.
    finite = np.logical_and.accumulate(finite, axis=1)
    states[~finite] = np.nan
    reached = finite.sum(axis=1)
    status = np.where(reached == times.size, int(IntegrationStatus.ARRIVED), int(IntegrationStatus.NOT_FINITE))
    last = times[np.minimum(reached, times.size - 1)]
    step_counts = np.full(len(y0), steps * (times.size - 1))
    return DenseSolution(states, last, status, step_counts, np.zeros_like(step_counts), pieces)
