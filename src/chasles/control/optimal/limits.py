"""Which joints have motors, and the limits of torques, positions and velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.floating_base import has_motors
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.duration import Duration
from chasles.control.optimal.step import HeldStep
from chasles.engine.validators import choice, reals
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
LIMITS = ("position", "velocity", "torque")
_RATE = "torque_rate"
#: Limits that a number may give.
NUMBERED = (*LIMITS, _RATE)


def motors_of(robot: Robot, names: Sequence[str] | None) -> NDArray[np.bool_]:
    """Whether each joint has a motor, (n,)."""
    if names is None:
        description = robot.description
        for index in description.actuated_indices:
            if index not in description.independent_indices:
                name = description.joint_velocity_names[index]
                raise ArgumentError(
                    f"motor '{name}' of robot '{robot.name}' moves a joint that follows from the others; make its "
                    "joint one of the independent ones (robot.description.replace(independent=…)), or name others in "
                    "motors="
                )
        has_motor = np.isin(description.independent_indices, description.actuated_indices) & has_motors(robot)
    else:
        if isinstance(names, str):
            raise ArgumentError(f"motors must be a list of joint names, not {names!r}")
        chosen = {choice(name, "joint", robot.velocity_names) for name in names}
        has_motor = np.array([name in chosen for name in robot.velocity_names])
    if not has_motor.any():
        raise ArgumentError(f"robot '{robot.name}' has no motors")
    return has_motor


def bounds(
    step: HeldStep, limits: Sequence[str] | Mapping[str, ArrayLike | None], duration: Duration
) -> tuple[Floats, Floats, Floats]:
    """Lower and upper limits of (u, x), and the scale of their rows, each (m + states,).

    Contact forces and the constants of a free start have none: the limits of these are those of node 0.
    """
    robot, motors, n, forces = step.robot, step.motors, step.robot.n, step.force_count
    if isinstance(limits, str):
        raise ArgumentError(f"limits must be a list of names, not {limits!r}; write [{limits!r}]")
    wanted = dict(limits) if isinstance(limits, Mapping) else dict.fromkeys(limits)
    for name in wanted:
        choice(name, "limit", NUMBERED)
    if _RATE in wanted and (wanted[_RATE] is None or not step.by_rates):
        raise ArgumentError(
            f"limits['{_RATE}'] must be a number or ({n},), given where the problem is made: torques are states then"
        )
    none = np.full(n, np.inf)

    def largest(name: str, of_robot: Floats) -> Floats:
        if name not in wanted:
            return none
        value = (
            of_robot
            if wanted[name] is None
            else reals(wanted[name], f"limits['{name}']", (n,), broadcast=True, infinite=True)
        )
        value = np.where(np.isnan(value), np.inf, value)
        if not (value > 0.0).all():
            joint = robot.velocity_names[int(np.argmin(value > 0.0))]
            raise ArgumentError(f"the {name} limit of joint '{joint}' is {value.min():g}; it must be positive")
        return np.asarray(value)

    torque = np.minimum(largest("torque", robot.effort_limits), step.drives.largest_commands)[motors]
    velocity = np.minimum(largest("velocity", robot.velocity_limits), step.drives.largest_velocities)
    low, high = -none, none
    if "position" in wanted:
        coordinates = Coordinates(robot)
        places, is_position = coordinates.places, coordinates.is_position
        low = np.where(is_position, robot.lower_limits[places], -np.inf)
        high = np.where(is_position, robot.upper_limits[places], np.inf)
        if wanted["position"] is not None:
            high = largest("position", none)
            low = -high
        if not (low < high).all():
            joint = robot.velocity_names[int(np.argmin(low < high))]
            raise ArgumentError(f"the position limits of joint '{joint}' leave no range")
    shortest, longest = duration.limits
    inputs, states = torque, torque[:0]
    if step.by_rates:
        inputs, states = largest(_RATE, none)[motors], torque
    states = np.concatenate([states, np.full(step.drives.count - len(states), np.inf)])
    first = np.full(step.states - step.moving_states - len(longest), np.inf)
    constants = np.ones(len(first) + len(longest))
    scale = [_inverse(inputs), np.ones(forces + n), _inverse(velocity), _inverse(states), constants]
    inputs = np.concatenate([inputs, np.full(forces, np.inf)])
    lower = [-inputs, low, -velocity, -states, -first, shortest]
    upper = [inputs, high, velocity, states, first, longest]
    return np.concatenate(lower), np.concatenate(upper), np.concatenate(scale)


def _inverse(limit: Floats) -> Floats:
    return np.where(np.isfinite(limit), 1.0 / limit, 1.0)
