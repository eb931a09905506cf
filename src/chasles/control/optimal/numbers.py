"""Numbers of the problems that are solved: initial states, values that residuals name, and parameters of the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.optimal.parameters import Parameters
from chasles.engine.validators import choice, reals

Floats = NDArray[np.float64]
Shapes = Mapping[str, tuple[int, ...]]


class Numbers(NamedTuple):
    """Numbers of problems.

    Attributes
    ----------
    q, qd
        Initial positions (problems, nq) and velocities (problems, n).
    values
        Values that the residuals name, each (problems, *shape).
    parameters
        Values of the robot's parameters that vary, (problems, count), or None.
    """

    q: Floats
    qd: Floats
    values: Sequence[Floats]
    parameters: Floats | None = None


def require_values(shapes: Shapes, values: Mapping[str, ArrayLike]) -> None:
    """Raise where a value is missing, or where there is one that no residual takes."""
    for name in values:
        choice(name, "value", shapes)
    for name, shape in shapes.items():
        if name not in values:
            raise ArgumentError(f"the residuals take the value '{name}'; give {name}=, shape {shape}")


def checked_numbers(
    parameters: Parameters,
    start: ArrayLike,
    velocity: ArrayLike,
    varied: Mapping[str, ArrayLike],
    shapes: Shapes,
    values: Mapping[str, ArrayLike],
) -> tuple[tuple[int, ...], Numbers]:
    """Return the batch of problems, and their numbers.

    Parameters
    ----------
    parameters
        Parameters of the robot that are numbers.
    start, velocity
        Initial positions (..., nq) and velocities (..., n), or one number for all of these.
    varied
        Values of the parameters, each (..., *shape).
    shapes, values
        Shapes of the values that residuals name, and the values, each (..., *shape).
    """
    robot = parameters.robot
    require_values(shapes, values)
    q = np.asarray(robot.normalize(reals(start, "start", (..., robot.nq))))
    if not np.isfinite(q).all():
        raise ArgumentError("start is no configuration: its loops are open or a quaternion is zero")
    is_number = np.ndim(velocity) == 0
    shape = (robot.n,) if is_number else (..., robot.n)
    qd = reals(velocity, "velocity", shape, broadcast=is_number)
    of_residuals = (reals(values[name], name, (..., *shape)) for name, shape in shapes.items())
    parts = [q, qd, *parameters.checked(varied), *of_residuals]
    cores = [q.shape[-1:], qd.shape[-1:], *parameters.shapes.values(), *shapes.values()]
    leads = [part.shape[: part.ndim - len(core)] for part, core in zip(parts, cores, strict=True)]
    try:
        batch = np.broadcast_shapes(*leads)
    except ValueError:
        raise ArgumentError("the leading axes of start, velocity and values do not broadcast") from None
    if 0 in batch:
        raise ArgumentError(f"this is a batch of no problems, {batch}")
    count = int(np.prod(batch, dtype=int))
    whole = (np.broadcast_to(part, (*batch, *core)) for part, core in zip(parts, cores, strict=True))
    q, qd, *more = (part.reshape(count, *core) for part, core in zip(whole, cores, strict=True))
    number = len(parameters.names)
    return batch, Numbers(q, qd, more[number:], parameters.joined(more[:number]) if number else None)
