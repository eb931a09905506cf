"""Model predictive control: the best motion from the measured state, computed again at every call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding, Rule
from chasles.control.delayed_hold import MOST_DELAY
from chasles.control.now import Now
from chasles.control.optimal.first_motion import along, first_motion, inside, states_of_drives, usual_scale
from chasles.control.optimal.interior_point import determines_positions, first_iterate, solve
from chasles.control.optimal.iterates import Ending, SearchResult
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.numbers import require_values
from chasles.control.optimal.predictive_call import PredictiveCall, memory_shapes, predictive_call
from chasles.control.optimal.predictive_programs import CallPrograms
from chasles.control.optimal.problem import OptimalControl
from chasles.control.optimal.receding import interpolated
from chasles.control.optimal.workspace import workspace
from chasles.control.robot_controller import RobotController
from chasles.engine.validators import real, reals, whole_number
from chasles.trajectories.motion import Motion

Floats = NDArray[np.float64]
#: Iterations of the first call, which a robot makes before it moves, and its first barrier.
_FIRST_ITERATIONS, _FIRST_BARRIER = 300, 0.1
_MOST_ITERATIONS = 1000
#: Numbers in the memory beside those of a call: time of the first call, node of the sequence of contacts, and counts.
_COUNTED = ("begin", "node", "calls", "late", "failed", "longest")

_LATE = Rule(
    "late-solve",
    0.0,
    "a torque that is computed later than a period after its call cannot be sent in time",
    "{value:.0f} of {calls:.0f} solves took longer than the period on this machine, the longest {longest:.3g} ms; the "
    "simulation used their torques all the same",
    "caution",
)
_FAILED = Rule(
    "failed-solve",
    0.0,
    "the solver accepted no step, or a value was not finite",
    "{value:.0f} of {calls:.0f} solves failed; torques and gains of the last motion stood in",
    "caution",
)


class ModelPredictive(RobotController):
    """tau(t) = the first torques of the best motion over a horizon, from the state that is measured.

    At every call the motion of the last call with its multipliers and slacks, moved on by a period, is where the
    iterations begin. They stay at one barrier, so that this motion is already near its end, and few of them follow it.
    The limits keep a distance from the motion that is of the order of the barrier. Where the iterations fail, the last
    motion's torques and its regulator, u - K (x - x_plan), stand in.

    Robots may have a free base, spherical joints or loops. Where the problem limits or weighs rates of torques, torques
    are states: a call sends those that the call before has chosen, and chooses those of the next one, so that rates are
    kept from call to call. The phases of contacts are nodes from the first call on, along which the horizon recedes.

    A call that takes longer than the period counts as late: `Run.findings` says how often. The simulation uses its
    torques nevertheless, so that runs do not depend on the machine. The first call finds a motion from nothing and
    does not count. Simulations call the law once a period; a call is one schedule of compiled programs
    (`chasles.control.optimal.predictive_call`), which `chasles.control.controller_to_c` writes as C code.

    Source: Diehl, Bock and Schlöder, A real-time iteration scheme for nonlinear optimization in optimal feedback
    control (2005); Wills and Heath, Barrier function based model predictive control (2004); Pannocchia and Rawlings,
    Disturbance models for offset-free model-predictive control (2003).

    Parameters
    ----------
    problem
        Problem over the horizon; its `duration` is the horizon, its nodes need not be a period apart.
    iterations
        Largest number of iterations of a call; they end earlier where they converge. 1 is the real-time iteration.
    barrier
        Barrier of the constraints, relative to a cost of the order of ten; see `chasles.control.optimal.elastic`.
    delay
        Delay from a call to the effect of its torque, in sample periods, 0 to 10: the plan begins at the state that the
        torques on their way lead to.
    observer
        Rate at which an unknown torque at each joint is estimated from what the model's prediction misses, 1/s;
        default 0, none. With it constant loads leave no further error in a loop that settles: an error that the cost
        accepts where the model is right, such as one that a cost on torques gives against gravity, stays. The inertia
        of a load is no constant torque: one that multiplies that of the model makes the loop swing, the sooner the
        faster the observer is.
    **values
        Values that the residuals name, such as ``goal``, which simulations can vary.

    Raises
    ------
    ArgumentError
        A value is missing, is not finite, or has a wrong shape; a duration or start is free; contacts come with a delay
        or an observer; or a simulation's period is longer than the horizon, or
        than a step of a problem whose torques are states.
    UnknownNameError
        No residual takes a value of this name.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.control.optimal import residuals
    >>> arm = ch.load("planar2r")
    >>> hold = ch.OptimalControl(
    ...     arm,
    ...     duration=0.4,
    ...     nodes=20,
    ...     running=[1e3 * residuals.position("goal"), 10.0 * residuals.velocity(), 1e-2 * residuals.torque()],
    ...     limits={"torque": 60.0},
    ... )
    >>> law = ch.ModelPredictive(hold, goal=[1.0, 0.5])
    >>> run = ch.simulate(arm, law, duration=0.1, start=[0.8, 0.4], period=0.02)
    >>> bool(abs(run["tau"]).max() <= 60.0)
    True
    """

    name = "model predictive control"
    traceable = False
    follows_reference: bool

    def __init__(
        self,
        problem: OptimalControl,
        *,
        iterations: int = 3,
        barrier: float = 1e-4,
        delay: float = 0.0,
        observer: float = 0.0,
        **values: ArrayLike,
    ) -> None:
        if not isinstance(problem, OptimalControl):
            raise ArgumentError(f"problem must be a chasles.OptimalControl, not {problem!r}")
        if not problem.step.drives.are_ideal:
            raise ArgumentError(
                "the problem has a plant with motors, springs, friction of its own or a delay, which the law does "
                "not know; pose it for plant.robot, and give the law delay="
            )
        if problem.span.is_free:
            raise ArgumentError("the problem's duration is free, but a horizon is fixed; give it one duration")
        if problem.step.free_start:
            raise ArgumentError("the problem's start is free, but a law measures it; plan the motion instead")
        if problem.step.contacts is not None and (delay or observer):
            raise ArgumentError(
                "with contacts neither delay nor observer is possible: what is predicted between calls would depend on "
                "forces that nobody measures; leave them out"
            )
        self.problem = problem.receding
        self.iterations = whole_number(iterations, "iterations", 1, _MOST_ITERATIONS)
        self.barrier = real(barrier, "barrier", above=0.0, at_most=1.0)
        self.delay = real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
        self.observer = real(observer, "observer", at_least=0.0)
        self.follows_reference = problem.takes_reference
        checked = _checked_values(problem, values)
        for name in checked:
            if hasattr(type(self), name) or name in vars(self):
                raise ArgumentError(
                    f"'{name}' cannot be the name of a value: every controller has a member of that name"
                )
        super().__init__(problem.robot, checked, self._first_memory())

    def _first_memory(self) -> dict[str, Any]:
        shapes = memory_shapes(self._programs(1.0)) | dict.fromkeys(_COUNTED, ())
        return {name: np.zeros(shape) for name, shape in shapes.items()}

    def _programs(self, period: float) -> CallPrograms:
        """Return the programs of calls at a sample period."""
        return CallPrograms(self.problem, period, self.delay, self.observer)

    def schedule(self, times: Floats, motion: Motion) -> Floats:
        """Motion to follow over the horizon of each call, (k, N + 1, 3n); beyond the last call it rests there."""
        problem = self.problem
        if not problem.takes_reference:
            return np.zeros((len(times), 0))
        h = problem.step.h
        period = (times[-1] - times[0]) / max(1, len(times) - 1)
        ahead = self.delay * period + h * np.arange(problem.nodes + 1)
        at_nodes = interpolated(self.robot, times, motion, times[:, None] + ahead)
        in_steps = interpolated(self.robot, times, motion, times[:, None] + ahead + 0.5 * h)
        tau = np.asarray(problem.robot.inverse_dynamics(*in_steps))
        return np.concatenate([at_nodes.q, at_nodes.qd, tau], axis=-1)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        begin = perf_counter()
        memory, problem = now.memory, self.problem
        if now.period > problem.duration:
            raise ArgumentError(
                f"the period of {now.period:g} s is longer than the problem's horizon of {problem.duration:g} s"
            )
        if problem.step.by_rates and now.period > problem.step.h * (1.0 + 1e-9):
            raise ArgumentError(
                f"the period of {now.period:g} s is longer than a step of the problem, {problem.step.h:g} s, whose "
                "torques change at each node; give it fewer nodes, or call it more often"
            )
        programs = self._programs(now.period)
        is_first = not memory.calls
        with predictive_call(programs, self.iterations, self.barrier) as call:
            tau = self._first(now, programs) if is_first else self._following(now, call)
        memory.calls += 1.0
        if not is_first:
            took = perf_counter() - begin
            memory.late += float(took > now.period)
            memory.longest = np.maximum(memory.longest, took)
        return tau

    def _following(self, now: Now, call: PredictiveCall) -> Floats:
        """Go on from the call before."""
        planned = now.schedule if self.problem.takes_reference else 0.0
        values = {f"value of {name}": getattr(self, name) for name in self.problem.values}
        call.take({"t": now.t, "q": now.q, "qd": now.qd, "planned": planned, **values}, now.memory)
        node = np.rint((now.t - now.memory.begin) / self.problem.step.h)
        call.go_on(int(now.memory.node), int(node))
        call.run()
        call.give(now.memory)
        now.memory.node = np.array(node)
        now.memory.failed += call.failed
        return call.tau.copy()

    def _first(self, now: Now, programs: CallPrograms) -> Floats:
        """Find a motion without another one to begin at; the torques on their way hold the robot where it is."""
        memory, problem, step = now.memory, self.problem, self.problem.step
        m, q, qd = step.inputs, np.asarray(now.q), np.asarray(now.qd)
        memory.start, memory.begin = q, np.array(now.t)
        hold = np.asarray(self.robot.gravity_torque(q)) * problem.motors
        memory.pending = np.broadcast_to(hold, memory.pending.shape).copy()
        memory.torque = states_of_drives(step, q, qd, None)
        load = np.zeros(self.robot.n)
        _, x0, centre = programs.arrive(q, qd, qd, load, memory.pending, memory.torque)
        nodes, result = self._found(now, x0, centre)
        iterate, gains = result.iterate, result.gains
        W, costates = iterate.W, iterate.costates
        if centres := step.coordinates.centres(nodes.instants)[:1]:
            gains = np.asarray(programs.recentre_gains(W[:-1], centres[0][:-1], gains))
            W, memory.centres, costates = programs.recentre(W, centres[0], costates)
        memory.motion, memory.costates, memory.gains = W, costates, gains
        stages, memory.last_rows = problem.rows.by_node(iterate.rows)
        memory.rows, memory.price, memory.scale = stages, np.array(iterate.price), nodes.scale
        of_cost = np.asarray(problem.rows.stage.costs.gauss_newton(iterate.W[0], nodes.instants[0], *nodes.given))
        positions = slice(m, m + self.robot.n)
        memory.determined = np.array(float(determines_positions(of_cost[positions, positions])))
        sent = programs.send(iterate.W[0, :m], q, qd, load, memory.pending, memory.torque)
        tau, pending, memory.predicted, memory.torque = sent
        if len(memory.pending):
            tau = memory.pending[0]  # in force already before it arrives: a torque that moves would act twice
        memory.pending = pending
        memory.failed += float(not _is_sound(result))
        return np.asarray(tau)

    def _found(self, now: Now, x0: Floats, centre: Floats) -> tuple[Nodes, SearchResult]:
        """Return the problem of the first call with its scale, and its best motion."""
        problem, step, N = self.problem, self.problem.step, self.problem.nodes
        times = now.t + self.delay * now.period + step.h * np.arange(N + 1)
        planned = now.schedule if problem.takes_reference else np.zeros((N + 1, step.robot.nq + 2 * step.robot.n))
        parts = [times[:, None], planned]
        if not step.coordinates.is_plain:
            centres = planned[:, : step.robot.nq] if problem.takes_reference else np.repeat(centre[None], N + 1, axis=0)
            parts.append(step.coordinates.of_nodes(np.asarray(centres)))
            x0 = x0.copy()
            x0[: step.robot.n] = step.coordinates.of(centre, centres[0])
        values = [np.asarray(getattr(self, name)) for name in problem.values]
        nodes = problem.at_nodes(np.concatenate(parts, axis=1), x0, np.asarray(now.memory.start), values)
        W = first_motion(nodes, None)
        if problem.takes_reference:
            W = inside(nodes, along(step, nodes.instants))
        nodes = replace(nodes, given=(usual_scale(nodes, W), *nodes.given[1:]))
        with workspace(nodes) as space:
            space.compile()
        begin = first_iterate(nodes, W, _FIRST_BARRIER)
        return nodes, solve(nodes, begin, iterations=_FIRST_ITERATIONS, barrier=self.barrier)

    def findings_after(self, memory: Mapping[str, Floats]) -> tuple[Finding, ...]:
        """Return how many solves were late, and how many failed."""
        calls = float(np.sum(memory["calls"]))
        longest = 1e3 * float(np.max(memory["longest"]))
        late, failed = (float(np.sum(memory[name])) for name in ("late", "failed"))
        return (
            *_LATE.above(late, calls=calls, longest=longest),
            *_FAILED.above(failed, calls=calls),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem!r})"


def _is_sound(result: SearchResult) -> bool:
    """Whether the iterations gave torques that may be sent."""
    W = result.iterate.W
    return bool(np.isfinite(W).all()) and result.ending not in (Ending.NOT_FINITE, Ending.STALLED)


def _checked_values(problem: OptimalControl, values: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    """Return the values that the residuals name, in their order."""
    require_values(problem.values, values)
    return {name: reals(values[name], name, shape) for name, shape in problem.values.items()}
