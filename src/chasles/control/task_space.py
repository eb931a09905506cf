"""A frame's motion as controllers see it: its reference, the components they act on, and the dynamics felt there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.control.floating_base import has_motors
from chasles.engine import maximum
from chasles.engine.linear.symmetric import factor, inverse, solve
from chasles.engine.validators import choice, real
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.damped_step import damped_step
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion, PoseMotion

#: Components of a twist of the frame's origin: rotations about the world axes, and translations along them.
COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")


class TaskMotion(NamedTuple):
    """Motion of a frame at one state of the robot, in world axes.

    Attributes
    ----------
    pose
        T_world_frame, (4, 4).
    twist
        (ω, v) of the frame's origin, (6,).
    J
        Jacobian of all components, (6, n).
    drift
        Acceleration of the frame at constant joint velocities, J' q', (6,).
    """

    pose: Array
    twist: Array
    J: Array
    drift: Array


def frame_motion(robot: Robot, q: Array, qd: Array, target: str = "tool") -> TaskMotion:
    """Motion of a frame at one state of a robot, of numbers or traced scalars."""
    T, J = robot.pose_and_jacobian(q, frame="world-aligned", target=target)
    Jdot = robot.jacobian_derivative(q, qd, frame="world-aligned", target=target)
    return TaskMotion(np.asarray(T), J @ qd, np.asarray(J), Jdot @ qd)


def pose_reference(robot: Robot, reference: Motion | PoseMotion, target: str = "tool") -> PoseMotion:
    """Return the pose, twist and twist rate of a frame for a reference.

    Parameters
    ----------
    robot
        Model whose kinematics convert a joint motion to a motion of the frame.
    reference
        Motion of the frame, returned unchanged, or of the joints; one sample, of numbers or traced scalars.
    target
        Name of the frame.

    Returns
    -------
    PoseMotion
        Pose (4, 4); twist (ω, v) and its rate (6,) in world axes, of the frame's origin.

    Examples
    --------
    The stretched arm turns about its first joint at 2 rad/s: the tool moves along y and is accelerated towards -x.

    >>> import chasles as ch
    >>> motion = Motion(np.zeros(2), np.array([2.0, 0.0]), np.zeros(2))
    >>> wanted = pose_reference(ch.load("planar2r"), motion)
    >>> wanted.twist, wanted.acceleration
    (array([0. , 0. , 2. , 0. , 1.5, 0. ]), array([ 0.,  0.,  0., -3.,  0.,  0.]))
    """
    if isinstance(reference, PoseMotion):
        return reference
    frame = frame_motion(robot, reference.q, reference.qd, target)
    return PoseMotion(frame.pose, frame.twist, frame.J @ reference.qdd + frame.drift)


class TaskSpace:
    """Components of a frame's motion in world axes.

    Near singular configurations inverses are damped: with s² = 1 / trace((J Jᵀ)⁻¹), which is at most the square of the
    smallest singular value of J and at least that over the number of components, the squared damping is
    ``(1 - s²/threshold²) largest_damping²`` below the threshold, and 0 above it. No wanted acceleration is then
    enlarged by more than ``max(sqrt(2) / threshold, 1 / (sqrt(2) largest_damping))``. Sources: Nakamura and Hanafusa,
    Inverse kinematic solutions with singularity robustness for robot manipulator control (1986); Chiaverini, Siciliano
    and Egeland, Review of the damped least-squares inverse kinematics with experiments on an industrial robot
    manipulator (1994).

    Parameters
    ----------
    robot
        The model.
    target
        Name of the frame.
    components
        Names out of `COMPONENTS`; default all six. No more than the robot can move at once.
    threshold, largest_damping
        Threshold and damping for the singular values of the components' Jacobian, in their unit; positive.

    Raises
    ------
    UnknownNameError
        For another component or frame.
    ArgumentError
        If the robot cannot move all the components at once, whatever its configuration.
    """

    def __init__(
        self,
        robot: Robot,
        target: str = "tool",
        components: Sequence[str] | None = None,
        *,
        threshold: float = 0.06,
        largest_damping: float = 0.1,
    ) -> None:
        chosen = COMPONENTS if components is None else tuple(components)
        for name in chosen:
            choice(name, "component", COMPONENTS)
        if not chosen or len(set(chosen)) < len(chosen):
            raise ArgumentError(f"components must name some of {', '.join(COMPONENTS)}, each once, not {components!r}")
        self.robot, self.target, self.components = robot, target, chosen
        self.rows = [COMPONENTS.index(name) for name in chosen]
        self.threshold = real(threshold, "threshold", above=0.0)
        self.largest_damping = real(largest_damping, "largest_damping", above=0.0)
        self._require_reach()

    def motion(self, q: Array, qd: Array) -> TaskMotion:
        """Motion of the frame at one state, of numbers or traced scalars."""
        return frame_motion(self.robot, q, qd, self.target)

    def select(self, six: Array) -> Array:
        """The components' rows of a vector (6,) or a matrix (6, n)."""
        return six[self.rows]

    def damping(self, J: Array) -> Any:
        """Squared damping for the selected rows of the Jacobian, (k, n)."""
        gram = J @ J.T
        # The trace of JJᵀ in proportion keeps the factors positive where rounding would not; 1e-300, where J is zero.
        solvable = gram + (1e-13 * np.trace(gram) + 1e-300) * np.eye(len(gram))
        share = 1.0 / (np.trace(inverse(factor(solvable))) * self.threshold**2)
        return self.largest_damping**2 * maximum(1.0 - share, 0.0)

    def inverted(self, J: Array, value: Array, idle: Array) -> Array:
        """Joint rates or accelerations (n,) that give the selected rows (k,) what is wanted, and are idle otherwise.

        They are J⁺ (wanted - J idle) + idle with the damped inverse J⁺ = Jᵀ (J Jᵀ + damping)⁻¹: the closest to idle
        that do the task, where it can be done.
        """
        return damped_step(J, value, self.damping(J), idle)

    def achievable(self, J: Array, value: Array) -> Array:
        """Return the part of wanted selected rows (k,) that `inverted` achieves: all of it, except near singularities.

        It is J Jᵀ (J Jᵀ + damping)⁻¹ wanted.
        """
        gram, damping = J @ J.T, self.damping(J)
        return np.asarray(value - damping * solve(factor(gram + damping * np.eye(len(gram))), value))

    def _require_reach(self) -> None:
        rng = np.random.default_rng(0)
        q = self.robot.integrate(self.robot.home, rng.uniform(-1.5, 1.5, (8, self.robot.n)))
        J = self.robot.jacobian(q, frame="world-aligned", target=self.target)[:, self.rows][..., has_motors(self.robot)]
        reached = J[np.isfinite(J).all(axis=(1, 2))]  # loops cannot be closed everywhere
        rank = int(np.linalg.matrix_rank(reached, tol=1e-9).max(initial=0))
        if rank < len(self.rows):
            working = self._independent(reached)
            raise ArgumentError(
                f"robot '{self.robot.name}' cannot move the components {', '.join(self.components)} of frame "
                f"'{self.target}' at once, only {rank} of them; "
                + (f"give components={working}" if working else "give another target=")
            )

    def _independent(self, J: Array) -> tuple[str, ...]:
        """Components that can be moved at once, positions first, of Jacobians (..., k, n) of `components`."""
        chosen: list[int] = []
        for row in sorted(range(len(self.rows)), key=lambda row: int(self.rows[row]) < 3):
            ranks = np.linalg.matrix_rank(J[:, [*chosen, row]], tol=1e-9)
            if int(ranks.max(initial=0)) > len(chosen):
                chosen.append(row)
        return tuple(self.components[row] for row in sorted(chosen))


class TaskDynamics(NamedTuple):
    """Lambda a + mu + p = F for the acceleration a of a frame's components and the forces F on them, k of each.

    Source: Khatib, A unified approach for motion and force control of robot manipulators: the operational space
    formulation (1987).

    Attributes
    ----------
    Lambda
        Inertia that is felt at the frame, (..., k, k): kg, kg m, kg·m².
    mu, p
        Centrifugal and Coriolis forces, and the weight, (..., k), N·m and N.
    J_bar
        Dynamically consistent inverse of the Jacobian, (..., n, k): of all joint velocities that give the frame its
        own, those of the least kinetic energy.
    """

    Lambda: Array
    mu: Array
    p: Array
    J_bar: Array


def felt_inertia(M: Array, J: Array, damping: Array) -> tuple[Array, Array]:
    """Lambda (k, k) and M⁻¹ Jᵀ (n, k) of a mass matrix (n, n) and the selected rows of the Jacobian (k, n).

    Damping of J Jᵀ goes to J M⁻¹ Jᵀ in proportion to the traces of both. Lambda is symmetric, and M - Jᵀ Lambda J is
    positive semidefinite: a damper.
    """
    responses = solve(factor(M), J.T)
    mobility = J @ responses
    share = np.trace(mobility) / (np.trace(J @ J.T) + 1e-300)
    return inverse(factor(mobility + damping * share * np.eye(len(J)))), responses


def force_for(task: TaskSpace, M: Array, J: Array, acceleration: Array) -> Array:
    """Force (k,) on the selected components that accelerates them so, as far as they can be near singularities.

    The part of the acceleration that `TaskSpace.inverted` achieves is realised with the least energy. Lambda has a
    trace of the damping, so that it exists in singular configurations too.
    """
    Lambda, _ = felt_inertia(M, J, 1e-8 * task.damping(J))
    return np.asarray(Lambda @ task.achievable(J, acceleration))


def task_dynamics(task: TaskSpace, q: Array, qd: Array) -> TaskDynamics:
    """Dynamics of a task's components at one state, of numbers or traced scalars."""
    frame: TaskMotion = task.motion(q, qd)
    J = task.select(frame.J)
    Lambda, responses = felt_inertia(task.robot.mass_matrix(q), J, task.damping(J))
    J_bar = responses @ Lambda
    mu = J_bar.T @ np.asarray(task.robot.coriolis_vector(q, qd)) - Lambda @ task.select(frame.drift)
    return TaskDynamics(Lambda, mu, J_bar.T @ np.asarray(task.robot.gravity_torque(q)), J_bar)
