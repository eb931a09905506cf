"""Values that vary over the runs of a simulation: read, shaped like the loop's arguments, and checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control import Controller
from chasles.engine.validators import FINITE, doubles
from chasles.model.parameters import varied_parameters
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.sensors import checked_seeds
from chasles.simulation.references import LoopReference

Values = dict[str, NDArray[np.float64]]
SEEDS = ("sensors.seed", "timing.seed")


def varied_values(vary: Mapping[str, ArrayLike] | None) -> Values:
    """The values to vary as arrays."""
    return {name: doubles(value, f"vary['{name}']") for name, value in (vary or {}).items()}


def varied_in_plant(vary: Values, plant: Plant, controller: Controller, reference: LoopReference) -> tuple[str, ...]:
    """Names of the plant's parameters that are to vary, whether they exist or not."""
    others = {f"controller.{name}" for name in controller.parameters}
    others |= {f"reference.{name}" for name in reference.parameters}
    others |= {f"{name}.seed" for name in plant.drawn}
    return tuple(name for name in vary if name not in others)


def arguments_of(loop: ClosedLoop, vary: Values) -> Values:
    """Values of all arguments of the loop; those that vary in the shape (*batch, *shape)."""
    values = {}
    for name, shape in loop.shapes.items():
        values[name] = _with_core(vary[name], shape) if name in vary else loop.nominal[name]
        core = values[name].ndim - len(shape)
        if core < 0 or values[name].shape[core:] != shape:
            hint = "; one value for all joints has shape (..., 1)" if len(shape) == 1 else ""
            wanted = ", ".join(map(str, shape))
            raise ArgumentError(f"vary['{name}'] must have shape (..., {wanted}), not {values[name].shape}{hint}")
    return values


def check_varied_values(loop: ClosedLoop, vary: Values, values: Values) -> None:
    """Check varied values as the constructors of robot, effects, controller and reference do.

    Raises
    ------
    ArgumentError
        The message names the parameter and the run.
    """
    if not vary:
        return
    plant, reference = loop.plant, loop.reference
    described = [name for name in loop.varied if name in plant.robot.parameters]
    for name, parameter in zip(described, varied_parameters(plant.robot.description, described), strict=True):
        parameter.check(values[name])
    for prefix, owner in (*plant.effects.items(), ("controller", loop.controller)):
        beginning = f"{prefix}."
        of_owner = {
            name.removeprefix(beginning): values[name] for name in values if name in vary and name.startswith(beginning)
        }
        owner.check_varied(of_owner, prefix)
    bounds = getattr(reference, "bounds", {})
    for name in vary:
        prefix, _, own_name = name.partition(".")
        if prefix == "reference":
            bounds.get(own_name, FINITE).check(values[name], f"vary['{name}']", len(loop.shapes[name]))
    for name in SEEDS:
        if name in vary:
            checked_seeds(vary[name], name.partition(".")[0])


def _with_core(value: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Repeat a single value for all joints, of shape (..., 1), for each of them."""
    one_for_all = len(shape) == 1 and value.ndim >= 1 and value.shape[-1] == 1
    return np.repeat(value, shape[0], axis=-1) if one_for_all else value
