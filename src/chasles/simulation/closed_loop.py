"""The closed loop: reference, sampled controller and plant, joined into programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.cached import cached_property
from chasles.control import Controller
from chasles.engine import Function, trace, where
from chasles.errors import ArgumentError, UnknownNameError
from chasles.integrators import RK4, Integrator
from chasles.integrators.attempts import Status
from chasles.plant.equations import Equations, Instant
from chasles.plant.plant import Plant
from chasles.plant.wrench_sensor import measured_wrench
from chasles.simulation.call_inputs import CallInput, CallInputs
from chasles.simulation.controlled_period import PACE_SIZE, ControlledPeriod, Pace, Stage, new_period
from chasles.simulation.plant_steps import INSIDE, Felt, PlantSteps, Start
from chasles.simulation.recording import Variable, energy_variable, joint_variable, memory_variable, position_axis
from chasles.simulation.references import LoopReference, recorded_of_reference
from chasles.trajectories import Motion
from chasles.trajectories.motion import PoseMotion

#: Speed, rad/s or m/s, across which dry friction that jumps at rest turns round for implicit methods: a joint that
#: sticks creeps by about a microradian in a second.
REST_VELOCITY = 1e-6


class Sample(NamedTuple):
    """One call of the controller.

    Attributes
    ----------
    t
        Its time.
    queue
        Torques that are on their way, the oldest first, the new one last, (late + 1, n).
    memory
        What sensors and controller remember, and the torques that are still on their way at the next call.
    recorded
        In the order of `ClosedLoop.variables`.
    """

    t: Any
    queue: list[Any]
    memory: Any
    recorded: list[Any]


@dataclass(frozen=True)
class ClosedLoop:
    """A plant under a sampled controller that follows a reference.

    All numbers of controller and reference, and those of the plant that vary, are arguments of its programs:
    ``values`` maps their names, ``"controller.kp"``, ``"reference.goal"``, ``"payload.mass"``, … to numbers.

    The state that goes from call to call holds the plant's own (see `Equations.layout`), then the memories of sensors
    and controller and the torques that wait for the delay to pass.

    Attributes
    ----------
    plant
        What is controlled.
    controller, reference
        What drives it.
    varied
        Names of the plant's parameters that are arguments.
    period
        Time between two calls of the controller, s; its torque is held in between.
    substeps
        Integration steps in a period; None for steps that the error controls.
    integrator
        The method, or a name of SciPy's.
    delay
        Time from a call to its torque's taking effect, s.
    audit
        Whether energies are integrated and recorded.
    further
        What is computed beforehand for every call: ``"schedule"``, ``"noise"``, ``"wrenches"``.
    schedule_shape
        Shape of the schedule's numbers for one call.
    record_memory
        Whether the controller's memory is recorded.
    """

    plant: Plant
    controller: Controller
    reference: LoopReference
    varied: tuple[str, ...]
    period: float
    substeps: int | None
    integrator: Integrator | str
    delay: float
    audit: bool
    further: Mapping[str, CallInput]
    schedule_shape: tuple[int, ...] = ()
    record_memory: bool = False

    @cached_property
    def nominal(self) -> dict[str, NDArray[np.float64]]:
        """Numbers of controller and reference by their full names, and those of the plant's effects that vary."""
        values = {f"controller.{name}": value for name, value in self.controller.parameters.items()}
        values |= {f"reference.{name}": value for name, value in self.reference.parameters.items()}
        return values

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every argument, controller's and reference's first, then the plant's."""
        shapes = {name: np.shape(value) for name, value in self.nominal.items()}
        if self.varied:
            known = self.plant.parameters
            for name in self.varied:
                if name not in known:
                    raise UnknownNameError("parameter to vary", name, [*shapes, *known])
                shapes[name] = known[name]
        return shapes

    @cached_property
    def equations(self) -> Equations:
        """The plant's equations of motion."""
        implicit = not isinstance(self.integrator, str) and self.integrator.implicit
        return Equations(self.plant, self.varied, self.audit, REST_VELOCITY if implicit else 0.0)

    @cached_property
    def inputs(self) -> CallInputs:
        """What is given at a call."""
        return CallInputs(self.reference, self.further)

    @cached_property
    def late(self) -> int:
        """How many torques wait from one call to the next."""
        return math.ceil(self.delay / self.period - 1e-9)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stretches of a period, in order."""
        share = self.delay / self.period - (self.late - 1)  # of the period under the older torque
        if self.late == 0 or share > 1.0 - 1e-9:
            return (Stage(0.0, 1.0, self.substeps or 1, 0),)
        before = max(1, round((self.substeps or 1) * share))
        return Stage(0.0, share, before, 0), Stage(share, 1.0, max(1, (self.substeps or 1) - before), 1)

    @cached_property
    def layout(self) -> dict[str, slice]:
        """Where the parts of the state from call to call are."""
        sensors, n = self.plant.sensors, self.plant.n
        sizes = {
            "plant": self.equations.size,
            "sensors": 0 if sensors is None else sensors.memory_size(self.period),
            "controller": self.controller.initial_state.size,
            "torques": self.late * n,
        }
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def state_size(self) -> int:
        """Numbers in the state."""
        return int(self.layout["torques"].stop)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """What is recorded at each sample, in this order."""
        plant, n, nq = self.plant, self.plant.n, self.equations.layout["q"].stop
        variables = [
            Variable("q", (nq,), (position_axis(nq, n),), "position", "joint position"),
            joint_variable("qd", n, "velocity", "joint velocity"),
            joint_variable("tau", n, "effort", "joint torque"),
            *recorded_of_reference(nq, n, pose=self.reference.n is None),
        ]
        if self._other_torques:
            variables.append(joint_variable("tau_applied", n, "effort", "torque of the motor"))
        if plant.sensors is not None:
            variables.append(joint_variable("q_measured", n, "position", "measured joint position"))
            variables.append(joint_variable("qd_measured", n, "velocity", "measured joint velocity"))
        if plant.motors is not None:
            variables.append(joint_variable("current", n, "A", "motor current"))
        if plant.elastic_joints is not None:
            variables.append(joint_variable("motor_position", n, "position", "motor position, on the joint's side"))
            variables.append(joint_variable("motor_velocity", n, "velocity", "motor velocity, on the joint's side"))
        for name in (*plant.wrenches, *plant.contacts):
            words = f"wrench on the robot: {name.partition('.')[2]}, moment and force in world axes"
            variables.append(Variable(name, (6,), ("component",), "N m, N", words))
        if self.record_memory:
            variables.append(memory_variable(self.controller.initial_state.size))
        if self.audit:
            variables += [energy_variable(name) for name in (*self.equations.stored, *self.equations.audited)]
        return tuple(variables)

    @cached_property
    def scan(self) -> Function:
        """One compiled loop over time: (state, given (S, k, …), *values) -> (final state, *recorded)."""

        def period(state: Any, given: Any, *arguments: Any) -> tuple[Any, ...]:
            values = dict(zip(self.shapes, arguments, strict=True))
            sample = self.sample(given, state, values)
            outside = self.outside_of(given)
            x = self.advance(sample.t, state[self.layout["plant"]], sample.queue, outside, values)
            return np.concatenate([x, sample.memory]), *sample.recorded

        inputs = {"state": (self.state_size,), "given": self.inputs.shape, **self.shapes}
        outputs = ["state_next", *(variable.name for variable in self.variables)]
        return Function(trace(period, inputs, name="closed_loop", outputs=outputs), shape="scan")

    @cached_property
    def controlled_scan(self) -> Function:
        """One compiled loop over time in steps that the error controls.

        It is a function of (state, given (S, k, …), rtol, atol, *values) and gives (final state, again, *recorded). Its
        state holds the time of the last call, the run's `Pace`, the state from call to call, and the torques on their
        way. A run calls the controller once a period and repeats the rest until the period is over.
        """
        size, late, n = self.equations.size, self.late + 1, self.plant.n
        bounds = np.cumsum([1, PACE_SIZE, self.state_size]).tolist()

        def attempt(state: Any, given: Any, rtol: Any, atol: Any, *arguments: Any) -> tuple[Any, ...]:
            values = dict(zip(self.shapes, arguments, strict=True))
            (last_call,), numbers, own, queue = np.split(state, bounds)
            sample = self.sample(given, own, values)
            fresh, pace = sample.t > last_call, Pace.of(numbers)
            pace = Pace.of([where(fresh, a, b) for a, b in zip(new_period(pace).numbers, numbers, strict=True)])
            queue = where(fresh, np.concatenate(sample.queue), queue)
            memory = where(fresh, sample.memory, own[size:])
            outside = self.outside_of(given)
            pace, x = self.controlled_period.attempt(
                pace, own[:size], sample.t, queue.reshape(late, n), outside, values, rtol, atol
            )
            again = where(pace.progress.status == Status.RUNNING, 1.0, 0.0)
            following = np.concatenate([[where(fresh, sample.t, last_call)], pace.numbers, x, memory, queue])
            return following, again, *sample.recorded

        inputs = {"state": (bounds[-1] + late * n,), "given": self.inputs.shape, "rtol": (), "atol": (size,)}
        outputs = ["state_next", "again", *(variable.name for variable in self.variables)]
        return Function(trace(attempt, inputs | self.shapes, name="controlled_loop", outputs=outputs), shape="scan")

    @cached_property
    def controller_function(self) -> Function:
        """One call alone: (given, state, *values) -> (torques in the queue and memory in one row, *recorded)."""

        def call(given: Any, state: Any, *arguments: Any) -> tuple[Any, ...]:
            sample = self.sample(given, state, dict(zip(self.shapes, arguments, strict=True)))
            return np.concatenate([*sample.queue, sample.memory]), *sample.recorded

        inputs = {"given": self.inputs.shape, "state": (self.state_size,), **self.shapes}
        outputs = ["following", *(variable.name for variable in self.variables)]
        return Function(trace(call, inputs, name="controller", outputs=outputs))

    @cached_property
    def plant_function(self) -> Function:
        """The plant over one period: (x, t, queue (late + 1, n), outside, *values) -> x."""
        size = self.equations.outside_size

        def step(x: Any, t: Any, queue: Any, *arguments: Any) -> Any:
            outside, values = (arguments[0], arguments[1:]) if size else (None, arguments)
            return self.advance(t, x, list(queue), outside, dict(zip(self.shapes, values, strict=True)))

        inputs: dict[str, tuple[int, ...]] = {"x": (self.equations.size,), "t": ()}
        inputs |= {"queue": (self.late + 1, self.plant.n)} | ({"outside": (size,)} if size else {})
        inputs |= self.shapes
        return Function(trace(step, inputs, name="plant", outputs=["x_next"]))

    @property
    def period_function(self) -> Function:
        """The plant over one period in steps that the error controls; see `ControlledPeriod.solve`."""
        return self.controlled_period.solve

    @property
    def counts_payloads(self) -> bool:
        """Whether events change the audit."""
        return self.audit and bool(self.plant.payloads)

    def outside_of(self, given: Any) -> Any:
        """What the plant feels in the period after a call, of what is given there; None for nothing."""
        size = self.equations.outside_size
        return given[..., self.inputs.shape[0] - size :] if size else None

    @cached_property
    def steps(self) -> PlantSteps:
        """The plant's motion through a period."""
        method = RK4 if isinstance(self.integrator, str) else self.integrator
        return PlantSteps(self.equations, self.shapes, method, self.period)

    @cached_property
    def controlled_period(self) -> ControlledPeriod:
        """The plant's motion through a period in steps that the error controls."""
        return ControlledPeriod(self.steps, self.stages)

    def sample(self, given: Any, state: Any, values: Mapping[str, Any]) -> Sample:
        """Read the sensors, call reference and controller once; on numbers or traced scalars."""
        first, further = self.inputs.split(given)
        motion: Any
        t, motion = self.reference.at(first, _part("reference", values))
        x, memory = state[self.layout["plant"]], state[self.layout["controller"]]
        q, qd, sensed = self._read(x, state[self.layout["sensors"]], further.get("noise"), values)
        outside, before = self.outside_of(given), self.clock_before(t)
        felt = self.equations.instant(t, INSIDE * self.period, self.period, outside, before)
        acting = self.equations.environment(x, felt, values)
        own = _part("controller", values)
        if "schedule" in further:
            own["schedule"] = further["schedule"].reshape(self.schedule_shape)
        frame = getattr(self.controller, "measured_wrench", None)
        if frame is not None:
            q_now, qd_now = self.equations.part(x, "q"), self.equations.part(x, "qd")
            T, _ = self.equations.motion(frame, q_now, qd_now, felt)
            own["measured_wrench"] = measured_wrench(self.plant.robot.description, frame, T, acting)
        tau, following = self.controller.law(t, q, qd, motion, memory, own, self.period)
        for name, value, shape in (("torques", tau, (self.plant.n,)), ("memory", following, np.shape(memory))):
            if np.shape(value) != shape:
                raise ArgumentError(
                    f"controller '{self.controller.name}' gave {name} of shape {np.shape(value)} instead of {shape}"
                )
        queue = self._queue(t, state[self.layout["torques"]], np.asarray(tau))
        recorded = self._recorded(t, x, queue, motion, (q, qd), memory, felt, acting, values)
        return Sample(t, queue, np.concatenate([sensed, following, *queue[1:]]), recorded)

    def advance(self, t: Any, x: Any, queue: list[Any], outside: Any, values: Mapping[str, Any]) -> Any:
        """Integrate the plant over one period under the torques of the queue that fall into it."""
        before = self.clock_before(t)
        for stage in self.stages:
            h = self._step_length(stage)
            start, felt = Start(t, stage.begin * self.period, before), Felt(queue[stage.torque], outside, values)
            x = self.steps.run(x, start, felt, h, stage.steps)
            before = t + (stage.end * self.period - 0.5 * h)
        return x

    def _step_length(self, stage: Stage) -> float:
        return (stage.end - stage.begin) * self.period / stage.steps

    def clock_before(self, t: Any) -> Any:
        """A time inside the step before a call at t; at the first call that time itself."""
        half = INSIDE * self.period if self.substeps is None else 0.5 * self._step_length(self.stages[-1])
        return where(t > self.reference.start_time, t - half, t)

    def _read(self, x: Any, memory: Any, noise: Any, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """What the controller sees of positions and velocities, and what the sensors remember."""
        q, qd, sensors = self.equations.part(x, "q"), self.equations.part(x, "qd"), self.plant.sensors
        if sensors is None:
            return q, qd, memory
        if sensors.side == "motor" and self.plant.elastic_joints is not None:
            q, qd = self.plant.elastic_joints.split(self.equations.part(x, "elastic_joints"))
        drawn = {} if noise is None else dict(zip(sensors.noises, noise.reshape(-1, self.plant.n), strict=True))
        numbers = self.equations.numbers("sensors", values)
        q, qd, memory = sensors.read(q, qd, drawn, memory, numbers, self.period)
        return q, qd, memory

    def _queue(self, t: Any, waiting: Any, tau: Any) -> list[Any]:
        """Torques on their way: before the first has arrived, it is in force."""
        first = t < self.reference.start_time + 0.5 * self.period
        return [*(where(first, tau, row) for row in waiting.reshape(self.late, self.plant.n)), tau]

    def _recorded(
        self,
        t: Any,
        x: Any,
        queue: list[Any],
        motion: Motion | PoseMotion,
        seen: Any,
        memory: Any,
        felt: Instant,
        acting: Any,
        values: Any,
    ) -> list[Any]:
        plant, equations = self.plant, self.equations
        recorded = [equations.part(x, "q"), equations.part(x, "qd"), queue[-1], motion[0], motion[1]]
        if self._other_torques:
            recorded.append(equations.motor_torque(x, queue[0], values))
        if plant.sensors is not None:
            recorded += seen
        if plant.motors is not None:
            recorded.append(equations.motor_current(x, queue[0], values))
        if plant.elastic_joints is not None:
            recorded += plant.elastic_joints.split(equations.part(x, "elastic_joints"))
        recorded += [acting[name].world for name in (*plant.wrenches, *plant.contacts)]
        if self.record_memory:
            recorded.append(memory)
        if self.audit:
            recorded += equations.energies(x, felt, values)
            recorded += list(equations.part(x, "audit"))
        return recorded

    @property
    def _other_torques(self) -> bool:
        """Whether the torques on the joints may be others than those that the controller asks for."""
        return self.late > 0 or self.plant.motors is not None


def _part(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    prefix = owner + "."
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
