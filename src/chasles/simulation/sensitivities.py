"""Exact sensitivities of closed loops: how a run changes with the parameters of its plant.

The program of one period (sensors, controller, delay, plant) is differentiated in forward mode and scanned together
with its directions; every direction is a lane of the batch. Steps whose length the error controls are those of the run
itself and do not move with the parameters ("internal numerical differentiation", H. G. Bock, "Numerical treatment of
inverse problems in chemical reaction kinetics", Springer 1981), so the result is the derivative of what was computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control import Controller
from chasles.engine import Function, Layout, jvp, trace
from chasles.engine.program.scalar import Array
from chasles.engine.validators import reals
from chasles.integrators import Integrator, Steps, Within
from chasles.robot.robot import Robot
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.compiled_loops import compiled_function
from chasles.simulation.initial_state import State, given_start, parts_with_motion, start_function
from chasles.simulation.integrators import AUTOMATIC
from chasles.simulation.loop_programs import controlled_layout, controlled_scan, scan
from chasles.simulation.plant.plant import Plant
from chasles.simulation.preparation import Prepared, Setup, prepare_without_rounding
from chasles.trajectories.motion import Reference

Floats = NDArray[np.float64]


class Sensitivities(NamedTuple):
    """Run and its derivatives with respect to parameters.

    Attributes
    ----------
    time
        Times of the samples, shape (samples,), s.
    values
        Recorded variables by name, each (samples, …).
    slopes
        Derivatives of the variables with respect to the p parameters, each (p, samples, …).
    """

    time: Floats
    values: Mapping[str, Floats]
    slopes: Mapping[str, Floats]


def sensitivities(
    plant: Robot | Plant,
    law: Controller,
    motion: Reference,
    vary: Mapping[str, Any],
    *,
    duration: float | None = None,
    period: float = 1e-3,
    start: ArrayLike | State | None = None,
    start_slopes: ArrayLike = 0.0,
    integrator: str | Integrator | Steps | Within = AUTOMATIC,
) -> Sensitivities:
    """Simulate a closed loop, and differentiate its samples with respect to varied parameters.

    Where the error controls the steps, their lengths are those that the run chose, and count as constant. Sensors do
    not round: the derivative of rounding is zero.

    Parameters
    ----------
    plant, law, motion, duration, period, start, integrator
        See `chasles.simulate`.
    vary
        Values of parameters by name, as for `chasles.simulate`, without batch axes. Derivatives are with respect to all
        their entries, in this order.
    start_slopes
        Derivatives of the initial configuration with respect to the parameters, shape (p, nq).

    Raises
    ------
    ArgumentError
        The law cannot be compiled, or the integrator is one of SciPy's.

    Examples
    --------
    The torque of a PD controller that holds a payload at the end of a horizontal arm of 1 m grows by 9.81 N·m/kg:

    >>> import chasles as ch
    >>> rod = {"a": 1.0, "mass": 2.0, "center_of_mass": [-0.5, 0.0, 0.0]}
    >>> arm = ch.Robot.from_dh([rod], gravity=[0.0, -9.81, 0.0])
    >>> hold = ch.PointToPoint([0.0], [0.0], duration=1.0)
    >>> law = ch.PDGravity(arm, kp=500.0, kd=50.0)
    >>> found = sensitivities(arm, law, hold, {"payload.mass": 0.0}, duration=6.0, period=0.01)
    >>> round(float(found.slopes["tau"][0, -1, 0]), 3)
    9.81
    """
    count = sum(np.size(value) for value in vary.values())
    slopes = reals(start_slopes, "start_slopes", (count, "nq")) if np.ndim(start_slopes) else np.zeros((count, 1))
    ready = prepare_without_rounding(Setup(plant, law, motion, duration, period, start, integrator), vary)
    check_compiled(ready, "sensitivities")
    directions = _directions(ready.loop, vary)
    change = _slopes_of_start(ready, directions, given_start(start, ready.loop.plant.n), slopes)
    state, tolerances = ready.start_of_scan
    waiting = np.zeros((count, state.shape[-1] - _moving(ready.loop).start - change.shape[1]))
    both = np.concatenate([np.broadcast_to(state, (count, state.shape[-1])), change, waiting], axis=1)
    given = ready.loop.inputs.given(ready.times, 0)
    _, *samples = compiled_function(ready.loop, _tangent_scan)(
        both, given, *tolerances, *ready.loop.packed(ready.values), directions
    )
    samples = samples[len(samples) % 2 :]  # where the error controls the steps, the first says which are repeated
    names = [variable.name for variable in ready.loop.variables]
    values = {name: np.asarray(sample[0]) for name, sample in zip(names, samples[: len(names)], strict=True)}
    derivatives = {name: np.asarray(sample) for name, sample in zip(names, samples[len(names) :], strict=True)}
    return Sensitivities(ready.times[:, 0], values, derivatives)


def check_compiled(ready: Prepared, wanted: str) -> None:
    """Refuse to differentiate a loop that does not run compiled."""
    if ready.compiled is None or isinstance(ready.loop.integrator, str):
        raise ArgumentError(
            f"{wanted} need a loop that runs compiled: a law that can be compiled, and an integrator of "
            "chasles.integrators, such as 'automatic' or Within('rodas5p')"
        )


def _moving(loop: ClosedLoop) -> slice:
    """Part of the compiled loop's state that moves with the parameters: all but times and lengths of steps."""
    return slice(0 if loop.substeps is not None else controlled_layout(loop).slices["loop"].start, None)


def _tangent_scan(loop: ClosedLoop) -> Function:
    """Loop over time of states and the changes of what moves: (both, given, …, d_values) -> (both, *samples, *d)."""
    is_controlled = loop.substeps is None
    program = compiled_function(loop, controlled_scan if is_controlled else scan).program
    size, still = program.inputs[0].size, _moving(loop).start
    moving = [argument.name for argument in program.inputs if argument.name in ("state", "values")]
    forward = Function(jvp(program, moving, values=True))
    outputs = [argument.name for argument in program.outputs[1:]]
    inputs: dict[str, Any] = {"state": (2 * size - still,), "given": (loop.inputs.layout.size,)}
    inputs |= {a.name: a.shape for a in program.inputs if a.name in ("rtol", "atol")}
    inputs |= {name: (Layout(loop.shapes).size,) for name in ("values", "d_values") if loop.shapes}

    def period(state: Array, *given: Any) -> tuple[Any, ...]:
        values, directions = given[: len(program.inputs) - 1], given[len(program.inputs) - 1 :]
        following = forward(state[:size], *values, np.concatenate([np.zeros(still), state[size:]]), *directions)
        half = len(following) // 2
        both = np.concatenate([following[0], following[half][still:]])
        return both, *following[1:half], *following[half + 1 + is_controlled :]

    names = ["state_next", *outputs, *(f"d_{name}" for name in outputs[int(is_controlled) :])]
    return Function(trace(period, inputs, name="sensitivities", outputs=names), shape="scan")


def _directions(loop: ClosedLoop, vary: Mapping[str, Any]) -> Floats:
    """Unit changes of the varied entries in the vector of all values, shape (p, size)."""
    layout = Layout(loop.shapes)
    indices = []
    for name, value in vary.items():
        if np.shape(value) != loop.shapes[name]:
            raise ArgumentError(f"vary['{name}'] must have shape {loop.shapes[name]}, not {np.shape(value)}")
        indices.append(np.arange(layout.size)[layout.slices[name]])
    return np.asarray(np.eye(layout.size)[np.concatenate(indices)])


def _slopes_of_start(ready: Prepared, directions: Floats, start: State, start_slopes: Floats) -> Floats:
    """Derivatives of the state at the start by the varied entries, shape (p, size)."""
    loop = ready.loop
    place = loop.layout.split(ready.state).plant
    slopes = np.broadcast_to(start_slopes, (len(directions), np.shape(place.q)[-1]))
    function = start_function(loop, parts_with_motion(loop, start))
    (values,) = loop.packed(ready.values)
    return np.asarray(function.jvp()(place.q, place.qd, values, slopes, np.zeros_like(place.qd), directions))
