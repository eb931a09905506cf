"""Problems of optimal control as TOML files, for `chasles optimize`. See docs/optimal-control.md."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.cli.values import configured, freed
from chasles.control.floating_base import has_motors
from chasles.control.optimal import OptimalControl, Residual, residuals
from chasles.control.optimal.duration import duration_of
from chasles.control.optimal.implicit_friction import ImplicitFriction
from chasles.control.optimal.limits import LIMITS, NUMBERED
from chasles.control.optimal.parameters import Parameters
from chasles.control.optimal.smoothness import with_smooth_friction
from chasles.engine.validators import choice, real, reals, truth
from chasles.robot.robot import Robot, load
from chasles.studies.checks import placed, shortened
from chasles.trajectories import GeodesicMotion, JointTrajectory

MOST_BYTES = 500_000
_TABLES = ("problem", "limits", "running", "final", "exact_end")
_PROBLEM = (
    "robot",
    "tool",
    "free_base",
    "gravity",
    "duration",
    "nodes",
    "start",
    "velocity",
    "guess",
    "motors",
    "integrator",
    "limits",
    "coulomb_velocity",
)
_RESIDUAL = ("residual", "weight", "target", "at", "frame")
_WITHOUT_TARGET = {"time": residuals.time, "torque_rate": residuals.torque_rate, "periodic": residuals.periodic}
_KINDS = ("pose", "position", "velocity", "torque", *_WITHOUT_TARGET)


class Posed(NamedTuple):
    """A problem with its start.

    Attributes
    ----------
    problem
        The problem.
    start, velocity
        Initial positions (nq,) and velocities (n,).
    guess
        Motion to begin at, or None.
    """

    problem: OptimalControl
    start: NDArray[np.float64]
    velocity: NDArray[np.float64]
    guess: JointTrajectory | None


def is_problem(path: Path) -> bool:
    """Whether a file is TOML with a table ``[problem]``."""
    return path.suffix.lower() == ".toml" and path.is_file() and "problem" in _tables(path)


def read_problem(path: Path, **replaced: Any) -> Posed:
    """Read a problem; robots' files are looked for beside it.

    Parameters
    ----------
    path
        TOML file.
    **replaced
        Values in place of those of the table ``[problem]``.

    Raises
    ------
    ArgumentError, UnknownNameError
        The message names file, table and key.
    """
    with placed(str(path)):
        data = _tables(path)
        _require_known(data, _TABLES, "table")
        with placed("[problem]"):
            settings = dict(_table(data["problem"], _PROBLEM)) | replaced
            robot = _robot(settings, path.parent)
            for name in ("duration", "nodes"):
                if name not in settings:
                    raise ArgumentError(f"'{name}' is missing")
            start = _configuration(settings.get("start", robot.home.tolist()), "start", robot)
            velocity = reals(settings.get("velocity", 0.0), "velocity", (robot.n,), broadcast=True)
            guess = None
            if "guess" in settings:
                goal = _configuration(settings["guess"], "guess", robot)
                guess = GeodesicMotion(robot, start, goal, duration_of(settings["duration"]).usual)
        options: dict[str, Any] = {name: _residuals(data.get(name, []), name, robot) for name in _TABLES[2:]}
        with placed("[problem]"):
            options |= {name: settings[name] for name in ("motors", "integrator") if name in settings}
            problem = OptimalControl(
                robot,
                duration=settings["duration"],
                nodes=settings["nodes"],
                limits=_limits(data, settings),
                **options,
            )
    return Posed(problem, start, velocity, guess)


def reach(robot: Robot, start: NDArray[np.float64], goal: NDArray[np.float64], duration: float, nodes: int) -> Posed:
    """Return the motion of least effort from rest to rest: torques relative to their limits, velocities to theirs.

    Friction that jumps at rest is smoothed, and taken implicitly where joints allow it. A free base without motors ends
    where the motion leaves it.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> posed = reach(arm, arm.home, arm.home + 0.3, 1.0, 20)
    >>> posed.problem.solve(posed.start).status.value
    'optimal'
    """
    robot = with_smooth_friction(robot)
    has_dry_friction = any(joint.coulomb_friction for joint in robot.description.joints)
    is_implicit = has_dry_friction and not ImplicitFriction(Parameters(robot)).obstacle
    relative = [
        np.where(np.isfinite(limit) & (limit > 0.0), limit, 1.0) ** -2.0
        for limit in (robot.effort_limits, robot.velocity_limits)
    ]
    ends = has_motors(robot)
    problem = OptimalControl(
        robot,
        duration=duration,
        nodes=nodes,
        running=[relative[0] * residuals.torque(), relative[1] * residuals.velocity()],
        exact_end=[
            Residual(lambda robot, q: np.asarray(robot.difference(goal, q))[ends]),
            Residual(lambda qd: qd[ends]),
        ],
        integrator="implicit-friction-leapfrog" if is_implicit else "leapfrog",
    )
    return Posed(problem, start, np.zeros(robot.n), GeodesicMotion(robot, start, goal, duration))


def _tables(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MOST_BYTES:
        raise ArgumentError(f"{path} has more than {MOST_BYTES} bytes")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ArgumentError(f"{path} is not a TOML file: {str(error) or 'nested too deeply'}") from None


def _table(table: object, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ArgumentError(f"this must be a table of names and values, not {shortened(table)}")
    _require_known(table, keys, "key")
    return table


def _require_known(table: Mapping[str, Any], keys: tuple[str, ...], kind: str) -> None:
    for name in table:
        if name not in keys:
            raise UnknownNameError(kind, name, keys)


def _robot(settings: Mapping[str, Any], folder: Path) -> Robot:
    name, tool = settings.get("robot"), settings.get("tool", "")
    for key, value in (("robot", name), ("tool", tool)):
        if not isinstance(value, str):
            fault = "is missing" if value is None else f"must be text, not {shortened(value)}"
            raise ArgumentError(f"'{key}' {fault}")
    beside = folder / str(name)
    robot = load(str(beside) if beside.is_file() else str(name), tool=str(tool))
    if truth(settings.get("free_base", False), "free_base"):
        robot = freed(robot)
    if "gravity" in settings:
        robot = robot.with_gravity(reals(settings["gravity"], "gravity", (3,)))
    if "coulomb_velocity" not in settings:
        return robot
    return robot.with_friction(coulomb_velocity=real(settings["coulomb_velocity"], "coulomb_velocity", above=0.0))


def _limits(data: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Limits as a list of names of [problem], or numbers of [limits]; default those of the robot."""
    if "limits" not in data:
        names = settings.get("limits", list(LIMITS))
        if not isinstance(names, list):
            raise ArgumentError(f"'limits' must be a list of names, not {shortened(names)}; numbers go in [limits]")
        return names
    if "limits" in settings:
        raise ArgumentError("give 'limits' here or as the table [limits], not both")
    with placed("[limits]"):
        return dict(_table(data["limits"], NUMBERED))


def _residuals(tables: object, name: str, robot: Robot) -> list[Residual]:
    if not isinstance(tables, list):
        raise ArgumentError(f"write [[{name}]], in two brackets, before each residual")
    listed = []
    for count, table in enumerate(tables, start=1):
        with placed(f"[[{name}]] {count}"):
            listed.append(_residual(_table(table, _RESIDUAL), robot))
    return listed


def _residual(table: Mapping[str, Any], robot: Robot) -> Residual:
    kind, weight = table.get("residual"), reals(table.get("weight", 1.0), "weight", at_least=0.0)
    if not isinstance(kind, str):
        raise ArgumentError(f"'residual' must be one of {', '.join(_KINDS)}")
    choice(kind, "residual", _KINDS)
    for key in ("at", "frame"):
        if key in table and kind != "pose":
            raise ArgumentError(f"'{key}' belongs to residuals of kind 'pose'")
    if kind in _WITHOUT_TARGET:
        if "target" in table:
            raise ArgumentError(f"a residual of kind '{kind}' has no 'target'")
        return weight * _WITHOUT_TARGET[kind]()
    if kind == "pose":
        return weight * _pose(table, robot)
    if kind == "position":
        if "target" not in table:
            return weight * residuals.position()
        return weight * residuals.position(_configuration(table["target"], "target", robot))
    target = reals(table.get("target", 0.0), "target", (robot.n,), broadcast=True)
    targeted = {"velocity": residuals.velocity, "torque": residuals.torque}
    return weight * targeted[kind](target)


def _configuration(values: object, name: str, robot: Robot) -> NDArray[np.float64]:
    """Configuration (nq,) as of `configured`; without quaternions and loops one number stands for all joints."""
    if robot.nq == robot.n and np.ndim(reals(values, name)) == 0:
        return reals(values, name, (robot.n,), broadcast=True)
    return configured(reals(values, name, ("coordinates",)), name, robot)


def _pose(table: Mapping[str, Any], robot: Robot) -> Residual:
    """Residual of a pose, given as a matrix or as the pose that the frame has at joint positions."""
    frame = table.get("frame", "")
    if not isinstance(frame, str):
        raise ArgumentError(f"'frame' must be text, not {shortened(frame)}")
    if ("target" in table) == ("at" in table):
        raise ArgumentError("a pose needs either 'target', a matrix of 4 × 4 numbers, or 'at', joint positions")
    if "target" in table:
        return residuals.pose(reals(table["target"], "target", (4, 4)), frame=frame)
    q = _configuration(table["at"], "at", robot)
    if frame:
        choice(frame, "frame", robot.frame_names)
    T = robot.forward_kinematics(q, target=frame) if frame else robot.forward_kinematics(q)
    return residuals.pose(T, frame=frame)
