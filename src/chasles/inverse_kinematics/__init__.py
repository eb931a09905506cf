"""Inverse kinematics: joint positions for poses, each with how good it is."""

from chasles.inverse_kinematics.solution import Residual, Solution, Status
from chasles.inverse_kinematics.solver import InverseKinematics

__all__ = ["InverseKinematics", "Residual", "Solution", "Status"]
