"""One step of the motion between two nodes, with its exact first and second derivatives.

The step is explicit and symplectic, and needs the forward dynamics a = FD(q, q̇, τ) once:

    q½ = q + σ h q̇,   q̇⁺ = q̇ + h FD(q½, q̇, τ),   q⁺ = q½ + (1 - σ) h q̇⁺.

The state x is (p, q̇) with the coordinates p of q (see `coordinates`). Where rates r of torques are limited or cost,
they are the inputs, and the torques are states too, (p, q̇, τ) with τ⁺ = τ + h r. Constants that the solution chooses
are states after these: where the start is free, the first positions and velocities, which ends may depend on; and last
the stretch s where the duration is free: each step then lasts s h.

With σ = ½ it is the leapfrog (position Verlet) method: the acceleration is constant between two nodes, so that the
motion is a parabola through both. With σ = 0 it is the semi-implicit Euler method.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), sections I.1 and I.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.algorithms import QuadraticModel
from chasles.base.cached import cached_property
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.parameters import Parameters
from chasles.engine import Function, jacobian, trace, vjp
from chasles.engine.function import inlined
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
Integrator = Literal["leapfrog", "semi-implicit-euler"]
INTEGRATORS = get_args(Integrator)
#: Share σ of the step by which positions move before the torque acts.
_DRIFT = {"leapfrog": 0.5, "semi-implicit-euler": 0.0}


class Expansion(NamedTuple):
    """A step to second order.

    Attributes
    ----------
    following
        The next state x⁺, (states,).
    A, B
        Derivatives of x⁺ to the state and to the inputs, (states, states) and (states, m).
    curvature
        Second derivatives of λᵀ x⁺ to (u, x) for a costate λ, (m + states, m + states).
    """

    following: Array
    A: Array
    B: Array
    curvature: Array


@dataclass(frozen=True)
class HeldStep:
    """The step of a robot with motors in some of its joints, and forces at its contacts.

    Inputs u are the torques of the motors, or their rates, and after them the forces.

    Attributes
    ----------
    robot
        The robot.
    motors
        Whether each joint has a motor, (n,).
    h
        Time between two nodes, s.
    integrator
        Name of the method.
    stretches
        Whether the duration is free: the state ends with the stretch s, and a step lasts s h.
    contacts
        Contacts with the environment, if there are any.
    varied
        Names of the robot's parameters that are numbers of the problem.
    by_rates
        Whether the inputs are the rates of torques, and the torques are states.
    free_start
        Whether the first positions and velocities are free.
    """

    robot: Robot
    motors: NDArray[np.bool_]
    h: float
    integrator: Integrator
    stretches: bool = False
    contacts: Contacts | None = None
    varied: tuple[str, ...] = ()
    by_rates: bool = False
    free_start: bool = False

    @property
    def states(self) -> int:
        """Number of elements of the state."""
        return self.moving_states + self.free_start * 2 * self.robot.n + self.stretches

    @property
    def moving_states(self) -> int:
        """Number of elements of the state but for the constants after them."""
        return 2 * self.robot.n + self.by_rates * self.motor_count

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

    @property
    def drift(self) -> float:
        """Share σ of the step by which positions move before the torque acts."""
        return _DRIFT[self.integrator]

    @property
    def drift_times(self) -> tuple[float, float] | None:
        """Times (h₁, h₂) with p⁺ = p + h₁ q̇ + h₂ q̇⁺, if the state is (p, q̇) and they are constants."""
        is_constant = self.coordinates.is_plain and self.states == 2 * self.robot.n
        return (self.drift * self.h, (1.0 - self.drift) * self.h) if is_constant else None

    @cached_property
    def motor_count(self) -> int:
        """Number of motors."""
        return int(self.motors.sum())

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
        """Places of the torques of motors in w = (u, x)."""
        first = self.inputs + 2 * self.robot.n if self.by_rates else 0
        return slice(first, first + self.motor_count)

    def torques(self, w: Array) -> Array:
        """Torques of all joints (..., n) by the motors, from inputs and states w (..., m + states)."""
        return self.of_motors(w[..., self.torque_places])

    def of_motors(self, values: Array) -> Array:
        """Values of all joints (..., n), zero where there is no motor, from those of the motors."""
        return np.asarray(values @ np.eye(self.robot.n)[self.motors])

    def _efforts(self, q: Array, x: Array, u: Array) -> Array:
        """Torques of all joints (..., n) by motors and contact forces at configurations."""
        tau = self.of_motors(
            x[..., 2 * self.robot.n : self.moving_states] if self.by_rates else u[..., : self.motor_count]
        )
        return tau if self.contacts is None else tau + self.contacts.torques(q, u[..., self.motor_count :])

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

    def _parts(self, context: tuple[Array, ...]) -> tuple[tuple[Array, ...], Robot]:
        """Centres of a context, and the robot with its parameters."""
        if not self.varied:
            return context, self.robot
        return context[:-1], self.parameters.robot_with(context[-1])

    def __call__(self, x: Array, u: Array, *context: Array) -> Array:
        """Next states; for a single sample also of traced scalars."""
        centres, robot = self._parts(context)
        q, qd = self._midway(x, *centres)
        qdd = np.asarray(robot.forward_dynamics(q, qd, self._efforts(q, x, u)))
        return self._arrived(x, qdd, self._rates(u), *centres)

    def _rates(self, u: Array) -> Array:
        """Rates of torques among the inputs, none where the torques are the inputs."""
        return u[..., : self.motor_count * self.by_rates]

    def _span(self, x: Array) -> Any:
        """Time that a step lasts, s: one number, or (..., 1)."""
        return self.h * x[..., -1:] if self.stretches else self.h

    def _velocities(self, x: Array) -> Array:
        n = self.robot.n
        return x[..., n : 2 * n]

    def _drifted(self, x: Array, *centres: Array) -> Array:
        """Coordinates of the configurations q½ at which the dynamics are taken."""
        p, shift = x[..., : self.robot.n], self.drift * self._span(x) * self._velocities(x)
        return self.coordinates.moved(p, shift, *centres[:1], *centres[:1])

    def _midway(self, x: Array, *centres: Array) -> tuple[Array, Array]:
        """Configurations q½ and velocities at which the dynamics are taken."""
        return self.coordinates.configuration(self._drifted(x, *centres), *centres[:1]), self._velocities(x)

    def _arrived(self, x: Array, qdd: Array, rates: Array, *centres: Array) -> Array:
        """Next states for accelerations (..., n) and rates of torques."""
        h, n = self._span(x), self.robot.n
        qd_next = self._velocities(x) + h * qdd
        p_next = self.coordinates.moved(self._drifted(x, *centres), (1.0 - self.drift) * h * qd_next, *centres)
        torques, constants = x[..., 2 * n : self.moving_states], x[..., self.moving_states :]
        return np.concatenate([p_next, qd_next, torques + h * rates, constants], axis=-1)

    def _displaced(self, x: Array, q: Array, *centres: Array) -> Array:
        """Displacement from q to the configuration at which the dynamics are taken."""
        return self.coordinates.displacement(q, self._drifted(x, *centres), *centres[:1])

    def expansion(self, x: Array, u: Array, costate: Array, *context: Array) -> Expansion:
        """The step to second order at a node, x (states,), u (m,) and λ (states,), of traced scalars.

        With x⁺ = Φ(x, q̈, r) and w = Φ_q̈ᵀ λ its second derivatives are those of λᵀ Φ and of wᵀ FD(q½(x), q̇, τ).
        """
        n, m, s = self.robot.n, len(u), self.states
        centres, robot = self._parts(context)
        values = self.parameters.values(context[-1]) if self.varied else {}
        q, qd = self._midway(x, *centres)
        tau = self._efforts(q, x, u)
        known = np.concatenate([x, np.asarray(robot.forward_dynamics(q, qd, tau)), self._rates(u)])
        arrival = np.asarray(inlined(self._arrival_slopes, known, *centres))
        w = arrival[:, s : s + n].T @ costate
        quadratic_model = self.robot.quadratic_model.specialize(vary=self.varied)
        dynamics = QuadraticModel(*inlined(quadratic_model, q, qd, tau, w, *values.values()))
        displaced = np.asarray(inlined(self._displaced_slopes, x, q, *centres))
        Q = np.concatenate([np.zeros((n, m)), displaced], axis=1)
        V = np.eye(m + s)[m + n : m + 2 * n]
        U = np.eye(m + s)[self.torque_places]
        U = self.of_motors(U.T).T  # joint torques, by (u, x)
        by_position = w @ dynamics.A[n:, :n]
        of_contacts = np.zeros((m + s, m + s))
        if self.contacts is not None:
            z, y = np.concatenate([np.zeros(n), u[self.motor_count :]]), w @ dynamics.B[n:]
            slopes = np.asarray(inlined(self.contacts.slopes, z, q))
            R = np.concatenate([Q, np.eye(m + s)[self.motor_count : m]])
            U, by_position = U + slopes @ R, by_position + y @ slopes[:, :n]
            of_contacts = R.T @ inlined(self.contacts.curvature, z, q, y) @ R
        accelerations = dynamics.B[n:] @ U + dynamics.A[n:, :n] @ Q + dynamics.A[n:, n:] @ V
        R = np.concatenate([np.eye(m + s)[m:], accelerations, self._rates(np.eye(m + s)).T])
        by_w = arrival @ R
        of_x = inlined(self._displaced_curvature, x, q, by_position, *centres)
        of_x = np.concatenate([np.zeros((m, m + s)), np.concatenate([np.zeros((s, m)), of_x], axis=1)])
        of_arrival = R.T @ inlined(self._arrival_curvature, known, costate, *centres) @ R
        following = self._arrived(x, dynamics.qdd, self._rates(u), *centres)
        curvature = np.asarray(_curvature(dynamics, Q, V, U) + of_contacts + of_x + of_arrival)
        return Expansion(following, by_w[:, m:], by_w[:, :m], curvature)

    @property
    def _of_centres(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the centres by name."""
        return {} if self.coordinates.is_plain else dict.fromkeys(("centre", "next_centre"), (self.robot.nq,))

    def _arrival(self, known: Array, *centres: Array) -> Array:
        x, qdd, rates = np.split(known, [self.states, self.states + self.robot.n])
        return self._arrived(x, qdd, rates, *centres)

    @property
    def _of_arrival(self) -> dict[str, tuple[int, ...]]:
        """Shape of what the next state is known from, (x, q̈, r)."""
        return {"known": (self.states + self.robot.n + self.by_rates * self.motor_count,)}

    @cached_property
    def _arrival_slopes(self) -> Function:
        """Derivatives of the next state to (x, q̈, r)."""
        shapes = {**self._of_arrival, **self._of_centres}
        return Function(jacobian(trace(self._arrival, shapes, name="arrival", outputs=["next"]), wrt="known"))

    @cached_property
    def _arrival_curvature(self) -> Function:
        """Second derivatives of λᵀ x⁺ to (x, q̈, r)."""
        shapes = {**self._of_arrival, "costate": (self.states,), **self._of_centres}

        def work(known: Array, costate: Array, *centres: Array) -> Any:
            return costate @ self._arrival(known, *centres)

        return _hessian(work, shapes, "known")

    @cached_property
    def _displaced_slopes(self) -> Function:
        """Derivatives to the state of the configuration at which the dynamics are taken, (n, states)."""
        shapes = {"x": (self.states,), "q": (self.robot.nq,), **self._of_centres}
        return Function(jacobian(trace(self._displaced, shapes, name="displaced", outputs=["shift"]), wrt="x"))

    @cached_property
    def _displaced_curvature(self) -> Function:
        """Second derivatives of yᵀ times that configuration's displacement to the state."""
        shapes = {"x": (self.states,), "q": (self.robot.nq,), "y": (self.robot.n,), **self._of_centres}

        def work(x: Array, q: Array, y: Array, *centres: Array) -> Any:
            return y @ self._displaced(x, q, *centres)

        return _hessian(work, shapes, "x")

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


def _hessian(work: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], wrt: str) -> Function:
    """Second derivatives of a number to one of its arguments."""
    program = trace(work, dict(shapes), name="work", outputs=["work"])
    return Function(jacobian(jacobian(program, wrt=wrt, mode="reverse"), wrt=wrt))


def _curvature(dynamics: QuadraticModel, Q: Array, V: Array, U: Array) -> Array:
    """Second derivatives of weighted accelerations to (u, x), which give positions, velocities and torques Q, V, U."""
    by_q = 0.5 * (dynamics.by_q_q @ Q) + dynamics.by_q_qd @ V + dynamics.by_q_tau @ U
    by_qd = 0.5 * (dynamics.by_qd_qd @ V) + dynamics.by_qd_tau @ U
    half = Q.T @ by_q + V.T @ by_qd
    return np.asarray(half + half.T)
