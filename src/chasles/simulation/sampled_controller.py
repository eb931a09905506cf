"""A sampled controller: sensors are read, reference and law are called once, and torques are sent on their way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import Controller
from chasles.control.now import MotorReading, Now
from chasles.engine import Layout, Record, where
from chasles.engine.program.records import Memory, Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.simulation.limits import limited_torques
from chasles.simulation.plant.environment import Acting, Instant
from chasles.simulation.plant.equations import Equations
from chasles.simulation.plant.wrench_sensor import measured_wrench
from chasles.simulation.plant_steps import INSIDE
from chasles.simulation.recording import RecordedVariables
from chasles.simulation.references import LoopReference
from chasles.simulation.timing import LoopTiming


class CallResult(NamedTuple):
    """One call of the controller.

    Attributes
    ----------
    t
        Its time.
    queue
        Torques that are on their way, the oldest first, the new one last, (waiting torques + 1, n).
    following
        State passed to the next call besides the plant's state: memories of sensors and controller, and delayed
        torques.
    recorded
        In the order of `RecordedVariables.variables`.
    """

    t: Real
    queue: list[Any]
    following: dict[str, Any]
    recorded: list[Any]


@dataclass(frozen=True)
class SampledController:
    """A controller with the sensors that it reads and the reference that it follows.

    Attributes
    ----------
    controller, reference
        Controller and reference.
    equations
        Equations of the plant.
    timing
        Instants at which torques act.
    recording
        Quantities that are recorded at each sample.
    """

    controller: Controller
    reference: LoopReference
    equations: Equations
    timing: LoopTiming
    recording: RecordedVariables

    @cached_property
    def shapes(self) -> dict[str, Shapes]:
        """Parts of the state from call to call besides the plant's."""
        plant = self.equations.plant
        return {
            "sensors": (0,) if plant.sensors is None else plant.sensors.memory_shapes(self.timing.period),
            "configuration": (plant.robot.nq,) if self.closes_readings else (0,),
            "controller": self.memory_layout.shapes,
            "torques": (self.timing.waiting_torques, plant.n),
        }

    @cached_property
    def memory_layout(self) -> Layout:
        """Parts of the controller's memory."""
        return self.controller.memory_layout

    @property
    def closes_readings(self) -> bool:
        """Whether sensors measure the independent joints alone, so that the others follow from the loops."""
        plant = self.equations.plant
        return plant.sensors is not None and bool(plant.robot.description.loops)

    def call(self, given: Record, outside: Any, state: Record, values: Mapping[str, Any]) -> CallResult:
        """Read the sensors, call reference and controller once; on records of numbers or traced scalars.

        Parameters
        ----------
        given
            Inputs of the call.
        outside
            External inputs of the plant in the period after the call.
        state
            State of the loop.
        values
            Values of the loop's parameters by name.
        """
        t, x, period, plant = given.t, state.plant, self.timing.period, self.equations.plant
        motion: Any = self.reference.at(given, part_of("reference", values))
        q, qd, motors, sensed = self._read(x, state.sensors, given.get("noise"), values)
        configuration = self._closed(q, state.configuration)
        q = configuration if self.closes_readings else q
        environment = self.equations.environment
        instant = environment.instant(t, INSIDE * period, period, outside, self.timing.before_call(t))
        acting = environment.acting(x, instant, values)
        layout = self.memory_layout
        memory = layout.join(state.controller)
        wrench = self._measured_wrench(x, instant, acting)
        now = Now(t, q, qd, motion, layout.split(memory.copy()), period, given.get("schedule"), wrench, motors)
        demanded = self.torques(now, values)
        limited = limited_torques(plant.robot, demanded, x.qd, plant.effort_limits, plant.velocity_limits)
        sent = self._sent(t, limited, state.torques, given, values)
        queue = self.timing.queue(t, state.torques, sent)
        following = {
            "sensors": sensed,
            "configuration": configuration,
            "controller": layout.split(self.next_memory(now)),
            "torques": np.array(queue[1:]).reshape(self.timing.waiting_torques, plant.n),
        }
        recorded = self.recording.values(x, demanded, queue[0], motion, (q, qd), memory, instant, acting, values)
        return CallResult(t, queue, following, recorded)

    def _sent(self, t: Real, tau: Array, waiting: Array, given: Record, values: Mapping[str, Any]) -> Any:
        """Torques that the drives get: those of the call, or the last ones before if these are lost."""
        if self.equations.plant.timing is None:
            return tau
        lost = given.timing[1] < self.equations.numbers.of("timing", values)["lost"]
        return where(lost & (t > self.timing.start + 0.5 * self.timing.period), waiting[-1], tau)

    def _read(
        self, x: Record, memory: Memory, noise: Array | None, values: Mapping[str, Any]
    ) -> tuple[Any, Any, MotorReading | None, Any]:
        """Measured positions and velocities, motor sides if the controller measures them, and the sensors' memory."""
        plant, reads_motors = self.equations.plant, self.controller.reads_motors
        q, qd, sensors, n = x.q, x.qd, plant.sensors, plant.n
        motors = None if plant.elastic_joints is None else MotorReading(*plant.elastic_joints.split(x.elastic_joints))
        if sensors is None:
            return q, qd, motors if reads_motors else None, memory
        q = plant.joint_positions(q)
        if motors is not None:
            q, qd = sensors.sides(q, motors.q), sensors.sides(qd, motors.qd)
        drawn = {} if noise is None else dict(zip(sensors.noises, noise, strict=True))
        numbers = self.equations.numbers.of("sensors", values)
        q, qd, memory = sensors.read(q, qd, drawn, memory, numbers, self.timing.period)
        return q[:n], qd[:n], MotorReading(q[n:], qd[n:]) if reads_motors else None, memory

    def _closed(self, positions: Array, last: Array) -> Any:
        """Configuration with measured independent joints; the others, near those of the last call, close the loops."""
        if not self.closes_readings:
            return last
        plant, q = self.equations.plant, np.array(last)
        q[plant.joint_coordinates] = positions
        return plant.robot.normalize(q)

    def _measured_wrench(self, x: Record, instant: Instant, acting: Mapping[str, Acting]) -> Array | None:
        """Reading of the wrench sensor, if the controller asks for one."""
        frame = self.controller.measured_wrench
        if frame is None:
            return None
        T_world_frame, _ = self.equations.environment.motion(frame, x, instant)
        return measured_wrench(self.equations.plant.robot.description, frame, T_world_frame, acting)

    def torques(self, now: Now, values: Mapping[str, Any]) -> Any:
        """Torques that the law asks for, (n,)."""
        name, n = self.controller.name, self.equations.plant.n
        tau = self.controller.with_values(part_of("controller", values)).law(now)
        if isinstance(tau, tuple):
            raise ArgumentError(
                f"controller '{name}' returned {len(tau)} values; a law returns the torques alone, and assigns to the "
                "parts of now.memory"
            )
        if np.shape(tau) != (n,):
            raise ArgumentError(f"controller '{name}' gave torques of shape {np.shape(tau)} instead of ({n},)")
        return np.asarray(tau)

    def next_memory(self, now: Now) -> Any:
        """The controller's memory after its call, a vector of the parts that it declares."""
        try:
            return self.memory_layout.join(now.memory)
        except (ArgumentError, UnknownNameError) as error:
            name = self.controller.name
            raise ArgumentError(f"controller '{name}' gave memory that does not fit: {error}") from None


def part_of(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of one owner's parameters, by their names without the owner's."""
    prefix = owner + "."
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
