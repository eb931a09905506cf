"""Differential inverse kinematics: joint rates for motions and tasks, step by step."""

from chasles.inverse_kinematics.differential.closed_loop import ClosedLoopInverseKinematics
from chasles.inverse_kinematics.differential.limits import AccelerationLimit, ConfigurationLimit, Limit, VelocityLimit
from chasles.inverse_kinematics.differential.step import JointRates, solve_rates
from chasles.inverse_kinematics.differential.tasks import (
    DampingTask,
    FrameTask,
    OrientationTask,
    PositionTask,
    PostureTask,
    Task,
)

__all__ = [
    "AccelerationLimit",
    "ClosedLoopInverseKinematics",
    "ConfigurationLimit",
    "DampingTask",
    "FrameTask",
    "JointRates",
    "Limit",
    "OrientationTask",
    "PositionTask",
    "PostureTask",
    "Task",
    "VelocityLimit",
    "solve_rates",
]
