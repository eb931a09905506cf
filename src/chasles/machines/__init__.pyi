from chasles.machines.mobile.manipulator import MobileManipulator as MobileManipulator
from chasles.machines.mobile.manipulator import MobileState as MobileState
from chasles.machines.mobile.planar_motion import car_rates as car_rates
from chasles.machines.mobile.planar_motion import moved as moved
from chasles.machines.mobile.planar_motion import planar_displacement as planar_displacement
from chasles.machines.mobile.planar_motion import tracking_command as tracking_command
from chasles.machines.mobile.wheels import WheeledBase as WheeledBase
from chasles.machines.parallel.actuators import DrivenPlatform as DrivenPlatform
from chasles.machines.parallel.actuators import ScrewDrive as ScrewDrive
from chasles.machines.parallel.coordinates import PlatformCoordinates as PlatformCoordinates
from chasles.machines.parallel.forward import PoseSet as PoseSet
from chasles.machines.parallel.forward import PoseSolution as PoseSolution
from chasles.machines.parallel.forward import PoseStatus as PoseStatus
from chasles.machines.parallel.kinematics import SingularityMeasure as SingularityMeasure
from chasles.machines.parallel.legs import Leg as Leg
from chasles.machines.parallel.legs import LegBody as LegBody
from chasles.machines.parallel.limits import Margins as Margins
from chasles.machines.parallel.limits import PoseCheck as PoseCheck
from chasles.machines.parallel.stewart import StewartPlatform as StewartPlatform
from chasles.machines.parallel.workspace import WorkspaceMap as WorkspaceMap
from chasles.machines.parallel.workspace import workspace_map as workspace_map

__all__: list[str]
