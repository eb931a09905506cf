"""The code library of Modern Robotics under its own names and with its own conventions (Lynch and Park, 2017).

Every function of the library's document takes its arguments in the original's order and returns the original's results:

    import chasles.interop.modern_robotics as mr

Beyond the original, arguments may have leading batch axes, and wrong ones raise an `ArgumentError` that names them.
Known defects of the published Python package (version 1.1.1) are mended; the docstrings tell which.
"""

from chasles.interop.modern_robotics.basic_helpers import NearZero, Normalize
from chasles.interop.modern_robotics.control import ComputedTorque, SimulateControl, plot_control
from chasles.interop.modern_robotics.dynamics import (
    EndEffectorForces,
    ForwardDynamics,
    GravityForces,
    InverseDynamics,
    MassMatrix,
    VelQuadraticForces,
)
from chasles.interop.modern_robotics.dynamics_trajectories import (
    EulerStep,
    ForwardDynamicsTrajectory,
    InverseDynamicsTrajectory,
)
from chasles.interop.modern_robotics.inverse_kinematics import IKinBody, IKinSpace
from chasles.interop.modern_robotics.kinematics import FKinBody, FKinSpace, JacobianBody, JacobianSpace
from chasles.interop.modern_robotics.projections import (
    DistanceToSE3,
    DistanceToSO3,
    ProjectToSE3,
    ProjectToSO3,
    TestIfSE3,
    TestIfSO3,
)
from chasles.interop.modern_robotics.rigid_body_motions import (
    Adjoint,
    AxisAng6,
    MatrixExp6,
    MatrixLog6,
    RpToTrans,
    ScrewToAxis,
    TransInv,
    TransToRp,
    VecTose3,
    ad,
    se3ToVec,
)
from chasles.interop.modern_robotics.robot_cache import forget_robots
from chasles.interop.modern_robotics.rotations import AxisAng3, MatrixExp3, MatrixLog3, RotInv, VecToso3, so3ToVec
from chasles.interop.modern_robotics.trajectories import (
    CartesianTrajectory,
    CubicTimeScaling,
    JointTrajectory,
    QuinticTimeScaling,
    ScrewTrajectory,
)

__all__ = [
    "Adjoint",
    "AxisAng3",
    "AxisAng6",
    "CartesianTrajectory",
    "ComputedTorque",
    "CubicTimeScaling",
    "DistanceToSE3",
    "DistanceToSO3",
    "EndEffectorForces",
    "EulerStep",
    "FKinBody",
    "FKinSpace",
    "ForwardDynamics",
    "ForwardDynamicsTrajectory",
    "GravityForces",
    "IKinBody",
    "IKinSpace",
    "InverseDynamics",
    "InverseDynamicsTrajectory",
    "JacobianBody",
    "JacobianSpace",
    "JointTrajectory",
    "MassMatrix",
    "MatrixExp3",
    "MatrixExp6",
    "MatrixLog3",
    "MatrixLog6",
    "NearZero",
    "Normalize",
    "ProjectToSE3",
    "ProjectToSO3",
    "QuinticTimeScaling",
    "RotInv",
    "RpToTrans",
    "ScrewToAxis",
    "ScrewTrajectory",
    "SimulateControl",
    "TestIfSE3",
    "TestIfSO3",
    "TransInv",
    "TransToRp",
    "VecTose3",
    "VecToso3",
    "VelQuadraticForces",
    "ad",
    "forget_robots",
    "plot_control",
    "se3ToVec",
    "so3ToVec",
]
