"""Closed loops of a page: law, plant and integrator of `chasles.simulate` through one period, as scans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, ChaslesError, TraceError
from chasles.control import Controller, laws
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import has_rule
from chasles.engine import Function, Record, maximum, minimum, trace, where
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice
from chasles.integrators import Steps
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.robot.robot import Robot
from chasles.simulation.call_inputs import CallInput, SampledWrenches, ScheduledValues
from chasles.simulation.closed_loop import ClosedLoop, no_controller
from chasles.simulation.initial_state import State, initial_state
from chasles.simulation.integrators import chosen_steps
from chasles.simulation.limits import limited_torques
from chasles.simulation.loop_programs import plant_period
from chasles.simulation.plant.friction import Friction
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.wrenches import ExternalWrench
from chasles.simulation.preparation import check_partners
from chasles.simulation.stiffness import is_stiff
from chasles.trajectories import JointTrajectory, PointToPoint
from chasles.visual.view.handed import (
    PERIOD,
    HandedMotion,
    PlannedMotion,
    moderate_motion,
    packed_table,
    require_room,
    schedule_at_rest,
    schedule_layout,
)

#: Law of a page: its name in `chasles.control.laws`, a controller, or a plain function.
PageLaw = str | Controller | Callable[..., Any]
#: Natural frequencies, rad/s, for which a page has gains of a law with a rule for them.
BANDWIDTHS = (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 20.0, 30.0)
#: The one of laws with a schedule, whose gains are many numbers, and of a page at first.
USUAL_BANDWIDTH = 8.0
#: Steps of the plant in a period, and those for robots whose friction acts too fast for them: friction is implicit
#: there. On an xArm6, the stiffest of the shipped robots, these stay within 0.016 rad of a free fall of a second.
STEPS, STEPS_WITH_STIFF_FRICTION = Steps("rk4", 1), Steps("implicit-friction-euler", 4)
#: Laws of a page, if none are named.
USUAL = ("pd-gravity", "computed-torque")
#: Name of the loop without a law.
NONE = "none"
_PAYLOAD, _FRICTION = "payload.mass", "friction.viscous"
_PUSH = ExternalWrench("push", times=[0.0], samples=np.zeros((1, 6)), axes="world")


@dataclass(frozen=True)
class PageLoops:
    """Loops of a robot under some laws, and without one.

    Attributes
    ----------
    robot
        Robot on the page, and the model of laws that are named.
    laws
        Laws of the page.
    q
        Configuration at the start, shape (nq,), at which laws with a schedule hold.
    motion
        Motion that the laws can follow.
    """

    robot: Robot
    laws: Sequence[PageLaw]
    q: NDArray[np.float64]
    motion: JointTrajectory | None = None

    @cached_property
    def plant(self) -> Plant:
        """Robot with viscous friction, if its joints can have it, pushed at its tool, and without effort limits."""
        robot = self.robot
        friction = Friction(robot, viscous=0.0) if self.has_friction else None
        return Plant(robot, friction=friction, wrenches=[_PUSH], effort_limits=False)  # the page says whether they act

    @property
    def has_friction(self) -> bool:
        """Whether `chasles.Friction` takes the robot: its joints have one degree of freedom each."""
        return not any(joint.has_quaternion for joint in self.robot.description.coordinates)

    @cached_property
    def planned(self) -> PlannedMotion | None:
        """Motion at all calls."""
        return None if self.motion is None else PlannedMotion(self.robot, self.motion)

    @cached_property
    def steps(self) -> Steps:
        """Steps of the plant in a period."""
        loop = self._loop(as_controller(no_controller), STEPS)
        values = loop.nominal | {name: np.zeros(shape) for name, shape in loop.shapes.items()}
        return STEPS_WITH_STIFF_FRICTION if is_stiff(loop, self.q, values) else STEPS

    @cached_property
    def free(self) -> ClosedLoop:
        """Loop without a law."""
        return self._loop(as_controller(no_controller), self.steps)

    @cached_property
    def tuned_for(self) -> PointToPoint:
        """Motion for which the gains of named laws are tuned."""
        return moderate_motion(self.robot)

    @cached_property
    def free_motion(self) -> Function:
        """The plant's motion over one period."""
        return plant_period(self.free)

    @cached_property
    def designs(self) -> dict[str, list[Controller]]:
        """Laws by their names on the page: for all bandwidths, or as they are given."""
        designs: dict[str, list[Controller]] = {}
        for law in self.laws:
            if isinstance(law, str):
                designs[law] = self._tuned(law)
                continue
            controller = as_controller(law)
            name = controller.name
            while name in designs:
                name += "'"
            designs[name] = [controller]
        return designs

    def functions(self) -> dict[str, Function]:
        """Return the scans of the loops by name, such as ``loop computed-torque``.

        Each is a function of (state, given (S, k, …), limited, stops, plant, gains) and gives (next state, torques).
        ``limited`` says whether effort limits act, ``stops`` whether position limits do.
        """
        every: dict[str, Sequence[Controller]] = {NONE: [self.free.controller], **self.designs}
        return {
            f"loop {kind}": self._scan(kind, [self._loop(law, self.steps) for law in own])
            for kind, own in every.items()
        }

    def data(self) -> dict[str, Any]:
        """Return what the page knows of the loops, ready for JSON: states at rest, where q and qd lie, gains."""
        places = self.free.layout.slices["plant"]
        own = self.free.steps.layout.slices
        described = []
        for kind, designs in self.designs.items():
            law = designs[0]
            states = [self._at_rest(self._loop(each, self.steps)) for each in designs]
            states = states[:1] if all(state == states[0] for state in states) else states
            gains = [
                _numbers(number for part in each.parameters.values() for number in np.ravel(part)) for each in designs
            ]
            schedule = _numbers(schedule_at_rest(law, self.robot, self.q)) if law.has_schedule else None
            described.append({"kind": kind, "name": law.name, "states": states, "gains": gains, "schedule": schedule})
        try:
            tables, not_followed = self._tables(), ""
        except ChaslesError as error:
            tables, not_followed = {}, str(error)
        return {
            "period": PERIOD,
            "steps": [self.steps.method, self.steps.count],
            "tunedFor": np.ravel(self.tuned_for.goal).tolist(),
            "bandwidths": BANDWIDTHS,
            "usual": USUAL_BANDWIDTH,
            "laws": described,
            "free": self._at_rest(self.free),
            "plant": [places.start, places.stop],
            "q": [places.start + own["q"].start, places.start + own["q"].stop],
            "qd": [places.start + own["qd"].start, places.start + own["qd"].stop],
            "friction": self.has_friction,
            "known": float(self.robot.description.payload.mass),
            "start": self.q.tolist(),
            "begin": float(self.planned.times[0]) if tables and self.planned is not None else 0.0,
            "tables": tables,
            "notFollowed": not_followed,
        }

    def _tables(self) -> dict[str, dict[str, Any]]:
        """Return the motion at all calls, and the schedules of laws along it, as packed tables."""
        if self.planned is None:
            return {}
        tables = {"motion": packed_table(np.concatenate(self.planned.motion, axis=-1))}
        for kind, (law, *_) in self.designs.items():
            if law.has_schedule:
                tables[kind] = packed_table(self.planned.schedule(law))
        require_room(tables, float(self.planned.times[-1] - self.planned.times[0]))
        return tables

    def _tuned(self, kind: str) -> list[Controller]:
        """Return a law of the catalogue with its gains by its rule, for each bandwidth."""
        law = laws()[choice(kind, "law", laws())]
        if not has_rule(law):
            raise ArgumentError(
                f"no rule gives the gains of law '{kind}': hand the page the law itself, such as "
                f"laws=[ch.control.{law.__name__}(robot, …)]; on the command line, give its settings with --set"
            )
        usual = law.tuned(self.robot, self.tuned_for, PERIOD, frequency=USUAL_BANDWIDTH)
        if usual.has_schedule:
            return [usual]
        return [law.tuned(self.robot, self.tuned_for, PERIOD, frequency=w) for w in BANDWIDTHS]

    def _loop(self, law: Controller, steps: Steps) -> ClosedLoop:
        varied = (_PAYLOAD, _FRICTION) if self.has_friction else (_PAYLOAD,)
        reference = HandedMotion(self.robot, self.q)
        check_partners(self.plant, law, reference)
        chosen = chosen_steps(steps)
        further: dict[str, CallInput] = {"wrenches": SampledWrenches([_PUSH], PERIOD)}
        if law.has_schedule:
            layout = schedule_layout(law, self.robot, self.q)
            further["schedule"] = ScheduledValues(np.zeros((1, layout.size)), layout)
        return ClosedLoop(self.plant, law, reference, varied, PERIOD, chosen.substeps, chosen.method, False, further)

    def _at_rest(self, loop: ClosedLoop) -> list[float | str]:
        plant = {name: np.zeros(shape) for name, shape in self.free.shapes.items()}
        return _numbers(initial_state(loop, {**loop.nominal, **plant}, {}, State()))

    def _scan(self, kind: str, loops: Sequence[ClosedLoop]) -> Function:
        calls = [self._call(kind, loop) for loop in (loops[0], loops[-1])]
        if calls[0].program.digest != calls[1].program.digest:
            raise ArgumentError(
                f"law '{kind}' has numbers beside its gains that depend on the bandwidth: a page cannot"
            )
        loop, call, free, robot = loops[0], calls[0], self.free, self.robot

        def period(
            state: Record, given: Record, limited: Real, stops: Real, plant: Record, gains: Mapping[str, Any]
        ) -> tuple[Any, ...]:
            following, demanded = call(state, given, plant, gains)
            tau = where(limited > 0.0, limited_torques(robot, demanded, state.plant.qd, True, False), demanded)
            outside = Record({name: given[name] for name in ("t", "motion", "wrenches")})
            x = free.steps.layout.split(self.free_motion(state.plant, given.t, np.array([tau]), outside, plant))
            return {"plant": where_stopped(robot, x, stops), **following}, state.plant.q, tau

        inputs: dict[str, Shapes] = {"state": loop.layout.shapes, "given": loop.inputs.layout.shapes}
        inputs |= {"limited": (), "stops": (), "plant": free.shapes, "gains": self._gains(loop)}
        return Function(trace(period, inputs, name="period", outputs=["state_next", "q", "tau"]), shape="scan")

    def _call(self, kind: str, loop: ClosedLoop) -> Function:
        """Return one call of the law: (state, given, plant, gains) -> (memories, torques)."""

        def call(state: Record, given: Record, plant: Mapping[str, Any], gains: Mapping[str, Any]) -> tuple[Any, Any]:
            result = loop.call(given, state, {**plant, **gains})
            return result.following, result.queue[0]

        inputs: dict[str, Shapes] = {"state": loop.layout.shapes, "given": loop.inputs.layout.shapes}
        inputs |= {"plant": self.free.shapes, "gains": self._gains(loop)}
        instead = "a page runs laws of plain arithmetic; simulate this one in Python and view the run"
        if not loop.controller.traceable:
            raise ArgumentError(f"law '{kind}' is computed step by step in Python, which a page cannot do: {instead}")
        try:
            return Function(trace(call, inputs, name=f"call {kind}", outputs=["following", "tau"]))
        except Exception as error:  # a plain Python law may fail on traced values in any way
            if isinstance(error, ChaslesError) and not isinstance(error, TraceError):
                raise  # wrong anyhow
            raise ArgumentError(f"law '{kind}' cannot be compiled for a page ({error}): {instead}") from error

    def _gains(self, loop: ClosedLoop) -> dict[str, tuple[int, ...]]:
        return {name: shape for name, shape in loop.shapes.items() if name not in self.free.shapes}


def _numbers(values: Iterable[float]) -> list[float | str]:
    """Numbers for JSON, which has no infinity: a text that JavaScript reads as one."""
    return [float(x) if np.isfinite(x) else "Infinity" if x > 0.0 else "-Infinity" for x in values]


def where_stopped(robot: Robot, x: Record, stops: Real) -> Record:
    """State of a plant with joints that passed a limit back there, at rest, where ``stops`` is positive.

    The other joints of closed chains follow; where these are spherical ones, the whole robot comes to rest.
    """
    places = joint_limits(robot).places
    lower, upper = joint_limits(robot).lower, joint_limits(robot).upper
    q, qd = np.array(x.q), np.array(x.qd)
    stopped: Any = stops < 0.0
    for k, place in enumerate(places):
        if place < 0 or not (np.isfinite(lower[k]) or np.isfinite(upper[k])):
            continue
        inside = minimum(maximum(q[place], lower[k]), upper[k])
        beyond = (stops > 0.0) & ((inside < q[place]) | (inside > q[place]))
        qd[k] = where(beyond & (qd[k] * (q[place] - inside) > 0.0), 0.0, qd[k])
        q[place] = where(beyond, inside, q[place])
        stopped = stopped | beyond
    if not robot.description.loops:
        return Record({**x, "q": q, "qd": qd})
    closed = robot.normalize(q)
    own = [robot.description.coordinate_of_velocity[k] for k in range(len(robot.description.joint_velocity_names))]
    others = [place for k, place in enumerate(own) if k not in robot.description.independent_indices]
    if None in others:
        qd, following = 0.0 * qd, np.zeros(len(others))
    else:
        following = robot.configuration_rate(closed, qd)[np.array(others, dtype=int)]
    is_closed = sum(closed) * 0.0 >= 0.0  # no NaN
    put = stopped & is_closed
    return Record(
        {**x, "q": where(put, closed, x.q), "qd": where(put, qd, x.qd), "following": where(put, following, x.following)}
    )
