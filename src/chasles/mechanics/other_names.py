"""Names that other libraries give to what a robot computes, for users who come from them and type the old name."""

from __future__ import annotations

ROBOTICS_TOOLBOX = {
    "fkine": "forward_kinematics(q)",
    "fkine_all": "frame_poses(q)",
    "jacob0": 'jacobian(q, frame="world-aligned"), whose angular rows come first',
    "jacobe": 'jacobian(q, frame="body"), whose angular rows come first',
    "jacob0_dot": 'jacobian_derivative(q, qd, frame="world-aligned")',
    "ikine_LM": "inverse_kinematics(T)",
    "ikine_GN": "inverse_kinematics(T)",
    "ikine_NR": "inverse_kinematics(T)",
    "ikine_QP": "inverse_kinematics(T)",
    "ik_LM": "inverse_kinematics(T)",
    "ikine_a": "inverse_kinematics(T)",
    "rne": "inverse_dynamics(q, qd, qdd)",
    "accel": "forward_dynamics(q, qd, tau)",
    "inertia": "mass_matrix(q)",
    "coriolis": "coriolis_matrix(q, qd)",
    "gravload": "gravity_torque(q)",
    "inertia_x": "operational_space_inertia(q)",
    "fdyn": "chasles.simulate(robot, controller, reference)",
    "teach": "view()",
    "qlim": "lower_limits and upper_limits",
    "qr": "home",
    "qz": "home",
}
PINOCCHIO = {
    "rnea": "inverse_dynamics(q, qd, qdd)",
    "aba": "forward_dynamics(q, qd, tau)",
    "crba": "mass_matrix(q)",
    "nle": "bias(q, qd)",
    "computeGeneralizedGravity": "gravity_torque(q)",
    "computeCoriolisMatrix": "coriolis_matrix(q, qd)",
    "computeJointTorqueRegressor": "torque_regressor(q, qd, qdd)",
    "computeRNEADerivatives": "inverse_dynamics_derivatives(q, qd, qdd)",
    "computeABADerivatives": "linearize(q, qd, tau)",
    "computeFrameJacobian": 'jacobian(q, frame="body", target=…), whose angular rows come first',
    "framesForwardKinematics": "frame_poses(q)",
    "centerOfMass": "center_of_mass(q)",
    "randomConfiguration": "random_configuration(seed)",
    "lowerPositionLimit": "lower_limits",
    "upperPositionLimit": "upper_limits",
    "effortLimit": "effort_limits",
    "velocityLimit": "velocity_limits",
}
DRAKE = {
    "CalcMassMatrix": "mass_matrix(q)",
    "CalcInverseDynamics": "inverse_dynamics(q, qd, qdd)",
    "CalcGravityGeneralizedForces": "-gravity_torque(q): Drake's sign is the other one",
    "CalcBiasTerm": "coriolis_vector(q, qd)",
    "CalcJacobianSpatialVelocity": 'jacobian(q, frame="world-aligned")',
    "CalcCenterOfMassPositionInWorld": "center_of_mass(q)",
    "num_positions": "nq",
    "num_velocities": "n",
}
MUJOCO = {
    "mj_forward": "forward_dynamics(q, qd, tau)",
    "mj_inverse": "inverse_dynamics(q, qd, qdd)",
    "mj_fullM": "mass_matrix(q)",
    "mj_jac": 'jacobian(q, frame="world-aligned"), whose angular rows come first',
    "mj_step": "chasles.simulate(robot, controller, reference)",
    "qfrc_bias": "bias(q, qd)",
    "mj_differentiatePos": "difference(q0, q1)",
    "mj_integratePos": "integrate(q, v)",
}
LIBRARIES = {
    "Robotics Toolbox for Python": ROBOTICS_TOOLBOX,
    "Pinocchio": PINOCCHIO,
    "Drake": DRAKE,
    "MuJoCo": MUJOCO,
}


def translation(name: str) -> str | None:
    """Sentence on what another library's name is called here, or None.

    Examples
    --------
    >>> translation("fkine")
    "'fkine' of Robotics Toolbox for Python is forward_kinematics(q) here"
    """
    for library, names in LIBRARIES.items():
        if name in names:
            return f"'{name}' of {library} is {names[name]} here"
    return None
