"""ROBOOP 1.31 under its own names and with its own conventions (R. Gourdeau and others, 2006).

    from chasles.interop import roboop

Vectors are columns there and arrays (n,) here, and joints, frames and axes are counted from 1. What ROBOOP writes into
arguments is returned, and what it prints as an error is raised as an exception of `chasles.ChaslesError`. The
docstrings of the modules tell which defects of the original are mended; docs/roboop.md lists all names.
"""

from chasles.interop.roboop.clik import Clik
from chasles.interop.roboop.codes import (
    BASE_FRAME,
    BODY_FRAME,
    BOXES,
    CARTESIAN_SPACE,
    CTM,
    DATAPOINTS,
    DEFAULT,
    DOTS,
    GRAVITY,
    IMP,
    IMPULSES,
    JOINT_SPACE,
    LINES,
    LINESPOINTS,
    NONE,
    PD,
    PUMA,
    RHINO,
    RRA,
    SCHILLING,
    STEPS,
)
from chasles.interop.roboop.config import Config
from chasles.interop.roboop.controllers import (
    Computed_torque_method,
    Control_Select,
    Impedance,
    Proportional_Derivative,
    Resolved_acc,
)
from chasles.interop.roboop.data_files import IO_matrix_file
from chasles.interop.roboop.families import Puma_DH, Puma_mDH, Rhino_DH, Rhino_mDH, Schilling_DH, Schilling_mDH
from chasles.interop.roboop.homogeneous import (
    deg2rad,
    eulzxz,
    ieulzxz,
    irotk,
    irpy,
    isZero,
    pinv,
    rad2deg,
    rotd,
    rotk,
    rotx,
    roty,
    rotz,
    rpy,
    sign,
    trans,
    x_prod_matrix,
)
from chasles.interop.roboop.integration import Integ_Trap, Runge_Kutta4, odeint, rk4, rkqc
from chasles.interop.roboop.link import Link
from chasles.interop.roboop.link_stewart import LinkStewart
from chasles.interop.roboop.plots import GNUcurve, Plot2d, Plot3d, Plot_file, set_plot2d, set_plot3d
from chasles.interop.roboop.quaternion import Integ_quat, Omega, Quaternion, Slerp, Slerp_prime, Squad, Squad_prime
from chasles.interop.roboop.robot import Robot, Robot_basic, mRobot, mRobot_min_para, perturb_robot
from chasles.interop.roboop.simulation import Dynamics, New_dynamics
from chasles.interop.roboop.stewart import Stewart
from chasles.interop.roboop.trajectories import Spl_cubic, Spl_path, Spl_Quaternion, Trajectory_Select

__all__ = [
    "BASE_FRAME",
    "BODY_FRAME",
    "BOXES",
    "CARTESIAN_SPACE",
    "CTM",
    "DATAPOINTS",
    "DEFAULT",
    "DOTS",
    "GRAVITY",
    "IMP",
    "IMPULSES",
    "JOINT_SPACE",
    "LINES",
    "LINESPOINTS",
    "NONE",
    "PD",
    "PUMA",
    "RHINO",
    "RRA",
    "SCHILLING",
    "STEPS",
    "Clik",
    "Computed_torque_method",
    "Config",
    "Control_Select",
    "Dynamics",
    "GNUcurve",
    "IO_matrix_file",
    "Impedance",
    "Integ_Trap",
    "Integ_quat",
    "Link",
    "LinkStewart",
    "New_dynamics",
    "Omega",
    "Plot2d",
    "Plot3d",
    "Plot_file",
    "Proportional_Derivative",
    "Puma_DH",
    "Puma_mDH",
    "Quaternion",
    "Resolved_acc",
    "Rhino_DH",
    "Rhino_mDH",
    "Robot",
    "Robot_basic",
    "Runge_Kutta4",
    "Schilling_DH",
    "Schilling_mDH",
    "Slerp",
    "Slerp_prime",
    "Spl_Quaternion",
    "Spl_cubic",
    "Spl_path",
    "Squad",
    "Squad_prime",
    "Stewart",
    "Trajectory_Select",
    "deg2rad",
    "eulzxz",
    "ieulzxz",
    "irotk",
    "irpy",
    "isZero",
    "mRobot",
    "mRobot_min_para",
    "odeint",
    "perturb_robot",
    "pinv",
    "rad2deg",
    "rk4",
    "rkqc",
    "rotd",
    "rotk",
    "rotx",
    "roty",
    "rotz",
    "rpy",
    "set_plot2d",
    "set_plot3d",
    "sign",
    "trans",
    "x_prod_matrix",
]
