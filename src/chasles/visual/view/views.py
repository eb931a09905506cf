"""The verb `view` for robots, solutions of inverse kinematics and motions of joints."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError
from chasles.base.writing import PAGE, path_to_write, write
from chasles.engine.validators import choice, reals
from chasles.inverse_kinematics.solution import Solution
from chasles.robot.robot import Robot
from chasles.trajectories import CartesianTrajectory, JointTrajectory
from chasles.visual.panels import shown_runs
from chasles.visual.view.inline import InlineView, widget
from chasles.visual.view.live import LiveView
from chasles.visual.view.page import view_page

_FRAME_RATE = 60.0
_MOST_FRAMES = 1800
_MOST_NUMBERS = 400_000  # of all runs together: 4 MB of text
_MOST_GHOSTS = 16
#: Where a notebook shows the page: nowhere, in place without a link to Python, or as a widget that is linked with it.
Notebook = Literal["", "page", "widget"]
#: What the methods and functions of the verb give: a file's path if one was named, else the live page.
Viewed = LiveView | Path | InlineView


@verbs.view.register(Robot)
def robot_view(
    robot: Robot,
    q: ArrayLike | None = None,
    *,
    path: str | PathLike[str] | None = None,
    companions: Sequence[Robot | tuple[Robot, ArrayLike]] = (),
    **options: Unpack[verbs.ViewOptions],
) -> Viewed:
    """Show a robot; see `Robot.view`."""
    start = robot.home if q is None else reals(q, "q", (robot.nq,))
    pairs = [other if isinstance(other, tuple) else (other, other.home) for other in companions]
    others = [(other, reals(at, f"companions[{k}]", (other.nq,))) for k, (other, at) in enumerate(pairs)]
    return shown(robot, start, path, companions=others, **options)


@verbs.view.register(Robot, Solution)
def solution_view(
    robot: Robot,
    solution: Solution,
    *,
    path: str | PathLike[str] | None = None,
    **options: Unpack[verbs.ViewOptions],
) -> Viewed:
    """Show the first configuration of a solution and up to 16 others as ghosts; see `Solution.view`."""
    rows = np.asarray(solution.q, dtype=np.float64).reshape(-1, solution.q.shape[-1])
    if rows.shape[-1] != robot.nq:
        raise ArgumentError(f"the solution has {rows.shape[-1]} coordinates, but robot '{robot.name}' has {robot.nq}")
    success, branch = np.ravel(solution.success), np.ravel(solution.branch)
    finite: list[int] = np.flatnonzero(np.isfinite(rows).all(axis=-1)).tolist()
    if not finite:
        raise ArgumentError("the solution has no configuration to show: its targets are no poses")
    first, *others = sorted(finite, key=lambda k: not success[k])[: _MOST_GHOSTS + 1]

    def label(k: int) -> str:
        kind = f"branch {branch[k]}" if branch[k] >= 0 else f"solution {k + 1}"
        return kind if success[k] else f"{kind}, not reached"

    ghosts = {f"{n + 2}: {label(k)}": rows[k] for n, k in enumerate(others)}
    return shown(robot, rows[first], path, ghosts=ghosts, first=f"1: {label(first)}", **options)


@verbs.view.register(Robot, JointTrajectory)
def motion_view(
    robot: Robot,
    trajectory: JointTrajectory,
    *,
    path: str | PathLike[str] | None = None,
    **options: Unpack[verbs.ViewOptions],
) -> Viewed:
    """Play a motion of joints; see `JointTrajectory.view`."""
    if trajectory.n != robot.nq:
        raise ArgumentError(
            f"the motion has {trajectory.n} joints, but robot '{robot.name}' has {robot.nq} coordinates"
        )
    first, last = trajectory.span
    batch = int(np.prod(trajectory.batch))
    times = np.linspace(first, last, frame_count(last - first, batch, robot.nq))
    moving = times.reshape(-1, *(1,) * len(trajectory.batch))
    q = np.moveaxis(np.asarray(trajectory(moving).q), 0, -2).reshape(batch, len(times), robot.nq)
    runs = {f"motion {k + 1}": part for k, part in enumerate(q[shown_runs(batch)])}
    recording = {"times": times, "runs": runs}
    return shown(robot, q[0, 0], path, recording=recording, motion=trajectory, **options)


@verbs.view.register(Robot, CartesianTrajectory)
def path_view(
    robot: Robot,
    trajectory: CartesianTrajectory,
    q0: ArrayLike | None = None,
    *,
    path: str | PathLike[str] | None = None,
    **options: Unpack[verbs.ViewOptions],
) -> Viewed:
    """Play the joint motion with which a robot follows; see `CartesianTrajectory.view`."""
    return motion_view(robot, trajectory.follow(robot, q0), path=path, **options)


def shown(
    robot: Robot,
    q: NDArray[np.float64],
    path: str | PathLike[str] | None,
    *,
    title: str | None = None,
    browser: bool = True,
    notebook: Notebook = "",
    **content: Any,
) -> Viewed:
    """Write the page to a file, show it in a notebook, or open it live; ``content`` as for `view_page`."""
    choice(notebook, "notebook", get_args(Notebook))
    if notebook == "page":
        return InlineView(view_page(robot, q, title=title or robot.name, **content))
    if notebook == "widget":
        shown_widget: InlineView = widget(view_page(robot, q, title=title or robot.name, framed=True, **content), q)
        return shown_widget
    if path is None:
        return open_live(robot, q, title, browser, **content)
    return write_view(robot, q, path, title, **content)


def open_live(robot: Robot, q: NDArray[np.float64], title: str | None, browser: bool, **content: Any) -> LiveView:
    """Open the live page of a robot."""
    return LiveView(view_page(robot, q, title=title or robot.name, live=True, **content), q, browser=browser)


def write_view(
    robot: Robot, q: NDArray[np.float64], path: str | PathLike[str], title: str | None, **content: Any
) -> Path:
    """Write the page of a robot to a file, and return that."""
    target = path_to_write(path, PAGE)
    return write(target, view_page(robot, q, title=title or robot.name, **content))


def frame_count(duration: float, runs: int, nq: int) -> int:
    """Return the number of samples that a page plays."""
    return max(2, min(int(duration * _FRAME_RATE) + 1, _MOST_FRAMES, _MOST_NUMBERS // max(1, runs * nq)))
