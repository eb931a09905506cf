"""One step of the motion between two nodes, with its exact first and second derivatives.

The step is explicit and symplectic, and needs the forward dynamics a = FD(q, q̇, τ) once:

    q½ = q + σ h q̇,   q̇⁺ = q̇ + h FD(q½, q̇, τ),   q⁺ = q½ + (1 - σ) h q̇⁺.

With σ = ½ it is the leapfrog (position Verlet) method: the acceleration is constant between two nodes, so that the
motion is a parabola through both. With σ = 0 it is the semi-implicit Euler method.

Second derivatives need no tensors. With y = M⁻¹ w, differentiating ID(q, q̇, FD(q, q̇, τ)) = τ twice gives

    ∂² (wᵀ FD) / ∂(q, q̇, τ)² = - Sᵀ [∂² (yᵀ ID) / ∂(q, q̇, q̈)²] S,    S = ∂(q, q̇, q̈) / ∂(q, q̇, τ).

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), sections I.1 and I.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function, jacobian, trace, vjp
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
Integrator = Literal["leapfrog", "semi-implicit-euler"]
INTEGRATORS = get_args(Integrator)
#: Share σ of the step by which positions move before the torque acts.
_DRIFT = {"leapfrog": 0.5, "semi-implicit-euler": 0.0}
#: Velocity, rad/s (m/s), over which friction that jumps at rest is smoothed.
_SMOOTH = 0.1


class Slopes(NamedTuple):
    """First derivatives of a step.

    Attributes
    ----------
    A, B
        Derivatives of the next state to the state (2n, 2n) and to the torques of the motors (2n, m).
    accelerations
        Derivatives of the accelerations to (u, x), (n, m + 2n).
    M_inverse
        Inverse mass matrix, the derivative of q̈ to all torques, (n, n).
    """

    A: Array
    B: Array
    accelerations: Array
    M_inverse: Array


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
    """

    robot: Robot
    motors: NDArray[np.bool_]
    h: float
    integrator: Integrator

    @property
    def drift(self) -> float:
        """Share σ of the step by which positions move before the torque acts."""
        return _DRIFT[self.integrator]

    def torques(self, u: Array) -> Array:
        """Torques of all joints (..., n) from those of the motors (..., m)."""
        return np.asarray(u @ np.eye(self.robot.n)[self.motors])

    def __call__(self, x: Array, u: Array) -> Array:
        """Next states (..., 2n); for a single sample also of traced scalars."""
        h, drift = self.h, self.drift
        q, qd = self._drifted(x)
        qd_next = qd + h * np.asarray(self.robot.forward_dynamics(q, qd, self.torques(u)))
        return np.concatenate([q + (1.0 - drift) * h * qd_next, qd_next], axis=-1)

    def _drifted(self, x: Array) -> tuple[Array, Array]:
        """Positions q½ and velocities at which the dynamics are taken."""
        n = self.robot.n
        return x[..., :n] + self.drift * self.h * x[..., n:], x[..., n:]

    def slopes(self, x: Array, u: Array) -> Slopes:
        """Exact first derivatives at a node, x (2n,) and u (m,), of traced scalars."""
        n, m, h, drift = self.robot.n, int(self.motors.sum()), self.h, self.drift
        rates = self.robot.linearize(*self._drifted(x), self.torques(u))
        zero, identity = np.zeros((n, n)), np.eye(n)
        of_positions, of_velocities, of_torques = rates.A[n:, :n], rates.A[n:, n:], rates.B[n:, self.motors]
        q_half = np.concatenate([np.zeros((n, m)), identity, drift * h * identity], axis=1)
        qd = np.concatenate([np.zeros((n, m)), zero, identity], axis=1)
        qdd = np.concatenate([of_torques, of_positions, drift * h * of_positions + of_velocities], axis=1)
        qd_next = qd + h * qdd
        both = np.concatenate([q_half + (1.0 - drift) * h * qd_next, qd_next])
        return Slopes(both[:, m:], both[:, :m], qdd, rates.B[n:])

    def curvature(self, x: Array, u: Array, costate: Array, slopes: Slopes) -> Array:
        """Second derivatives of λᵀ x⁺ to (u, x), (m + 2n, m + 2n), for λ (2n,), of traced scalars."""
        n, m, h, c = self.robot.n, len(u), self.h, self.drift * self.h
        w = h * (costate[n:] + (1.0 - self.drift) * h * costate[:n])
        q, qd = self._drifted(x)
        qdd = np.asarray(self.robot.forward_dynamics(q, qd, self.torques(u)))
        inner = self._inverse_dynamics_hessian(np.concatenate([q, qd, qdd]), slopes.M_inverse @ w)
        # Accelerations enter linearly; positions are those at q + c q̇.
        qq, qv, vv, qa = inner[:n, :n], inner[:n, n : 2 * n], inner[n : 2 * n, n : 2 * n], inner[:n, 2 * n :]
        of_velocities = c * c * qq + c * (qv + qv.T) + vv
        of_states = np.block([[qq, c * qq + qv], [(c * qq + qv).T, of_velocities]])
        by_accelerations = qa @ slopes.accelerations
        mixed = np.concatenate([np.zeros((m, m + 2 * n)), by_accelerations, c * by_accelerations])
        without_torques = np.block([[np.zeros((m, m + 2 * n))], [np.zeros((2 * n, m)), of_states]])
        return np.asarray(-(without_torques + mixed + mixed.T))

    @cached_property
    def rollout(self) -> Function:
        """Scan over nodes (u, x, K) that gives (u, x): torques are corrected by K where the state is not x."""
        m, s = int(self.motors.sum()), 2 * self.robot.n

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
        m, s = int(self.motors.sum()), 2 * self.robot.n

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
        """(u, x, λ) -> Bᵀ λ (m,) and Aᵀ λ (2n,), by reverse accumulation through the forward dynamics."""
        sizes = {"u": (int(self.motors.sum()),), "x": (2 * self.robot.n,)}
        return Function(vjp(trace(lambda u, x: self(x, u), sizes, name="step", outputs=["next"])))

    @cached_property
    def _inverse_dynamics_hessian(self) -> Function:
        """Second derivatives of yᵀ ID(q, q̇, q̈), (3n, 3n)."""
        n = self.robot.n

        def work(state: Array, y: Array) -> Any:
            return y @ np.asarray(self.robot.inverse_dynamics(state[:n], state[n : 2 * n], state[2 * n :]))

        program = trace(work, {"state": (3 * n,), "y": (n,)}, name="inverse_dynamics_work", outputs=["work"])
        return Function(jacobian(jacobian(program, wrt="state", mode="reverse"), wrt="state"))


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
