"""`Robot`: a robot's mechanics together with its inverse kinematics, the main class for users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Unpack, overload

from numpy.typing import ArrayLike

from chasles import model as models
from chasles.base import verbs
from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program
from chasles.engine.targets.c_files import write_c
from chasles.engine.validators import choice
from chasles.mechanics import (
    BaseParameters,
    Mechanics,
    RobotFunction,
    computations,
    independent_coordinates,
    require_plain_coordinates,
)
from chasles.mechanics.mechanics import path_of
from chasles.mechanics.other_names import hint, translation

if TYPE_CHECKING:
    from chasles.base.verbs import Shown
    from chasles.inverse_kinematics import InverseKinematics
    from chasles.model import ReadFormat
    from chasles.model.robot_check import RobotCheck

__all__ = ["BaseParameters", "Robot", "RobotFunction", "independent_coordinates", "load", "require_plain_coordinates"]


class Robot(Mechanics):
    """A robot: immutable description and compiled mechanics.

    Every computation is an attribute that is called like a NumPy ufunc. Arguments have shape (..., n), configurations
    (..., nq), with any leading batch axes. Keywords are ``out=``, ``vary=`` for parameter values other than the
    description's, and ``wrenches=`` where forces of the environment act (see `RobotFunction`). The equation of motion
    is

        M(q) qdd + c(q, qd) + g(q) + friction(qd) + armature qdd = tau + Jᵀ w.

    Joint positions are in rad (m for prismatic joints), torques in N·m (N). The world frame is the fixed base frame.
    For most robots nq is n; see `chasles.mechanics.configurations` for those with quaternions.

    Parameters
    ----------
    description
        Description of the robot; see also `load`, `from_dh` and `from_screws`.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("planar2r")
    >>> arm.forward_kinematics([0.0, np.pi / 2])[:3, 3].round(3)
    array([0.5 , 0.25, 0.  ])
    """

    if not TYPE_CHECKING:  # with this method type checkers would accept any attribute

        def __getattr__(self, name):
            """Return the name here of another library's name, or of a misspelt one."""
            path = None if translation(name) else path_of(name)
            said = f"; did you mean '{path}'?" if path else hint(name, dir(self))
            raise AttributeError(f"robots have no attribute '{name}'{said}", name=name, obj=self)

    @cached_property
    def inverse_kinematics(self) -> InverseKinematics:
        """Joint positions for poses of a frame; see `chasles.inverse_kinematics.InverseKinematics`."""
        from chasles.inverse_kinematics import InverseKinematics  # loaded by those who need it

        return InverseKinematics(self)

    def to_c(
        self,
        folder: str | PathLike[str],
        functions: Iterable[str] | Mapping[str, Function | RobotFunction[Any, Any] | Program] | None = None,
        *,
        precision: str = "double",
    ) -> list[Path]:
        """Write computations as C files that compile together: C99 with no dependency except `math.h`.

        Parameters
        ----------
        folder
            Folder of the files, created if missing. A header with the robot's name includes the others.
        functions
            Names of computations of this robot, such as ``"mass_matrix"`` or ``"regressors.torque"``; or a mapping from
            names in C to functions and programs: ``{"arm_ik": robot.inverse_kinematics.specialize(), "move":
            motion.program}``. Default: pose and body Jacobian of the tool, inverse and forward dynamics, mass matrix
            and gravity if the robot has masses, and inverse kinematics if it has a closed form.
        precision
            Floating-point type: ``"double"`` or ``"float"``.

        Returns
        -------
        list of Path
            The files, the common header first.

        Raises
        ------
        ArgumentError
            A function has no program (a search of inverse kinematics iterates), or a file cannot be written.
        UnknownNameError
            An unknown computation.

        Examples
        --------
        >>> import chasles as ch, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = ch.load("planar2r").to_c(folder, ["mass_matrix", "gravity_torque"])
        ...     [file.name for file in files]
        ['planar2r.h', 'mass_matrix.c', 'mass_matrix.h', 'gravity_torque.c', 'gravity_torque.h']
        """
        chosen: dict[str, Any]
        if functions is None:
            chosen = {"forward_kinematics": self.forward_kinematics, "jacobian": self.jacobian.specialize(frame="body")}
            if models.has_masses(self.description):
                names = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_torque")
                chosen |= {name: getattr(self, name) for name in names}
            if self.nq == self.n and self.inverse_kinematics.family() is not None:
                chosen["inverse_kinematics"] = self.inverse_kinematics.specialize()
        elif isinstance(functions, Mapping):
            chosen = dict(functions)
        else:
            paths = [choice(path, "computation", computations()) for path in functions]
            chosen = {path.replace(".", "_"): attrgetter(path)(self) for path in paths}
        programs = {}
        for name, function in chosen.items():
            program = getattr(function, "program", function)
            iterates = isinstance(function, Function) and function.kernel.shape != "map"
            if not isinstance(program, Program) or iterates:
                raise ArgumentError(f"'{name}' is no function of one sample that can be written in C, but {function!r}")
            programs[name] = program
        return write_c(folder, programs, self.name, precision)

    @overload
    def view(
        self,
        q: ArrayLike | None = None,
        *,
        path: str | PathLike[str],
        companions: Sequence[Robot | tuple[Robot, ArrayLike]] = (),
        **options: Unpack[verbs.ViewOptions],
    ) -> Path: ...
    @overload
    def view(
        self,
        q: ArrayLike | None = None,
        *,
        path: None = None,
        companions: Sequence[Robot | tuple[Robot, ArrayLike]] = (),
        **options: Unpack[verbs.ViewOptions],
    ) -> Shown: ...
    def view(
        self,
        q: ArrayLike | None = None,
        *,
        path: str | PathLike[str] | None = None,
        companions: Sequence[Robot | tuple[Robot, ArrayLike]] = (),
        **options: Unpack[verbs.ViewOptions],
    ) -> Path | Shown:
        """Show the robot on an interactive page: move it by sliders, by its tool, or from Python.

        Parameters
        ----------
        q
            Initial configuration, shape (nq,), rad (m for prismatic joints); default `home`.
        path
            File for the page, which then needs neither Python nor a network. Default: a live page.
        companions
            Further robots in the scene, for comparison: robots, shown at their `home`, or pairs of a robot and its
            configuration.
        options
            ``title``, ``browser``, ``packages``, ``notebook``, ``obstacles`` and ``laws``, the control laws under which
            the page simulates the robot; see `chasles.view`.

        Returns
        -------
        LiveView, pathlib.Path, InlineView or widget
            The live page, see `chasles.visual.view.live.LiveView`; the file, absolute; or what the notebook shows.

        Examples
        --------
        >>> import chasles as ch, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = ch.load("panda").view(path=folder + "/panda.html")
        ...     page.stat().st_size < 250_000
        True
        """
        return verbs.view(self, q, path=path, companions=companions, **options)


@verbs.check.register(Robot)
def _check(robot: Robot, *, packages: Mapping[str, str | PathLike[str]] | None = None) -> RobotCheck:
    report: RobotCheck = verbs.check(robot.description, packages=packages)
    return report


for _part in Mechanics.__bases__:
    for _name, _member in vars(_part).items():
        if isinstance(_member, FunctionType) and not _name.startswith("_"):  # as Python's messages on arguments name it
            _member.__module__, _member.__qualname__ = __name__, f"Robot.{_name}"


def load(
    name_or_path: str | Path,
    *,
    format: ReadFormat | None = None,
    tool: str = "",
    check: bool = True,
    trust: bool = False,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str | Path] | None = None,
    srdf: str | Path | None = None,
    group: str = "",
    model: str = "",
) -> Robot:
    """Load a shipped robot by name, or a robot from a file.

    Parameters
    ----------
    name_or_path
        Name of a shipped robot (`chasles.model.shipped`), or path of a URDF, xacro, SDF, MJCF, TOML, SpaceLib (`.dat`)
        or ROBOOP (`.conf`) file.
    format
        Format of the file: ``"urdf"``, ``"xacro"``, ``"sdf"``, ``"mjcf"``, ``"toml"``, ``"spacelib"`` or ``"roboop"``.
        Default: from the suffix.
    tool
        Name of a link or frame as the default frame. Default: as the file says, or as for a `Description`.
    check
        Whether to check that the inertias are physically possible, and to warn of probable mistakes; see
        `chasles.check`. Shipped robots keep their published values and are not checked.
    trust
        Whether an MJCF model may open files outside its folder.
    arguments, packages
        Values of a xacro file's arguments, and folders of the ROS packages that it names, by name.
    srdf
        SRDF file of the robot; `chasles.clearance` ignores its disabled pairs of links. Default: the file with the
        robot's file name and the suffix `.srdf`, if it exists.
    group
        Group of joints in the SRDF file. Joints outside the group are locked at home, and the group's tip is the tool.
    model
        Name of the model or section in an SDF or ROBOOP file with several robots.

    Returns
    -------
    Robot
        The robot, immutable; nothing is compiled yet.

    Raises
    ------
    UnknownNameError
        The name is neither a shipped robot nor a file.
    ModelError
        The file does not describe a robot; the message names the file, the element and the reason.
    ArgumentError
        An option does not fit the format of the file.

    Warns
    -----
    ModelWarning
        The file has probable mistakes; the warning lists them in one line.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.load("panda", tool="panda_link5").description.tool
    'panda_link5'
    """
    description = models.load(
        name_or_path,
        format=format,
        tool=tool,
        check=check,
        trust=trust,
        arguments=arguments,
        packages=packages,
        srdf=srdf,
        group=group,
        model=model,
    )
    return Robot(description)
