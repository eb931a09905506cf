"""Differential inverse kinematics: joint rates for motions and tasks, step by step."""

from chasles.inverse_kinematics.differential.body_tasks import CenterOfMassTask, DampingTask, PostureTask
from chasles.inverse_kinematics.differential.closed_loop import ClosedLoopInverseKinematics
from chasles.inverse_kinematics.differential.configuration import TaskSolution, solve_tasks
from chasles.inverse_kinematics.differential.frame_tasks import (
    FrameTask,
    OrientationTask,
    PositionTask,
    RelativeFrameTask,
)
from chasles.inverse_kinematics.differential.limits import (
    AccelerationLimit,
    CombinedLimit,
    ConfigurationLimit,
    FormulaLimit,
    Inequalities,
    Limit,
    VelocityLimit,
)
from chasles.inverse_kinematics.differential.step import JointRates, solve_rates
from chasles.inverse_kinematics.differential.task import Equation, FormulaTask, Task

__all__ = [
    "AccelerationLimit",
    "CenterOfMassTask",
    "ClosedLoopInverseKinematics",
    "CombinedLimit",
    "ConfigurationLimit",
    "DampingTask",
    "Equation",
    "FormulaLimit",
    "FormulaTask",
    "FrameTask",
    "Inequalities",
    "JointRates",
    "Limit",
    "OrientationTask",
    "PositionTask",
    "PostureTask",
    "RelativeFrameTask",
    "Task",
    "TaskSolution",
    "VelocityLimit",
    "solve_rates",
    "solve_tasks",
]
