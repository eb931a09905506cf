"""The state of every run at the start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, Layout, trace
from chasles.engine.program.scalar import Array
from chasles.engine.validators import reals
from chasles.robot.robot import Robot
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.references import TangentReference, TracedReference
from chasles.simulation.sampled_controller import part_of
from chasles.trajectories.motion import PoseMotion


class State(NamedTuple):
    """Configuration and velocity of a robot, at the start of a simulation.

    Attributes
    ----------
    q
        Configuration, shape (..., nq); None for the motion's initial configuration.
    qd
        Velocity, shape (..., n); None for the motion's initial velocity.
    """

    q: ArrayLike | None = None
    qd: ArrayLike | None = None


def given_start(start: ArrayLike | State | None, n: int) -> State:
    """Return what a start gives: a configuration alone is one at rest.

    Raises
    ------
    ArgumentError
        It is a tuple of arrays, which could mean several runs or a configuration and its velocity.
    """
    if isinstance(start, State):
        return start
    if isinstance(start, tuple) and any(np.ndim(part) for part in start):
        raise ArgumentError(
            "start is a tuple of arrays: for a configuration and its velocity give start=chasles.State(q, qd), for "
            "several runs an array of configurations"
        )
    return State() if start is None else State(start, np.zeros(n))


def initial_state(
    loop: ClosedLoop,
    values: Mapping[str, NDArray[np.float64]],
    varied: Mapping[str, Any],
    start: State,
) -> NDArray[np.float64]:
    """State of every run at the start, in the parts of `ClosedLoop.layout`, shape (*batch, size).

    Springs of elastic joints carry what holds the links against gravity, and motors have the currents that this takes;
    torques on their way are zero until the first call fills them in.
    """
    batches = [values[name].shape[: values[name].ndim - len(shape)] for name, shape in loop.shapes.items()]
    q, qd = _start(loop, values, varied, start)
    try:
        batch = np.broadcast_shapes(*batches, loop.inputs.batch, q.shape[:-1], qd.shape[:-1])
    except ValueError:
        raise ArgumentError("the batch axes of start, varied parameters and motion do not broadcast") from None
    state = loop.layout.join(_parts_at_start(loop, values, q, qd))
    return np.array(np.broadcast_to(state, (*batch, loop.layout.size)))


def start_function(loop: ClosedLoop, with_motion: Collection[str]) -> Function:
    """Return the state at the start as a function that has derivatives: (q, qd, values) -> (size,).

    Parameters
    ----------
    loop
        The loop, whose values there must be.
    with_motion
        Which of ``"q"`` and ``"qd"`` are those of a traced motion at its start, not what is given.
    """
    layout = Layout(loop.shapes)

    def start(q: Array, qd: Array, packed: Array) -> Array:
        values = layout.split(packed)
        if with_motion:
            motion: Any = loop.reference.start(part_of("reference", values), varied=True)
            q = motion.q if "q" in with_motion else q
            qd = motion.qd if "qd" in with_motion else qd
        return loop.layout.join(_parts_at_start(loop, values, q, qd))

    shapes = {"q": (loop.plant.robot.nq,), "qd": (loop.plant.n,), "values": (layout.size,)}
    return Function(trace(start, shapes, name="start_of_run", outputs=["state"]))


def parts_with_motion(loop: ClosedLoop, start: State) -> frozenset[str]:
    """Which of ``"q"`` and ``"qd"`` at the start are those of a motion that is traced into the loop."""
    reference = loop.reference.curve if isinstance(loop.reference, TangentReference) else loop.reference
    free = {name for name in ("q", "qd") if getattr(start, name) is None}
    return frozenset(free if isinstance(reference, TracedReference) else ())


def _parts_at_start(loop: ClosedLoop, values: Mapping[str, Any], q: Array, qd: Array) -> dict[str, Any]:
    """Parts of the state, in those of `ClosedLoop.layout`."""
    plant, equations = loop.plant, loop.equations
    robot, motors, elastic, sensors = plant.robot, plant.motors, plant.elastic_joints, plant.sensors
    described = {name: values[name] for name in loop.varied if name in robot.parameters}
    needs_holding = motors is not None or elastic is not None
    holding = robot.gravity_torque(q, vary=described) if needs_holding else np.zeros(robot.n)
    springs, positions = np.zeros(0), plant.joint_positions(q)
    seen, moving = positions, qd
    if elastic is not None:
        numbers = equations.numbers.of_elastic_joints(values)
        springs = elastic.initial_state(*_alike(positions, qd), holding, numbers)
        if sensors is not None:
            angle, speed = elastic.split(springs)
            seen, moving = sensors.sides(*_alike(positions, angle)), sensors.sides(*_alike(qd, speed))
    read: Any = np.zeros(0)
    if sensors is not None:
        read = sensors.initial_memory(*_alike(seen, moving), loop.period)
    return {
        "plant": {
            "q": q,
            "qd": qd,
            "following": equations.joints.at_start(q, qd, described),
            "motors": np.zeros(0) if motors is None else motors.initial_state(holding),
            "elastic_joints": springs,
            "audit": {} if loop.accounts is None else dict.fromkeys(loop.accounts.shapes, 0.0),
            "step_errors": {},
        },
        "sensors": read,
        "configuration": q if loop.sampled_controller.closes_readings else np.zeros(0),
        "controller": loop.controller.memory,
        "torques": np.zeros((loop.timing.waiting_torques, robot.n)),
    }


def _start(
    loop: ClosedLoop, values: Mapping[str, Any], varied: Mapping[str, Any], start: State
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Configuration and velocity at the start, (..., nq) and (..., n)."""
    robot = loop.plant.robot
    of_reference = {name: values[f"reference.{name}"] for name in loop.reference.parameters}
    motion = loop.reference.start(of_reference, varied=any(f"reference.{name}" in varied for name in of_reference))
    if isinstance(motion, PoseMotion):
        q = reals(_reaching(robot, motion) if start.q is None else start.q, "the start's q", (..., robot.nq))
        qd = _moving_along(robot, q, motion) if start.qd is None else start.qd
        return q, reals(qd, "the start's qd", (..., robot.n))
    return (
        reals(motion.q if start.q is None else start.q, "the start's q", (..., robot.nq)),
        reals(motion.qd if start.qd is None else start.qd, "the start's qd", (..., robot.n)),
    )


def _reaching(robot: Robot, start: PoseMotion) -> Any:
    """Configurations, near home, in which the tool is at the start of a Cartesian motion."""
    solution = robot.inverse_kinematics(start.pose, q0=robot.home)
    if not np.all(solution.success):
        raise ArgumentError(f"robot '{robot.name}' does not reach the start of the motion from home: give start=")
    return solution.q


def _moving_along(robot: Robot, q: Array, start: PoseMotion) -> Any:
    """Smallest joint velocities with which the tool moves as a Cartesian motion does at its start."""
    J = robot.jacobian(q, frame="world-aligned")
    return (np.linalg.pinv(J) @ np.asarray(start.twist)[..., None])[..., 0]


def _alike(positions: Array, velocities: Array) -> Sequence[Array]:
    """Return both with the same batch axes."""
    return np.broadcast_arrays(positions, velocities, subok=True)
