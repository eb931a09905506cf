"""The closed loop: reference, sampled controller and plant, and the state that goes from call to call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import UnknownNameError
from chasles.control import Controller
from chasles.control.now import Now
from chasles.engine import Layout, Record
from chasles.engine.program.scalar import Array, Real
from chasles.integrators import RK4, Integrator
from chasles.simulation.call_inputs import CallInput, CallInputs
from chasles.simulation.controlled_period import ControlledPeriod, Stage
from chasles.simulation.plant.energy_accounts import EnergyAccounts
from chasles.simulation.plant.equations import Equations
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant_steps import PlantSteps, StepStart
from chasles.simulation.recording import RecordedVariables, Variable
from chasles.simulation.references import LoopReference
from chasles.simulation.sampled_controller import CallResult, SampledController
from chasles.simulation.timing import LoopTiming

#: Speed, rad/s or m/s, across which dry friction that jumps at rest reverses for implicit methods: a joint that
#: sticks creeps by about a microradian in a second.
REST_VELOCITY = 1e-6


def no_controller(now: Now) -> Array:
    """Law of an uncontrolled robot: zero torques."""
    return 0.0 * now.qd


@dataclass(frozen=True)
class ClosedLoop:
    """A plant under a sampled controller that follows a reference.

    All parameters of controller and reference, and those of the plant that vary, are arguments of its programs
    (`chasles.simulation.loop_programs`): ``values`` maps their names, ``"controller.kp"``, ``"reference.goal"``,
    ``"payload.mass"``, … to numbers.

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
        parameters = self.controller.parameters.items()
        values = {f"controller.{name}": np.asarray(value, dtype=float) for name, value in parameters}
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
    def timing(self) -> LoopTiming:
        """When the controller is called, and when its torques act."""
        faults = self.plant.timing is not None
        return LoopTiming(self.reference.start_time, self.period, self.plant.delay, self.substeps, faults)

    @cached_property
    def layout(self) -> Layout:
        """Parts of the state from call to call."""
        return Layout({"plant": self.steps.layout.shapes, **self.sampled_controller.shapes})

    @cached_property
    def recording(self) -> RecordedVariables:
        """What is recorded at each sample."""
        memory = self.controller.memory_layout.size if self.record_memory else None
        return RecordedVariables(
            self.equations,
            self.accounts,
            memory,
            follows_frame=self.reference.n is None,
            waiting_torques=self.timing.waiting_torques,
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What is recorded at each sample, in this order."""
        return self.recording.variables

    def packed(self, values: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Last argument of the programs: the values of `shapes` in one vector (*batch, size), if there are any."""
        if not self.shapes:
            return []
        return [Layout(self.shapes).join({name: values[name] for name in self.shapes})]

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
        return self.steps.held.join(self.steps.held_for(command + np.zeros(self.plant.n), outside, values))

    @cached_property
    def steps(self) -> PlantSteps:
        """The plant's motion through a period."""
        method = RK4 if isinstance(self.integrator, str) else self.integrator
        read = {name: self.shapes[name] for name in self.varied}
        return PlantSteps(self.equations, self.accounts, read, method, self.period, self.estimates_errors)

    @cached_property
    def controlled_period(self) -> ControlledPeriod:
        """The plant's motion through a period in steps that the error controls."""
        return ControlledPeriod(self.steps)

    @cached_property
    def sampled_controller(self) -> SampledController:
        """What happens at a call."""
        return SampledController(self.controller, self.reference, self.equations, self.timing, self.recording)

    def stages_of(self, given: Record, values: Mapping[str, Any]) -> tuple[Stage, ...]:
        """Stretches of the period after a call under one torque each, with the jitter that its inputs draw."""
        if self.plant.timing is None:
            return self.timing.stages
        jitter = self.equations.numbers.of("timing", values)["jitter"]
        return self.timing.stages_with(jitter * given.timing[0])

    def call(self, given: Record, state: Record, values: Mapping[str, Any]) -> CallResult:
        """Read the sensors, call reference and controller once; on records of numbers or traced scalars."""
        return self.sampled_controller.call(given, self.outside_of(given), state, values)

    def advance(self, t: Real, x: Record, queue: list[Any], outside: Array, values: Mapping[str, Any]) -> Record:
        """Integrate the plant over one period under the torques of the queue that fall into it."""
        before = self.timing.before_call(t)
        for stage in self.timing.stages:
            h = stage.step(self.period)
            start = StepStart(t, stage.begin * self.period, before)
            held = self.steps.held_for(queue[stage.torque], outside, values)
            x = self.steps.run(x, start, held, h, stage.steps)
            before = t + (stage.end * self.period - 0.5 * h)
        return x
