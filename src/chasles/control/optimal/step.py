"""One step of the motion between two nodes, with its exact first and second derivatives.

The state x is (p, q̇, e), with the coordinates p of q (see `coordinates`) and the states e of the drives, if they have
any (see `drives`). Constants that the solution chooses are states after these: where the start is free, the first
positions and velocities, which ends may depend on; and last the stretch s where the duration is free: each step then
lasts s h.

A method (see `methods`) asks for accelerations aᵢ = FD(qᵢ, q̇ᵢ, τᵢ) at its stages. What it does between them is a path
of small formulas: (qᵢ, q̇ᵢ, τᵢ) from (u, x, a₁, …, aᵢ₋₁), and the next state x⁺ from all. The step's derivatives are
those of the path and of FD by the chain rule, forward for the slopes and backward for the weights of the curvature.
An inertia Eᵢ that depends on the state adds -Eᵢ aᵢ to the torque: with Eᵢ part of the robot where it is, its slopes
and curvature are those of this torque.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.algorithms import QuadraticModel, TorqueHessian
from chasles.algorithms.quadratic_model import with_curvature
from chasles.base.cached import cached_property
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.drives import Drives
from chasles.control.optimal.implicit_friction import ImplicitFriction
from chasles.control.optimal.methods import Accelerate, Method, OneStage, Stage, System, method_of
from chasles.control.optimal.parameters import Parameters
from chasles.engine import Function, jacobian, trace, vjp
from chasles.engine.function import inlined
from chasles.engine.program.scalar import Array
from chasles.integrators import Integrator, Steps
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


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


class _Place(NamedTuple):
    """Configuration, velocities, torques and parameters of the robot at a stage."""

    q: Array
    qd: Array
    tau: Array
    values: dict[str, Array]


class _Slopes(NamedTuple):
    """Derivatives of displacements, velocities and torques of a stage to (u, x); of contact torques to positions."""

    Q: Array
    V: Array
    U: Array
    of_contacts: Array


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

    def _parts(self, context: tuple[Array, ...]) -> tuple[tuple[Array, ...], dict[str, Array]]:
        """Centres of a context, and the values of parameters by name."""
        return (context[:-1], self.parameters.values(context[-1])) if self.varied else (context, {})

    def __call__(self, x: Array, u: Array, *context: Array) -> Array:
        """Next states; for a single sample also of traced scalars."""
        centres, values = self._parts(context)

        def accelerate(stage: Stage) -> Array:
            place = self._place(stage, u, values, *centres)
            return np.asarray(self.robot.forward_dynamics(place.q, place.qd, place.tau, vary=place.values))

        return self._next(x, u, accelerate, *centres)

    def _next(self, x: Array, u: Array, accelerate: Accelerate, *centres: Array) -> Array:
        """Next states, with the accelerations at the stages that a function gives."""
        span: Any = self.h * x[..., -1:] if self.stretches else self.h
        system = System(self.coordinates, self.drives)
        given, command = x[..., : self.moving_states], u[..., : self.motor_count]
        following = self.method(system, given, command, span, accelerate, *centres)
        return np.concatenate([following, x[..., self.moving_states :]], axis=-1)

    def _place(self, stage: Stage, u: Array, values: Mapping[str, Array], *centres: Array) -> _Place:
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
        return _Place(q, stage.qd, tau, more)

    @cached_property
    def friction(self) -> ImplicitFriction:
        """Friction of the joints at the ends of steps."""
        return ImplicitFriction(self.parameters)

    def expansion(self, x: Array, u: Array, costate: Array, *context: Array) -> Expansion:
        """The step to second order at a node, x (states,), u (m,) and λ (states,), of traced scalars."""
        n, m, s = self.robot.n, len(u), self.states
        centres, values = self._parts(context)
        places: list[_Place] = []
        models: list[QuadraticModel] = []

        def accelerate(stage: Stage) -> Array:
            places.append(self._place(stage, u, values, *centres))
            models.append(self._quadratic_model(places[-1], None))
            return models[-1].qdd

        following = self._next(x, u, accelerate, *centres)
        known = np.concatenate([u, x, *(model.qdd for model in models)])
        where = np.concatenate([place.q for place in places])
        slopes = np.asarray(inlined(self._path_slopes, known, where, *centres, *values.values()))
        R = np.eye(m + s)  # derivatives of what is known to (u, x)
        by_w: list[_Slopes] = []
        for k, (place, model) in enumerate(zip(places, models, strict=True)):
            Q, V, U = np.split(slopes[3 * n * k : 3 * n * (k + 1), : len(R)] @ R, 3)
            of_contacts = np.zeros((n, n))
            if self.contacts is not None:
                by_z = np.asarray(inlined(self.contacts.slopes, self._at_contacts(u), place.q))
                of_contacts = by_z[:, :n]
                U = U + by_z @ np.concatenate([Q, np.eye(m + s)[self.motor_count : m]])
            by_w.append(_Slopes(Q, V, U, of_contacts))
            R = np.concatenate([R, model.A[n:, :n] @ Q + model.A[n:, n:] @ V + model.B[n:] @ U])
        weights = slopes[-s:].T @ costate  # of what is known, from the end of the step back
        of_places: list[Array] = []
        curvature = np.zeros((m + s, m + s))
        for k in reversed(range(len(places))):
            w = weights[m + s + n * k : m + s + n * (k + 1)]
            model, (Q, V, U, of_contacts) = self._quadratic_model(places[k], w), by_w[k]
            y = w @ model.B[n:]
            of_place = np.concatenate([w @ model.A[n:, :n] + y @ of_contacts, w @ model.A[n:, n:], y])
            of_places.insert(0, of_place)
            before = m + s + n * k
            weights = weights[:before] + of_place @ slopes[3 * n * k : 3 * n * (k + 1), :before]
            curvature = curvature + _curvature(model, Q, V, U)
            if self.contacts is not None:
                Z = np.concatenate([Q, np.eye(m + s)[self.motor_count : m]])
                second = inlined(self.contacts.curvature, self._at_contacts(u), places[k].q, y)
                curvature = curvature + Z.T @ second @ Z
        all_weights = np.concatenate([*of_places, costate])
        second = inlined(self._path_curvature, known, where, all_weights, *centres, *values.values())
        slopes = slopes[-s:] @ R
        return Expansion(following, slopes[:, m:], slopes[:, :m], np.asarray(curvature + R.T @ second @ R))

    def _at_contacts(self, u: Array) -> Array:
        """Displacement, none, and forces at which the torques of contacts are differentiated."""
        return np.concatenate([np.zeros(self.robot.n), u[self.motor_count :]])

    def _quadratic_model(self, place: _Place, weights: Array | None) -> QuadraticModel:
        """Accelerations at a stage to second order, weighted, or without weights to first order.

        Long programs, of robots with loops, stay calls, so that later processes need not trace them.
        """
        robot, (q, qd, tau, values) = self.robot, place
        if robot.description.loops:
            linear = robot.linearize(q, qd, tau, vary=values)
            qdd, of_torques = (
                robot.forward_dynamics(q, qd, tau, vary=values),
                TorqueHessian(*np.zeros((5, *tau.shape * 2))),
            )
            if weights is not None:
                y = weights @ linear.B[robot.n :]
                of_torques = robot.inverse_dynamics_hessian(q, qd, qdd, y, vary=values)
            return with_curvature(qdd, linear, of_torques)
        weights = np.zeros(robot.n) if weights is None else weights
        model = robot.quadratic_model.specialize(vary=tuple(values))
        return QuadraticModel(*inlined(model, q, qd, tau, weights, *values.values()))

    def _path(self, known: Array, where: Array, *context: Array) -> Array:
        """Displacements from configurations `where`, velocities and torques of all stages, and the next state."""
        n, m = self.robot.n, self.inputs
        count = 0 if self.coordinates.is_plain else 2
        centres, values = context[:count], dict(zip(self.varied, context[count:], strict=True))
        u, x, accelerations = np.split(known, [m, m + self.states])
        stages: list[Array] = []

        def accelerate(stage: Stage) -> Array:
            k = len(stages)
            qdd, q = accelerations[k * n : (k + 1) * n], where[k * self.robot.nq : (k + 1) * self.robot.nq]
            tau = stage.torque if stage.inertia is None else stage.torque - stage.inertia * qdd
            if stage.friction_over is not None:
                at = self.coordinates.configuration(stage.p, *centres[:1])
                after = self.friction.torque(at, stage.qd + stage.friction_over * qdd, values)
                tau = tau + self.friction.torque(at, stage.qd, values) - after
            displacement = self.coordinates.displacement(q, stage.p, *centres[:1])
            stages.append(np.concatenate([displacement, stage.qd, tau]))
            return qdd

        following = self._next(x, u, accelerate, *centres)
        return np.concatenate([*stages, following])

    @property
    def _of_path(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the path takes."""
        n, stages = self.robot.n, self.method.stages
        known = {"known": (self.inputs + self.states + stages * n,), "where": (stages * self.robot.nq,)}
        return {**known, **self._of_context}

    @property
    def _of_context(self) -> dict[str, tuple[int, ...]]:
        """Shapes of centres and parameters."""
        values = {f"parameter_{k}": shape for k, shape in enumerate(self.parameters.shapes.values())}
        return {**self._of_centres, **values}

    @property
    def _of_centres(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the centres by name."""
        return {} if self.coordinates.is_plain else dict.fromkeys(("centre", "next_centre"), (self.robot.nq,))

    @cached_property
    def _path_slopes(self) -> Function:
        """Derivatives of the path to what is known."""
        return Function(jacobian(trace(self._path, self._of_path, name="path", outputs=["path"]), wrt="known"))

    @cached_property
    def _path_curvature(self) -> Function:
        """Second derivatives of the weighted path to what is known."""
        shapes = {**dict(list(self._of_path.items())[:2])}
        shapes |= {"weights": (self.method.stages * 3 * self.robot.n + self.states,), **self._of_context}

        def work(known: Array, where: Array, weights: Array, *context: Array) -> Any:
            return weights @ self._path(known, where, *context)

        program = trace(work, shapes, name="work", outputs=["work"])
        return Function(jacobian(jacobian(program, wrt="known", mode="reverse"), wrt="known"))

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


def _curvature(dynamics: QuadraticModel, Q: Array, V: Array, U: Array) -> Array:
    """Second derivatives of weighted accelerations to (u, x), which give positions, velocities and torques Q, V, U."""
    by_q = 0.5 * (dynamics.by_q_q @ Q) + dynamics.by_q_qd @ V + dynamics.by_q_tau @ U
    by_qd = 0.5 * (dynamics.by_qd_qd @ V) + dynamics.by_qd_tau @ U
    half = Q.T @ by_q + V.T @ by_qd
    return np.asarray(half + half.T)
