"""Controllers: small objects that are traced and compiled together with the plant."""

from chasles.control.adaptive import (
    CompositeAdaptive,
    LeeChung,
    ModelReferenceAdaptive,
    NaturalAdaptive,
    SlotineLi,
)
from chasles.control.admittance import Admittance
from chasles.control.c_code import LawCost, controller_to_c, law_cost, law_program
from chasles.control.closed_loop_kinematics import ClosedLoopKinematics
from chasles.control.compliant_frame import CompliantFrame
from chasles.control.computed_torque import ComputedTorque
from chasles.control.controller import Controller
from chasles.control.frequency_response import LoopResponse, loop_response
from chasles.control.hybrid_force_motion import HybridForceMotion
from chasles.control.impedance import Impedance
from chasles.control.laws import laws, settings_of
from chasles.control.linear_quadratic import (
    GainScheduledRegulator,
    KalmanFilter,
    LinearQuadraticGaussian,
    LinearQuadraticRegulator,
    TimeVaryingRegulator,
)
from chasles.control.loop_margins import LoopMargins, loop_margins
from chasles.control.momentum_observer import CollisionAlarm, MomentumObserver
from chasles.control.nominal_torque import NominalTorque
from chasles.control.now import Now
from chasles.control.operational_space import OperationalSpace
from chasles.control.pd import PD, PDGravity
from chasles.control.pid import PID
from chasles.control.pole_design import PoleDesign
from chasles.control.python_law import PythonLaw, as_controller
from chasles.control.resolved_acceleration import ResolvedAcceleration
from chasles.control.robot_controller import RobotController
from chasles.control.robust import DisturbanceObserver, SlidingMode
from chasles.control.task_space import pose_reference
from chasles.control.whole_body import Contact, Forces, Stance, WholeBodyFollowing, WholeBodyTorque

__all__ = [
    "PD",
    "PID",
    "Admittance",
    "ClosedLoopKinematics",
    "CollisionAlarm",
    "CompliantFrame",
    "CompositeAdaptive",
    "ComputedTorque",
    "Contact",
    "Controller",
    "DisturbanceObserver",
    "Forces",
    "GainScheduledRegulator",
    "HybridForceMotion",
    "Impedance",
    "KalmanFilter",
    "LawCost",
    "LeeChung",
    "LinearQuadraticGaussian",
    "LinearQuadraticRegulator",
    "LoopMargins",
    "LoopResponse",
    "ModelReferenceAdaptive",
    "MomentumObserver",
    "NaturalAdaptive",
    "NominalTorque",
    "Now",
    "OperationalSpace",
    "PDGravity",
    "PoleDesign",
    "PythonLaw",
    "ResolvedAcceleration",
    "RobotController",
    "SlidingMode",
    "SlotineLi",
    "Stance",
    "TimeVaryingRegulator",
    "WholeBodyFollowing",
    "WholeBodyTorque",
    "as_controller",
    "controller_to_c",
    "law_cost",
    "law_program",
    "laws",
    "loop_margins",
    "loop_response",
    "pose_reference",
    "settings_of",
]
