"""Mass matrix and Coriolis matrix, by composite bodies (each together with all that it carries); inertia at a frame.

A mass point at r with velocity rdot has the momentum m rdot; its moments m rdot and m rdot rᵀ add up over points and
bodies. These 12 numbers are the contents of the 6 x 6 matrix B of Echeandia & Wensing, "Numerical Methods to Compute
the Coriolis Matrix and Christoffel Symbols for Rigid-Body Systems" (J. Comput. Nonlinear Dynam. 16(9), 2021): a point's
part of the Coriolis matrix is Jᵀ m dJ/dt, so B takes a twist to the forces omega x m rdot and their moments.

Inertia as felt at a frame: Khatib, "A unified approach for motion and force control of robot manipulators: the
operational space formulation" (IEEE J. Robotics and Automation 3(1), 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.drives import rotor_of_joint, with_rotors
from chasles.algorithms.jacobian import jacobian
from chasles.algorithms.joint_motion import (
    WORLD,
    along_joint,
    joint_positions,
    joint_rates,
    matrix_of_coordinates,
    origin_in_parent,
    poses_in_parent,
    screw,
    turn_in_parent,
)
from chasles.algorithms.kinematics import body_velocities, screw_rate, velocities_after
from chasles.algorithms.mass_moments import (
    MassMoments,
    composite_mass_moments,
    grouped_mass_moments,
    inertia_times,
    turned_matrix,
    turned_vector,
)
from chasles.algorithms.spatial import Twist, Wrench
from chasles.base.errors import ArgumentError
from chasles.engine.linear.symmetric import Factor, SingularMatrixError, factor, inverse, solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree


def mass_matrix(tree: Tree, q: Array) -> Array:
    """Return the mass matrix, symmetric and full, with the motors' armature on its diagonal, or between coupled joints.

    Column i holds the torques, at the joints that carry them, of the wrench that gives the bodies beyond joint i a unit
    acceleration of that joint.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    M
        Shape (n, n), kg·m² (kg for prismatic joints).

    Notes
    -----
    The composite-rigid-body algorithm: Walker & Orin, "Efficient dynamic computer simulation of robotic mechanisms"
    (1982); Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2.

    Examples
    --------
    Rods of m₁ = 10 kg, l₁ = 0.5 m and m₂ = 5 kg, l₂ = 0.25 m at a right angle: M₂₂ = M₁₂ = m₂ l₂²/3 and
    M₁₁ = m₁ l₁²/3 + m₂ l₁² + M₂₂.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> mass_matrix(tree, np.array([0.0, np.pi / 2])).round(4)
    array([[2.1875, 0.1042],
           [0.1042, 0.1042]])
    """
    positions = joint_positions(tree, q)
    poses = poses_in_parent(tree, positions)
    composite = composite_mass_moments(tree, positions)
    M: list[list[Any]] = [[0.0] * len(tree.bodies) for _ in tree.bodies]
    for i, body in enumerate(tree.bodies):
        wrench = inertia_times(composite[i], screw(body))
        M[i][i] = along_joint(body, wrench) + rotor_of_joint(tree, body)
        j = i
        while tree.bodies[j].parent != WORLD:
            wrench = wrench.seen_from(*poses[j])
            j = tree.bodies[j].parent
            M[i][j] = M[j][i] = along_joint(tree.bodies[j], wrench)
    return with_rotors(tree, matrix_of_coordinates(tree, M))


def factor_mass_matrix(tree: Tree, M: Array) -> Factor:
    """Factor a mass matrix for `solve` and `inverse`.

    Parameters
    ----------
    tree, M
        The robot and its mass matrix (n, n).

    Raises
    ------
    ArgumentError
        If a joint is known to move no mass, so that M is singular; the message names it.
    """
    try:
        return factor(M)
    except SingularMatrixError as singular:
        joint = next(body.joint for body in tree.bodies if body.coordinate == singular.row)
        raise massless(joint) from None


def massless(joint: str) -> ArgumentError:
    """Return the error of a joint without inertia, for which no acceleration exists."""
    return ArgumentError(
        f"the mass matrix is singular: joint '{joint}' moves no mass; give its links mass or the joint motor inertia"
    )


def coriolis_matrix(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the Coriolis matrix of the Christoffel symbols, without friction.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    C
        Shape (n, n), N·m·s: C qd is `coriolis_vector`, and dM/dt - 2 C is skew-symmetric.

    Notes
    -----
    With the screw S of a joint, its rate dS = v x S, and composite inertia I and B of the bodies beyond i, where i is
    beyond j or equal to it: C_ij = S_i (B_i S_j + I_i dS_j) and C_ji = S_j (B_i S_i + I_i dS_i).
    Echeandia & Wensing, "Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for Rigid-Body
    Systems" (J. Comput. Nonlinear Dynam. 16(9), 2021).

    Examples
    --------
    With h = m₂ l₁ l₂/2 sin q₂ = 0.3125: [[-h qd₂, -h (qd₁ + qd₂)], [h qd₁, 0]].

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> coriolis_matrix(tree, np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])).round(6) + 0.0
    array([[-0.625 , -0.9375],
           [ 0.3125,  0.    ]])
    """
    positions, rates = joint_positions(tree, q), joint_rates(tree, qd)
    poses = poses_in_parent(tree, positions)
    velocities = body_velocities(tree, poses, rates)
    inertia = composite_mass_moments(tree, positions)
    momentum = composite_momentum_moments(tree, positions, grouped_mass_moments(tree), velocities)
    after = velocities_after(tree, poses, velocities)
    dS = [screw_rate(body, velocity) for body, velocity in zip(tree.bodies, after, strict=True)]
    C: list[list[Any]] = [[0.0] * len(tree.bodies) for _ in tree.bodies]
    for i, body in enumerate(tree.bodies):
        S_inertia = inertia_times(inertia[i], screw(body))
        S_drag = couple_of_drag(momentum[i], screw(body))
        column = drag(momentum[i], screw(body)) + inertia_times(inertia[i], dS[i])
        C[i][i] = along_joint(body, column)
        j = i
        while tree.bodies[j].parent != WORLD:
            R, p = poses[j]
            S_inertia, S_drag, column = S_inertia.seen_from(R, p), R @ S_drag, column.seen_from(R, p)
            j = tree.bodies[j].parent
            C[i][j] = S_drag @ screw(tree.bodies[j]).angular + S_inertia.power(dS[j])
            C[j][i] = along_joint(tree.bodies[j], column)
    return matrix_of_coordinates(tree, C)


class MomentumMoments(NamedTuple):
    """Moments of momentum: sum of m rdot (3,) and sum of m rdot rᵀ (3, 3), about a body's origin in its axes."""

    first: Array
    second: Array


def composite_momentum_moments(
    tree: Tree, positions: Sequence[Any], masses: Sequence[MassMoments], velocities: Sequence[Twist]
) -> list[MomentumMoments]:
    """Moments of momentum of each body with all bodies that it carries, in its frame."""
    composite = [momentum_moments(mass, velocity) for mass, velocity in zip(masses, velocities, strict=True)]
    for i in reversed(range(len(composite))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            carried = momentum_seen_from_parent(tree.bodies[i], positions[i], composite[i])
            first, second = composite[parent]
            composite[parent] = MomentumMoments(first + carried.first, second + carried.second)
    return composite


def momentum_moments(masses: MassMoments, velocity: Twist) -> MomentumMoments:
    """Moments of momentum of one rigid body: its points move with v + omega x r."""
    omega, v = velocity.angular, velocity.linear
    return MomentumMoments(
        masses.mass * v + cross(omega, masses.first), np.outer(v, masses.first) + skew(omega) @ masses.second
    )


def momentum_seen_from_parent(body: MovingBody, position: Real, moments: MomentumMoments) -> MomentumMoments:
    """Moments of momentum about the parent's origin in the parent's axes."""
    (R, angle), p = turn_in_parent(body, position), origin_in_parent(body, position)
    first = R @ turned_vector(angle, moments.first)
    second = R @ turned_matrix(angle, moments.second) @ R.T
    return MomentumMoments(first, second + np.outer(first, p))


def wrench_of_momentum(moments: MomentumMoments) -> Wrench:
    """Angular momentum, the sum of r x m rdot, and linear momentum."""
    K = moments.second
    return Wrench(np.array([K[2, 1] - K[1, 2], K[0, 2] - K[2, 0], K[1, 0] - K[0, 1]]), moments.first)


def drag(momentum: MomentumMoments, twist: Twist) -> Wrench:
    """Wrench B times a twist: the forces omega x m rdot of all mass points; only the twist's angular part counts."""
    K, (wx, wy, wz) = momentum.second, twist.angular
    moment = np.array(
        [
            (K[1, 1] + K[2, 2]) * wx - K[0, 1] * wy - K[0, 2] * wz,
            (K[0, 0] + K[2, 2]) * wy - K[1, 0] * wx - K[1, 2] * wz,
            (K[0, 0] + K[1, 1]) * wz - K[2, 0] * wx - K[2, 1] * wy,
        ]
    )
    return Wrench(moment, cross(twist.angular, momentum.first))


def couple_of_drag(momentum: MomentumMoments, twist: Twist) -> Array:
    """Couple (3,) Bᵀ times a twist: sum of m rdot x (v + omega x r).

    Its scalar product with another omega is the power of the `drag` of that on this twist.
    """
    K, (wx, wy, wz) = momentum.second, twist.angular
    couple = np.array(
        [
            (K[1, 1] + K[2, 2]) * wx - K[1, 0] * wy - K[2, 0] * wz,
            (K[0, 0] + K[2, 2]) * wy - K[0, 1] * wx - K[2, 1] * wz,
            (K[0, 0] + K[1, 1]) * wz - K[0, 2] * wx - K[1, 2] * wy,
        ]
    )
    return couple + cross(momentum.first, twist.linear)


def operational_space_mobility(tree: Tree, q: Array, target: str, frame: str = "world-aligned") -> Array:
    """Return the acceleration of a frame per unit wrench on it: J M⁻¹ Jᵀ.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    target, frame
        See `jacobian`, also for the errors.

    Returns
    -------
    mobility
        Shape (6, 6), symmetric. It exists for every robot and configuration, and is singular where the frame cannot
        move in some direction.

    Raises
    ------
    ArgumentError
        If a joint moves nothing that has mass or motor inertia.

    Examples
    --------
    A force along the stretched arm does not move its tool; one across does.

    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> mobility = operational_space_mobility(tree, np.zeros(2), target="tool", frame="world-aligned")
    >>> mobility[3:5, 3:5].round(4)
    array([[0.    , 0.    ],
           [0.    , 0.6545]])
    """
    J = jacobian(tree, q, target, frame)
    mobility: Array = J @ solve(factor_mass_matrix(tree, mass_matrix(tree, q)), J.T)
    return 0.5 * (mobility + mobility.T)


def operational_space_inertia(tree: Tree, q: Array, target: str, frame: str = "world-aligned") -> Array:
    """Return the wrench on a frame per unit of its acceleration: (J M⁻¹ Jᵀ)⁻¹.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    target, frame
        See `jacobian`, also for the errors.

    Returns
    -------
    Lambda
        Shape (6, 6), symmetric, kg·m², kg·m and kg. The matrix does not exist where the frame cannot move in some
        direction, as in a singular configuration: its elements are then not finite, or very large from rounding. It
        never exists for arms with fewer than six joints; invert the relevant part of J M⁻¹ Jᵀ, which always exists.

    Examples
    --------
    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree, q = build_tree(load("ur5")), np.array([0.0, -1.0, 1.0, 0.5, 1.0, 0.0])
    >>> inertia = operational_space_inertia(tree, q, target="tool", frame="world-aligned")
    >>> J = jacobian(tree, q, target="tool", frame="world-aligned")
    >>> bool(np.allclose(inertia @ J @ np.linalg.solve(mass_matrix(tree, q), J.T), np.eye(6)))
    True
    """
    return inverse(factor(operational_space_mobility(tree, q, target, frame)))
