"""Kernels of a robot for a page, as one WebAssembly module, with their data."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.wasm import lower
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.iteration import restart_direction
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.tangent import tangent_motion
from chasles.visual.dexterity import tool_space
from chasles.visual.view.loops import USUAL, PageLaw, PageLoops
from chasles.visual.view.programs import motion_pieces, pose_error, searches, velocity_ellipsoid

#: A slider without limits covers this much to either side: half a turn, or this many sizes of the robot.
_HALF_TURN = np.pi
_SIZES = 1.0
#: Robots of more degrees of freedom are not simulated: their equations of motion would make the page too large.
_MOST_SIMULATED = 64


def mechanism_data(
    robot: Robot,
    size: float,
    laws: Sequence[PageLaw] = USUAL,
    q: NDArray[np.float64] | None = None,
    motion: JointTrajectory | None = None,
) -> dict[str, Any]:
    """Return the kernels and data of a page, ready for JSON.

    Parameters
    ----------
    robot
        Robot on the page.
    size
        Length of the robot, m, used as the range of prismatic joints without limits.
    laws
        Laws under which the page can simulate the robot.
    q
        Configuration at the start, shape (nq,); default home.
    motion
        Motion that the laws can follow.

    Returns
    -------
    dict
        The module (gzip, base64) with the kernels ``frames``, ``tool``, ``gravity``, ``torque``, ``integrate``, the
        tool's ``ellipsoid`` and ``error`` and the pieces of motions; if something moves, ``reach_pose`` and
        ``reach_position``; if it can be simulated, ``mass`` and the loops of `PageLoops`; if its coordinates are not
        independent, ``unit``, ``difference`` and ``tangent``. Coordinates with limits and the ranges of their sliders;
        joints with quaternions, which have handles; velocities with effort and speed limits; the payload's range, kg;
        the space in which the tool moves; constants of the inverse kinematics; reasons for
        what is missing.
    """
    passive = _why_not_simulated(robot)
    functions: dict[str, Function] = {
        "frames": robot.frame_poses,
        "tool": robot.pose_and_jacobian.specialize(frame="world-aligned"),
        "gravity": robot.gravity_torque.specialize(vary=["payload.mass"]),
        "torque": robot.inverse_dynamics.specialize(vary=["payload.mass"]),
        "integrate": robot.integrate,
        "ellipsoid": velocity_ellipsoid(robot.n),
        "error": pose_error(),
        **motion_pieces(),
    }
    loops = None if passive else PageLoops(robot, laws, robot.home if q is None else q, motion)
    if loops is not None:
        functions |= {"mass": robot.mass_matrix.specialize(vary=["payload.mass"]), **loops.functions()}
    if not _is_plain(robot):
        functions |= {"unit": robot.normalize, "difference": robot.difference, "tangent": tangent_motion(robot)}
    lower_limits, upper_limits, reach = robot.lower_limits, robot.upper_limits, None
    if robot.n:
        frame = RobotFrame(robot, robot.description.tool, True)
        functions |= searches(frame)
        ranges = frame.ranges
        lower_limits, upper_limits = ranges.lower, ranges.upper
        reach = {
            "lower": _finite_or_none(ranges.lower),
            "upper": _finite_or_none(ranges.upper),
            "first": ranges.first.tolist(),
            "span": np.where(ranges.moving, ranges.span, 0.0).tolist(),
            "direction": restart_direction(robot.nq).tolist(),
        }
    module = lower({name: Kernel(f.program, f.kernel.shape) for name, f in functions.items()})
    most = _largest_payload(robot)
    space = tool_space(robot)
    coordinate_of = {
        name: robot.coordinate_names.index(name)
        for joint in robot.description.coordinates
        if not joint.has_quaternion
        for name in joint.coordinate_names
    }
    floating = {
        name for joint in robot.description.coordinates if joint.kind == "free" for name in joint.velocity_names
    }
    return {
        "module": base64.b64encode(gzip.compress(module.binary, mtime=0)).decode("ascii"),
        "coordinates": _coordinates(robot, lower_limits, upper_limits, size),
        "velocities": [
            {
                "name": name,
                "unit": unit.replace("N m", "N·m"),
                "effort": _number_or_none(robot.effort_limits[k]),
                "speed": _number_or_none(robot.velocity_limits[k]),
                "free": name in floating,
                "coordinate": coordinate_of.get(name),
            }
            for k, (name, unit) in enumerate(zip(robot.velocity_names, robot.description.effort_units, strict=True))
        ],
        "balls": _balls(robot),
        "payload": {"mass": robot.description.payload.mass, "most": most},
        "massless": not _has_masses(robot),
        "reach": reach,
        "refusal": "" if robot.n else "The tool cannot be dragged: this robot has no moving joints.",
        "passive": passive,
        "simulation": None if loops is None else loops.data(),
        "size": size,
        "toolSpace": {"dimensions": space.dimensions, "words": space.words},
        "loops": len(robot.description.loops),
        "neutral": robot.neutral.tolist(),
        "home": robot.home.tolist(),
    }


def _is_plain(robot: Robot) -> bool:
    """Whether velocities are the rates of the coordinates."""
    return not robot.description.loops and not any(joint.has_quaternion for joint in robot.description.coordinates)


def _balls(robot: Robot) -> list[dict[str, Any]]:
    """Describe the joints with a quaternion that loops do not move: place in q, frame and placement of the child."""
    return [
        {
            "name": joint.name,
            "free": joint.kind == "free",
            "first": robot.description.starts[joint.name][0],
            "frame": robot.frame_names.index(joint.child),
            "T_joint_child": np.asarray(joint.T_joint_child).ravel().tolist(),
        }
        for joint in robot.description.coordinates
        if joint.has_quaternion and set(joint.velocity_names) <= set(robot.velocity_names)
    ]


def _why_not_simulated(robot: Robot) -> str:
    """Return the reason why the page cannot simulate a robot, or nothing."""
    if robot.n == 0:
        return "Nothing moves: this robot has no joints that move."
    if robot.n > _MOST_SIMULATED:
        return f"Robots of more than {_MOST_SIMULATED} degrees of freedom are not simulated on a page."
    masses = np.asarray(robot.mass_matrix(robot.home)) if _has_masses(robot) else np.zeros((robot.n, robot.n))
    if not np.isfinite(masses).all() or np.linalg.cond(masses) > 1e12:
        return "The motion cannot be simulated: some joints move no mass."
    return ""


def _has_masses(robot: Robot) -> bool:
    return any(link.inertia.mass for link in robot.description.links)


def _coordinates(
    robot: Robot, lower: NDArray[np.float64], upper: NDArray[np.float64], size: float
) -> list[dict[str, Any]]:
    """Describe each element of q; those of a quaternion have no unit, and their range is that of a unit vector."""
    described: list[dict[str, Any]] = []
    units = robot.description.coordinate_units
    dependent = {
        name
        for joint in robot.description.coordinates
        if not set(joint.velocity_names) <= set(robot.velocity_names)
        for name in joint.coordinate_names
    }
    for k, (name, unit) in enumerate(zip(robot.coordinate_names, units, strict=True)):
        reach = {"rad": _HALF_TURN, "m": _SIZES * size, "": 1.0}[unit]
        low, high = float(lower[k]), float(upper[k])
        first = low if np.isfinite(low) else min(-reach, high - 2 * reach if np.isfinite(high) else -reach)
        last = high if np.isfinite(high) else max(reach, low + 2 * reach if np.isfinite(low) else reach)
        described.append(
            {"name": name, "unit": unit, "low": _number_or_none(low), "high": _number_or_none(high)}
            | {"first": first, "last": last, "follows": name in dependent}
        )
    return described


def _largest_payload(robot: Robot) -> float:
    """Return the end of the payload's slider, kg: half the robot's mass, twice its payload or 5 kg, rounded up."""
    masses = robot.description.mass
    least = max(5.0, 0.5 * masses, 2.0 * robot.description.payload.mass)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= least * (1.0 - 1e-9)))


def _number_or_none(value: float) -> float | None:
    """Return a finite number, or None, as JSON has no infinity."""
    return float(value) if np.isfinite(value) else None


def _finite_or_none(values: NDArray[np.float64]) -> list[float | None]:
    return [_number_or_none(value) for value in values]
