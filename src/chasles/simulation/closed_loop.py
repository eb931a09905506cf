"""The closed loop: reference, sampled controller and plant, joined into programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import Controller
from chasles.control.now import Now
from chasles.engine import Function, Layout, Record, trace, where
from chasles.engine.program.records import Memory, Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.integrators import RK4, Integrator
from chasles.integrators.attempts import IntegrationStatus
from chasles.simulation.call_inputs import CallInput, CallInputs
from chasles.simulation.controlled_period import PACE, ControlledPeriod, Stage, new_period
from chasles.simulation.limits import limited_torques
from chasles.simulation.plant.energy_accounts import EnergyAccounts
from chasles.simulation.plant.equations import Equations
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.wrench_sensor import measured_wrench
from chasles.simulation.plant_steps import INSIDE, HeldInputs, PlantSteps, StepStart
from chasles.simulation.recording import RecordedVariables, Variable
from chasles.simulation.references import LoopReference

#: Speed, rad/s or m/s, across which dry friction that jumps at rest turns round for implicit methods: a joint that
#: sticks creeps by about a microradian in a second.
REST_VELOCITY = 1e-6
#: Values of a loop without any.
_NO_VALUES = Record()


def no_controller(now: Now) -> Array:
    """Law of an uncontrolled robot: zero torques."""
    return 0.0 * now.qd


class CallResult(NamedTuple):
    """One call of the controller.

    Attributes
    ----------
    t
        Its time.
    queue
        Torques that are on their way, the oldest first, the new one last, (late + 1, n).
    following
        State passed to the next call besides the plant's state: memories of sensors and controller, and delayed
        torques.
    recorded
        In the order of `ClosedLoop.variables`.
    """

    t: Real
    queue: list[Any]
    following: dict[str, Any]
    recorded: list[Any]


@dataclass(frozen=True)
class ClosedLoop:
    """A plant under a sampled controller that follows a reference.

    All numbers of controller and reference, and those of the plant that vary, are arguments of its programs:
    ``values`` maps their names, ``"controller.kp"``, ``"reference.goal"``, ``"payload.mass"``, … to numbers.

    The state that goes from call to call is a record in the parts of `layout`.

    Attributes
    ----------
    plant
        The plant.
    controller, reference
        Controller and reference.
    varied
        Names of the plant's parameters that are arguments.
    period
        Time between two calls of the controller, s; its torque is held in between.
    substeps
        Integration steps in a period; None for steps that the error controls.
    integrator
        The method, or a name of SciPy's.
    audit
        Whether energies are integrated and recorded.
    further
        Values computed in advance for every call: ``"schedule"``, ``"noise"``, ``"wrenches"``, ``"base"``.
    record_memory
        Whether the controller's memory is recorded.
    estimates_errors
        Whether the errors of all steps are estimated; see `chasles.simulation.step_errors`.
    """

    plant: Plant
    controller: Controller
    reference: LoopReference
    varied: tuple[str, ...]
    period: float
    substeps: int | None
    integrator: Integrator | str
    audit: bool
    further: Mapping[str, CallInput]
    record_memory: bool = False
    estimates_errors: bool = False

    @cached_property
    def nominal(self) -> dict[str, NDArray[np.float64]]:
        """Values of the parameters of controller and reference, by their full names."""
        own = self.controller.parameters.items()
        values = {f"controller.{name}": np.asarray(value, dtype=float) for name, value in own}
        return values | {f"reference.{name}": value for name, value in self.reference.parameters.items()}

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
        return Equations(self.plant, self.varied, REST_VELOCITY if implicit else 0.0)

    @cached_property
    def accounts(self) -> EnergyAccounts | None:
        """Energies that are integrated and recorded."""
        return EnergyAccounts(self.equations) if self.audit else None

    @cached_property
    def inputs(self) -> CallInputs:
        """Inputs of a call."""
        return CallInputs(self.reference, self.further)

    @cached_property
    def late(self) -> int:
        """Number of torques that wait from one call to the next."""
        return math.ceil(self.plant.delay / self.period - 1e-9)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stretches of a period, in order."""
        share = self.plant.delay / self.period - (self.late - 1)  # of the period under the older torque
        if self.late == 0 or share > 1.0 - 1e-9:
            return (Stage(0.0, 1.0, self.substeps or 1, 0),)
        before = max(1, round((self.substeps or 1) * share))
        return Stage(0.0, share, before, 0), Stage(share, 1.0, max(1, (self.substeps or 1) - before), 1)

    @cached_property
    def layout(self) -> Layout:
        """Parts of the state from call to call."""
        return Layout({"plant": self.steps.layout.shapes, **self.following})

    @cached_property
    def following(self) -> dict[str, Shapes]:
        """Parts of that state beside the plant's: memories of sensors and controller, and torques on their way."""
        sensors = self.plant.sensors
        return {
            "sensors": (0,) if sensors is None else sensors.memory_shapes(self.period),
            "configuration": (self.plant.robot.nq,) if self.closes_readings else (0,),
            "controller": self.controller.memory_layout.shapes,
            "torques": (self.late, self.plant.n),
        }

    @property
    def closes_readings(self) -> bool:
        """Whether sensors measure the independent joints alone, so that the others follow from the loops."""
        return self.plant.sensors is not None and bool(self.plant.robot.description.loops)

    @cached_property
    def controlled_layout(self) -> Layout:
        """Parts of the state of `controlled_scan`."""
        queue = (self.late + 1, self.plant.n)
        return Layout({"last_call": (), "pace": PACE, "loop": self.layout.shapes, "queue": queue})

    @cached_property
    def recording(self) -> RecordedVariables:
        """What is recorded at each sample."""
        memory = self.controller.memory_layout.size if self.record_memory else None
        return RecordedVariables(
            self.equations, self.accounts, memory, follows_frame=self.reference.n is None, late=self.late
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What is recorded at each sample, in this order."""
        return self.recording.variables

    @property
    def _values(self) -> dict[str, Shapes]:
        """Last input of the programs: the values, if there are any."""
        return {"values": self.shapes} if self.shapes else {}

    def packed(self, values: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Last argument of the programs: the values of `shapes` in one vector (*batch, size), if there are any."""
        if not self.shapes:
            return []
        return [Layout(self.shapes).join({name: values[name] for name in self.shapes})]

    @cached_property
    def scan(self) -> Function:
        """One compiled loop over time: (state, given (S, k, …), values) -> (final state, *recorded)."""

        def period(state: Record, given: Record, values: Record = _NO_VALUES) -> tuple[Any, ...]:
            sample = self.sample(given, state, values)
            x = self.advance(sample.t, state.plant, sample.queue, self.outside_of(given), values)
            return self.layout.join({"plant": x, **sample.following}), *sample.recorded

        inputs: dict[str, Shapes] = {"state": self.layout.shapes, "given": self.inputs.layout.shapes, **self._values}
        outputs = ["state_next", *(variable.name for variable in self.variables)]
        return Function(trace(period, inputs, name="closed_loop", outputs=outputs), shape="scan")

    @cached_property
    def controlled_scan(self) -> Function:
        """One compiled loop over time in steps that the error controls.

        It is a function of (state, given (S, k, …), rtol, atol, values) and gives (final state, again, *recorded). Its
        state has the parts of `controlled_layout`. A run calls the controller once a period and repeats the rest until
        the period is over.
        """
        layout, own = self.controlled_layout, self.layout

        def attempt(
            state: Record, given: Record, rtol: Real, atol: Array, values: Record = _NO_VALUES
        ) -> tuple[Any, ...]:
            sample = self.sample(given, state.loop, values)
            fresh, pace = sample.t > state.last_call, Layout(PACE)
            pace_now = pace.split(where(fresh, pace.join(new_period(state.pace)), pace.join(state.pace)))
            queue = where(fresh, np.array(sample.queue), state.queue)
            called = own.join({"plant": state.loop.plant, **sample.following})
            loop = own.split(where(fresh, called, own.join(state.loop)))
            pace_now, x = self.controlled_period.attempt(
                pace_now, loop.plant, sample.t, queue, self.outside_of(given), values, rtol, atol
            )
            again = where(pace_now.progress.status == IntegrationStatus.RUNNING, 1.0, 0.0)
            following = {
                "last_call": where(fresh, sample.t, state.last_call),
                "pace": pace_now,
                "loop": {**loop, "plant": x},
                "queue": queue,
            }
            return layout.join(following), again, *sample.recorded

        inputs: dict[str, Shapes] = {"state": layout.shapes, "given": self.inputs.layout.shapes}
        inputs |= {"rtol": (), "atol": (self.steps.layout.size,), **self._values}
        outputs = ["state_next", "again", *(variable.name for variable in self.variables)]
        return Function(trace(attempt, inputs, name="controlled_loop", outputs=outputs), shape="scan")

    @cached_property
    def controller_function(self) -> Function:
        """One call alone: (given, state, values) -> (following, *recorded).

        The first result has the parts ``queue``, torques on their way, and those of `CallResult.following`.
        """

        def call(given: Record, state: Record, values: Record = _NO_VALUES) -> tuple[Any, ...]:
            sample = self.sample(given, state, values)
            return {"queue": np.array(sample.queue), **sample.following}, *sample.recorded

        inputs: dict[str, Shapes] = {"given": self.inputs.layout.shapes, "state": self.layout.shapes, **self._values}
        outputs = ["following", *(variable.name for variable in self.variables)]
        return Function(trace(call, inputs, name="controller", outputs=outputs))

    @cached_property
    def plant_function(self) -> Function:
        """The plant over one period: (x, t, queue (late + 1, n), given, values) -> x."""

        def step(x: Record, t: Real, queue: Array, given: Record, values: Mapping[str, Any] = _NO_VALUES) -> Any:
            return self.steps.layout.join(self.advance(t, x, list(queue), self.outside_of(given), values))

        inputs: dict[str, Shapes] = {"x": self.steps.layout.shapes, "t": (), "queue": (self.late + 1, self.plant.n)}
        inputs |= {"given": self.inputs.layout.shapes, **self._values}
        return Function(trace(step, inputs, name="plant", outputs=["x_next"]))

    @property
    def period_function(self) -> Function:
        """The plant over one period in steps that the error controls; see `ControlledPeriod.solve`."""
        return self.controlled_period.solve

    @property
    def is_controlled(self) -> bool:
        """Whether a law of the user's gives torques; runs without a controller have `no_controller`."""
        return getattr(self.controller, "function", None) is not no_controller

    @property
    def counts_payloads(self) -> bool:
        """Whether events change the audit."""
        return self.audit and bool(self.plant.payloads)

    def outside_of(self, given: Any) -> Any:
        """External inputs of the plant in the period after a call; see `Environment.inputs`."""
        inputs = self.equations.environment.inputs.items()
        return Record({name: given.get(name, np.zeros(shape)) for name, shape in inputs})

    def held_inputs(
        self, given: NDArray[np.float64], values: Mapping[str, Any], command: Real = 0.0
    ) -> NDArray[np.float64]:
        """Vector of `HeldInputs` in the period after a call, from vectors of its inputs."""
        outside = self.outside_of(self.inputs.layout.split(given))
        own = {name: values[name] for name in self.shapes}
        return self.steps.held.join(HeldInputs(command + np.zeros(self.plant.n), outside, own))

    @cached_property
    def steps(self) -> PlantSteps:
        """The plant's motion through a period."""
        method = RK4 if isinstance(self.integrator, str) else self.integrator
        return PlantSteps(self.equations, self.accounts, self.shapes, method, self.period, self.estimates_errors)

    @cached_property
    def controlled_period(self) -> ControlledPeriod:
        """The plant's motion through a period in steps that the error controls."""
        return ControlledPeriod(self.steps, self.stages)

    def sample(self, given: Record, state: Record, values: Mapping[str, Any]) -> CallResult:
        """Read the sensors, call reference and controller once; on records of numbers or traced scalars."""
        t, x = given.t, state.plant
        motion: Any = self.reference.at(given, _part("reference", values))
        q, qd, sensed = self._read(x, state.sensors, given.get("noise"), values)
        known = self._closed(q, state.configuration)
        q = known if self.closes_readings else q
        before = self.clock_before(t)
        environment, outside = self.equations.environment, self.outside_of(given)
        instant = environment.instant(t, INSIDE * self.period, self.period, outside, before)
        acting = environment.acting(x, instant, values)
        wrench, frame = None, self.controller.measured_wrench
        if frame is not None:
            T, _ = environment.motion(frame, x, instant)
            wrench = measured_wrench(self.plant.robot.description, frame, T, acting)
        layout = self.controller.memory_layout
        memory = layout.join(state.controller)
        now = Now(t, q, qd, motion, layout.split(memory.copy()), self.period, given.get("schedule"), wrench)
        tau = self.controller.with_values(_part("controller", values)).law(now)
        if isinstance(tau, tuple):
            raise ArgumentError(
                f"controller '{self.controller.name}' returned {len(tau)} values; a law returns the torques alone, and "
                "assigns to the parts of now.memory"
            )
        if np.shape(tau) != (self.plant.n,):
            raise ArgumentError(
                f"controller '{self.controller.name}' gave torques of shape {np.shape(tau)} instead of "
                f"({self.plant.n},)"
            )
        try:
            following = layout.split(layout.join(now.memory))
        except (ArgumentError, UnknownNameError) as error:
            raise ArgumentError(f"controller '{self.controller.name}' gave memory that does not fit: {error}") from None
        demanded = np.asarray(tau)
        plant = self.plant
        limited = limited_torques(plant.robot, demanded, x.qd, plant.effort_limits, plant.velocity_limits)
        queue = self._queue(t, state.torques, limited)
        recorded = self.recording.values(x, demanded, queue[0], motion, (q, qd), memory, instant, acting, values)
        waiting = np.array(queue[1:]).reshape(self.late, self.plant.n)
        follows = {"sensors": sensed, "configuration": known, "controller": following, "torques": waiting}
        return CallResult(t, queue, follows, recorded)

    def advance(self, t: Real, x: Record, queue: list[Any], outside: Array, values: Mapping[str, Any]) -> Record:
        """Integrate the plant over one period under the torques of the queue that fall into it."""
        before = self.clock_before(t)
        for stage in self.stages:
            h = stage.step(self.period)
            start, held = (
                StepStart(t, stage.begin * self.period, before),
                HeldInputs(queue[stage.torque], outside, values),
            )
            x = self.steps.run(x, start, held, h, stage.steps)
            before = t + (stage.end * self.period - 0.5 * h)
        return x

    def clock_before(self, t: Real) -> Real:
        """A time inside the step before a call at t; at the first call that time itself."""
        half = INSIDE * self.period if self.substeps is None else 0.5 * self.stages[-1].step(self.period)
        return where(t > self.reference.start_time, t - half, t)

    def _read(self, x: Record, memory: Memory, noise: Array | None, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Measured positions and velocities, and the sensors' memory."""
        q, qd, sensors = x.q, x.qd, self.plant.sensors
        if sensors is None:
            return q, qd, memory
        q = self.plant.joint_positions(q)
        if sensors.side == "motor" and self.plant.elastic_joints is not None:
            q, qd = self.plant.elastic_joints.split(x.elastic_joints)
        drawn = {} if noise is None else dict(zip(sensors.noises, noise, strict=True))
        numbers = self.equations.numbers.of("sensors", values)
        q, qd, memory = sensors.read(q, qd, drawn, memory, numbers, self.period)
        return q, qd, memory

    def _closed(self, positions: Array, last: Array) -> Any:
        """Configuration with measured independent joints; the others, near those of the last call, close the loops."""
        if not self.closes_readings:
            return last
        q = np.array(last)
        q[self.plant.joint_coordinates] = positions
        return self.plant.robot.normalize(q)

    def _queue(self, t: Real, waiting: Array, tau: Array) -> list[Any]:
        """Torques on their way: before the first has arrived, it is in force."""
        first = t < self.reference.start_time + 0.5 * self.period
        return [*(where(first, tau, row) for row in waiting), tau]


def _part(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    prefix = owner + "."
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
