"""Values of options from their texts, with errors that name the option and what it expects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.inverse_kinematics.differential.body_tasks import free_velocities
from chasles.robot.robot import Robot, load
from chasles.trajectories.joint.tangent import coordinates_of_velocities

_MOST_RUNS = 100_000
_RUNS_OF_A_RANGE = 11
_STEPS_OF_WAY = 32


def numbers(text: str, option: str) -> list[float]:
    """Return finite numbers from text, separated by commas or spaces.

    Examples
    --------
    >>> numbers("0.1, -2", "--goal")
    [0.1, -2.0]
    """
    values = []
    for word in text.replace(",", " ").split():
        try:
            value = float(word)
        except ValueError:
            raise ArgumentError(f"{option}: '{word}' is not a number") from None
        if not math.isfinite(value):
            raise ArgumentError(f"{option}: '{word}' is not finite; every number must be finite")
        values.append(value)
    if not values:
        raise ArgumentError(f"{option}: expected numbers separated by commas, not '{text}'")
    return values


def whole(text: str, option: str) -> int:
    """Return a whole number from 1.

    Examples
    --------
    >>> whole("4", "--integrator")
    4
    """
    if not text.strip().isdecimal() or int(text) < 1:
        raise ArgumentError(f"{option}: '{text}' is not a whole number from 1")
    return int(text)


def package_folders(texts: Sequence[str] | None) -> dict[str, Path]:
    """Return folders of packages by name.

    Examples
    --------
    >>> package_folders(["my_robot=."])
    {'my_robot': PosixPath('.')}
    """
    folders = {}
    for text in texts or ():
        name, _, folder = text.partition("=")
        if not name or not folder:
            raise ArgumentError(f"--package: expected NAME=FOLDER, not '{text}'")
        if not Path(folder).is_dir():
            raise ArgumentError(f"--package: there is no folder '{folder}'")
        folders[name] = Path(folder)
    return folders


def loaded(robot: str, packages: Mapping[str, Path] | None = None, *, tool: str = "", unchecked: bool = False) -> Robot:
    """Load a robot; packages matter here to xacro files alone, as other files are read without their meshes.

    `tool` and `unchecked` are the values of `ToolOption` and `UncheckedOption`.
    """
    of_xacro = packages if Path(robot).suffix.lower() == ".xacro" else None
    return load(robot, tool=tool, check=not unchecked, packages=of_xacro)


def joint_values(text: str, option: str, robot: Robot) -> NDArray[np.float64]:
    """Return one number per degree of freedom, (n,), from one number for all joints or one for each; 0 at a free base.

    Examples
    --------
    >>> import chasles as ch
    >>> joint_values("2", "--set friction.viscous", ch.load("planar2r").with_free_base())
    array([0., 0., 0., 0., 0., 0., 2., 2.])
    """
    values, joints = numbers(text, option), ~free_velocities(robot)
    count = int(joints.sum())
    if len(values) not in (1, count):
        raise ArgumentError(
            f"{option}: {len(values)} numbers for {count} joints of robot '{robot.name}'; give 1 or {count}"
        )
    q = np.zeros(robot.n)
    q[joints] = values
    return q


def configuration(text: str, option: str, robot: Robot) -> NDArray[np.float64]:
    """Return joint positions within the limits, (nq,); see `configured`.

    Examples
    --------
    >>> import chasles as ch
    >>> configuration("0.5,-0.2", "--goal", ch.load("planar2r").with_free_base())
    array([ 1. ,  0. ,  0. ,  0. ,  0. ,  0. ,  0. ,  0.5, -0.2])
    """
    q = configured(np.array(numbers(text, option)), option, robot)
    limits = zip(robot.coordinate_names, q, robot.lower_limits, robot.upper_limits, strict=True)
    for name, value, lower, upper in limits:
        if not lower <= value <= upper:
            raise ArgumentError(
                f"{option}: {value:.4g} is outside the limits of joint '{name}', {lower:.4g} to {upper:.4g}"
            )
    return q


def freed(robot: Robot) -> Robot:
    """Return the robot on a free base."""
    return robot.with_free_base(world="world" if "world" not in robot.frame_names else "the world")


def configured(values: NDArray[np.float64], option: str, robot: Robot) -> NDArray[np.float64]:
    """Return a configuration (nq,), from all its coordinates or from those of the joints that may be given alone.

    A free base then stays at home. With loops the independent joints may be given alone; the others close the loops.

    Raises
    ------
    ArgumentError
        The count is wrong, a quaternion is zero, or loops stay open.
    """
    alone = _given_alone(robot)
    if values.size not in (robot.nq, alone.sum()):
        names, count = ", ".join(np.array(robot.coordinate_names)[alone]), int(alone.sum())
        raise ArgumentError(
            f"{option}: {values.size} numbers for {count} joints of robot '{robot.name}' ({names}); give {count}"
        )
    q = robot.home.copy()
    q[slice(None) if values.size == robot.nq else alone] = values
    if values.size < robot.nq and robot.description.loops:
        places = coordinates_of_velocities(robot)
        q = np.asarray(robot.integrate(robot.home, (q - robot.home)[places]))
    q = np.asarray(robot.normalize(q))
    if not np.isfinite(q).all():
        raise ArgumentError(
            f"{option}: robot '{robot.name}' has no such configuration: a quaternion is zero, or its loops stay open"
        )
    return q


def random_configuration(seed: int, robot: Robot) -> NDArray[np.float64]:
    """Draw joint positions from the middle 80 % of their ranges, or within 90° of home where there are no limits.

    Spherical joints and a free base stay at home. With loops it is on the way from home to the one that is drawn: where
    loops open or a joint leaves its range on this way, half of the way up to there.
    """
    lower = np.where(np.isfinite(robot.lower_limits), robot.lower_limits, robot.home - np.pi / 2)
    upper = np.where(np.isfinite(robot.upper_limits), robot.upper_limits, robot.home + np.pi / 2)
    part = np.random.default_rng(seed).uniform(0.1, 0.9, robot.nq)
    chosen: NDArray[np.float64] = lower + part * (upper - lower)
    stays = _of_quaternions(robot)
    chosen[stays] = robot.home[stays]
    return _halfway_to_open(robot, chosen) if robot.description.loops else chosen


def _halfway_to_open(robot: Robot, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the configuration of wanted independent joints, or one half of the way from home to where loops open."""
    displacement = (wanted - robot.home)[coordinates_of_velocities(robot)]
    shares = np.arange(1, _STEPS_OF_WAY + 1) / _STEPS_OF_WAY
    way = np.asarray(robot.integrate(robot.home, shares[:, None] * displacement))
    possible = ((way >= robot.lower_limits) & (way <= robot.upper_limits)).all(axis=-1)
    count = int(np.logical_and.accumulate(possible).sum())
    share = 1.0 if count == len(way) else 0.5 * count / len(way)
    return np.asarray(robot.integrate(robot.home, share * displacement))


def not_negative(values: NDArray[np.float64], option: str) -> NDArray[np.float64]:
    """Return the values of an option, checked to be nonnegative."""
    if (values < 0.0).any():
        raise ArgumentError(f"{option}: {values.min():g} is negative")
    return values


def _given_alone(robot: Robot) -> NDArray[np.bool_]:
    """Whether each coordinate, (nq,), is of those that may be given without the others."""
    if not robot.description.loops:
        return ~_of_free_joints(robot)
    return np.isin(np.arange(robot.nq), coordinates_of_velocities(robot)) & ~_of_quaternions(robot)


def _of_free_joints(robot: Robot) -> NDArray[np.bool_]:
    """Whether each coordinate, (nq,), is one of a free joint."""
    return _of(robot, [joint.name for joint in robot.description.coordinates if joint.kind == "free"])


def _of_quaternions(robot: Robot) -> NDArray[np.bool_]:
    """Whether each coordinate, (nq,), is one of a spherical or free joint."""
    return _of(robot, [joint.name for joint in robot.description.coordinates if joint.has_quaternion])


def _of(robot: Robot, joints: Sequence[str]) -> NDArray[np.bool_]:
    is_chosen = np.zeros(robot.nq, dtype=bool)
    for name in joints:
        start = robot.description.starts[name][0]
        is_chosen[start : start + len(robot.description.joint(name).coordinate_names)] = True
    return is_chosen


def varied(texts: Sequence[str], runs: int | None, option: str = "--vary") -> dict[str, NDArray[np.float64]]:
    """Return parameter values for each run, from texts like ``payload.mass=0:5`` (a range) or ``payload.mass=0,1,5``.

    All parameters vary together: run k takes the k-th value of each.

    Examples
    --------
    >>> varied(["payload.mass=0:4"], runs=3)
    {'payload.mass': array([0., 2., 4.])}
    """
    if runs is not None and not 1 <= runs <= _MOST_RUNS:
        raise ArgumentError(f"--runs: {runs} is not from 1 to {_MOST_RUNS:,}")
    if not texts:
        if runs is not None and runs > 1:
            raise ArgumentError("--runs: nothing differs between the runs; add --vary, such as --vary payload.mass=0:5")
        return {}
    values: dict[str, NDArray[np.float64]] = {}
    for text in texts:
        name, equals, value_text = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise ArgumentError(f"{option}: expected NAME=FROM:TO or NAME=VALUE,VALUE,…, not '{text}'")
        if name in values:
            raise ArgumentError(f"{option}: '{name}' is given twice")
        values[name] = _values(value_text, runs or _RUNS_OF_A_RANGE, name, option)
    lengths = {len(value) for value in values.values()} | ({runs} if runs is not None else set())
    if len(lengths) > 1:
        raise ArgumentError(
            f"{option}: every parameter needs one value per run, but there are {sorted(lengths)} values"
        )
    return values


def _values(value_text: str, runs: int, name: str, option: str) -> NDArray[np.float64]:
    """Return the values of one parameter, from a range or from a list."""
    if ":" in value_text:
        ends = [numbers(end, f"{option} {name}") for end in value_text.split(":")]
        if [len(end) for end in ends] != [1, 1]:
            raise ArgumentError(f"{option}: expected {name}=FROM:TO, not '{name}={value_text}'")
        return np.linspace(ends[0][0], ends[1][0], runs)
    try:
        return np.array(numbers(value_text, f"{option} {name}"))
    except ArgumentError as error:
        raise ArgumentError(
            f"{error}; a range is FROM:TO, such as {name}=0:5, and single values are {name}=0,1,5"
        ) from None
