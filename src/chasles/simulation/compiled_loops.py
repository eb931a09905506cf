"""Compiled loops of the last simulations, so that the next one of the same kind neither traces nor loads anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from chasles.base.cached import LastUsed
from chasles.control.law_identity import law_identity
from chasles.engine import Function, Layout
from chasles.engine.identity import UnidentifiedError, identity, identity_as_it_acts
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.references import LoopReference, TangentReference, TracedReference

#: Attributes of a loop whose identity is asked for in their own way.
_PARTS = ("plant", "controller", "reference", "further")
#: Functions of loops; each holds its machine code, about a megabyte.
_loops: LastUsed[dict[Callable[[ClosedLoop], Function], Function]] = LastUsed(16)


def compiled_function(loop: ClosedLoop, make: Callable[[ClosedLoop], Function]) -> Function:
    """Compiled function of a loop, from the last simulations if one computed the same.

    Plant, law, reference and integrator are compared by their identity (`chasles.engine.identity`): those of the
    library by content, functions and classes of users by the programs that they trace to. A loop with a part that has
    no identity is traced anew.

    Parameters
    ----------
    loop
        The loop.
    make
        Makes the function, such as `chasles.simulation.loop_programs.scan`.
    """
    try:
        key = _identity(loop)
    except UnidentifiedError:
        return make(loop)
    functions = _loops.setdefault(key, {})
    if make not in functions:
        functions[make] = make(loop)
    return functions[make]


def _identity(loop: ClosedLoop) -> str:
    plant = loop.plant
    schedule = loop.further["schedule"].shapes if "schedule" in loop.further else None
    poses = loop.reference.n is None
    law = law_identity(loop.controller, plant.robot.nq, plant.n, loop.period, poses=poses, schedule=schedule)
    further = {name: source.shapes for name, source in loop.further.items()}
    settings = {field.name: getattr(loop, field.name) for field in fields(loop) if field.name not in _PARTS}
    reference = _reference_identity(loop.reference)
    drives = plant.delay, plant.effort_limits, plant.velocity_limits
    return identity((type(plant), plant.robot, plant.effects, drives, law, reference, further, loop.shapes, settings))


def _reference_identity(reference: LoopReference) -> str:
    """Identity of what a reference does in a loop: a sampled one brings shapes alone, a traced one its formula too."""
    if isinstance(reference, TangentReference):
        reference = reference.curve
    start = reference.start_time
    if not isinstance(reference, TracedReference):
        return identity((type(reference), reference.shapes, start))
    motion = reference.reference
    parameters = {name: np.shape(value) for name, value in motion.parameters.items()}
    layout = Layout(parameters)
    formula = identity_as_it_acts(
        motion, lambda t, values: tuple(motion.motion(t, layout.split(values))), {"t": (), "values": (layout.size,)}
    )
    return identity((formula, parameters, start))
