"""What a call of model predictive control computes beside the iterations, as compiled programs.

Before them: the load that the measured state tells, the state in which the torque acts, and the motion of the last call
a period later. After them: the torque, what is on its way, and the velocities that the next call should measure.
Motions of robots with quaternions or loops have their own configurations as centres of their coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.control.delayed_hold import pending_count
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.drives import Drives
from chasles.control.optimal.problem import OptimalControl
from chasles.control.optimal.receding import Held, cut, until_effect
from chasles.control.optimal.step import HeldStep
from chasles.control.pid import saturated
from chasles.engine import Function, maximum, minimum, trace
from chasles.engine.function import inlined
from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]
#: Share of a torque's range that the torques to begin with keep from its limits.
_ROOM = 1e-9


@dataclass(frozen=True)
class CallPrograms:
    """The programs of the calls of one law at one sample period.

    Attributes
    ----------
    problem
        Problem over the horizon.
    period
        Sample period, s.
    delay
        Delay from a call to the effect of its torque, sample periods.
    observer
        Rate at which an unknown load is estimated, 1/s, or 0.
    """

    problem: OptimalControl
    period: float
    delay: float
    observer: float

    @property
    def step(self) -> HeldStep:
        """The dynamics between two nodes."""
        return self.problem.step

    @property
    def coordinates(self) -> Coordinates:
        """Coordinates of the configurations."""
        return self.step.coordinates

    @property
    def centre(self) -> tuple[int]:
        """Shape of the centre of a node's coordinates: none where configurations are their own coordinates."""
        return (0,) if self.coordinates.is_plain else (self.step.robot.nq,)

    @property
    def size(self) -> int:
        """Number of inputs and states at a node."""
        return self.step.inputs + self.step.states

    @property
    def steps_later(self) -> tuple[int, float]:
        """Whole steps in a period, and the share of the next one."""
        share = self.period / self.step.h
        whole = int(share + 1e-9)
        rest = max(0.0, share - whole)
        return whole, rest if rest > 1e-9 else 0.0

    @cached_property
    def arrive(self) -> Function[Any]:
        """Load, state in which the call's torque acts, with its centre, from what is measured and remembered.

        The load is a low-pass filter of the torques that explain what the last prediction of velocities misses.
        """
        n, robot = self.step.robot.n, self.step.robot

        def arrived(
            q: Array, qd: Array, predicted: Array, load: Array, pending: Array, torque: Array
        ) -> tuple[Array, ...]:
            if self.observer:
                share = -np.expm1(-self.observer * self.period)
                load = load + share * (np.asarray(robot.mass_matrix(q)) @ ((qd - predicted) / self.period))
            acting = until_effect(pending, self.delay, self.period)
            q, qd = self._moved(q, qd, acting, load)
            x = np.concatenate([self.coordinates.of_centre(q), qd, torque + load[self._loaded]])
            return load, x, q[: self.centre[0]]

        late = pending_count(self.delay)
        shapes = {"q": (robot.nq,), "qd": (n,), "predicted": (n,), "load": (n,), "pending": (late, n)}
        return _function(arrived, {**shapes, "torque": (self._rates,)}, ["load", "x", "centre"])

    @property
    def _rates(self) -> int:
        """Number of torques that are states."""
        return self.step.motor_count * self.step.by_rates

    @property
    def _loaded(self) -> NDArray[np.intp]:
        """Joints whose torques are states."""
        return np.flatnonzero(self.step.motors)[: self._rates]

    def _moved(self, q: Array, qd: Array, acting: Sequence[Held], load: Array) -> tuple[Array, Array]:
        """Positions and velocities after torques of all joints and a load have acted one after the other."""
        robot, n = self.step.robot, self.step.robot.n
        everywhere = np.ones(n, dtype=bool)
        for tau, span in acting:
            centres = () if self.coordinates.is_plain else (q, q)
            x = np.concatenate([self.coordinates.of_centre(q), qd])
            x = HeldStep(robot, Drives(everywhere), span, self.step.integrator)(x, tau + load, *centres)
            q, qd = self.coordinates.configuration(x[:n], *centres[:1]), x[n:]
        return q, qd

    @cached_property
    def limits(self) -> Function[Any]:
        """Limits of a node and of the inputs to begin with; those of torques move with the load."""
        m, problem = self.step.inputs, self.problem
        kept = np.isfinite(problem.lower), np.isfinite(problem.upper)

        def moved(load: Array) -> tuple[Array, ...]:
            shift = load[self.step.motors] @ np.eye(self.size)[self.step.torque_places]
            low, high = (
                np.where(finite, np.where(finite, limit, 0.0) + shift, 0.0)
                for finite, limit in zip(kept, (problem.lower, problem.upper), strict=True)
            )
            both = kept[0] & kept[1]
            room = _ROOM * np.where(both, np.where(both, problem.upper, 1.0) - np.where(both, problem.lower, 0.0), 1.0)
            floor, ceiling = np.where(kept[0], low + room, -np.inf), np.where(kept[1], high - room, np.inf)
            return np.stack([low, high, problem.scale + 0.0 * shift]), floor[:m], ceiling[:m]

        return _function(moved, {"load": (self.step.robot.n,)}, ["bounds", "floor", "ceiling"])

    @cached_property
    def hold(self) -> Function[Any]:
        """Inputs beyond the end of a motion: its last torques and forces go on."""

        def held(w: Array) -> Array:
            rates = np.arange(self.step.inputs) < self._rates
            return np.asarray(np.where(rates, 0.0, w[: self.step.inputs]))

        return _function(held, {"w": (self.size,)}, ["u"])

    @cached_property
    def extend(self) -> Function[Any]:
        """The node after the last one of a motion, with its centre, whose inputs go on."""
        m, n = self.step.inputs, self.step.robot.n

        def extended(w: Array, centre: Array) -> tuple[Array, Array]:
            centres = () if self.coordinates.is_plain else (centre, centre)
            x = self.step(w[m:], w[:m], *centres)
            q = self.coordinates.configuration(x[:n], *centres[:1])
            return np.concatenate([w[:m], self.coordinates.of_centre(q), x[n:]]), q[: self.centre[0]]

        return _function(extended, {"w": (self.size,), "centre": self.centre}, ["following", "following_centre"])

    @cached_property
    def shift(self) -> Function[Any]:
        """A node of a motion a share of a step later, from it and the next one; its inputs within their limits."""
        m, n, (_, share) = self.step.inputs, self.step.robot.n, self.steps_later

        def shifted(
            w: Array, following: Array, centre: Array, following_centre: Array, floor: Array, ceiling: Array
        ) -> tuple[Array, Array]:
            between = (1.0 - share) * w + share * following if share else w
            if not self.coordinates.is_plain and share:
                robot = self.step.robot
                away = np.asarray(robot.difference(centre, following_centre))
                centre = np.asarray(robot.integrate(centre, share * away))
            p = between[m : m + n] if self.coordinates.is_plain else self.coordinates.of_centre(centre)
            u = np.minimum(np.maximum(between[:m], floor), ceiling)
            return np.concatenate([u, p, between[m + n :]]), centre

        w, m_ = (self.size,), (m,)
        shapes = {"w": w, "following": w, "centre": self.centre, "following_centre": self.centre}
        return _function(shifted, {**shapes, "floor": m_, "ceiling": m_}, ["later", "later_centre"])

    def between(self, *shape: int) -> Function[Any]:
        """What belongs to a node a share of a step later, from that of two nodes."""
        return _between(shape, self.steps_later[1])

    @cached_property
    def times(self) -> Function[Any]:
        """Time at a node whose number is given."""

        def time(t: Any, node: Any) -> Any:
            return t + self.delay * self.period + self.step.h * node

        return _function(time, {"t": (), "node": ()}, ["time"])

    @cached_property
    def regulate(self) -> Function[Any]:
        """Inputs by a motion and its regulator, u - K (x - x_plan), within their limits."""
        m, n = self.step.inputs, self.step.robot.n

        def regulated(
            w: Array, K: Array, x: Array, centre: Array, planned_centre: Array, floor: Array, ceiling: Array
        ) -> Array:
            away = x - w[m:]
            if not self.coordinates.is_plain:
                away = np.concatenate([self.step.robot.difference(planned_centre, centre), away[n:]])
            return np.asarray(minimum(maximum(w[:m] - K @ away, floor), ceiling))

        shapes = {"w": (self.size,), "K": (m, self.step.states), "x": (self.step.states,)}
        shapes |= {"centre": self.centre, "planned_centre": self.centre, "floor": (m,), "ceiling": (m,)}
        return _function(regulated, shapes, ["u"])

    @cached_property
    def recentre(self) -> Function[Any]:
        """A node of a motion with its own configuration as the centre, and its costate."""
        m, n = self.step.inputs, self.step.robot.n

        def recentred(w: Array, centre: Array, costate: Array) -> tuple[Array, ...]:
            q = self.coordinates.configuration(w[m : m + n], centre)
            moved = np.concatenate([w[:m], self.coordinates.of_centre(q), w[m + n :]])
            if self.coordinates.is_position.all():
                return moved, q, costate
            by_p = np.asarray(inlined(self.step.displacement_slopes, w[m : m + n], centre))
            return moved, q, np.concatenate([np.linalg.solve(by_p.T, costate[:n]), costate[n:]])

        shapes = {"w": (self.size,), "centre": self.centre, "costate": (self.step.states,)}
        return _function(recentred, shapes, ["moved", "configuration", "of_displacement"])

    @cached_property
    def recentre_gains(self) -> Function[Any]:
        """Gains of displacements from a node's configuration."""
        m, n = self.step.inputs, self.step.robot.n

        def recentred(w: Array, centre: Array, K: Array) -> Array:
            if self.coordinates.is_position.all():
                return K
            by_p = np.asarray(inlined(self.step.displacement_slopes, w[m : m + n], centre))
            return np.concatenate([np.linalg.solve(by_p.T, K[:, :n].T).T, K[:, n:]], axis=1)

        shapes = {"w": (self.size,), "centre": self.centre, "K": (m, self.step.states)}
        return _function(recentred, shapes, ["gains"])

    @cached_property
    def first_inputs(self) -> Function[Any]:
        """Inputs of a motion from now on: at its first node; or rates that lead to its torques a period later.

        The nodes are its first one, that a period later, and the one after that.
        """
        m, places, (_, share) = self.step.inputs, self.step.torque_places, self.steps_later

        def chosen(w: Array, ahead: Array, following: Array, floor: Array, ceiling: Array) -> Array:
            if not self.step.by_rates:
                return w[:m]
            later = ahead[places] + share * (following[places] - ahead[places])
            rates = (later - w[places]) / self.period
            return np.asarray(minimum(maximum(np.concatenate([rates, w[len(rates) : m]]), floor), ceiling))

        w = (self.size,)
        return _function(chosen, {"w": w, "ahead": w, "following": w, "floor": (m,), "ceiling": (m,)}, ["u"])

    @cached_property
    def send(self) -> Function[Any]:
        """Torques of all joints from inputs; torques on their way, velocities to expect, and torques that are states.

        Where the inputs are rates, the torques are those that the call before has chosen, states of the motion.
        """
        robot, n, motors = self.step.robot, self.step.robot.n, self.step.motors

        def sent(u: Array, q: Array, qd: Array, load: Array, pending: Array, torque: Array) -> tuple[Array, ...]:
            tau = self.step.of_motors(torque if self.step.by_rates else u[: self.step.motor_count] - load[motors])
            held = saturated(tau, robot.effort_limits)
            waiting = np.concatenate([held[None], pending])[: len(pending)]
            velocity = np.zeros(n)
            if self.observer:
                acting = [*until_effect(pending, self.delay, self.period), Held(held, self.period)]
                velocity = self._moved(q, qd, cut(acting, self.period), load)[1]
            return tau, waiting, velocity, self._next_torque(torque, u)

        late = pending_count(self.delay)
        shapes = {"u": (self.step.inputs,), "q": (robot.nq,), "qd": (n,), "load": (n,), "pending": (late, n)}
        results = ["tau", "pending", "predicted", "torque"]
        return _function(sent, {**shapes, "torque": (self._rates,)}, results)

    def _next_torque(self, torque: Array, u: Array) -> Array:
        """Torques that are states, a period later."""
        if not self.step.by_rates:
            return torque
        places, limits = self.step.torque_places, self.step.robot.effort_limits[self.step.motors]
        later = saturated(torque + self.period * u[: self._rates], limits)
        return np.asarray(minimum(maximum(later, self.problem.lower[places]), self.problem.upper[places]))


def _function(work: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], outputs: list[str]) -> Function[Any]:
    return Function(lambda: trace(work, dict(shapes), name=work.__name__, outputs=outputs))


@cache
def _between(shape: tuple[int, ...], share: float) -> Function[Any]:
    def mixed(part: Array, following: Array) -> Array:
        return (1.0 - share) * part + share * following

    return _function(mixed, {"part": shape, "following": shape}, ["mixed"])


@cache
def copy_of(shape: tuple[int, ...]) -> Function[Any]:
    """Return the function that copies arrays of a shape."""

    def copied(array: Array) -> Array:
        return array

    return _function(copied, {"array": shape}, ["copy"])
