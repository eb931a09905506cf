"""Verbs that act on objects of several packages: `plot`, `report`, `view`, `summary`, `check`, `peaks`, `follow`, ….

Imports run one way, so a trajectory cannot import the package that draws it. A verb turns that round. It is defined
here, below all packages, and chooses an implementation by the type of its first argument. The package that does the
work registers it, beside the function:

    @verbs.plot.register(JointTrajectory)
    def joint_plot(trajectory, dt=None, robot=None): ...

A class offers a verb as a method by calling it:

    def plot(self, dt=None, robot=None):
        return verbs.plot(self, dt, robot)

`chasles/__init__.py`, above all packages, tells each verb the modules that register implementations. They are imported
only when the verb meets a type that it does not know, in the given order and no further than needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from chasles.base.errors import ArgumentTypeError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from plotly.graph_objects import Figure
    from xarray import Dataset

__all__ = [
    "Verb",
    "check",
    "follow",
    "mobility",
    "movie",
    "peaks",
    "picture",
    "plot",
    "report",
    "summary",
    "to_dataset",
    "to_html",
    "view",
]

F = TypeVar("F", bound=Callable[..., Any])
Result = TypeVar("Result", covariant=True)


class Verb(Generic[Result]):
    """A function that chooses its implementation by the type of its first argument.

    Parameters
    ----------
    outline
        Function with the verb's name, signature and docstring; its body is never called.

    Examples
    --------
    >>> @Verb
    ... def double(value):
    ...     '''Return the double of a value.'''
    >>> double.register(int)(lambda value: 2 * value)(3), double(4)
    (6, 8)
    >>> double("a")
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentTypeError: double does not know the type str; it takes: int
    """

    __name__: str

    def __init__(self, outline: Callable[..., Result]) -> None:
        update_wrapper(self, outline)
        self._implementations = singledispatch(_unknown)
        self._modules: tuple[str, ...] = ()

    def register(self, kind: type) -> Callable[[F], F]:
        """Return a decorator that makes a function the implementation for a type and its subclasses."""

        def add(function: F) -> F:
            self._implementations.register(kind, function)
            return function

        return add

    def implemented_in(self, *modules: str) -> None:
        """Name the modules that register implementations, in the order in which they are tried."""
        self._modules = modules

    def __call__(self, subject: object, *arguments: object, **options: object) -> Result:
        """Call the implementation for the subject's type."""
        return self._implementation(type(subject))(subject, *arguments, **options)

    def _implementation(self, kind: type) -> Callable[..., Result]:
        missing: ImportError | None = None
        for module in (None, *self._modules):
            if module is not None:
                try:
                    import_module(module)
                except ImportError as error:  # an extra that another type's implementation needs
                    missing = missing or error
            found = self._implementations.dispatch(kind)
            if found is not _unknown:
                return found
        if isinstance(missing, MissingExtraError):
            raise missing
        if missing is not None:
            package = (missing.name or "xarray").partition(".")[0]
            raise MissingExtraError(package, "plot", f"{self.__name__} of the type {kind.__name__}") from missing
        known = ", ".join(other.__name__ for other in self._implementations.registry if other is not object)
        raise ArgumentTypeError(
            f"{self.__name__} does not know the type {kind.__name__}; it takes: {known or 'nothing'}"
        )

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<verb {self.__name__}>"


def _unknown(subject: Any) -> Any:
    """Stand for a type without an implementation."""


@Verb
def plot(subject: object, *arguments: object, **options: object) -> Figure:
    """Plot a trajectory, a run, a robot or a loop as a Plotly figure; `chasles.to_matplotlib` makes figures for papers.

    ``plot(joint_trajectory, dt=None, robot=None)``
        Positions, velocities, accelerations and jerks over time; with a robot also torques and limits.
    ``plot(cartesian_trajectory, dt=None)``
        The path in space, and position, orientation and their rates over time.
    ``plot(run, kind="tracking")``
        Joint positions, tracking errors and torques of a simulation; ``"torque-speed"``, ``"phase"``, ``"energy"``.
    ``plot(audit)``
        The energy balance of a simulation.
    ``plot(robot, kind="workspace", plane=None)``
        The tool's workspace, in space or near a plane; ``"manipulability"`` over a plane, with its singular places.
    ``plot(loop_margins)``, ``plot(loop_response)``
        Margins of a loop along a motion; Bode diagrams of a loop at one of its places.

    Returns
    -------
    plotly.graph_objects.Figure
        Notebooks show it.

    Raises
    ------
    ArgumentTypeError
        Nothing is known to plot of this type.
    MissingExtraError
        Plotly is not installed.

    Examples
    --------
    >>> import chasles as ch
    >>> figure = ch.plot(ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0))
    >>> figure.layout.annotations[0].text
    '<b>Angle</b>'
    """


@Verb
def report(subject: object, *arguments: object, **options: object) -> Path:
    """Write one self-contained HTML page about a run or several.

    ``report(run, path, title=None, packages=None)``
        The page of one run.
    ``report({"first": run, "second": other}, path, title=..., packages=None)``
        One page with a section for each run.

    Returns
    -------
    pathlib.Path
        The file, absolute.

    Raises
    ------
    ArgumentTypeError
        The subject is neither a run nor a mapping of runs.
    MissingExtraError
        Plotly is not installed.
    """


@Verb
def summary(subject: object, *arguments: object, **options: object) -> str:
    """Say in a few sentences what was simulated and how well it went: ``summary(run)``."""


@Verb
def check(subject: object, *arguments: object, **options: object) -> Any:
    """Find where a motion breaks a robot's limits, or what is probably wrong in a robot's file.

    ``check(joint_trajectory, robot, dt=None, **limits)``
        Limits that the motion breaks; see `chasles.trajectories.check` for all arguments and the report.
    ``check(robot)``, ``check(description)``, ``check("my_robot.urdf", packages=None)``
        Units, misspelt tags, bodies that cannot exist, missing meshes; see `chasles.model.robot_check`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> ch.check(ch.PointToPoint(arm.home, arm.home + 0.5, duration=4.0), arm).ok
    True
    >>> ch.check(arm)
    <RobotCheck of 'panda': no findings>
    """


@Verb
def peaks(subject: object, *arguments: object, **options: object) -> Any:
    """Find the largest position, velocity, acceleration and jerk of each joint: ``peaks(joint_trajectory, dt=None)``.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.peaks(ch.PointToPoint([0.0, 0.0], [1.0, -2.0], duration=2.0)).velocity.time
    array([1., 1.])
    """


@Verb
def to_dataset(subject: object, *arguments: object, **options: object) -> Dataset:
    """Sample a trajectory as a labelled `xarray.Dataset`: ``to_dataset(trajectory, dt)``."""


@Verb
def follow(subject: object, *arguments: object, **options: object) -> Any:
    """Find the joint motion that follows a motion in space: ``follow(cartesian_trajectory, robot, q0=None)``."""


@Verb
def view(subject: object, *arguments: object, **options: object) -> Any:
    """Show a robot, alone or in motion, on a page on which it can be moved.

    ``view(robot, q=None)``
        The robot at a configuration; default `Robot.home`.
    ``view(solution, robot)``
        The configurations of inverse kinematics, one solid and the others translucent.
    ``view(joint_trajectory, robot)``
        The motion of a robot.
    ``view(cartesian_trajectory, robot, q0=None)``
        The motion of a robot whose tool follows; see `chasles.follow`.
    ``view(run)``
        The motions of a simulation.

    Parameters
    ----------
    path
        File to write the page to. It then stands alone: the robot and its kernels are in it. Default: a live page on
        127.0.0.1.
    title
        Title of the page; default the robot's name.
    browser
        Whether to open the live page in the browser.
    packages
        Folders of packages of meshes, by name; see `chasles.model.mesh_path`.
    notebook
        ``"page"`` shows the page in a notebook; ``"widget"`` (extra ``widget``) also links it with Python.

    Returns
    -------
    LiveView, pathlib.Path, InlineView or widget
        The live page, see `chasles.visual.view.live.LiveView`; the file, absolute; or what the notebook shows.

    Raises
    ------
    ArgumentTypeError
        Nothing is known to show of this type.
    ArgumentError
        The subject does not fit the robot, or the file cannot be written.

    Examples
    --------
    >>> import chasles as ch, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ch.view(ch.load("planar2r"), path=folder + "/arm.html").name
    'arm.html'
    """


@Verb
def picture(subject: object, *arguments: object, **options: object) -> Path:
    """Write a picture of a robot to a file: ``picture(robot, path, q=None)``.

    Parameters
    ----------
    path
        File that ends in ``.png``, ``.jpg``, ``.webp`` (needs Pillow) or ``.svg``.
    q
        Configuration; default `Robot.home`.
    size
        Width and height, pixels; default (800, 600).
    theme
        ``"light"`` or ``"dark"``.

    Returns
    -------
    pathlib.Path
        The file, absolute.

    Raises
    ------
    ArgumentError
        An argument does not fit, or the file cannot be written.
    MissingExtraError
        Pillow is not installed.

    Examples
    --------
    >>> import chasles as ch, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ch.picture(ch.load("planar2r"), folder + "/arm.png", [0.3, 0.5], size=(160, 120)).name
    'arm.png'
    """


@Verb
def movie(subject: object, *arguments: object, **options: object) -> Path:
    """Write a movie of a motion or a simulation to a file: ``movie(motion, path, robot)``, ``movie(run, path)``.

    Parameters
    ----------
    path
        File that ends in ``.gif`` or ``.webp`` (needs Pillow), or ``.mp4`` (needs ffmpeg).
    size
        Width and height, pixels; default (480, 360).
    frame_rate
        Frames a second; default 25. The movie plays at the speed of the motion.
    theme
        ``"light"`` or ``"dark"``.
    progress
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    pathlib.Path
        The file, absolute.

    Raises
    ------
    ArgumentError
        An argument does not fit, or the file cannot be written.
    MissingExtraError
        The package that writes such files is not installed.

    Examples
    --------
    >>> import chasles as ch, tempfile
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ch.movie(motion, folder + "/swing.gif", arm, size=(120, 90), frame_rate=10).name
    'swing.gif'
    """


@Verb
def to_html(subject: object, *arguments: object, **options: object) -> str:
    """Return what notebooks show: ``to_html(subject)``.

    Known are robots, descriptions, DH tables, solutions of inverse kinematics, motions and reports of checks.
    """


@Verb
def mobility(subject: object) -> Any:
    """Find the degrees of freedom that the loops of a robot leave; see `chasles.algorithms.mobility`."""
