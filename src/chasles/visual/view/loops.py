"""Closed loops of a page: law, plant and integrator of `chasles.simulate` through one period, as scans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.control import Controller, laws
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import Function, Record, maximum, minimum, trace, where
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice
from chasles.integrators import RK4
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.robot.robot import Robot
from chasles.simulation.closed_loop import ClosedLoop, no_controller
from chasles.simulation.initial_state import State, initial_state
from chasles.simulation.limits import limited_torques
from chasles.simulation.loop_programs import plant_period
from chasles.simulation.plant.friction import Friction
from chasles.simulation.plant.plant import Plant
from chasles.trajectories import PointToPoint
from chasles.trajectories.motion import Motion

#: Time between two calls of the law, s, and length of the integration step.
PERIOD = 1e-3
#: Natural frequencies, rad/s, for which a page has gains.
BANDWIDTHS = (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 20.0, 30.0)
#: Laws of a page, if none are named.
USUAL = ("pd-gravity", "computed-torque")
#: Name of the loop without a law.
NONE = "none"
_PAYLOAD, _FRICTION = "payload.mass", "friction.viscous"


@dataclass(frozen=True)
class HandedMotion:
    """Motion of a robot that the page hands to its loop at every call, in the robot's velocities; rest at home."""

    robot: Robot
    batch = ()
    start_time = 0.0
    duration = 0.0

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.robot.nq

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """None."""
        return {}

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Time and motion."""
        return {"t": (), "motion": Motion._make([(self.robot.nq,), (self.robot.n,), (self.robot.n,)])}

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion that is handed over."""
        motion: Motion = given.motion
        return motion

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """Times, and rest at them."""
        return {"t": times, "motion": self.along(times, {})}

    def along(self, times: NDArray[np.float64], parameters: Mapping[str, Any]) -> Motion:
        """Rest at times of any shape."""
        return Motion._make(np.broadcast_to(part, (*times.shape, part.size)) for part in self.start({}, varied=False))

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Rest."""
        return Motion(self.robot.home, np.zeros(self.robot.n), np.zeros(self.robot.n))


@dataclass(frozen=True)
class PageLoops:
    """Loops of a robot under some laws, and without one.

    Attributes
    ----------
    robot
        Robot on the page, and the laws' model of it.
    kinds
        Names of the laws in `chasles.control.laws`.
    """

    robot: Robot
    kinds: Sequence[str]

    def __post_init__(self) -> None:
        for kind in self.kinds:
            choice(kind, "law", laws())

    @cached_property
    def plant(self) -> Plant:
        """Robot with viscous friction, if its joints can have it, and without effort limits."""
        robot = self.robot
        friction = Friction(robot, viscous=0.0) if self.has_friction else None
        return Plant(robot, friction=friction, effort_limits=False)  # the page says whether they act

    @property
    def has_friction(self) -> bool:
        """Whether `chasles.Friction` takes the robot: its joints have one degree of freedom each."""
        return not any(joint.has_quaternion for joint in self.robot.description.coordinates)

    @cached_property
    def free(self) -> ClosedLoop:
        """Loop without a law."""
        return self._loop(as_controller(no_controller))

    @cached_property
    def free_motion(self) -> Function:
        """The plant's motion over one period."""
        return plant_period(self.free)

    @cached_property
    def tuned(self) -> dict[str, list[RobotController]]:
        """Laws by their names, each with its gains for all bandwidths."""
        robot = self.robot
        still = PointToPoint(robot.home, robot.home, 1.0)
        return {
            kind: [laws()[kind].tuned(robot, still, PERIOD, frequency=w) for w in BANDWIDTHS] for kind in self.kinds
        }

    def functions(self) -> dict[str, Function]:
        """Return the scans of the loops by name, such as ``loop computed-torque``.

        Each is a function of (state, given (S, k, …), limited, stops, plant, gains) and gives (next state, torques).
        ``limited`` says whether effort limits act, ``stops`` whether position limits do.
        """
        every: dict[str, Sequence[Controller]] = {NONE: [self.free.controller], **self.tuned}
        return {f"loop {kind}": self._scan(kind, [self._loop(law) for law in own]) for kind, own in every.items()}

    def data(self) -> dict[str, Any]:
        """Return what the page knows of the loops, ready for JSON: states at rest, where q and qd lie, gains."""
        places = self.free.layout.slices["plant"]
        own = self.free.steps.layout.slices
        described = []
        for kind, tuned in self.tuned.items():
            gains = [_numbers(x for part in law.parameters.values() for x in np.ravel(part).tolist()) for law in tuned]
            states = [self._at_rest(self._loop(law)) for law in tuned]
            states = states[:1] if all(state == states[0] for state in states) else states
            described.append({"kind": kind, "name": tuned[0].name, "states": states, "gains": gains})
        return {
            "period": PERIOD,
            "bandwidths": BANDWIDTHS,
            "laws": described,
            "free": self._at_rest(self.free),
            "plant": [places.start, places.stop],
            "q": [places.start + own["q"].start, places.start + own["q"].stop],
            "qd": [places.start + own["qd"].start, places.start + own["qd"].stop],
            "friction": self.has_friction,
            "known": float(self.robot.description.payload.mass),
        }

    def _loop(self, law: Controller) -> ClosedLoop:
        varied = (_PAYLOAD, _FRICTION) if self.has_friction else (_PAYLOAD,)
        if law.has_schedule:
            raise ArgumentError(
                f"law '{law.name}' computes values along a motion beforehand, which a page cannot: choose another one"
            )
        reference = HandedMotion(self.robot)
        return ClosedLoop(self.plant, law, reference, varied, PERIOD, 1, RK4, False, {})

    def _at_rest(self, loop: ClosedLoop) -> list[float | str]:
        plant = {name: np.zeros(shape) for name, shape in self.free.shapes.items()}
        return _numbers(initial_state(loop, {**loop.nominal, **plant}, {}, State()).tolist())

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
            x = free.steps.layout.split(self.free_motion(state.plant, given.t, np.array([tau]), given, plant))
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
        return Function(trace(call, inputs, name=f"call {kind}", outputs=["following", "tau"]))

    def _gains(self, loop: ClosedLoop) -> dict[str, tuple[int, ...]]:
        return {name: shape for name, shape in loop.shapes.items() if name not in self.free.shapes}


def _numbers(values: Iterable[float]) -> list[float | str]:
    """Numbers for JSON, which has no infinity: a text that JavaScript reads as one."""
    return [x if np.isfinite(x) else "Infinity" if x > 0.0 else "-Infinity" for x in values]


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
