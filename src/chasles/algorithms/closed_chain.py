"""Computations of a robot with loops, from those of its tree; `chasles.mechanics` pairs each with its counterpart.

The loops leave the velocities ν of some joints independent; those of all joints are G(q) ν, and their accelerations G
ν̇ + Ġ ν. By d'Alembert's principle the loops' forces do no work in these motions, so generalised forces are projected
by Gᵀ, and inertia by both. This is the only difference between a closed chain and a tree: functions of q alone are the
same.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 8.5 and 3.2, with G for its K; Murray, Li & Sastry,
A Mathematical Introduction to Robotic Manipulation (1994), section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms import configuration as of_tree
from chasles.algorithms import energy, linearization, regressors
from chasles.algorithms import reference_motion as along
from chasles.algorithms.forward_dynamics import with_implicit_friction
from chasles.algorithms.inverse_dynamics import armature_torque as tree_armature_torque
from chasles.algorithms.inverse_dynamics import friction_torque as tree_friction_torque
from chasles.algorithms.inverse_dynamics import gravity_torque as tree_gravity_torque
from chasles.algorithms.inverse_dynamics import inverse_dynamics as tree_inverse_dynamics
from chasles.algorithms.inverse_dynamics_hessian import TorqueHessian
from chasles.algorithms.jacobian import PoseAndJacobian
from chasles.algorithms.jacobian import frame_jacobians as tree_frame_jacobians
from chasles.algorithms.jacobian import jacobian as tree_jacobian
from chasles.algorithms.jacobian import jacobian_derivative as tree_jacobian_derivative
from chasles.algorithms.jacobian import pose_and_jacobian as tree_pose_and_jacobian
from chasles.algorithms.joint_friction import position_torque as tree_position_torque
from chasles.algorithms.linearization import Linearization, TorqueDerivatives
from chasles.algorithms.loops import (
    joint_acceleration_along,
    joint_accelerations,
    velocity_map,
    velocity_map_rate,
)
from chasles.algorithms.mass_matrix import coriolis_matrix as tree_coriolis_matrix
from chasles.algorithms.mass_matrix import mass_matrix as tree_mass_matrix
from chasles.algorithms.mass_matrix import massless
from chasles.algorithms.newton_euler import NO_WRENCHES, newton_euler
from chasles.algorithms.quadratic_model import QuadraticModel, with_curvature
from chasles.algorithms.reference_motion import MomentumAndDrift
from chasles.algorithms.regressors import EnergyRegressors
from chasles.engine import trace, vjp
from chasles.engine.function import Function, called, inlined
from chasles.engine.linear.symmetric import Factor, SingularMatrixError, factor, inverse, solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


# Kinematics.


def jacobian(tree: Tree, q: Array, target: str, frame: str = "space") -> Array:
    """Twist of a frame per unit of the independent velocities: J G."""
    J: Array = tree_jacobian(tree, q, target, frame) @ velocity_map(tree, q)
    return J


def frame_jacobians(tree: Tree, q: Array, targets: Sequence[str], frame: str = "space") -> Array:
    """Jacobians J G of several frames."""
    J: Array = tree_frame_jacobians(tree, q, targets, frame) @ velocity_map(tree, q)
    return J


def pose_and_jacobian(tree: Tree, q: Array, target: str, frame: str = "space") -> PoseAndJacobian:
    """Pose and Jacobian J G."""
    T_world_frame, J = tree_pose_and_jacobian(tree, q, target, frame)
    return PoseAndJacobian(T_world_frame, J @ velocity_map(tree, q))


def jacobian_derivative(tree: Tree, q: Array, qd: Array, target: str, frame: str = "space") -> Array:
    """Time derivative of J G: J̇ G + J Ġ."""
    G = velocity_map(tree, q)
    J_rate: Array = tree_jacobian_derivative(tree, q, G @ qd, target, frame) @ G
    as_joints_change: Array = tree_jacobian(tree, q, target, frame) @ velocity_map_rate(tree, q, qd)
    return J_rate + as_joints_change


# Dynamics.


def inverse_dynamics(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Forces along the independent velocities: Gᵀ times the tree's torques."""
    tau: Array = velocity_map(tree, q).T @ joint_torques(tree, q, qd, qdd, wrenches)
    return tau


def joint_torques(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Return the torques of all joints for a motion, with the loops cut open.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd
        Configuration, shape (nq,), with closed loops; independent velocities and accelerations, shape (n,).
    wrenches
        See `inverse_dynamics`, also for the errors.

    Returns
    -------
    torques
        Shape (joint velocities,), N·m and N: the sum of what motors and loop forces supply.

    Examples
    --------
    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> joint_torques(tree, np.zeros(2), np.zeros(1), np.zeros(1)).round(5)
    array([55.15993,  6.12888])
    """
    G = velocity_map(tree, q)
    return tree_inverse_dynamics(tree, q, G @ qd, joint_accelerations(tree, q, qd, qdd), wrenches)


def bias(tree: Tree, q: Array, qd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Forces of a motion without acceleration of the independent joints."""
    return inverse_dynamics(tree, q, qd, np.zeros(len(tree.independent)), wrenches)


def gravity_torque(tree: Tree, q: Array) -> Array:
    """Gᵀ g."""
    g: Array = velocity_map(tree, q).T @ tree_gravity_torque(tree, q)
    return g


def friction_torque(tree: Tree, q: Array, qd: Array) -> Array:
    """Gᵀ times the friction of all joints."""
    G = velocity_map(tree, q)
    tau: Array = G.T @ tree_friction_torque(tree, q, G @ qd)
    return tau


def loaded_friction_torque(tree: Tree, q: Array, qd: Array, load: Array) -> Array:
    """Gᵀ times the friction of all joints, of which none depends on the load in a robot with loops."""
    return friction_torque(tree, q, qd)


def transmitted_torque(tree: Tree, q: Array, qd: Array, tau: Array) -> Array:
    """Torques along the independent velocities without friction and position torques."""
    return tau - friction_torque(tree, q, qd) - position_torque(tree, q)


def position_torque(tree: Tree, q: Array) -> Array:
    """Gᵀ times the position torques of all joints."""
    tau: Array = velocity_map(tree, q).T @ tree_position_torque(tree, q)
    return tau


def coriolis_vector(tree: Tree, q: Array, qd: Array) -> Array:
    """Gᵀ (c + M Ġ q̇), by the recursion with the accelerations Ġ q̇ and without weight."""
    G, still = velocity_map(tree, q), np.zeros(len(tree.independent))
    c: Array = G.T @ newton_euler(tree, q, G @ qd, joint_accelerations(tree, q, qd, still), np.zeros(3))
    rotors: Array = G.T @ tree_armature_torque(tree, joint_accelerations(tree, q, qd, still))
    return c + rotors


def mass_matrix(tree: Tree, q: Array) -> Array:
    """Gᵀ M G, exactly symmetric."""
    G = velocity_map(tree, q)
    half = G.T @ (tree_mass_matrix(tree, q) @ G)
    n = len(half)
    return np.array([[half[max(i, j), min(i, j)] for j in range(n)] for i in range(n)]).reshape(n, n)


def coriolis_matrix(tree: Tree, q: Array, qd: Array) -> Array:
    """Gᵀ (C G + M Ġ): with it dM/dt - 2 C is skew-symmetric, as with the tree's."""
    G = velocity_map(tree, q)
    C: Array = tree_coriolis_matrix(tree, q, G @ qd) @ G
    return np.array(G.T @ (C + tree_mass_matrix(tree, q) @ velocity_map_rate(tree, q, qd)))


def forward_dynamics(
    tree: Tree,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Mapping[str, Array] = NO_WRENCHES,
    step: float = 0.0,
) -> Array:
    """Accelerations by the projected mass matrix; over a step, the friction of all joints is that at its end."""
    if step:
        tree = with_implicit_friction(tree, velocity_map(tree, q) @ qd, step)
    return solve(_factor(tree, mass_matrix(tree, q)), tau - bias(tree, q, qd, wrenches))


def inverse_mass_matrix(tree: Tree, q: Array) -> Array:
    """Inverse of Gᵀ M G."""
    return inverse(_factor(tree, mass_matrix(tree, q)))


def _factor(tree: Tree, M: Array) -> Factor:
    try:
        return factor(M)
    except SingularMatrixError as singular:
        index = tree.independent[singular.row]
        raise massless(next(body.joint for body in tree.bodies if body.coordinate == index)) from None


# Energy and momentum.


def kinetic_energy(tree: Tree, q: Array, qd: Array) -> Any:
    """Kinetic energy of all bodies."""
    return energy.kinetic_energy(tree, q, velocity_map(tree, q) @ qd)


def centroidal_momentum_matrix(tree: Tree, q: Array) -> Array:
    """A G."""
    A: Array = energy.centroidal_momentum_matrix(tree, q) @ velocity_map(tree, q)
    return A


def centroidal_momentum(tree: Tree, q: Array, qd: Array) -> Array:
    """Momentum of all bodies."""
    return energy.centroidal_momentum(tree, q, velocity_map(tree, q) @ qd)


def centroidal_momentum_rate(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """Rate of the momentum of all bodies."""
    velocities = velocity_map(tree, q) @ qd
    return energy.centroidal_momentum_rate(tree, q, velocities, joint_accelerations(tree, q, qd, qdd))


def operational_space_mobility(tree: Tree, q: Array, target: str, frame: str = "world-aligned") -> Array:
    """Acceleration of a frame per unit wrench, with the Jacobian J G and the mass matrix Gᵀ M G."""
    J = jacobian(tree, q, target, frame)
    mobility: Array = J @ solve(_factor(tree, mass_matrix(tree, q)), J.T)
    return 0.5 * (mobility + mobility.T)


def operational_space_inertia(tree: Tree, q: Array, target: str, frame: str = "world-aligned") -> Array:
    """Inverse of the operational space mobility."""
    return inverse(factor(operational_space_mobility(tree, q, target, frame)))


# Regressors, and dynamics along a reference motion.


def torque_regressor(tree: Tree, q: Array, qd: Array, qdd: Array, columns: tuple[int, ...] | None = None) -> Array:
    """Gᵀ Y."""
    G, accelerations = velocity_map(tree, q), joint_accelerations(tree, q, qd, qdd)
    Y: Array = G.T @ regressors.torque_regressor(tree, q, G @ qd, accelerations, columns)
    return Y


def momentum_regressor(tree: Tree, q: Array, qd: Array) -> Array:
    """Gᵀ Y of the momenta."""
    G = velocity_map(tree, q)
    Y: Array = G.T @ regressors.momentum_regressor(tree, q, G @ qd)
    return Y


def energy_regressor(tree: Tree, q: Array, qd: Array) -> EnergyRegressors:
    """Regressors of the energies of all bodies."""
    return regressors.energy_regressor(tree, q, velocity_map(tree, q) @ qd)


def passivity_torque(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Gᵀ times the tree's passivity torques along the joints' reference motion."""
    G, reference = velocity_map(tree, q), joint_acceleration_along(tree, q, qd, qd_reference, qdd_reference)
    tau: Array = G.T @ along.passivity_torque(tree, q, G @ qd, G @ qd_reference, reference)
    return tau


def passivity_regressor(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Gᵀ times the tree's passivity regressor along the joints' reference motion."""
    G, reference = velocity_map(tree, q), joint_acceleration_along(tree, q, qd, qd_reference, qdd_reference)
    Y: Array = G.T @ along.passivity_regressor(tree, q, G @ qd, G @ qd_reference, reference)
    return Y


def momentum_and_drift(tree: Tree, q: Array, qd: Array) -> MomentumAndDrift:
    """Momenta Gᵀ p, which change by the tree's drift and as G changes."""
    G = velocity_map(tree, q)
    momentum, drift = along.momentum_and_drift(tree, q, G @ qd)
    return MomentumAndDrift(G.T @ momentum, G.T @ drift + velocity_map_rate(tree, q, qd).T @ momentum)


def momentum_drift_regressor(tree: Tree, q: Array, qd: Array) -> Array:
    """Gᵀ D and Ġᵀ Y of the momenta."""
    G, G_rate = velocity_map(tree, q), velocity_map_rate(tree, q, qd)
    D: Array = G.T @ along.momentum_drift_regressor(tree, q, G @ qd)
    turned: Array = G_rate.T @ regressors.momentum_regressor(tree, q, G @ qd)
    return D + turned


# Derivatives.


def inverse_dynamics_derivatives(
    tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> TorqueDerivatives:
    """Derivatives of Gᵀ τ: the tree's, along the joints' motion, whose own derivatives the engine finds."""
    n = len(tree.independent)
    G, velocities, accelerations = velocity_map(tree, q), *_joint_motion(tree, q, qd, qdd)
    tau = tree_inverse_dynamics(tree, q, velocities, accelerations, wrenches)
    by_q, by_qd, by_qdd = linearization.inverse_dynamics_derivatives(tree, q, velocities, accelerations, wrenches)
    sizes = {"q": (tree.nq,), "qd": (n,), "qdd": (n,), "tau": (tree.n,)}
    motion = Function(trace(partial(_motion_and_projection, tree), sizes, outputs=["u", "a", "f"]))
    along_q, along_qd = motion.jvp("q"), motion.jvp("qd")
    columns_q, columns_qd = [], []
    for k, unit in enumerate(np.eye(n)):
        u, a, f = along_q(q, qd, qdd, tau, of_tree.configuration_rate(tree, q, G[:, k]))
        columns_q.append(G.T @ (by_q @ G[:, k] + by_qd @ u + by_qdd @ a) + f)
        u, a, _ = called(along_qd, q, qd, qdd, tau, unit)
        columns_qd.append(G.T @ (by_qd @ u + by_qdd @ a))
    by_q, by_qd = np.array(columns_q).T.reshape(n, n), np.array(columns_qd).T.reshape(n, n)
    return TorqueDerivatives(by_q, by_qd, G.T @ by_qdd @ G)


def inverse_dynamics_hessian(
    tree: Tree, q: Array, qd: Array, qdd: Array, weights: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> TorqueHessian:
    """Second derivatives of weighted torques Gᵀ τ: the engine's, of their gradient, along the joints' motion."""
    n, G = len(tree.independent), velocity_map(tree, q)
    sizes = {"q": (tree.nq,), "qd": (n,), "qdd": (n,), "y": (n,)}

    def weighted(q: Array, qd: Array, qdd: Array, y: Array) -> Any:
        return y @ inverse_dynamics(tree, q, qd, qdd, wrenches)

    slopes = Function(vjp(trace(weighted, sizes, name="weighted"), ["q", "qd", "qdd"]))

    def gradient(q: Array, qd: Array, qdd: Array, y: Array) -> tuple[Array, ...]:
        by_q, by_qd, by_qdd = inlined(slopes, q, qd, qdd, y, 1.0)
        rates = [of_tree.configuration_rate(tree, q, column) for column in velocity_map(tree, q).T]
        return np.array([by_q @ rate for rate in rates]), by_qd, by_qdd

    along_q = Function(trace(gradient, sizes, outputs=["by_q", "by_qd", "by_qdd"])).jvp("q")
    along_qd = Function(trace(lambda *at: gradient(*at)[1], sizes, name="by_qd")).jvp("qd")
    at = q, qd, qdd, weights
    rows = [along_q(*at, of_tree.configuration_rate(tree, q, column)) for column in G.T]
    by_q_q, by_q_qd, by_q_qdd = (np.array(block).reshape(n, n) for block in zip(*rows, strict=True))
    by_qd_qd = np.array([called(along_qd, *at, unit) for unit in np.eye(n)]).reshape(n, n)
    return TorqueHessian(0.5 * (by_q_q + by_q_q.T), by_q_qd, by_q_qdd, by_qd_qd, np.zeros((n, n)))


def linearize(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Linearization:
    """Exact linear model in displacements of the independent coordinates."""
    qdd = forward_dynamics(tree, q, qd, tau, wrenches)
    by_q, by_qd, M = inverse_dynamics_derivatives(tree, q, qd, qdd, wrenches)
    G = velocity_map(tree, q)
    transport = (of_tree.transport_of_displacement(tree, G @ qd) @ G)[list(tree.independent)]
    return linearization.linear_model(transport, inverse(_factor(tree, M)), by_q, by_qd)


def quadratic_model(
    tree: Tree, q: Array, qd: Array, tau: Array, weights: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> QuadraticModel:
    """Second-order model in displacements of the independent coordinates."""
    qdd, model = forward_dynamics(tree, q, qd, tau, wrenches), linearize(tree, q, qd, tau, wrenches)
    y = model.B[len(tree.independent) :].T @ weights
    return with_curvature(qdd, model, inverse_dynamics_hessian(tree, q, qd, qdd, y, wrenches))


def _joint_motion(tree: Tree, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    return velocity_map(tree, q) @ qd, joint_accelerations(tree, q, qd, qdd)


def _motion_and_projection(tree: Tree, q: Array, qd: Array, qdd: Array, tau: Array) -> tuple[Array, Array, Array]:
    return *_joint_motion(tree, q, qd, qdd), velocity_map(tree, q).T @ tau
