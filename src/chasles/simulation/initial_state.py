"""The state of every run at the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.simulation.closed_loop import ClosedLoop
from chasles.trajectories.motion import PoseMotion


def initial_state(
    loop: ClosedLoop, values: Mapping[str, NDArray[np.float64]], varied: Mapping[str, Any], q0: Any, qd0: Any
) -> NDArray[np.float64]:
    """State of every run at the start, shape (*batch, state).

    Springs of elastic joints carry what holds the links against gravity, and motors have the currents that this takes;
    torques on their way are zero until the first call fills them in.
    """
    robot, equations = loop.plant.robot, loop.equations
    batches = [values[name].shape[: values[name].ndim - len(shape)] for name, shape in loop.shapes.items()]
    q, qd = _start(loop, values, varied, q0, qd0)
    try:
        batch = np.broadcast_shapes(*batches, loop.inputs.batch, q.shape[:-1], qd.shape[:-1])
    except ValueError:
        raise ArgumentError("the batch axes of q0, qd0, varied parameters and reference do not broadcast") from None
    parts: list[Any] = [q, qd]
    if not loop.plant.is_robot:
        own = robot.parameters
        described = {name: values[name] for name in loop.varied if name in own}
        holding = np.asarray(robot.gravity_torque(q, vary=described)) if robot.nq == robot.n else np.zeros(robot.n)
        if "motors" in equations.layout and loop.plant.motors is not None:
            parts.append(loop.plant.motors.initial_state(holding))
        if loop.plant.elastic_joints is not None:
            numbers = equations.elastic_numbers(values)
            parts.append(np.concatenate(np.broadcast_arrays(q + holding / numbers["stiffness"], qd), axis=-1))
        parts.append(np.zeros(len(equations.audited) if loop.audit else 0))
        if loop.plant.sensors is not None:
            at_motor = loop.plant.sensors.side == "motor"
            seen = parts[-2][..., : robot.n] if at_motor else q
            parts.append(loop.plant.sensors.initial_memory(*np.broadcast_arrays(seen, qd), loop.period))
    elif loop.audit:
        parts.append(np.zeros(len(equations.audited)))
    parts += [loop.controller.initial_state, np.zeros(loop.late * robot.n)]
    return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)


def _start(
    loop: ClosedLoop, values: Mapping[str, Any], varied: Mapping[str, Any], q0: Any, qd0: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Configuration and velocity at the start, (..., nq) and (..., n)."""
    robot = loop.plant.robot
    of_reference = {name: values[f"reference.{name}"] for name in loop.reference.parameters}
    start = loop.reference.start(of_reference, varied=any(f"reference.{name}" in varied for name in of_reference))
    if isinstance(start, PoseMotion):
        q = _checked(_reaching(robot, start) if q0 is None else q0, robot.nq, "q0")
        return q, _checked(_moving_along(robot, q, start) if qd0 is None else qd0, robot.n, "qd0")
    return (
        _checked(start.q if q0 is None else q0, robot.nq, "q0"),
        _checked(start.qd if qd0 is None else qd0, robot.n, "qd0"),
    )


def _checked(given: Any, size: int, name: str) -> NDArray[np.float64]:
    array = np.asarray(given, dtype=float)
    if array.ndim < 1 or array.shape[-1] != size:
        raise ArgumentError(f"{name} must have shape (..., {size}), not {array.shape}")
    return array


def _reaching(robot: Robot, start: PoseMotion) -> Any:
    """Configurations, near home, in which the tool is at the start of a Cartesian motion."""
    found = robot.inverse_kinematics(start.pose, q0=robot.home)
    if not np.all(found.success):
        raise ArgumentError(f"robot '{robot.name}' does not reach the start of the reference from home: give q0")
    return found.q


def _moving_along(robot: Robot, q: Any, start: PoseMotion) -> Any:
    """Smallest joint velocities with which the tool moves as a Cartesian motion does at its start."""
    J = robot.jacobian(q, frame="world-aligned")
    return (np.linalg.pinv(J) @ np.asarray(start.twist)[..., None])[..., 0]
