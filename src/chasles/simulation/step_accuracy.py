"""Whether the steps of a run are short enough: which runs to repeat with error control, and which to warn of."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import warn
from chasles.simulation.compiled_loops import compiled_function
from chasles.simulation.loop_programs import scan
from chasles.simulation.preparation import Prepared
from chasles.simulation.stiffness import StiffnessWarning

Floats = NDArray[np.float64]

#: Sum of the errors of all steps, relative to the largest velocity of the run, from which a run is repeated.
TOLERATED = 1e-4
#: Error of the velocities, relative to the largest one, from which a method of the user's choice is warned of: methods
#: of order 1 or 2 are chosen for coarse steps.
_WARNED, _WARNED_OF_LOW_ORDER = 0.01, 0.03
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

    Runs that a controller made diverge do not count: shorter steps would not help them.
    """
    errors = step_errors(ready, state, qd)
    known = np.isfinite(errors)
    return np.asarray((errors > TOLERATED) & known | (~known & (not ready.loop.is_controlled)))


def warn_of_plain_law(ready: Prepared, state: Floats, qd: Floats) -> None:
    """Warn of a run that cannot be repeated, because its law, in plain Python, may remember its calls."""
    error = float(np.nanmax(step_errors(ready, state, qd), initial=0.0))
    if error > _WARNED_OF_LOW_ORDER:  # the estimate alone tends to be ten times too large
        _warn(ready, error)


def warn_of_steps(ready: Prepared, state: Floats, qd: Floats) -> None:
    """Warn of steps of the user's choice that are too long, by a repetition of few runs in steps half as long.

    Who ignores the warning does not pay for it.
    """
    loop, batch = ready.loop, qd.shape[:-2]
    if ready.compiled is None or ready.known_as_stiff or isinstance(loop.integrator, str) or loop.substeps is None:
        return
    if _is_ignored(StiffnessWarning):
        return
    warned = _WARNED if loop.integrator.order > 2 else _WARNED_OF_LOW_ORDER
    with np.errstate(over="ignore", invalid="ignore"):
        if loop.estimates_errors:
            suspicion = step_errors(ready, state, qd).ravel()
            suspects = np.flatnonzero(suspicion > warned)
        else:
            suspicion = np.einsum("...i,...i->...", qd, qd).max(axis=-1).ravel()
            suspects = np.flatnonzero(np.isfinite(suspicion))
    chosen = suspects[np.argsort(suspicion[suspects])[-_LOOKED_AT:]]
    errors = [_error_of(ready, np.unravel_index(run, batch) if batch else (), qd) for run in chosen]
    if errors and max(errors) > warned:
        _warn(ready, max(errors))


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


def _warn(ready: Prepared, error: float) -> None:
    loop, method = ready.loop, ready.loop.integrator
    if isinstance(method, str) or loop.substeps is None:
        return
    enough = loop.substeps * max(2, math.ceil((10.0 * error / _WARNED) ** (1.0 / method.order)))
    other = "integrator='dormand-prince'" if ready.automatic else "leave the integrator out"
    size = f"{error:.2g}" if error < 1.0 else "all"
    warn(
        f"steps of {loop.period / loop.substeps:g} s are too long for the motion of robot '{loop.plant.name}': "
        f"'{method.name}' misses about {size} of the largest velocity; use "
        f"integrator=chasles.integrators.Steps('{method.name}', {enough}) or {other}",
        StiffnessWarning,
    )
