"""Verbs that act on objects of several packages: `plot`, `report`, `view`, `summary`, `check`, `peaks`, `follow`, ….

Imports run one way, so a trajectory cannot import the package that draws it. A verb dispatches the other way. It is
declared here, below all packages, and chooses an implementation by the type of its first argument, or of its first two.
The package that does the work registers it, beside the function:

    @verbs.plot.register(Robot, JointTrajectory)
    def robot_motion_plot(robot, motion, dt=None): ...

A class offers a verb as a method by calling it:

    def plot(self, robot=None, dt=None):
        return verbs.plot(self, dt) if robot is None else verbs.plot(robot, self, dt)

`chasles/verbs.py`, above all packages, tells each verb the modules that register implementations; the stub beside it
has an overload for each. The modules are imported only when the verb meets types that it does not know, in the given
order and no further than needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar

from chasles.base.errors import ArgumentTypeError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from plotly.graph_objects import Figure
    from xarray import Dataset

__all__ = [
    "MovieOptions",
    "PictureOptions",
    "Shown",
    "Verb",
    "ViewOptions",
    "check",
    "follow",
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
#: What `view` gives unless a path is named: a live page, or what a notebook shows. `chasles.view` knows the types.
Shown = Any


class ViewOptions(TypedDict, total=False):
    """Options of `view` that all subjects have."""

    title: str | None
    browser: bool
    packages: Mapping[str, str | PathLike[str]] | None
    notebook: Literal["", "page", "widget"]
    obstacles: Sequence[Any]
    laws: Sequence[Any]


class MovieOptions(TypedDict, total=False):
    """Options of `movie` that all subjects have."""

    size: tuple[int, int]
    frame_rate: int
    theme: Literal["light", "dark"]
    progress: bool | None


class PictureOptions(TypedDict, total=False):
    """Options of `picture`."""

    size: tuple[int, int]
    theme: Literal["light", "dark"]
    shown: Literal["visual", "collision", "drawn"]
    packages: Mapping[str, str | PathLike[str]] | None


class Verb(Generic[Result]):
    """A function that chooses its implementation by the type of its first argument, or of its first two.

    Parameters
    ----------
    outline
        Function with the verb's name and docstring; its body is never called.

    Examples
    --------
    >>> @Verb
    ... def double(*subjects):
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
        self._implementations: dict[tuple[type, ...], Callable[..., Result]] = {}
        self._modules: tuple[str, ...] = ()

    def register(self, *kinds: type) -> Callable[[F], F]:
        """Return a decorator that makes a function the implementation for one type or two, and their subclasses."""

        def add(function: F) -> F:
            self._implementations[kinds] = function
            return function

        return add

    def implemented_in(self, *modules: str) -> None:
        """Name the modules that register implementations, in the order in which they are imported."""
        self._modules = modules

    def __call__(self, *subjects: object, **options: object) -> Result:
        """Call the implementation for the subjects' types."""
        kinds = tuple(map(type, subjects[:2]))
        pair = len(kinds) == 2 and _is_of_library(kinds[1])
        function, missing = self._implementation(kinds) if pair else (None, None)
        alone = function is None and not (pair and self._has_pairs_with(kinds[0]))
        if alone:
            function, missing = self._implementation(kinds[:1])
        if alone or function is None:
            self._refuse_other_order(subjects, options)
        if function is None:
            raise self._unknown(kinds if pair else kinds[:1], missing)
        return function(*subjects, **options)

    def _implementation(self, kinds: tuple[type, ...]) -> tuple[Callable[..., Result] | None, ImportError | None]:
        """Return the function for these types, or why a module that may have it cannot be imported."""
        missing: ImportError | None = None
        for module in (None, *self._modules):
            if module is not None:
                try:
                    import_module(module)
                except ImportError as error:  # an extra that another type's implementation needs
                    missing = missing or error
            function = self._registered(kinds)
            if function is not None:
                return function, None
        return None, missing

    def _has_pairs_with(self, first: type) -> bool:
        return any(len(kinds) == 2 and issubclass(first, kinds[0]) for kinds in self._implementations)

    def _unknown(self, kinds: tuple[type, ...], missing: ImportError | None) -> Exception:
        """Return the error for types that no implementation takes."""
        shown = " and ".join(kind.__name__ for kind in kinds) or "nothing"
        if isinstance(missing, MissingExtraError):
            return missing
        if missing is not None:
            package = (missing.name or "xarray").partition(".")[0]
            error = MissingExtraError(package, "plot", f"{self.__name__} of the type {shown}")
            error.__cause__ = missing
            return error
        known = ", ".join(" and ".join(kind.__name__ for kind in kinds) for kinds in self._implementations)
        noun = "types" if len(kinds) == 2 else "type"
        return ArgumentTypeError(f"{self.__name__} does not know the {noun} {shown}; it takes: {known or 'nothing'}")

    def _registered(self, kinds: tuple[type, ...]) -> Callable[..., Result] | None:
        """Return the function of the nearest base classes."""
        known = [
            registered
            for registered in self._implementations
            if len(registered) == len(kinds) and all(map(issubclass, kinds, registered))
        ]
        if not known:
            return None
        return self._implementations[max(known, key=lambda registered: sum(len(kind.__mro__) for kind in registered))]

    def _refuse_other_order(self, subjects: tuple[object, ...], options: Mapping[str, object]) -> None:
        """Raise `ArgumentTypeError` if the verb takes the first subject after one that is given later."""
        for later in (*subjects[1:], *options.values()):
            if self._registered((type(later), type(subjects[0]))) is not None:
                a, b, verb = type(later).__name__, type(subjects[0]).__name__, self.__name__
                raise ArgumentTypeError(f"{verb} takes the {a} first: {verb}({a}, {b}, …), not {verb}({b}, {a}, …)")

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<verb {self.__name__}>"


def _is_of_library(kind: type) -> bool:
    """Whether a type is, or extends, one of the library's classes."""
    return any(base.__module__.partition(".")[0] == "chasles" for base in kind.__mro__)


@Verb
def plot(*subjects: object, **options: object) -> Figure:
    """Plot a trajectory, a run, a robot or a loop as a Plotly figure; `chasles.to_matplotlib` makes figures for papers.

    ``plot(motion, dt=None)``, ``plot(robot, motion, dt=None)``
        Positions, velocities, accelerations and jerks of joints over time; with a robot also torques and limits.
    ``plot(cartesian_motion, dt=None)``
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
def report(*subjects: object, **options: object) -> Path:
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
def summary(*subjects: object, **options: object) -> str:
    """Summarise a simulation in a few sentences: ``summary(run)``."""


@Verb
def check(*subjects: object, **options: object) -> Any:
    """Find where a motion breaks a robot's limits, or what is probably wrong in a robot's file.

    ``check(robot, motion, dt=None, **limits)``
        Limits that the motion breaks; see `chasles.trajectories.check` for all arguments and the report.
    ``check(robot)``, ``check(description)``, ``check("my_robot.urdf", packages=None)``
        Units, misspelt tags, bodies that cannot exist, missing meshes; see `chasles.model.robot_check`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> ch.check(arm, ch.PointToPoint(arm.home, arm.home + 0.5, duration=4.0)).ok
    True
    >>> ch.check(arm)
    <RobotCheck of 'panda': no findings>
    """


@Verb
def peaks(*subjects: object, **options: object) -> Any:
    """Find the largest position, velocity, acceleration and jerk of each joint: ``peaks(motion, dt=None)``.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.peaks(ch.PointToPoint([0.0, 0.0], [1.0, -2.0], duration=2.0)).velocity.time
    array([1., 1.])
    """


@Verb
def to_dataset(*subjects: object, **options: object) -> Dataset:
    """Sample a trajectory as a labelled `xarray.Dataset`: ``to_dataset(motion, dt)``."""


@Verb
def follow(*subjects: object, **options: object) -> Any:
    """Find the joint motion that follows a motion in space: ``follow(robot, cartesian_motion, q0=None)``."""


@Verb
def view(*subjects: object, **options: object) -> Any:
    """Show a robot, alone or in motion, on a page on which it can be moved.

    ``view(robot, q=None)``
        The robot at a configuration; default `Robot.home`.
    ``view(robot, solution)``
        The configurations of inverse kinematics, one solid and the others translucent.
    ``view(robot, motion)``
        The motion of a robot.
    ``view(robot, cartesian_motion, q0=None)``
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
    obstacles
        Bodies in the world (with frame None) and half-spaces to show, as for `chasles.clearance`.
    laws
        Control laws under which the page simulates the robot: names of `chasles.control.laws`, whose gains follow from
        the law's rule; controllers, as they are; or functions, as for `chasles.simulate`. Default: ``"pd-gravity"`` and
        ``"computed-torque"``.

    Returns
    -------
    LiveView, pathlib.Path, InlineView or widget
        The live page, see `chasles.visual.view.live.LiveView`; the file, absolute; or what the notebook shows.

    Raises
    ------
    ArgumentTypeError
        Nothing is known to show of this type.
    ArgumentError
        The subject does not fit the robot, a page cannot run a law, or the file cannot be written.

    Examples
    --------
    >>> import chasles as ch, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ch.view(ch.load("planar2r"), path=folder + "/arm.html").name
    'arm.html'
    """


@Verb
def picture(*subjects: object, **options: object) -> Path:
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
def movie(*subjects: object, **options: object) -> Path:
    """Write a movie of a motion or a simulation to a file: ``movie(robot, motion, path)``, ``movie(run, path)``.

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
    ...     ch.movie(arm, motion, folder + "/swing.gif", size=(120, 90), frame_rate=10).name
    'swing.gif'
    """


@Verb
def to_html(*subjects: object, **options: object) -> str:
    """Return the HTML that notebooks show: ``to_html(subject)``.

    Known are robots, descriptions, DH tables, solutions of inverse kinematics, motions and reports of checks.
    """
