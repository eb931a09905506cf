"""Machines that are more than a tree of links: parallel platforms and arms on wheels."""

from chasles.machines.mobile.manipulator import MobileManipulator, MobileState
from chasles.machines.mobile.planar_motion import car_rates, moved, planar_displacement, tracking_command
from chasles.machines.mobile.wheels import WheeledBase
from chasles.machines.parallel.actuators import DrivenPlatform, ScrewDrive
from chasles.machines.parallel.coordinates import PlatformCoordinates
from chasles.machines.parallel.forward import PoseSet, PoseSolution, PoseStatus
from chasles.machines.parallel.kinematics import SingularityMeasure
from chasles.machines.parallel.legs import Leg, LegBody
from chasles.machines.parallel.limits import Margins, PoseCheck
from chasles.machines.parallel.stewart import StewartPlatform
from chasles.machines.parallel.workspace import WorkspaceMap, workspace_map

__all__ = [
    "DrivenPlatform",
    "Leg",
    "LegBody",
    "Margins",
    "MobileManipulator",
    "MobileState",
    "PlatformCoordinates",
    "PoseCheck",
    "PoseSet",
    "PoseSolution",
    "PoseStatus",
    "ScrewDrive",
    "SingularityMeasure",
    "StewartPlatform",
    "WheeledBase",
    "WorkspaceMap",
    "car_rates",
    "moved",
    "planar_displacement",
    "tracking_command",
    "workspace_map",
]
