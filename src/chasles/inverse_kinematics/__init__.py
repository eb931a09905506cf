"""Inverse kinematics: joint positions for poses, each with how good it is; joint rates for motions and tasks."""

from chasles.inverse_kinematics.differential import (
    AccelerationLimit,
    ClosedLoopInverseKinematics,
    ConfigurationLimit,
    DampingTask,
    FrameTask,
    JointRates,
    Limit,
    OrientationTask,
    PositionTask,
    PostureTask,
    Task,
    VelocityLimit,
    solve_rates,
)
from chasles.inverse_kinematics.jacobians import (
    Ellipsoid,
    condition_number,
    damped_inverse,
    manipulability,
    pseudo_inverse,
    selectively_damped_inverse,
    singular_directions,
    velocity_ellipsoid,
)
from chasles.inverse_kinematics.solution import Residual, Solution, Status
from chasles.inverse_kinematics.solver import InverseKinematics

__all__ = [
    "AccelerationLimit",
    "ClosedLoopInverseKinematics",
    "ConfigurationLimit",
    "DampingTask",
    "Ellipsoid",
    "FrameTask",
    "InverseKinematics",
    "JointRates",
    "Limit",
    "OrientationTask",
    "PositionTask",
    "PostureTask",
    "Residual",
    "Solution",
    "Status",
    "Task",
    "VelocityLimit",
    "condition_number",
    "damped_inverse",
    "manipulability",
    "pseudo_inverse",
    "selectively_damped_inverse",
    "singular_directions",
    "solve_rates",
    "velocity_ellipsoid",
]
