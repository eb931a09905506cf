"""Textbook models of closed chains: the Stewart-Gough platform."""

from chasles.parallel.actuators import DrivenPlatform, ScrewDrive
from chasles.parallel.coordinates import PlatformCoordinates
from chasles.parallel.forward import PoseSet, PoseSolution, Status
from chasles.parallel.kinematics import SingularityMeasure
from chasles.parallel.legs import Leg, LegBody
from chasles.parallel.limits import Margins, PoseCheck
from chasles.parallel.stewart import StewartPlatform
from chasles.parallel.workspace import WorkspaceMap, workspace_map

__all__ = [
    "DrivenPlatform",
    "Leg",
    "LegBody",
    "Margins",
    "PlatformCoordinates",
    "PoseCheck",
    "PoseSet",
    "PoseSolution",
    "ScrewDrive",
    "SingularityMeasure",
    "Status",
    "StewartPlatform",
    "WorkspaceMap",
    "workspace_map",
]
