"""The closed loop: reference, sampled controller and plant, joined into programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control import Controller
from chasles.engine import Function, trace
from chasles.errors import ArgumentError, UnknownNameError
from chasles.robot import Robot
from chasles.simulation.integrators import runge_kutta_4
from chasles.simulation.references import LoopReference
from chasles.trajectories import Motion

#: What is recorded at each sample, in this order.
RECORDED = ("q", "qd", "tau", "q_reference", "qd_reference")


@dataclass(frozen=True)
class ClosedLoop:
    """A plant under a sampled controller that follows a reference.

    All numbers of controller and reference, and those of the plant that vary, are arguments of its programs:
    ``values`` maps their names, ``"controller.kp"``, ``"reference.goal"``, ``"payload.mass"``, … to numbers.

    Attributes
    ----------
    robot
        The plant.
    controller, reference
        What drives it.
    varied
        Names of the plant's parameters that are arguments.
    period
        Time between two calls of the controller, s; its torque is held in between.
    substeps
        Integration steps in a period.
    """

    robot: Robot
    controller: Controller
    reference: LoopReference
    varied: tuple[str, ...]
    period: float
    substeps: int

    @cached_property
    def nominal(self) -> dict[str, NDArray[np.float64]]:
        """Numbers of controller and reference by their full names."""
        values = {f"controller.{name}": value for name, value in self.controller.parameters.items()}
        return values | {f"reference.{name}": value for name, value in self.reference.parameters.items()}

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every argument, controller's and reference's first, then the plant's."""
        shapes = {name: np.shape(value) for name, value in self.nominal.items()}
        known = self.robot.parameters
        for name in self.varied:
            if name not in known:
                raise UnknownNameError("parameter to vary", name, [*shapes, *known])
            shapes[name] = known[name]
        return shapes

    @property
    def state_size(self) -> int:
        """Numbers in the state: positions, velocities, the controller's memory."""
        return 2 * self.robot.n + self.controller.initial_state.size

    @cached_property
    def scan(self) -> Function:
        """One compiled loop over time: (state, given (S, k, …), *values) -> (final state, *recorded)."""

        def period(state: Any, given: Any, *arguments: Any) -> tuple[Any, ...]:
            values = dict(zip(self.shapes, arguments, strict=True))
            q, qd, memory = self.split(state)
            tau, following, motion = self.control(given, q, qd, memory, values)
            q_next, qd_next = self.advance(q, qd, tau, values)
            return np.concatenate([q_next, qd_next, following]), q, qd, tau, motion.q, motion.qd

        inputs = {"state": (self.state_size,), "given": self.reference.given_shape, **self.shapes}
        program = trace(period, inputs, name="closed_loop", outputs=["state_next", *RECORDED])
        return Function(program, shape="scan")

    @cached_property
    def controller_function(self) -> Function:
        """The controller alone: (given, q, qd, memory, *values) -> (tau, next memory, q_reference, qd_reference)."""

        def law(given: Any, q: Any, qd: Any, memory: Any, *arguments: Any) -> tuple[Any, ...]:
            values = dict(zip(self.shapes, arguments, strict=True))
            tau, following, motion = self.control(given, q, qd, memory[:-1], values)
            return tau, np.append(following, 0.0), motion.q, motion.qd

        n = self.robot.n  # one spare element of memory, for arrays of length 0 have no place in a ufunc
        memory = self.controller.initial_state.size + 1
        inputs = {"given": self.reference.given_shape, "q": (n,), "qd": (n,), "memory": (memory,), **self.shapes}
        outputs = ["tau", "memory_next", "q_reference", "qd_reference"]
        return Function(trace(law, inputs, name="controller", outputs=outputs))

    @cached_property
    def plant_function(self) -> Function:
        """The plant over one period: (q, qd, tau, *values) -> (q, qd)."""

        def step(q: Any, qd: Any, tau: Any, *arguments: Any) -> tuple[Any, Any]:
            return self.advance(q, qd, tau, dict(zip(self.shapes, arguments, strict=True)))

        n = self.robot.n
        inputs = {"q": (n,), "qd": (n,), "tau": (n,), **self.shapes}
        return Function(trace(step, inputs, name="plant", outputs=["q_next", "qd_next"]))

    def control(self, given: Any, q: Any, qd: Any, memory: Any, values: Mapping[str, Any]) -> tuple[Any, Any, Motion]:
        """Call reference and controller once; on numbers or traced scalars."""
        t, motion = self.reference.at(given, _part("reference", values))
        tau, following = self.controller.law(t, q, qd, motion, memory, _part("controller", values), self.period)
        for name, value, shape in (("torques", tau, np.shape(q)), ("memory", following, np.shape(memory))):
            if np.shape(value) != shape:
                raise ArgumentError(
                    f"controller '{self.controller.name}' gave {name} of shape {np.shape(value)} instead of {shape}"
                )
        return np.asarray(tau), np.asarray(following), motion

    def advance(self, q: Any, qd: Any, tau: Any, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """Integrate the plant over one period under constant torques."""
        n = self.robot.n
        accelerations = self.robot.forward_dynamics.specialize(vary=self.varied)
        varied = [values[name] for name in self.varied]

        def derivative(x: Any) -> Any:
            return np.concatenate([x[n:], accelerations(x[:n], x[n:], tau, *varied)])

        x = np.concatenate([q, qd])
        for _ in range(self.substeps):
            x = runge_kutta_4(derivative, x, self.period / self.substeps)
        return x[:n], x[n:]

    def split(self, state: Any) -> tuple[Any, Any, Any]:
        """Positions, velocities and the controller's memory of a state."""
        n = self.robot.n
        return state[..., :n], state[..., n : 2 * n], state[..., 2 * n :]


def _part(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    prefix = owner + "."
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
