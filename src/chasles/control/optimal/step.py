"""One step of the motion between two nodes, on numbers or traced scalars, and scans of steps.

The state x is (p, q̇, e), with the coordinates p of q (see `coordinates`) and the states e of the drives, if they have
any (see `drives`). Constants that the solution chooses are states after these: where the start is free, the first
positions and velocities, which ends may depend on; and last the stretch s where the duration is free: each step then
lasts s h.

A method (see `methods`) asks for accelerations aᵢ = FD(qᵢ, q̇ᵢ, τᵢ) at its stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.drives import Drives
from chasles.control.optimal.implicit_friction import ImplicitFriction
from chasles.control.optimal.methods import Accelerate, Method, OneStage, Stage, System, method_of
from chasles.control.optimal.parameters import Parameters
from chasles.engine import Function, jacobian, trace, vjp
from chasles.engine.program.scalar import Array
from chasles.integrators import Integrator, Steps
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


class Place(NamedTuple):
    """Configuration, velocities, torques and parameters of the robot at a stage."""

    q: Array
    qd: Array
    tau: Array
    values: dict[str, Array]


@dataclass(frozen=True)
class HeldStep:
    """The step of a robot with drives at some of its joints, and forces at its contacts.

    Inputs u are the commands of the motors, or their rates, and after them the forces.

    Attributes
    ----------
    robot
        The robot.
    drives
        The drives, for joints that have motors.
    h
        Time between two nodes, s.
    integrator
        The method: its name, an integrator, or a number of its steps.
    stretches
        Whether the duration is free: the state ends with the stretch s, and a step lasts s h.
    contacts
        Contacts with the environment, if there are any.
    varied
        Names of the robot's parameters that are numbers of the problem.
    free_start
        Whether the first positions and velocities are free.
    """

    robot: Robot
    drives: Drives
    h: float
    integrator: str | Integrator | Steps = "leapfrog"
    stretches: bool = False
    contacts: Contacts | None = None
    varied: tuple[str, ...] = ()
    free_start: bool = False

    @property
    def by_rates(self) -> bool:
        """Whether the inputs are the rates of torques, and the torques are states."""
        return self.drives.by_rates

    @property
    def motors(self) -> NDArray[np.bool_]:
        """Whether each joint has a motor, (n,)."""
        return self.drives.motors

    @property
    def states(self) -> int:
        """Number of elements of the state."""
        return self.moving_states + self.free_start * 2 * self.robot.n + self.stretches

    @property
    def moving_states(self) -> int:
        """Number of elements of the state but for the constants after them."""
        return 2 * self.robot.n + self.drives.count

    @property
    def chosen(self) -> Floats:
        """Directions in which the first state is free, (states, number): both copies of a free start, the stretch."""
        unit, first = np.eye(self.states), 2 * self.robot.n * self.free_start
        start = unit[:, :first] + unit[:, self.moving_states : self.moving_states + first]
        return np.concatenate([start, unit[:, self.states - self.stretches :]], axis=1)

    def first_state(self, w: Array) -> tuple[Array, Array]:
        """Coordinates and velocities of a free start, (..., n) each, from w = (..., x)."""
        n = self.robot.n
        end = w.shape[-1] - self.stretches
        return w[..., end - 2 * n : end - n], w[..., end - n : end]

    @cached_property
    def method(self) -> Method:
        """The method."""
        return method_of(self.integrator, self.robot)

    @property
    def drift_times(self) -> tuple[float, float] | None:
        """Times (h₁, h₂) with p⁺ = p + h₁ q̇ + h₂ q̇⁺, if the state is (p, q̇) and they are constants."""
        method = self.method
        if not (isinstance(method, OneStage) and self.coordinates.is_plain and self.states == 2 * self.robot.n):
            return None
        return method.drift * self.h, (1.0 - method.drift) * self.h

    @cached_property
    def motor_count(self) -> int:
        """Number of motors."""
        return self.drives.motor_count

    @property
    def force_count(self) -> int:
        """Number of components of contact forces."""
        return 0 if self.contacts is None else self.contacts.count

    @property
    def inputs(self) -> int:
        """Number m of inputs."""
        return self.motor_count + self.force_count

    @property
    def torque_places(self) -> slice:
        """Places of the commanded torques of motors in w = (u, x)."""
        first = self.inputs + 2 * self.robot.n if self.by_rates else 0
        return slice(first, first + self.motor_count)

    def torques(self, w: Array) -> Array:
        """Commanded torques of all joints (..., n), from inputs and states w (..., m + states)."""
        return self.of_motors(w[..., self.torque_places])

    def of_motors(self, values: Array) -> Array:
        """Values of all joints (..., n), zero where there is no motor, from those of the motors."""
        return self.drives.of_motors(values)

    def of_drives(self, x: Array) -> Array:
        """States of the drives (..., count) from states x."""
        return x[..., 2 * self.robot.n : self.moving_states]

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of the configurations, of which the state is made."""
        return Coordinates(self.robot)

    @cached_property
    def parameters(self) -> Parameters:
        """Parameters of the robot that are numbers of the problem."""
        return Parameters(self.robot, self.varied)

    @property
    def context_count(self) -> int:
        """Number of elements at the end of a node's data that the step takes: parameters, and centres after them."""
        return self.parameters.count + self.coordinates.count

    def context(self, instant: Array) -> tuple[Array, ...]:
        """Centres of a step, and the values of parameters if there are any, from the data of its node."""
        centres = self.coordinates.centres(instant)
        return (*centres, self.parameters.of_data(instant, self.coordinates.count)) if self.varied else centres

    def parts(self, context: tuple[Array, ...]) -> tuple[tuple[Array, ...], dict[str, Array]]:
        """Centres of a context, and the values of parameters by name."""
        return (context[:-1], self.parameters.values(context[-1])) if self.varied else (context, {})

    def __call__(self, x: Array, u: Array, *context: Array) -> Array:
        """Next states; for a single sample also of traced scalars."""
        centres, values = self.parts(context)

        def accelerate(stage: Stage) -> Array:
            place = self.place(stage, u, values, *centres)
            return np.asarray(self.robot.forward_dynamics(place.q, place.qd, place.tau, vary=place.values))

        return self.following(x, u, accelerate, *centres)

    def following(self, x: Array, u: Array, accelerate: Accelerate, *centres: Array) -> Array:
        """Next states, with the accelerations at the stages that a function gives."""
        span: Any = self.h * x[..., -1:] if self.stretches else self.h
        system = System(self.coordinates, self.drives)
        given, command = x[..., : self.moving_states], u[..., : self.motor_count]
        following = self.method(system, given, command, span, accelerate, *centres)
        return np.concatenate([following, x[..., self.moving_states :]], axis=-1)

    def place(self, stage: Stage, u: Array, values: Mapping[str, Array], *centres: Array) -> Place:
        """What the forward dynamics take at a stage."""
        q = self.coordinates.configuration(stage.p, *centres[:1])
        tau = stage.torque
        if self.contacts is not None:
            tau = tau + self.contacts.torques(q, u[..., self.motor_count :])
        inertia = stage.inertia
        if stage.friction_over is not None:
            own = 0.0 if inertia is None else inertia
            tau, inertia = self.friction.solve(q, stage.qd, tau, own, stage.friction_over, values)
        more = dict(values) if inertia is None else self.parameters.with_inertia(values, inertia)
        return Place(q, stage.qd, tau, more)

    @cached_property
    def friction(self) -> ImplicitFriction:
        """Friction of the joints at the ends of steps."""
        return ImplicitFriction(self.parameters)

    @property
    def of_context(self) -> dict[str, tuple[int, ...]]:
        """Shapes of centres and parameters."""
        values = {f"parameter_{k}": shape for k, shape in enumerate(self.parameters.shapes.values())}
        return {**self._of_centres, **values}

    @property
    def _of_centres(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the centres by name."""
        return {} if self.coordinates.is_plain else dict.fromkeys(("centre", "next_centre"), (self.robot.nq,))

    @cached_property
    def displacement_slopes(self) -> Function:
        """Derivatives of a displacement to coordinates p, (n, n)."""

        def displacement(p: Array, q: Array, *centre: Array) -> Array:
            return self.coordinates.displacement(q, p, *centre)

        n, nq = self.robot.n, self.robot.nq
        centre = dict(list(self._of_centres.items())[:1])
        program = trace(displacement, {"p": (n,), "q": (nq,), **centre}, name="displacement", outputs=["shift"])
        by_p = Function(jacobian(program, wrt="p"))

        def at_itself(p: Array, *centre: Array) -> Any:
            return by_p(p, self.coordinates.configuration(p, *centre), *centre)

        return Function(trace(at_itself, {"p": (n,), **centre}, name="displacement_slopes", outputs=["slopes"]))

    @cached_property
    def rollout(self) -> Function:
        """Scan over nodes (u, x, K) that gives (u, x): torques are corrected by K where the state is not x."""
        m, s = self.inputs, self.states
        size = m + s + m * s

        def work(x: Array, node: Array) -> tuple[Array, Array]:
            u = node[:m] - node[m + s : size].reshape(m, s) @ (x - node[m : m + s])
            return self(x, u, *self.context(node)), np.concatenate([u, x])

        shapes = {"x": (s,), "node": (size + self.context_count,)}
        return Function(trace(work, shapes, name="rollout", outputs=["next", "w"]), shape="scan")

    @cached_property
    def adjoint_sweep(self) -> Function:
        """Scan, backward, over (u, x, gradient to both, K) that gives the reduced gradient to u and the costate.

        The regulator K holds the motion: without it rounding would grow along an unstable one.
        """
        m, s = self.inputs, self.states
        size = 2 * (m + s) + m * s

        def work(costate: Array, node: Array) -> tuple[Array, Array, Array]:
            by_torque, by_state = self.adjoint(node[:m], node[m : m + s], *self.context(node), costate)
            reduced = node[m + s : 2 * m + s] + by_torque
            K = node[2 * (m + s) : size].reshape(m, s)
            before = node[2 * m + s : 2 * (m + s)] + by_state - K.T @ reduced
            return before, reduced, before

        shapes = {"costate": (s,), "node": (size + self.context_count,)}
        return Function(trace(work, shapes, name="adjoint", outputs=["next", "reduced", "costate"]), shape="scan")

    @cached_property
    def adjoint(self) -> Function:
        """(u, x, context, λ) -> Bᵀ λ (m,) and Aᵀ λ (states,), by reverse accumulation through the forward dynamics."""
        sizes = {"u": (self.inputs,), "x": (self.states,), **self._of_centres}
        sizes |= {"parameters": (self.parameters.count,)} if self.varied else {}
        program = trace(lambda u, x, *context: self(x, u, *context), sizes, name="step", outputs=["next"])
        return Function(vjp(program, wrt=["u", "x"]))
