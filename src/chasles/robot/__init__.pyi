from chasles.robot.robot import Robot as Robot
from chasles.robot.robot import load as load
from chasles.robot.symbolic import SymbolicRobot as SymbolicRobot

__all__: list[str]
