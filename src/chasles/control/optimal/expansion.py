"""Exact first and second derivatives of a step.

What a method does between the accelerations aᵢ = FD(qᵢ, q̇ᵢ, τᵢ) of its stages is a path of small formulas: (qᵢ, q̇ᵢ, τᵢ)
from (u, x, a₁, …, aᵢ₋₁), and the next state x⁺ from all. The derivatives of a step are those of the path and of FD by
the chain rule, forward for the slopes and backward for the weights of the curvature. An inertia Eᵢ that depends on the
state adds -Eᵢ aᵢ to the torque: with Eᵢ part of the robot where it is, its slopes and curvature are those of this
torque.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.algorithms import QuadraticModel, TorqueHessian
from chasles.algorithms.quadratic_model import with_curvature
from chasles.base.cached import cached_property
from chasles.control.optimal.methods import Stage
from chasles.control.optimal.step import HeldStep, Place
from chasles.engine import Function, jacobian, trace
from chasles.engine.function import inlined
from chasles.engine.program.scalar import Array


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


class _Slopes(NamedTuple):
    """Derivatives of displacements, velocities and torques of a stage to (u, x); of contact torques to positions."""

    Q: Array
    V: Array
    U: Array
    of_contacts: Array


@dataclass(frozen=True)
class StepExpansion:
    """The step to second order.

    Attributes
    ----------
    step
        The step.
    """

    step: HeldStep

    def __call__(self, x: Array, u: Array, costate: Array, *context: Array) -> Expansion:
        """The step to second order at a node, x (states,), u (m,) and λ (states,), of traced scalars."""
        step = self.step
        n, m, s = step.robot.n, len(u), step.states
        centres, values = step.parts(context)
        places: list[Place] = []
        models: list[QuadraticModel] = []

        def accelerate(stage: Stage) -> Array:
            places.append(step.place(stage, u, values, *centres))
            models.append(self._quadratic_model(places[-1], None))
            return models[-1].qdd

        following = step.following(x, u, accelerate, *centres)
        known = np.concatenate([u, x, *(model.qdd for model in models)])
        where = np.concatenate([place.q for place in places])
        slopes = np.asarray(inlined(self._path_slopes, known, where, *centres, *values.values()))
        R = np.eye(m + s)  # derivatives of what is known to (u, x)
        by_w: list[_Slopes] = []
        for k, (place, model) in enumerate(zip(places, models, strict=True)):
            Q, V, U = np.split(slopes[3 * n * k : 3 * n * (k + 1), : len(R)] @ R, 3)
            of_contacts = np.zeros((n, n))
            if step.contacts is not None:
                by_z = np.asarray(inlined(step.contacts.slopes, self._at_contacts(u), place.q))
                of_contacts = by_z[:, :n]
                U = U + by_z @ np.concatenate([Q, np.eye(m + s)[step.motor_count : m]])
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
            if step.contacts is not None:
                Z = np.concatenate([Q, np.eye(m + s)[step.motor_count : m]])
                second = inlined(step.contacts.curvature, self._at_contacts(u), places[k].q, y)
                curvature = curvature + Z.T @ second @ Z
        all_weights = np.concatenate([*of_places, costate])
        second = inlined(self._path_curvature, known, where, all_weights, *centres, *values.values())
        slopes = slopes[-s:] @ R
        return Expansion(following, slopes[:, m:], slopes[:, :m], np.asarray(curvature + R.T @ second @ R))

    def _at_contacts(self, u: Array) -> Array:
        """Displacement, none, and forces at which the torques of contacts are differentiated."""
        return np.concatenate([np.zeros(self.step.robot.n), u[self.step.motor_count :]])

    def _quadratic_model(self, place: Place, weights: Array | None) -> QuadraticModel:
        """Accelerations at a stage to second order, weighted, or without weights to first order.

        Long programs, of robots with loops, stay calls, so that later processes need not trace them.
        """
        robot, (q, qd, tau, values) = self.step.robot, place
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
        step = self.step
        n, m = step.robot.n, step.inputs
        count = 0 if step.coordinates.is_plain else 2
        centres, values = context[:count], dict(zip(step.varied, context[count:], strict=True))
        u, x, accelerations = np.split(known, [m, m + step.states])
        stages: list[Array] = []

        def accelerate(stage: Stage) -> Array:
            k = len(stages)
            qdd, q = accelerations[k * n : (k + 1) * n], where[k * step.robot.nq : (k + 1) * step.robot.nq]
            tau = stage.torque if stage.inertia is None else stage.torque - stage.inertia * qdd
            if stage.friction_over is not None:
                at = step.coordinates.configuration(stage.p, *centres[:1])
                after = step.friction.torque(at, stage.qd + stage.friction_over * qdd, values)
                tau = tau + step.friction.torque(at, stage.qd, values) - after
            displacement = step.coordinates.displacement(q, stage.p, *centres[:1])
            stages.append(np.concatenate([displacement, stage.qd, tau]))
            return qdd

        following = step.following(x, u, accelerate, *centres)
        return np.concatenate([*stages, following])

    @property
    def _of_path(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the path takes."""
        step = self.step
        n, stages = step.robot.n, step.method.stages
        known = {"known": (step.inputs + step.states + stages * n,), "where": (stages * step.robot.nq,)}
        return {**known, **step.of_context}

    @cached_property
    def _path_slopes(self) -> Function:
        """Derivatives of the path to what is known."""
        return Function(jacobian(trace(self._path, self._of_path, name="path", outputs=["path"]), wrt="known"))

    @cached_property
    def _path_curvature(self) -> Function:
        """Second derivatives of the weighted path to what is known."""
        known, context = self._of_path, self.step.of_context
        weights = self._path_slopes.program.outputs[0].shape[:1]
        shapes = {**{name: known[name] for name in ("known", "where")}, "weights": weights, **context}

        def work(known: Array, where: Array, weights: Array, *context: Array) -> Any:
            return weights @ self._path(known, where, *context)

        program = trace(work, shapes, name="work", outputs=["work"])
        return Function(jacobian(jacobian(program, wrt="known", mode="reverse"), wrt="known"))


def _curvature(dynamics: QuadraticModel, Q: Array, V: Array, U: Array) -> Array:
    """Second derivatives of weighted accelerations to (u, x), which give positions, velocities and torques Q, V, U."""
    by_q = 0.5 * (dynamics.by_q_q @ Q) + dynamics.by_q_qd @ V + dynamics.by_q_tau @ U
    by_qd = 0.5 * (dynamics.by_qd_qd @ V) + dynamics.by_qd_tau @ U
    half = Q.T @ by_q + V.T @ by_qd
    return np.asarray(half + half.T)
