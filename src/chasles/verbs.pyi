from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict, Unpack, overload

import xarray
from numpy.typing import ArrayLike
from plotly.graph_objects import Figure

from chasles.control.frequency_response import LoopResponse
from chasles.control.loop_margins import LoopMargins
from chasles.distances.bodies import Body, HalfSpace
from chasles.identification.identification import Identification
from chasles.identification.wrench_identification import WrenchIdentification
from chasles.inverse_kinematics.solution import Solution
from chasles.machines.parallel.workspace import WorkspaceMap
from chasles.model.description import Description
from chasles.model.robot_check import RobotCheck
from chasles.robot.robot import Robot
from chasles.simulation.energy_audit import EnergyAudit
from chasles.studies.results import StudyResults
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.check_report import CheckReport, PeakReport
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.visual.bodies import Kind, Packages
from chasles.visual.robot_plots import Plane
from chasles.visual.scene import Theme
from chasles.visual.view.inline import InlineView
from chasles.visual.view.live import LiveView
from chasles.visual.view.loops import PageLaw
from chasles.visual.view.views import Notebook

_File = str | PathLike[str]
_Shown = LiveView | InlineView
_Robots = Sequence[Robot | tuple[Robot, ArrayLike]]

class ViewOptions(TypedDict, total=False):
    title: str | None
    browser: bool
    packages: Packages | None
    notebook: Notebook
    obstacles: Sequence[Body | HalfSpace]
    laws: Sequence[PageLaw]

class MovieOptions(TypedDict, total=False):
    size: tuple[int, int]
    frame_rate: int
    theme: Theme
    progress: bool | None

@overload
def plot(motion: JointTrajectory, /, dt: float | None = None) -> Figure: ...
@overload
def plot(robot: Robot, motion: JointTrajectory, /, dt: float | None = None) -> Figure: ...
@overload
def plot(motion: CartesianTrajectory, /, dt: float | None = None) -> Figure: ...
@overload
def plot(
    robot: Robot,
    /,
    kind: Literal["workspace", "manipulability"] = "workspace",
    *,
    plane: Plane | None = None,
    q: ArrayLike | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> Figure: ...
@overload
def plot(run: xarray.Dataset, /, kind: str = "tracking") -> Figure: ...
@overload
def plot(subject: EnergyAudit | LoopMargins | LoopResponse | WorkspaceMap, /) -> Figure: ...
@overload
def report(
    run: xarray.Dataset, /, path: _File, title: str | None = None, *, packages: Packages | None = None
) -> Path: ...
@overload
def report(
    runs: Mapping[str, xarray.Dataset], /, path: _File, title: str | None = None, *, packages: Packages | None = None
) -> Path: ...
@overload
def report(result: Identification, /, path: _File, title: str = "Identification") -> Path: ...
@overload
def report(result: WrenchIdentification, /, path: _File, title: str = "Identification from wrenches") -> Path: ...
@overload
def report(results: StudyResults, /, path: _File) -> Path: ...
@overload
def check(
    robot: Robot,
    motion: JointTrajectory,
    /,
    dt: float | None = None,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    torque_rate: ArrayLike | None = None,
    power: ArrayLike | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> CheckReport: ...
@overload
def check(robot: Robot | Description | _File, /, *, packages: Packages | None = None) -> RobotCheck: ...
def peaks(motion: JointTrajectory, /, dt: float | None = None) -> PeakReport: ...
@overload
def view(
    robot: Robot,
    /,
    q: ArrayLike | None = None,
    *,
    path: _File,
    companions: _Robots = (),
    **options: Unpack[ViewOptions],
) -> Path: ...
@overload
def view(
    robot: Robot,
    /,
    q: ArrayLike | None = None,
    *,
    path: None = None,
    companions: _Robots = (),
    **options: Unpack[ViewOptions],
) -> _Shown: ...
@overload
def view(
    robot: Robot, motion: JointTrajectory | Solution, /, *, path: _File, **options: Unpack[ViewOptions]
) -> Path: ...
@overload
def view(
    robot: Robot, motion: JointTrajectory | Solution, /, *, path: None = None, **options: Unpack[ViewOptions]
) -> _Shown: ...
@overload
def view(
    robot: Robot,
    motion: CartesianTrajectory,
    /,
    q0: ArrayLike | None = None,
    *,
    path: _File,
    **options: Unpack[ViewOptions],
) -> Path: ...
@overload
def view(
    robot: Robot,
    motion: CartesianTrajectory,
    /,
    q0: ArrayLike | None = None,
    *,
    path: None = None,
    **options: Unpack[ViewOptions],
) -> _Shown: ...
@overload
def view(
    run: xarray.Dataset, /, *, path: _File, companions: Sequence[xarray.Dataset] = (), **options: Unpack[ViewOptions]
) -> Path: ...
@overload
def view(
    run: xarray.Dataset,
    /,
    *,
    path: None = None,
    companions: Sequence[xarray.Dataset] = (),
    **options: Unpack[ViewOptions],
) -> _Shown: ...
def picture(
    robot: Robot,
    /,
    path: _File,
    q: ArrayLike | None = None,
    *,
    size: tuple[int, int] = (800, 600),
    theme: Theme = "light",
    shown: Kind = "visual",
    packages: Packages | None = None,
) -> Path: ...
@overload
def movie(robot: Robot, motion: JointTrajectory, /, path: _File, **options: Unpack[MovieOptions]) -> Path: ...
@overload
def movie(data: xarray.Dataset, /, path: _File, *, run: int = 0, **options: Unpack[MovieOptions]) -> Path: ...
