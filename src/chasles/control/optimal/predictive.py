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
from chasles.control.delayed_hold import MOST_DELAY, pending_count
from chasles.control.now import Now
from chasles.control.optimal.first_motion import along, first_motion, inside, usual_scale
from chasles.control.optimal.interior_point import first_iterate, solve
from chasles.control.optimal.iterates import Ending, Iterate, SearchResult
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.numbers import require_values
from chasles.control.optimal.problem import OptimalControl
from chasles.control.optimal.receding import Held, Horizon, cut, later, moved, until_effect
from chasles.control.optimal.workspace import workspace
from chasles.control.pid import saturated
from chasles.control.robot_controller import RobotController
from chasles.engine import Record
from chasles.engine.validators import real, reals, whole_number
from chasles.mechanics.plain_coordinates import require_plain_coordinates
from chasles.trajectories.motion import Motion

Floats = NDArray[np.float64]
#: Iterations of the first call, which a robot makes before it moves, and its first barrier.
_FIRST_ITERATIONS, _FIRST_BARRIER = 300, 0.1
_MOST_ITERATIONS = 1000
#: Parts of the memory that are the horizon of the last call, in the order of `Horizon`.
_CARRIED = ("motion", "costates", "gains", "rows", "last_rows")

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

    A call that takes longer than the period counts as late: `Run.findings` says how often. The simulation uses its
    torques nevertheless, so that runs do not depend on the machine. The first call finds a motion from nothing and
    does not count. The law runs in Python: simulations call it once a period, and only the plant is compiled.

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
        A value is missing, is not finite, or has a wrong shape; or a simulation's period is longer than the horizon.
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
        require_plain_coordinates(problem.robot, "chasles.ModelPredictive")
        if problem.step.by_rates:
            raise ArgumentError(
                "the problem limits or weighs rates of torques, and its state has the torques then; a law "
                "measures positions and velocities alone, so plan the motion instead"
            )
        if problem.span.is_free:
            raise ArgumentError("the problem's duration is free, but a horizon is fixed; give it one duration")
        if problem.step.contacts is not None:
            raise ArgumentError(
                "the problem has contacts with known phases, but a horizon recedes; plan the motion instead"
            )
        self.problem = problem
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
        super().__init__(problem.robot, checked, self._first_memory(problem))

    def _first_memory(self, problem: OptimalControl) -> dict[str, Any]:
        n, m, N, rows = problem.robot.n, int(problem.motors.sum()), problem.nodes, problem.rows
        zero = np.zeros(())
        return {
            "motion": np.zeros((N + 1, m + 2 * n)),
            "costates": np.zeros((N + 1, 2 * n)),
            "gains": np.zeros((N, m, 2 * n)),
            "rows": np.zeros((N, 3, rows.stage.rows)),
            "last_rows": np.zeros((3, rows.last.rows)),
            "price": zero,
            "scale": zero,
            "start": np.zeros(n),
            "pending": np.zeros((pending_count(self.delay), n)),
            "predicted": np.zeros(n),
            "load": np.zeros(n),
            "calls": zero,
            "late": zero,
            "failed": zero,
            "longest": zero,
        }

    def schedule(self, times: Floats, motion: Motion) -> Floats:
        """Motion to follow over the horizon of each call, (k, N + 1, 3n); beyond the last call it rests there."""
        problem = self.problem
        if not problem.takes_reference:
            return np.zeros((len(times), 0))
        h = problem.step.h
        period = (times[-1] - times[0]) / max(1, len(times) - 1)
        ahead = self.delay * period + h * np.arange(problem.nodes + 1)
        at_nodes = _interpolated(times, motion, times[:, None] + ahead)
        in_steps = _interpolated(times, motion, times[:, None] + ahead + 0.5 * h)
        tau = np.asarray(problem.robot.inverse_dynamics(*in_steps))
        return np.concatenate([at_nodes.q, at_nodes.qd, tau], axis=-1)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        begin = perf_counter()
        memory, problem, m = now.memory, self.problem, int(self.problem.motors.sum())
        if now.period > problem.duration:
            raise ArgumentError(
                f"the period of {now.period:g} s is longer than the problem's horizon of {problem.duration:g} s"
            )
        is_first = not memory.calls
        if is_first:
            self._begin(now)
        x = np.concatenate([now.q, now.qd])
        load = self._estimate_load(now)
        acting = until_effect(memory.pending, self.delay, now.period)
        x0 = moved(problem.robot, x, [Held(tau + load, span) for tau, span in acting], problem.step.integrator)
        if is_first:
            result = self._from_nothing(now, x0)
            before = later(self._horizon(result), 0.0, problem.step)
        else:
            horizon = Horizon(*(memory[name] for name in _CARRIED))
            before = later(horizon, now.period / problem.step.h, problem.step)
            result = self._following(now, x0, before)
        if _is_sound(result):
            self._keep(memory, self._horizon(result))
            memory.price = np.array(result.iterate.price)
            u = result.iterate.W[0, :m]
        else:
            memory.failed += 1.0
            self._keep(memory, before)
            away = x0 - before.W[0, m:]
            u = np.clip(before.W[0, :m] - before.gains[0] @ away, problem.lower[:m], problem.upper[:m])
        tau = problem.step.of_motors(u) - load * problem.motors
        if is_first and len(memory.pending):
            tau = memory.pending[0]  # in force already before it arrives: a torque that moves would act twice
        self._send(now, x, acting, tau)
        memory.calls += 1.0
        if not is_first:
            took = perf_counter() - begin
            memory.late += float(took > now.period)
            memory.longest = np.maximum(memory.longest, took)
        return tau

    def _begin(self, now: Now) -> None:
        """Assume that the torques on their way hold the robot where it is."""
        memory, hold = now.memory, np.asarray(self.robot.gravity_torque(now.q)) * self.problem.motors
        memory.start = now.q
        memory.pending = np.broadcast_to(hold, memory.pending.shape).copy()
        memory.predicted = now.qd

    def _estimate_load(self, now: Now) -> Floats:
        """Return the torques that explain what the last prediction of velocities misses, a low-pass filter of them."""
        memory = now.memory
        if self.observer:
            share = -np.expm1(-self.observer * now.period)
            missed = (now.qd - memory.predicted) / now.period
            memory.load = memory.load + share * (np.asarray(self.robot.mass_matrix(now.q)) @ missed)
        return np.asarray(memory.load)

    def _send(self, now: Now, x: Floats, acting: list[Held], tau: Floats) -> None:
        """Put torques on their way, and predict velocities at the next call."""
        memory = now.memory
        if not (len(memory.pending) or self.observer):
            return
        tau = saturated(tau, self.problem.robot.effort_limits)
        if len(memory.pending):
            memory.pending = np.concatenate([tau[None], memory.pending[:-1]])
        if self.observer:
            following = cut([*acting, Held(tau, now.period)], now.period)
            loaded = [Held(each.tau + memory.load, each.span) for each in following]
            memory.predicted = moved(self.problem.robot, x, loaded, self.problem.step.integrator)[self.robot.n :]

    def _at_nodes(self, now: Now, x0: Floats, load: Floats) -> Nodes:
        """Return the problem of a call."""
        problem, N = self.problem, self.problem.nodes
        times = now.t + self.delay * now.period + problem.step.h * np.arange(N + 1)
        planned = now.schedule if problem.takes_reference else np.zeros((N + 1, 3 * self.robot.n))
        moments = np.concatenate([times[:, None], planned], axis=1)
        values = [np.asarray(getattr(self, name)) for name in problem.values]
        scale = float(now.memory.scale) or 1.0
        start = np.asarray(now.memory.start)
        nodes = problem.at_nodes(moments, x0, start, values, scale)
        if not load.any():
            return nodes
        m = nodes.inputs
        shift = np.concatenate([load[problem.motors], np.zeros(len(problem.lower) - m)])
        return replace(nodes, rows=replace(nodes.rows, lower=nodes.rows.lower + shift, upper=nodes.rows.upper + shift))

    def _from_nothing(self, now: Now, x0: Floats) -> SearchResult:
        """Find a motion without another one to begin at, and the scale of the costs."""
        nodes = self._at_nodes(now, x0, np.zeros(self.robot.n))
        W = first_motion(nodes, None)
        if self.problem.takes_reference:
            W = inside(nodes, along(self.problem.step, nodes.instants))
        scale = usual_scale(nodes, W)
        now.memory.scale = scale
        nodes = replace(nodes, given=(scale, *nodes.given[1:]))
        with workspace(nodes) as space:
            space.compile()
        begin = first_iterate(nodes, W, _FIRST_BARRIER)
        return solve(nodes, begin, iterations=_FIRST_ITERATIONS, barrier=self.barrier)

    def _following(self, now: Now, x0: Floats, before: Horizon) -> SearchResult:
        """Iterate from the motion of the call before."""
        memory, nodes = now.memory, self._at_nodes(now, x0, np.asarray(now.memory.load))
        m, rows = nodes.inputs, nodes.rows
        W = before.W.copy()
        W[0, m:] = x0
        W[:-1, :m] = _within(nodes, W[:-1, :m])
        elastic = rows.joined(before.rows.swapaxes(0, 1), before.last_rows)
        begin = Iterate(W, before.costates, elastic, float(memory.price), self.barrier)
        return solve(nodes, begin, iterations=self.iterations, barrier=self.barrier, judges=False)

    def _horizon(self, result: SearchResult) -> Horizon:
        """Return what the iterations have found."""
        stages, last = self.problem.rows.by_node(result.iterate.rows)
        return Horizon(result.iterate.W, result.iterate.costates, result.gains, stages.swapaxes(0, 1), last)

    def _keep(self, memory: Record, horizon: Horizon) -> None:
        """Remember the motion for the next call."""
        for name, part in zip(_CARRIED, horizon, strict=True):
            setattr(memory, name, part)

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


def _within(nodes: Nodes, u: Floats) -> Floats:
    """Return torques (N, m) strictly within their limits, which may have moved with the load."""
    m, tiny = nodes.inputs, 1e-9
    lower, upper = nodes.rows.lower[:m], nodes.rows.upper[:m]
    room = tiny * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    return np.clip(u, lower + room, upper - room)


def _is_sound(result: SearchResult) -> bool:
    """Whether the iterations gave torques that may be sent."""
    W = result.iterate.W
    return bool(np.isfinite(W).all()) and result.ending not in (Ending.NOT_FINITE, Ending.STALLED)


def _checked_values(problem: OptimalControl, values: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    """Return the values that the residuals name, in their order."""
    require_values(problem.values, values)
    return {name: reals(values[name], name, shape) for name, shape in problem.values.items()}


def _interpolated(times: Floats, motion: Motion, wanted: Floats) -> Motion:
    """Return a motion sampled at the times of calls at others (...), by cubics; beyond the last call it rests."""
    if len(times) == 1:
        q = np.broadcast_to(motion.q[0], (*wanted.shape, motion.q.shape[-1]))
        return Motion(q, np.zeros_like(q), np.zeros_like(q))
    period = (times[-1] - times[0]) / (len(times) - 1)
    place = np.clip((wanted - times[0]) / period, 0.0, len(times) - 1.0)
    first = np.minimum(place.astype(int), len(times) - 2)
    s = (place - first)[..., None]
    q0, q1 = motion.q[first], motion.q[first + 1]
    v0, v1 = period * motion.qd[first], period * motion.qd[first + 1]
    a, b = 2.0 * (q0 - q1) + v0 + v1, 3.0 * (q1 - q0) - 2.0 * v0 - v1
    q = ((a * s + b) * s + v0) * s + q0
    qd = ((3.0 * a * s + 2.0 * b) * s + v0) / period
    qdd = (1.0 - s) * motion.qdd[first] + s * motion.qdd[first + 1]
    over = (wanted > times[-1] + 1e-9 * period)[..., None]
    return Motion(q, np.where(over, 0.0, qd), np.where(over, 0.0, qdd))
