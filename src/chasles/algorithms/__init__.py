"""Algorithms of robot mechanics: one recursion a file, plain functions of a kinematic tree and NumPy arrays.

Called with floats they compute, called with traced scalars they write a program. Sections of the files, in reading
order: `joint_motion`, `configuration`, `kinematics`, `jacobian`; `body_motion`, `mass_moments`, `wrenches`,
`inverse_dynamics`; `mass_matrix`, `momentum_moments`, `coriolis_matrix`; `articulated_body`,
`forward_dynamics`; `energy`, `power_balance`, `centroidal_momentum`, `operational_space`; `linearization`;
`parameter_columns`, `torque_regressor`, `momentum_regressor`, `energy_regressor`; `reference_motion`,
`passivity_torque`, `passivity_regressor`, `momentum`, `momentum_drift_regressor`; `attainable_motion`, `regrouping`,
`numerical_grouping`, `similar_bodies`, `equivalent_parameters`.

A pendulum of 2 kg at the end of a massless rod of 0.5 m, which turns about the y axis and hangs along x at q = 0:

>>> import numpy as np
>>> from chasles.model.description import Description, Link
>>> from chasles.model.inertia import Inertia
>>> from chasles.model.joint import Joint
>>> from chasles.model.tree import build_tree
>>> rod = Link("rod", Inertia(mass=2.0, center_of_mass=[0.5, 0.0, 0.0]))
>>> hinge = Joint("hinge", "revolute", "wall", "rod", axis=[0.0, 1.0, 0.0])
>>> pendulum = Description("pendulum", links=(Link("wall"), rod), joints=(hinge,), gravity=[0.0, 0.0, -10.0])
>>> tree = build_tree(pendulum)
>>> q, qd, qdd = np.zeros(1), np.array([3.0]), np.array([1.0])
>>> float(mass_matrix(tree, q)[0, 0])
0.5
>>> float(inverse_dynamics(tree, q, qd, qdd)[0])
-9.5
>>> float(kinetic_energy(tree, q, qd))
2.25
"""

from chasles.algorithms.articulated_body import articulated_body_accelerations
from chasles.algorithms.centroidal_momentum import (
    centroidal_momentum,
    centroidal_momentum_matrix,
    centroidal_momentum_rate,
)
from chasles.algorithms.configuration import configuration_rate, difference, integrate, normalize
from chasles.algorithms.coriolis_matrix import coriolis_matrix
from chasles.algorithms.energy import kinetic_energy, potential_energy
from chasles.algorithms.energy_regressor import energy_regressor
from chasles.algorithms.equivalent_parameters import consistent_parameters, equivalent_parameters
from chasles.algorithms.forward_dynamics import accelerations_by_mass_matrix, forward_dynamics, inverse_mass_matrix
from chasles.algorithms.friction import friction_torque
from chasles.algorithms.inverse_dynamics import bias, coriolis_vector, gravity_torque, inverse_dynamics
from chasles.algorithms.jacobian import jacobian, jacobian_derivative, pose_and_jacobian
from chasles.algorithms.kinematics import all_frames, center_of_mass, forward_kinematics
from chasles.algorithms.linearization import inverse_dynamics_derivatives, linearize
from chasles.algorithms.mass_matrix import mass_matrix
from chasles.algorithms.momentum import momentum_and_drift
from chasles.algorithms.momentum_drift_regressor import momentum_drift_regressor
from chasles.algorithms.momentum_regressor import momentum_regressor
from chasles.algorithms.numerical_grouping import group_columns, preferred_columns
from chasles.algorithms.operational_space import operational_space_inertia, operational_space_mobility
from chasles.algorithms.passivity_regressor import passivity_regressor
from chasles.algorithms.passivity_torque import passivity_torque
from chasles.algorithms.power_balance import PowerBalance, power_balance
from chasles.algorithms.regrouping import Grouping, regroup
from chasles.algorithms.torque_regressor import torque_regressor

__all__ = [
    "Grouping",
    "PowerBalance",
    "accelerations_by_mass_matrix",
    "all_frames",
    "articulated_body_accelerations",
    "bias",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_rate",
    "configuration_rate",
    "consistent_parameters",
    "coriolis_matrix",
    "coriolis_vector",
    "difference",
    "energy_regressor",
    "equivalent_parameters",
    "forward_dynamics",
    "forward_kinematics",
    "friction_torque",
    "gravity_torque",
    "group_columns",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "jacobian",
    "jacobian_derivative",
    "kinetic_energy",
    "linearize",
    "mass_matrix",
    "momentum_and_drift",
    "momentum_drift_regressor",
    "momentum_regressor",
    "normalize",
    "operational_space_inertia",
    "operational_space_mobility",
    "passivity_regressor",
    "passivity_torque",
    "pose_and_jacobian",
    "potential_energy",
    "power_balance",
    "preferred_columns",
    "regroup",
    "torque_regressor",
]
