"""Algorithms of robot mechanics: plain functions of a kinematic tree and NumPy arrays, one subject a file.

Called with floats they compute, called with traced scalars they write a program. Each function is the contract of a
method of `Mechanics` or of one of its parts. In reading order: `spatial`, `joint_motion`, `configuration`,
`kinematics`, `jacobian`; `mass_moments`, `newton_euler`, `inverse_dynamics`; `mass_matrix`, `forward_dynamics`,
`linearization`; `energy`; `regressors`, `reference_motion`; `loops`, `multipliers`, `closing`, `mobility`,
`closed_chain`; `loop_configurations`, `actuators`, `singularities`, `attainable_motion`, `grouping`,
`equivalent_parameters`.

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

from chasles.algorithms.actuators import actuator_forces, forces_of_actuators
from chasles.algorithms.closed_chain import joint_torques
from chasles.algorithms.closing import Closing, close_loops, column_scales, tree_size
from chasles.algorithms.configuration import configuration_rate, difference, integrate, normalize
from chasles.algorithms.energy import (
    PowerBalance,
    centroidal_momentum,
    centroidal_momentum_matrix,
    centroidal_momentum_rate,
    kinetic_energy,
    potential_energy,
    power_balance,
)
from chasles.algorithms.equivalent_parameters import consistent_parameters, equivalent_parameters
from chasles.algorithms.forward_dynamics import (
    accelerations_by_mass_matrix,
    articulated_body_accelerations,
    forward_dynamics,
    inverse_mass_matrix,
    step_accelerations,
)
from chasles.algorithms.grouping import Grouping, group_columns, preferred_columns, regroup
from chasles.algorithms.inverse_dynamics import (
    bias,
    coriolis_vector,
    friction_at,
    friction_torque,
    gravity_torque,
    inverse_dynamics,
)
from chasles.algorithms.jacobian import (
    PoseAndJacobian,
    frame_jacobians,
    jacobian,
    jacobian_derivative,
    pose_and_jacobian,
)
from chasles.algorithms.kinematics import all_frames, center_of_mass, forward_kinematics
from chasles.algorithms.linearization import Linearization, TorqueDerivatives, inverse_dynamics_derivatives, linearize
from chasles.algorithms.loops import (
    LoopConstraints,
    constraint_wrenches,
    joint_accelerations,
    loop_constraints,
    velocity_map,
)
from chasles.algorithms.mass_matrix import (
    coriolis_matrix,
    mass_matrix,
    operational_space_inertia,
    operational_space_mobility,
)
from chasles.algorithms.mobility import Mobility, closed_configurations, regular_configurations
from chasles.algorithms.multipliers import ClosedState, closed_state, constrained_accelerations
from chasles.algorithms.reference_motion import (
    MomentumAndDrift,
    momentum_and_drift,
    momentum_drift_regressor,
    passivity_regressor,
    passivity_torque,
)
from chasles.algorithms.regressors import EnergyRegressors, energy_regressor, momentum_regressor, torque_regressor
from chasles.algorithms.singularities import Singularities, singularities

__all__ = [
    "ClosedState",
    "Closing",
    "EnergyRegressors",
    "Grouping",
    "Linearization",
    "LoopConstraints",
    "Mobility",
    "MomentumAndDrift",
    "PoseAndJacobian",
    "PowerBalance",
    "Singularities",
    "TorqueDerivatives",
    "accelerations_by_mass_matrix",
    "actuator_forces",
    "all_frames",
    "articulated_body_accelerations",
    "bias",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_rate",
    "close_loops",
    "closed_configurations",
    "closed_state",
    "column_scales",
    "configuration_rate",
    "consistent_parameters",
    "constrained_accelerations",
    "constraint_wrenches",
    "coriolis_matrix",
    "coriolis_vector",
    "difference",
    "energy_regressor",
    "equivalent_parameters",
    "forces_of_actuators",
    "forward_dynamics",
    "forward_kinematics",
    "frame_jacobians",
    "friction_at",
    "friction_torque",
    "gravity_torque",
    "group_columns",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "jacobian",
    "jacobian_derivative",
    "joint_accelerations",
    "joint_torques",
    "kinetic_energy",
    "linearize",
    "loop_constraints",
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
    "regular_configurations",
    "singularities",
    "step_accelerations",
    "torque_regressor",
    "tree_size",
    "velocity_map",
]
