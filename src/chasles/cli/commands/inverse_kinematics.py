"""`chasles ik`: joint positions that bring a robot's tool to a pose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.cli.options import JsonOption, RobotArgument, ToolOption, UncheckedOption
from chasles.cli.output import add_row, errors, number, results, say, show_json, table
from chasles.cli.signatures import takes

if TYPE_CHECKING:
    from chasles.inverse_kinematics import Solution
    from chasles.robot.robot import Robot

_FAR = 10.0  # m, farther than arms reach
Select = Literal["first", "nearest", "best", "all"]


@takes("inverse_kinematics.solver:InverseKinematics.__call__", "target", limits="Keep the joint limits.")
def inverse_kinematics(
    robot: RobotArgument,
    position: Annotated[
        str, typer.Option(metavar="X,Y,Z", help="Position of the target, such as '0.4,0,0.3'; m.", show_default=False)
    ],
    rpy: Annotated[
        str | None,
        typer.Option(metavar="R,P,Y", help="Roll, pitch, yaw of the target, ° [default: any]."),
    ] = None,
    q0: Annotated[
        str | None, typer.Option(help="Joint positions to start from, rad, prismatic joints m [default: home].")
    ] = None,
    select: Annotated[
        Select, typer.Option(metavar="WHICH", help="Solutions to show: first, nearest, best or all.")
    ] = "all",
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    as_json: JsonOption = False,
    **search: Any,
) -> None:
    """Find joint positions that bring the tool to a position, or to a position and an orientation.

    Every solution is confirmed by forward kinematics. Without a solution the exit code is 1.

    For example:

        chasles ik ur5 --position "0.4,0.2,0.3" --rpy "180,0,90"

        chasles ik panda --position "0.5,0,0.4" --select nearest --json
    """
    from chasles.cli.values import configuration, loaded

    arm = loaded(robot, tool=tool, unchecked=unchecked)
    T, mask = _target(position, rpy)
    start = arm.home if q0 is None else configuration(q0, "--q0", arm)
    solution = arm.inverse_kinematics(T, start, mask=mask, select=select, **search)
    if solution.q.ndim == 1:
        solution = solution[None]
    if as_json:
        show_json(_facts(arm, solution))
    else:
        _show(arm, solution)
    if not np.any(solution.success):
        if np.abs(T[:3, 3]).max() > _FAR:
            errors.print("--position is in m. Is yours in mm?", style="yellow")
        raise typer.Exit(1)


def _target(position: str, rpy: str | None) -> tuple[NDArray[np.float64], str]:
    """Return the target pose, and the components of it to reach."""
    from scipy.spatial.transform import Rotation

    T = np.eye(4)
    T[:3, 3] = _three(position, "--position")
    if rpy is None:
        return T, "position"
    T[:3, :3] = Rotation.from_euler("xyz", _three(rpy, "--rpy"), degrees=True).as_matrix()
    return T, "pose"


def _three(text: str, option: str) -> list[float]:
    from chasles.cli.values import numbers

    values = numbers(text, option)
    if len(values) != 3:
        raise ArgumentError(f"{option}: expected 3 numbers, not {len(values)}")
    return values


def _facts(arm: Robot, solution: Solution) -> list[dict[str, Any]]:
    """Return plain values of each solution, or of the closest configuration if there is none."""
    from chasles.inverse_kinematics import Status

    return [
        {
            "q": dict(zip(arm.coordinate_names, row.q, strict=True)),
            "success": bool(row.success),
            "status": Status(int(row.status)).sentence,
            "distance": row.residual.distance,
            "angle": row.residual.angle,
            "limit_margin": row.limit_margin,
        }
        for row in _shown(solution)
    ]


def _shown(solution: Solution) -> list[Solution]:
    """Return the solutions, or the closest configuration if there is none."""
    rows = [solution[k] for k in range(len(solution.q))]
    return [row for row in rows if row.success] or rows[:1]


def _show(arm: Robot, solution: Solution) -> None:
    from chasles.inverse_kinematics import Status

    rows = _shown(solution)
    count = sum(bool(row.success) for row in rows)
    say(f"{count} solution{'' if count == 1 else 's'}" if count else Status(int(rows[0].status)).sentence)
    scales = [180.0 / np.pi if unit == "rad" else 1.0 for unit in arm.description.coordinate_units]
    joint_rows = table("Joint positions (°, prismatic joints m)", "joint", *(f">{k + 1}" for k in range(len(rows))))
    for joint, (name, scale) in enumerate(zip(arm.coordinate_names, scales, strict=True)):
        add_row(joint_rows, name, *(number(scale * row.q[joint]) for row in rows))
    add_row(joint_rows, "distance [m]", *(number(float(row.residual.distance), 2) for row in rows))
    results().print(joint_rows)
