"""Integration with steps that the error controls, run by run at its own pace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.integrators.attempts import IntegrationStatus, Progress, RunState, start
from chasles.integrators.compiled import CompiledIntegrator
from chasles.integrators.integration import Floats, Pieces, evaluate

#: Attempts in the first call of a loop; each further call makes twice as many.
_FIRST_CALL = 32
#: Numbers that one call records, 32 MB.
_RECORDED = 4_000_000


@dataclass(frozen=True)
class Problem:
    """What is integrated, flattened to R runs.

    Attributes
    ----------
    y0
        States at the first time, (R, n).
    times
        Times at which states are wanted, (K,), in the order of the integration.
    parameters
        Parameters, each (R, *shape), or as it is where all runs share it.
    shared
        For each parameter whether all runs share it.
    """

    y0: Floats
    times: Floats
    parameters: tuple[Floats, ...]
    shared: tuple[bool, ...]

    def of(self, runs: Any) -> list[Floats]:
        """Parameters of some runs."""
        return [p if shared else p[runs] for p, shared in zip(self.parameters, self.shared, strict=True)]


@dataclass(frozen=True)
class DenseSolution:
    """States (R, K, n), what became of the runs, (R,) each, and the polynomials of the steps."""

    y: Floats
    t: Floats
    status: NDArray[np.int64]
    steps: NDArray[np.int64]
    rejections: NDArray[np.int64]
    pieces: Pieces | None = None


@dataclass
class _Kept:
    """Steps of all runs in the order in which they were made."""

    runs: list[NDArray[np.int64]] = field(default_factory=list)
    begin: list[Floats] = field(default_factory=list)
    end: list[Floats] = field(default_factory=list)
    y: list[Floats] = field(default_factory=list)
    interpolant: list[Floats] = field(default_factory=list)

    def pieces(self, count: int) -> Pieces:
        runs = np.concatenate(self.runs)
        order = np.argsort(runs, kind="stable")
        first = np.searchsorted(runs[order], np.arange(count + 1))
        arrays = (np.concatenate(part)[order] for part in (self.begin, self.end, self.y, self.interpolant))
        return Pieces(first, *arrays)


def integrate_adaptively(
    compiled: CompiledIntegrator, problem: Problem, rtol: float, atol: Floats, max_steps: int, dense: bool
) -> DenseSolution:
    """Integrate all runs, as many at a time as memory bears.

    Parameters
    ----------
    compiled
        Loops of a method with an error estimate.
    problem
        Initial states, times and parameters.
    rtol, atol
        Relative tolerance, and absolute ones (n,).
    max_steps
        Attempts of a run before it is given up.
    dense
        Whether all steps are kept.
    """
    count, n = problem.y0.shape
    y = np.full((count, problem.times.size, n), np.nan)
    y[:, 0] = problem.y0
    progress = Progress(*np.zeros((len(Progress._fields), count)))
    kept = _Kept()
    size = len(Progress._fields) + n + n * 4
    block = max(1, _RECORDED // (size * _FIRST_CALL))
    for first in range(0, count, block):
        runs = np.arange(first, min(first + block, count))
        _run_block(compiled, problem, runs, (rtol, atol), max_steps, y, progress, kept if dense else None)
    status = np.where(
        progress.status == IntegrationStatus.RUNNING, int(IntegrationStatus.TOO_MANY_STEPS), progress.status.astype(int)
    )
    pieces = kept.pieces(count) if dense else None
    return DenseSolution(y, progress.t, status, progress.steps.astype(int), progress.rejections.astype(int), pieces)


def _run_block(
    compiled: CompiledIntegrator,
    problem: Problem,
    runs: NDArray[np.int64],
    tolerances: tuple[float, Floats],
    max_steps: int,
    y: Floats,
    progress: Progress,
    kept: _Kept | None,
) -> None:
    """Advance some runs to the end; runs that are done leave the batch."""
    t_start, t_end = problem.times[0], problem.times[-1]
    h = compiled.first_step(t_start, problem.y0[runs], t_end, *tolerances, *problem.of(runs))
    state = start(t_start, np.broadcast_to(h, runs.shape), problem.y0[runs])
    saved = np.ones(len(runs), dtype=int)
    done, attempts = 0, _FIRST_CALL
    while runs.size and done < max_steps:
        width = (len(Progress._fields) + y.shape[-1]) * 5
        attempts = max(1, min(attempts, max_steps - done, _RECORDED // (width * runs.size)))
        state, before, interpolant = compiled.attempts(
            state, np.zeros((attempts, 1)), t_end, *tolerances, *problem.of(runs)
        )
        ends = np.concatenate([before.progress.t[:, 1:], state.progress.t[:, None]], axis=1)
        saved = _save(problem.times, before, ends, interpolant, runs, saved, y)
        if kept is not None:
            _keep(before, ends, interpolant, runs, kept)
        for whole, of_block in zip(progress, state.progress, strict=True):
            whole[runs] = of_block
        running = state.progress.status == IntegrationStatus.RUNNING
        state = RunState(Progress(*(part[running] for part in state.progress)), state.y[running])
        runs, saved = runs[running], saved[running]
        done += attempts
        attempts *= 2


def _save(
    times: Floats,
    before: RunState,
    ends: Floats,
    interpolant: Floats,
    runs: NDArray[np.int64],
    saved: NDArray[np.int64],
    y: Floats,
) -> NDArray[np.int64]:
    """Fill in the states at the times that the steps passed; return how many each run has now."""
    direction = 1.0 if times[-1] > times[0] else -1.0
    passed = np.searchsorted(direction * times, direction * ends.ravel(), side="right").reshape(ends.shape)
    new = np.diff(passed, axis=1, prepend=saved[:, None]).ravel()
    steps = np.repeat(np.arange(new.size), new)
    gained = passed[:, -1] - saved
    rows = np.repeat(np.arange(len(runs)), gained)
    columns = np.arange(rows.size) - np.repeat(np.cumsum(gained) - gained, gained) + saved[rows]
    y[runs[rows], columns] = evaluate(
        before.y.reshape(-1, before.y.shape[-1]),
        interpolant.reshape(-1, *interpolant.shape[-2:]),
        before.progress.t.ravel(),
        ends.ravel(),
        steps,
        times[columns],
    )
    return np.asarray(passed[:, -1])


def _keep(before: RunState, ends: Floats, interpolant: Floats, runs: NDArray[np.int64], kept: _Kept) -> None:
    """Keep the steps that led on."""
    begin = before.progress.t
    rows, columns = np.nonzero(ends != begin)
    kept.runs.append(runs[rows])
    kept.begin.append(begin[rows, columns])
    kept.end.append(ends[rows, columns])
    kept.y.append(before.y[rows, columns])
    kept.interpolant.append(interpolant[rows, columns])
