"""One step of the motion between two nodes, with its exact first and second derivatives.

The step is explicit and symplectic, and needs the forward dynamics a = FD(q, q̇, τ) once:

    q½ = q + σ h q̇,   q̇⁺ = q̇ + h FD(q½, q̇, τ),   q⁺ = q½ + (1 - σ) h q̇⁺.

The state x is (q, q̇), or (q, q̇, s) where the duration is free: then each step lasts s h, and s is a constant.

With σ = ½ it is the leapfrog (position Verlet) method: the acceleration is constant between two nodes, so that the
motion is a parabola through both. With σ = 0 it is the semi-implicit Euler method.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), sections I.1 and I.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.algorithms import QuadraticModel
from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace, vjp
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
Integrator = Literal["leapfrog", "semi-implicit-euler"]
INTEGRATORS = get_args(Integrator)
#: Share σ of the step by which positions move before the torque acts.
_DRIFT = {"leapfrog": 0.5, "semi-implicit-euler": 0.0}
#: Velocity, rad/s (m/s), over which friction that jumps at rest is smoothed.
_SMOOTH = 0.1


class Expansion(NamedTuple):
    """A step to second order.

    Attributes
    ----------
    following
        The next state x⁺, (states,).
    A, B
        Derivatives of x⁺ to the state and to the torques of the motors, (states, states) and (states, m).
    curvature
        Second derivatives of λᵀ x⁺ to (u, x) for a costate λ, (m + states, m + states).
    """

    following: Array
    A: Array
    B: Array
    curvature: Array


@dataclass(frozen=True)
class HeldStep:
    """The step of a robot with motors in some of its joints.

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
    """

    robot: Robot
    motors: NDArray[np.bool_]
    h: float
    integrator: Integrator
    stretches: bool = False

    @property
    def states(self) -> int:
        """Number of elements of the state."""
        return 2 * self.robot.n + self.stretches

    @property
    def drift(self) -> float:
        """Share σ of the step by which positions move before the torque acts."""
        return _DRIFT[self.integrator]

    def torques(self, u: Array) -> Array:
        """Torques of all joints (..., n) from those of the motors (..., m)."""
        return np.asarray(u @ np.eye(self.robot.n)[self.motors])

    def __call__(self, x: Array, u: Array) -> Array:
        """Next states; for a single sample also of traced scalars."""
        h, n = self._span(x), self.robot.n
        q, qd = self._drifted(x)
        qd_next = qd + h * np.asarray(self.robot.forward_dynamics(q, qd, self.torques(u)))
        q_next = q + (1.0 - self.drift) * h * qd_next
        return np.concatenate([q_next, qd_next, *([x[..., 2 * n :]] if self.stretches else [])], axis=-1)

    def _span(self, x: Array) -> Any:
        """Time that a step lasts, s: one number, or (..., 1)."""
        return self.h * x[..., -1:] if self.stretches else self.h

    def _drifted(self, x: Array) -> tuple[Array, Array]:
        """Positions q½ and velocities at which the dynamics are taken."""
        n = self.robot.n
        qd = x[..., n : 2 * n]
        return x[..., :n] + self.drift * self._span(x) * qd, qd

    def _moments(self, x: Array) -> tuple[Array, Array]:
        """Derivatives to (u, x) of the positions and velocities at which the dynamics are taken, (n, m + states)."""
        n, m = self.robot.n, int(self.motors.sum())
        of_torques, identity = np.zeros((n, m)), np.eye(n)
        positions = [of_torques, identity, self.drift * self._span(x) * identity]
        velocities = [of_torques, np.zeros((n, n)), identity]
        if self.stretches:
            positions.append(self.drift * self.h * x[n : 2 * n, None])
            velocities.append(np.zeros((n, 1)))
        return np.concatenate(positions, axis=1), np.concatenate(velocities, axis=1)

    def expansion(self, x: Array, u: Array, costate: Array) -> Expansion:
        """The step to second order at a node, x (states,), u (m,) and λ (states,), of traced scalars."""
        n, m, h, drift = self.robot.n, len(u), self._span(x), self.drift
        q, qd = self._drifted(x)
        w = h * (costate[n : 2 * n] + (1.0 - drift) * h * costate[:n])
        dynamics = self.robot.quadratic_model(q, qd, self.torques(u), w)
        qdd, by_tau = dynamics.qdd, dynamics.B[n:, self.motors]
        Q, V = self._moments(x)
        of_torques = np.concatenate([by_tau, np.zeros((n, self.states))], axis=1)
        accelerations = of_torques + dynamics.A[n:, :n] @ Q + dynamics.A[n:, n:] @ V
        qd_next = qd + h * qdd
        following = [x[:n] + drift * h * qd + (1.0 - drift) * h * qd_next, qd_next]
        by_velocities = V + h * accelerations
        rows = [Q + (1.0 - drift) * h * by_velocities, by_velocities]
        curvature = _curvature(dynamics, Q, V, self.motors)
        if self.stretches:
            by_stretch = self.h * qdd
            moved = (1.0 - drift) * (self.h * qd_next + h * by_stretch)
            last = np.eye(m + self.states)[-1:]
            rows = [rows[0] + moved[:, None] * last, rows[1] + by_stretch[:, None] * last, last]
            following.append(x[2 * n :])
            curvature = curvature + self._curvature_of_stretch(x, costate, w, qdd, accelerations)
        by_w = np.concatenate(rows)
        return Expansion(np.concatenate(following), by_w[:, m:], by_w[:, :m], curvature)

    def _curvature_of_stretch(self, x: Array, costate: Array, w: Array, qdd: Array, accelerations: Array) -> Array:
        """What the stretch s adds: λᵀ x⁺ = λqᵀ (q + s h q̇) + λvᵀ q̇ + wᵀ FD, where w and q½ depend on s too."""
        n, m, h, drift = self.robot.n, int(self.motors.sum()), self.h, self.drift
        by_q = costate[:n]
        w_by_s = h * (costate[n : 2 * n] + 2.0 * (1.0 - drift) * self._span(x) * by_q)
        row = w_by_s @ accelerations
        by_velocities = h * by_q + drift * h * (w @ accelerations[:, m : m + n])
        twice = (1.0 - drift) * h**2 * (by_q @ qdd)
        row = row + np.concatenate([np.zeros(m + n), by_velocities, np.array([twice])])
        corner = np.eye(len(row))[-1]
        return np.asarray(corner[:, None] * row + row[:, None] * corner)

    @cached_property
    def rollout(self) -> Function:
        """Scan over nodes (u, x, K) that gives (u, x): torques are corrected by K where the state is not x."""
        m, s = int(self.motors.sum()), self.states

        def work(x: Array, node: Array) -> tuple[Array, Array]:
            u = node[:m] - node[m + s :].reshape(m, s) @ (x - node[m : m + s])
            return self(x, u), np.concatenate([u, x])

        shapes = {"x": (s,), "node": (m + s + m * s,)}
        return Function(trace(work, shapes, name="rollout", outputs=["next", "w"]), shape="scan")

    @cached_property
    def adjoint_sweep(self) -> Function:
        """Scan, backward, over (u, x, gradient to both, K) that gives the reduced gradient to u and the costate.

        The regulator K holds the motion: without it rounding would grow along an unstable one.
        """
        m, s = int(self.motors.sum()), self.states

        def work(costate: Array, node: Array) -> tuple[Array, Array, Array]:
            by_torque, by_state = self.adjoint(node[:m], node[m : m + s], costate)
            reduced = node[m + s : 2 * m + s] + by_torque
            K = node[2 * (m + s) :].reshape(m, s)
            before = node[2 * m + s : 2 * (m + s)] + by_state - K.T @ reduced
            return before, reduced, before

        shapes = {"costate": (s,), "node": (2 * (m + s) + m * s,)}
        return Function(trace(work, shapes, name="adjoint", outputs=["next", "reduced", "costate"]), shape="scan")

    @cached_property
    def adjoint(self) -> Function:
        """(u, x, λ) -> Bᵀ λ (m,) and Aᵀ λ (states,), by reverse accumulation through the forward dynamics."""
        sizes = {"u": (int(self.motors.sum()),), "x": (self.states,)}
        return Function(vjp(trace(lambda u, x: self(x, u), sizes, name="step", outputs=["next"])))


def _curvature(dynamics: QuadraticModel, Q: Array, V: Array, motors: NDArray[np.bool_]) -> Array:
    """Second derivatives of weighted accelerations to (u, x), which give positions and velocities Q and V."""
    U = np.eye(len(Q), Q.shape[1])[np.cumsum(motors) - 1] * motors[:, None]  # joint torques, by (u, x)
    by_q = 0.5 * (dynamics.by_q_q @ Q) + dynamics.by_q_qd @ V + dynamics.by_q_tau @ U
    by_qd = 0.5 * (dynamics.by_qd_qd @ V) + dynamics.by_qd_tau @ U
    half = Q.T @ by_q + V.T @ by_qd
    return np.asarray(half + half.T)


def require_smooth(robot: Robot) -> None:
    """Raise `ArgumentError` for friction that jumps: no derivative leads across it."""
    for joint in robot.description.joints:
        if joint.coulomb_friction and not all(joint.coulomb_velocities):
            raise ArgumentError(
                f"the friction of joint '{joint.name}' of robot '{robot.name}' jumps at rest, and no motion can be "
                "optimised across a jump; smooth it over a velocity (rad/s), as with "
                f"robot.with_friction(coulomb_velocity=0.1)"
            )


def with_smooth_friction(robot: Robot) -> Robot:
    """Return the robot with friction that changes its sign over 0.1 rad/s (m/s) where it jumps at rest."""
    if all(all(joint.coulomb_velocities) for joint in robot.description.joints if joint.coulomb_friction):
        return robot
    return robot.with_friction(coulomb_velocity=_SMOOTH)
