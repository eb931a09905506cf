"""Motions of `chasles simulate`: robot, plant, goal, times and parameters from options, and sentences about a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.cli.output import angle_text, error_text
from chasles.cli.settings import moves_frames
from chasles.cli.standing import GroundStance
from chasles.cli.values import configuration, freed, random_configuration, varied
from chasles.control import Controller
from chasles.control.floating_base import is_floating
from chasles.robot.robot import Robot, require_plain_coordinates
from chasles.simulation.metrics import pose_errors
from chasles.visual.encoding import shown_unit
from chasles.visual.summary import peak, position_name, root_mean_square

if TYPE_CHECKING:
    from chasles.simulation.results import Run

_HALF = 0.5  # of the way to the goal
_SMALL_WAY = {"rad": 0.2, "m": 0.05}  # rad and m; smaller ways count as this one
_NAMED = 3  # joints in a sentence


class Route(NamedTuple):
    """Configurations of a motion.

    Attributes
    ----------
    start, through, goal
        Joint positions at the start, at the waypoints and at the end.
    times
        Times at which waypoints and goal are reached, s.
    """

    start: NDArray[np.float64]
    through: list[NDArray[np.float64]]
    goal: NDArray[np.float64]
    times: list[float]


def movable(robot: Robot, free_base: bool) -> Robot:
    """Return the robot, with a free base if wanted."""
    if robot.description.loops:
        require_plain_coordinates(robot, "this simulation")
    if not free_base:
        return robot
    if any(joint.kind == "free" for joint in robot.description.joints):
        raise ArgumentError(f"--free-base: robot '{robot.name}' has a free joint already; leave the option away")
    return freed(robot)


def standing(model: Robot, contacts: list[str], q: NDArray[np.float64]) -> GroundStance | None:
    """Return the robot on the feet of --contact, or None without them."""
    if not contacts:
        return None
    if not is_floating(model):
        raise ArgumentError(f"--contact: robot '{model.name}' stands on its fixed base; add --free-base")
    return GroundStance.of(model, contacts, q)


def goal_of(model: Robot, goal: str | None) -> NDArray[np.float64]:
    """Return the joint positions of --goal: given ones, or random ones from a seed."""
    kind, _, seed = ("random" if goal is None else goal).partition(":")
    if kind.strip() != "random":
        return configuration(str(goal), "--goal", model)
    if seed and not seed.strip().isdecimal():
        raise ArgumentError(f"--goal: expected random:SEED with a whole number from 0, not '{goal}'")
    return random_configuration(int(seed or 0), model)


def route(
    model: Robot,
    start: NDArray[np.float64],
    waypoints: list[str],
    goal: str | None,
    duration: float | None,
    *,
    stands: bool = False,
) -> Route:
    """Return the route past waypoints to the goal; a robot that stands keeps its start unless told otherwise."""
    through = [configuration(text, "--waypoint", model) for text in waypoints]
    end = start if stands and goal is None and not through else goal_of(model, goal)
    reached = [*through, end]
    ways = zip([start, *through], reached, strict=True)
    shortest = np.cumsum([_duration(model, first, last) for first, last in ways])
    times: list[float] = (shortest if duration is None else shortest * (duration / shortest[-1])).tolist()
    return Route(start, through, end, times if duration is None else [*times[:-1], duration])


def _duration(model: Robot, start: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """Return a duration that keeps half of the velocity limits; a quintic's peak speed is 15/8 of its mean speed."""
    limits = np.where(np.isfinite(model.velocity_limits) & (model.velocity_limits > 0), model.velocity_limits, 2.0)
    needed = float(np.max(15.0 / 8.0 * np.abs(model.difference(start, goal)) / (0.5 * limits), initial=0.0))
    return max(1.0, math.ceil(10.0 * needed) / 10.0)


def frames_of(law: str, targets: list[str] | None) -> list[str]:
    """Return the frames that a law moves, by default the tool; none for laws of joints."""
    return (targets or ["tool"]) if moves_frames(law) else []


def varied_values(
    parameters: Mapping[str, tuple[int, ...]], law: Controller, texts: list[str], runs: int | None
) -> dict[str, NDArray[np.float64]]:
    """Return the values of --vary in the shapes of the parameters, runs first."""
    shapes = {**parameters} | {f"controller.{name}": np.shape(value) for name, value in law.parameters.items()}
    values = varied(texts, runs)
    for name, value in values.items():
        shape = shapes.get(name, ())  # the simulation refuses names that do not exist
        if name.startswith("controller.") and name in shapes:
            values[name] = np.broadcast_to(value[:, None], (len(value), *shape)).copy()
        elif shape:
            raise ArgumentError(f"--vary: '{name}' has the shape {shape}; only single numbers can be varied here")
    return values


def frame_error(model: Robot, run: Run, frame: str) -> str:
    """Return a sentence about the position error of a frame, over all runs and samples."""
    distance, _ = pose_errors(model, run["q"].values, run["q_reference"].values, frame)
    rms, most = (error_text(value, "m") for value in (root_mean_square(distance), peak(distance)))
    return f"{'Tool' if frame == 'tool' else frame} position error: RMS {rms}, peak {most}"


def missed_goal(model: Robot, run: Run, route: Route, frames: Sequence[str]) -> str:
    """Return a sentence about joints or frames that end farther from the goal than half of the way, or an empty text.

    A law of frames moves them, other laws move the joints.
    """
    missed = []
    if frames:
        q, q_goal = run["q"].values[..., -1, :], run["q_reference"].values[..., -1, :]
        for frame in frames:
            error = float(pose_errors(model, q, q_goal, frame)[0].max())
            way = float(pose_errors(model, route.start, route.goal, frame)[0])
            if error > _HALF * max(way, _SMALL_WAY["m"]):
                missed.append((error, "the tool" if frame == "tool" else frame, error_text(error, "m")))
    else:
        units = run["unit"].values.tolist()
        errors = np.abs(run["error"].values[..., -1, :]).reshape(-1, len(units)).max(axis=0)
        ways = np.abs(model.difference(route.start, route.goal))
        for name, unit, error in zip(run["joint"].values, units, errors.tolist(), strict=True):
            way = max(
                length for length, unit_of_length in zip(ways.tolist(), units, strict=True) if unit_of_length == unit
            )
            if error > _HALF * max(way, _SMALL_WAY[unit]):
                missed.append(
                    (
                        error / _SMALL_WAY[unit],
                        position_name(name),
                        error_text(error, "m") if unit == "m" else angle_text(error),
                    )
                )
    if not missed:
        return ""
    (_, name, size), *others = sorted(missed, reverse=True)[:_NAMED]
    listed = "".join(f", {other} {away}" for _, other, away in others)
    return f"The motion fails: {name} ends {size} from its goal{listed}{', …' if len(missed) > _NAMED else ''}."


def beyond_limits(run: Run, name: str) -> str:
    """Return the joints that were beyond a limit ("saturation" or "overspeed"), for how long, and by how much."""
    longest, excess = (
        run[f"{name}_{kind}"].values.reshape(-1, run.sizes["joint"]).max(axis=0) for kind in ("time", "excess")
    )
    units = (
        map(shown_unit, run["effort_unit"].values) if name == "saturation" else (f"{u}/s" for u in run["unit"].values)
    )
    joints = zip(run["joint"].values, longest, excess, units, strict=True)
    return ", ".join(f"{name} {time:.3g} s (by {most:.3g} {unit})" for name, time, most, unit in joints if time > 0.0)
