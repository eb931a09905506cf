"""A law at a few places of a motion, as a linear system whose gains and sample period may change without compiling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.linear_law import LinearLaw, differenced, measured_along
from chasles.control.minimal_law import minimal_law
from chasles.control.traced_law import call_program
from chasles.engine import Function, Layout
from chasles.engine.program.records import Memory
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]

_CALLS = 200  # before a place, in which the law's memory settles


class FrozenLaw(NamedTuple):
    """A law frozen at places of a motion, with velocities differentiated from positions.

    Attributes
    ----------
    linear
        The law as a linear system at each place.
    torque
        Torques without error, (places, n).
    """

    linear: LinearLaw
    torque: Floats


class LawFunction:
    """One call of a law as a compiled function of state, memory, schedule, period and parameters.

    Parameters
    ----------
    controller
        The law; other laws of the same class and model with memories and schedules of the same shapes may take its
        place in `frozen`.
    rows
        Schedule at one place or more, each part (places, ...); None for laws without.
    """

    def __init__(self, controller: Controller, rows: Memory = None) -> None:
        if controller.robot is None:
            raise ArgumentError(f"controller '{controller.name}' does not follow joint motions alone")
        self.shapes = _shapes(controller, rows)
        self._layouts = tuple(Layout(shapes) for shapes in self.shapes)
        nq, n = controller.robot.nq, controller.robot.n
        self._function = Function(call_program(controller, nq, n, self._layouts[1], None, room=1))

    def takes(self, controller: Controller, rows: Memory = None) -> bool:
        """Whether a law's memory, schedule and parameters have the shapes of this function."""
        return _shapes(controller, rows) == self.shapes

    def frozen(
        self,
        controller: Controller,
        motion: JointTrajectory,
        places: Floats,
        period: float,
        rows: Memory = None,
    ) -> FrozenLaw:
        """Linearise a law at times of a motion that it follows without error.

        Parameters
        ----------
        controller, motion
            The law, and its reference.
        places
            Times, (places,), s.
        period
            Sample period, s.
        rows
            Schedule at the places.
        """
        return self.frozen_with([{}], controller, motion, places, period, rows)[0]

    def frozen_with(
        self,
        estimates: Sequence[Mapping[str, Any]],
        controller: Controller,
        motion: JointTrajectory,
        places: Floats,
        period: float,
        rows: Memory = None,
    ) -> list[FrozenLaw]:
        """Linearise a law as `frozen` does, once for each of some estimates.

        They are values of the same parts of the memory, which keep them while the others settle.
        """
        gains, schedule, memory = self._settled(estimates, controller, motion, places, period, rows)
        along = self._along(controller, motion, places)
        return self._linear(along, memory, schedule, period, gains)

    def slopes(
        self,
        names: Sequence[str],
        controller: Controller,
        motion: JointTrajectory,
        places: Floats,
        period: float,
        rows: Memory = None,
    ) -> tuple[Floats, Floats]:
        """Exact derivatives J of (τ, m') by (q, q̇, m), and those of J by some parameters, where the memory settles.

        Parameters
        ----------
        names
            Names of the parameters.
        controller, motion, places, period, rows
            See `frozen`.

        Returns
        -------
        tuple
            J, (places, n + s, 2n + s), and its derivatives, (p, places, n + s, 2n + s), q all that is measured.
        """
        gains, schedule, (memory,) = self._settled([{}], controller, motion, places, period, rows)
        t, q, qd, reference = self._along(controller, motion, places)
        given = t[:, None], q[:, None], qd[:, None], reference[:, None], memory[:, None], schedule[:, None], period
        columns = np.split(np.eye(2 * q.shape[-1] + memory.shape[-1]), [q.shape[-1], 2 * q.shape[-1]], axis=-1)
        slices = self._layouts[2].slices
        directions = np.eye(gains.size)[[k for name in names for k in range(gains.size)[slices[name]]], None, None]
        derivative, second = self._derivatives
        J = derivative(*given, gains, *columns)
        dJ = second(*given, gains, *columns, directions)
        of_law, of_slopes = (np.swapaxes(np.concatenate(parts, axis=-1), -1, -2) for parts in (J, dJ))
        return of_law, of_slopes

    @cached_property
    def _derivatives(self) -> tuple[Function, Function]:
        """Derivatives along directions of (q, q̇, m), and their derivatives along those of the parameters."""
        first = self._function.jvp(["q", "qd", "memory"])
        return first, first.jvp("parameters")

    def _settled(
        self,
        estimates: Sequence[Mapping[str, Any]],
        controller: Controller,
        motion: JointTrajectory,
        places: Floats,
        period: float,
        rows: Memory,
    ) -> tuple[Floats, Floats, Floats]:
        """Parameters, schedule, and memory (estimates, places, s) after calls in front of the places."""
        layout, _, parameters = self._layouts
        memory = np.array(layout.join(controller.memory), dtype=np.float64)
        memory = np.broadcast_to(memory, (len(estimates), len(places), memory.size)).copy()
        kept = [(layout.slices[name], np.array([np.ravel(one[name]) for one in estimates])) for name in estimates[0]]
        for part, values in kept:
            memory[..., part] = values[:, None]
        gains = np.asarray(parameters.join(controller.parameters), dtype=np.float64)
        schedule = self._schedule(rows, len(places))
        rests = ~np.any(motion(places).qd, axis=-1)
        before = np.arange(_CALLS if layout.size and rows is None else 0, -1, -1)[:, None]
        times = np.where(rests, places, np.maximum(places - before * period, float(motion.start_time)))
        calls = list(zip(*self._along(controller, motion, times), strict=True))
        for number, along in enumerate(calls[:-1]):
            following = np.array(self._function(*along, memory, schedule, period, gains)[1])
            for part, values in kept:
                following[..., part] = values[:, None]
            if number == 0 and np.array_equal(following, memory):
                break
            memory = following
        return gains, schedule, memory

    def _linear(
        self, along: tuple[Floats, ...], memory: Floats, schedule: Floats, period: float, gains: Floats
    ) -> list[FrozenLaw]:
        """Linearise the law about states of a motion, with the memories (estimates, places, ...) that it has there."""
        t, q, qd, reference = along
        torque = np.asarray(self._function(t, q, qd, reference, memory, schedule, period, gains)[0])
        states, derivative = 2 * q.shape[-1], self._derivatives[0]
        sizes = np.maximum(1.0, np.abs(memory))
        rows = t[:, None], q[:, None], qd[:, None], reference[:, None], memory[..., None, :], schedule[:, None]

        def slopes(directions: Floats) -> tuple[Floats, Floats]:
            """Derivatives of torques and memory along directions (..., values, k), the memory in units of its sizes."""
            columns = np.swapaxes(directions, -1, -2)
            of_memory = columns[..., states:] * sizes[..., None, :]
            tau, following = derivative(*rows, period, gains, *np.split(columns[..., :states], 2, axis=-1), of_memory)
            return np.swapaxes(tau, -1, -2), np.swapaxes(following / sizes[..., None, :], -1, -2)

        measured = np.eye(states + memory.shape[-1])[:, :states]
        D, B = slopes(np.broadcast_to(measured, (*memory.shape[:-1], *measured.shape)))
        linear = minimal_law(D, B, lambda part: slopes(_padded(part, states)))
        return [
            FrozenLaw(differenced(LinearLaw(*(part[k] for part in linear)), period), torque[k])
            for k in range(len(torque))
        ]

    def stepper(
        self, controller: Controller, count: int, period: float, rows: Memory = None
    ) -> Callable[[int, float, Floats, Floats, Floats], Floats]:
        """Return a function of a call's number, time, positions, velocities and reference: torques of `count` loops.

        It keeps their memories. `rows` is the schedule of all calls.
        """
        layout, _, parameters = self._layouts
        values = np.asarray(parameters.join(controller.parameters), dtype=np.float64)
        memory = np.repeat(np.asarray(layout.join(controller.memory), dtype=np.float64)[None], count, axis=0)
        schedule = self._schedule(rows, 1)

        def step(call: int, time: float, q: Floats, qd: Floats, reference: Floats) -> Floats:
            nonlocal memory
            row = schedule[min(call, len(schedule) - 1)]
            tau, memory = self._function(time, q, qd, reference, memory, row, period, values)
            return np.asarray(tau)

        return step

    def _schedule(self, rows: Memory, count: int) -> Floats:
        """Rows of a schedule as vectors, (count, m); a zero each for laws without."""
        if rows is None:
            return np.zeros((count, 1))
        return np.asarray(self._layouts[1].join({"row": rows}), dtype=np.float64)

    def _along(
        self, controller: Controller, motion: JointTrajectory, times: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Times, measured positions and velocities, and references along a motion; motors follow joints."""
        q, qd, qdd = planned = motion(times)
        reference = np.concatenate([q, qd, qdd], axis=-1)
        return times, *measured_along(controller, planned), reference


def _padded(directions: Floats, states: int) -> Floats:
    """Directions of the memory (..., m, k) as ones of measurements and memory."""
    lead, columns = directions.shape[:-2], directions.shape[-1]
    return np.concatenate([np.zeros((*lead, states, columns)), directions], axis=-2)


def _shapes(controller: Controller, rows: Memory) -> tuple[Any, Any, Any]:
    row: Any = {} if rows is None else Layout.of({"row": rows}).rows().shapes
    parameters = {name: np.shape(value) for name, value in controller.parameters.items()}
    return Layout.of(controller.memory).shapes, row, parameters
