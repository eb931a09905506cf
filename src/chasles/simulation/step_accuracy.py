"""Whether the steps of a run are short enough: which runs to repeat with error control, and which to warn of."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import warn
from chasles.base.findings import Finding, Rule
from chasles.simulation.compiled_loops import compiled_function
from chasles.simulation.loop_programs import scan
from chasles.simulation.preparation import Prepared
from chasles.simulation.stiffness import StiffnessWarning

Floats = NDArray[np.float64]

#: Sum of the errors of all steps, relative to the largest velocity of the run, from which a run is repeated: a
#: hundredth of what is warned of, so that repeated and kept runs of a batch can be compared.
TOLERATED = 1e-4
_SENTENCE = (
    "steps of {step:g} s are too long for the motion of robot '{robot}': '{method}' misses about {size} of the largest "
    "velocity; use integrator=chasles.integrators.Steps('{method}', {enough}) or {other}"
)
COARSE_STEPS = Rule(
    "coarse-steps", 0.01, "friction and payloads are seldom known to 1 %, and smaller errors hide in theirs", _SENTENCE,
    "caution",
)  # fmt: skip
COARSE_STEPS_OF_LOW_ORDER = Rule(
    "coarse-steps", 0.03, "methods of order 1 or 2 are chosen for coarse steps", _SENTENCE, "caution"
)
COARSE_STEPS_BY_ESTIMATE = Rule(
    "coarse-steps", 0.03, "the sum of the steps' estimates tends to be too large, up to ten times", _SENTENCE, "caution"
)
#: Velocities below it are rest, rad/s and m/s.
_REST = 1e-6
#: Runs of a batch that are repeated in half the steps to see what a method of the user's choice misses.
_LOOKED_AT = 2


def step_errors(ready: Prepared, state: Floats, qd: Floats) -> Floats:
    """Return the sums of the errors of all steps of each run, (*batch,), relative to its largest velocity.

    Parameters
    ----------
    ready
        Simulation whose loop estimates errors.
    state
        States at the end, (*batch, size).
    qd
        Recorded velocities, (*batch, samples, n).
    """
    sums = ready.loop.layout.split(state).plant.step_errors
    with np.errstate(over="ignore", invalid="ignore"):
        fastest = np.sqrt(np.einsum("...i,...i->...", qd, qd).max(axis=-1))
        relative = sums.velocities / np.maximum(fastest, _REST)
        return np.asarray(np.maximum(relative, sums.quaternions))


def runs_to_repeat(ready: Prepared, state: Floats, qd: Floats) -> NDArray[np.bool_]:
    """Return which runs, (*batch,), miss more than is tolerated.

    Runs that a controller made diverge do not count: shorter steps would not help them. Runs of which the first samples
    miss too much, while they are no faster than twice their start, are not made to diverge by a controller.
    """
    errors = step_errors(ready, state, qd)
    known = np.isfinite(errors)
    if not known.all() and ready.loop.is_controlled:
        errors = np.where(known, errors, 0.0)
        errors[~known] = _errors_at_first(ready, qd, ~known)
        known = np.isfinite(errors)
    return np.asarray((errors > TOLERATED) & known | (~known & (not ready.loop.is_controlled)))


def _errors_at_first(ready: Prepared, qd: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Step errors of some runs of a batch, up to the last sample at which none is faster than twice its start."""
    loop, batch = ready.loop, qd.shape[:-2]
    if ready.compiled is None:
        return np.zeros(int(chosen.sum()))
    with np.errstate(over="ignore", invalid="ignore"):
        speed = np.linalg.norm(qd[chosen], axis=-1)
        calm = (speed <= 2.0 * speed[..., :1]).all(axis=0)
    rows = int(np.argmin(calm)) if not calm.all() else len(calm)
    given = loop.inputs.given(ready.times[: max(rows - 1, 1)], 0)
    values = {
        name: np.broadcast_to(value, (*batch, *loop.shapes[name]))[chosen] for name, value in ready.values.items()
    }
    inputs = np.broadcast_to(given, (*batch, *given.shape[-3:]))[chosen]
    state, *_ = ready.compiled(ready.state[chosen], inputs, *loop.packed(values))
    return step_errors(ready, state, qd[chosen][..., : max(rows, 1), :])


def plain_law_findings(ready: Prepared, state: Floats, qd: Floats) -> tuple[Finding, ...]:
    """Find, and warn of, a run that cannot be repeated, because its law, in plain Python, may remember its calls."""
    error = float(np.nanmax(step_errors(ready, state, qd), initial=0.0))
    return _found(ready, error, COARSE_STEPS_BY_ESTIMATE)


def step_findings(ready: Prepared, state: Floats, qd: Floats) -> tuple[Finding, ...]:
    """Find, and warn of, steps of the user's choice that are too long: few runs are repeated in steps half as long.

    Who ignores the warning pays for no repetition, and gets no finding.
    """
    loop, batch = ready.loop, qd.shape[:-2]
    if ready.compiled is None or ready.stiff or isinstance(loop.integrator, str) or loop.substeps is None:
        return ()
    if _is_ignored(StiffnessWarning):
        return ()
    rule = COARSE_STEPS if loop.integrator.order > 2 else COARSE_STEPS_OF_LOW_ORDER
    with np.errstate(over="ignore", invalid="ignore"):
        if loop.estimates_errors:
            suspicion = step_errors(ready, state, qd).ravel()
            suspects = np.flatnonzero(suspicion > rule.limit)
        else:
            suspicion = np.einsum("...i,...i->...", qd, qd).max(axis=-1).ravel()
            suspects = np.flatnonzero(np.isfinite(suspicion))
    chosen = suspects[np.argsort(suspicion[suspects])[-_LOOKED_AT:]]
    errors = [_error_of(ready, np.unravel_index(run, batch) if batch else (), qd) for run in chosen]
    return _found(ready, max(errors, default=0.0), rule)


def _is_ignored(kind: type[Warning]) -> bool:
    """Whether a filter for all modules ignores warnings of a kind."""
    for action, message, category, module, _ in warnings.filters:
        if message is None and module is None and issubclass(kind, category):
            return action == "ignore"
    return False


def _error_of(ready: Prepared, run: tuple[np.intp, ...], qd: Floats) -> float:
    """Error of the velocities of a run, the root of the mean square over time, relative to the largest velocity.

    By Richardson's extrapolation: a run in steps half as long misses 1 / 2ᵖ of it, with the order p of the method.
    """
    loop, batch = ready.loop, ready.state.shape[:-1]
    if isinstance(loop.integrator, str) or loop.substeps is None:
        return 0.0
    half = replace(loop, substeps=2 * loop.substeps, estimates_errors=False)
    given = loop.inputs.given(ready.times, 0)
    values = {name: np.broadcast_to(value, (*batch, *loop.shapes[name]))[run] for name, value in ready.values.items()}
    finer = compiled_function(half, scan)(
        ready.in_loop(half).state[run],
        np.broadcast_to(given, (*batch, *given.shape[-3:]))[run],
        *half.packed(values),
    )[2]
    units = np.array(loop.plant.robot.description.velocity_units)
    share = 2.0**loop.integrator.order / (2.0**loop.integrator.order - 1.0)
    worst = 0.0
    for unit in sorted(set(units)):
        reached = finer[:, units == unit]
        missed = share * np.linalg.norm(reached - qd[run][:, units == unit], axis=-1)
        fastest = max(float(np.linalg.norm(reached, axis=-1).max()), _REST)
        worst = max(worst, math.sqrt(float(np.mean(missed**2))) / fastest)
    return worst if math.isfinite(worst) else 0.0


def _found(ready: Prepared, error: float, rule: Rule) -> tuple[Finding, ...]:
    loop, method = ready.loop, ready.loop.integrator
    if isinstance(method, str) or loop.substeps is None or error <= rule.limit:
        return ()
    findings = rule.told(
        error,
        step=loop.period / loop.substeps,
        robot=loop.plant.name,
        method=method.name,
        size=f"{error:.2g}" if error < 1.0 else "all",
        enough=loop.substeps * max(2, math.ceil((10.0 * error / COARSE_STEPS.limit) ** (1.0 / method.order))),
        other="integrator='dormand-prince'" if ready.automatic else "leave the integrator out",
    )
    warn(str(findings[0]), StiffnessWarning)
    return findings
