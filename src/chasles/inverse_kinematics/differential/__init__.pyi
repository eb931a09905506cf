from chasles.inverse_kinematics.differential.body_tasks import CenterOfMassTask as CenterOfMassTask
from chasles.inverse_kinematics.differential.body_tasks import DampingTask as DampingTask
from chasles.inverse_kinematics.differential.body_tasks import PostureTask as PostureTask
from chasles.inverse_kinematics.differential.closed_loop import (
    ClosedLoopInverseKinematics as ClosedLoopInverseKinematics,
)
from chasles.inverse_kinematics.differential.configuration import TaskSolution as TaskSolution
from chasles.inverse_kinematics.differential.configuration import solve_tasks as solve_tasks
from chasles.inverse_kinematics.differential.frame_tasks import FrameTask as FrameTask
from chasles.inverse_kinematics.differential.frame_tasks import OrientationTask as OrientationTask
from chasles.inverse_kinematics.differential.frame_tasks import PositionTask as PositionTask
from chasles.inverse_kinematics.differential.frame_tasks import RelativeFrameTask as RelativeFrameTask
from chasles.inverse_kinematics.differential.limits import AccelerationLimit as AccelerationLimit
from chasles.inverse_kinematics.differential.limits import CombinedLimit as CombinedLimit
from chasles.inverse_kinematics.differential.limits import ConfigurationLimit as ConfigurationLimit
from chasles.inverse_kinematics.differential.limits import FormulaLimit as FormulaLimit
from chasles.inverse_kinematics.differential.limits import Inequalities as Inequalities
from chasles.inverse_kinematics.differential.limits import Limit as Limit
from chasles.inverse_kinematics.differential.limits import VelocityLimit as VelocityLimit
from chasles.inverse_kinematics.differential.step import JointRates as JointRates
from chasles.inverse_kinematics.differential.step import solve_rates as solve_rates
from chasles.inverse_kinematics.differential.task import Equation as Equation
from chasles.inverse_kinematics.differential.task import FormulaTask as FormulaTask
from chasles.inverse_kinematics.differential.task import Task as Task

__all__: list[str]
