"""The verb `to_html`: notebook views of robots, descriptions, DH tables, solutions and motions."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chasles.base import verbs
from chasles.inverse_kinematics.solution import Solution
from chasles.mechanics import Mechanics
from chasles.model import Description
from chasles.model.formats.to_dh import DHTable
from chasles.trajectories import CartesianTrajectory, JointTrajectory
from chasles.trajectories.check_report import QUANTITIES, CheckReport
from chasles.visual.picture import svg_picture
from chasles.visual.tables import table

_MOST_ROWS = 40
#: Some notebooks (marimo) take away the space around cells.
_SPACE = "<style>.chasles-table td, .chasles-table th { padding: 2px 8px; }</style>"


@verbs.to_html.register(Mechanics)
def robot_html(robot: Mechanics) -> str:
    """Return the picture and the joints of a robot."""
    return (
        f"{_heading(robot.name, _freedoms(robot.description))}"
        f'<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">{svg_picture(robot)}'
        f"<div>{_joints(robot.description)}</div></div>"
    )


@verbs.to_html.register(Description)
def description_html(description: Description) -> str:
    """Return the joints of a description."""
    facts = f"{_freedoms(description)}, {len(description.links)} links, tool '{description.tool}'"
    return _heading(description.name, facts) + _joints(description)


@verbs.to_html.register(DHTable)
def dh_html(parameters: DHTable) -> str:
    """Return Denavit-Hartenberg parameters in m and degrees."""
    columns = ("theta", "d", "a", "alpha") if parameters.convention == "standard" else ("alpha", "a", "theta", "d")
    angles = {"theta": "θ, °", "alpha": "α, °", "d": "d, m", "a": "a, m", "offset": "offset"}

    def shown(row: Mapping[str, Any], key: str) -> str:
        value = float(row.get(key, 0.0))
        return f"{np.degrees(value) if key in ('theta', 'alpha') else value:.6g}"

    body = [
        [html.escape(str(row["name"])), str(row.get("kind", "revolute")), *(shown(row, key) for key in columns)]
        for row in parameters.rows
    ]
    heading = _heading(parameters.name, f"{parameters.convention} Denavit-Hartenberg parameters")
    return heading + _cut(["joint", "kind", *(angles[key] for key in columns)], body)


@verbs.to_html.register(Solution)
def solution_html(solution: Solution) -> str:
    """Return the configuration of each target with its status and residual."""
    rows = np.asarray(solution.q).reshape(-1, solution.q.shape[-1])
    success, distance, angle = map(np.ravel, (solution.success, *solution.residual))
    body = [
        ["✓" if success[k] else "✗", ", ".join(f"{x:.4g}" for x in q), f"{distance[k]:.2g}", f"{angle[k]:.2g}"]
        for k, q in enumerate(rows[: _MOST_ROWS + 1])
    ]
    sentence = html.escape(str(solution)).replace("\n", "<br>")
    return f"<p>{sentence}</p>" + _cut(["solved", "q", "distance, m", "angle, rad"], body, len(rows))


@verbs.to_html.register(JointTrajectory)
def motion_html(motion: JointTrajectory) -> str:
    """Return the duration of a motion with its first and last configuration."""
    if 0 in motion.batch:
        return _heading(type(motion).__name__, f"{motion.n} joints, a batch of no motions")
    first, last = motion.span
    batch = f", batch {motion.batch}" if motion.batch else ""
    heading = _heading(type(motion).__name__, f"{motion.n} joints, {first:.4g} s to {last:.4g} s{batch}")
    ends = [np.asarray(motion(t).q).reshape(-1, motion.n)[0] for t in (first, last)]
    body = [[str(k + 1), f"{ends[0][k]:.4g}", f"{ends[1][k]:.4g}"] for k in range(motion.n)]
    return heading + _cut(["joint", "from", "to"], body)


@verbs.to_html.register(CartesianTrajectory)
def path_html(motion: CartesianTrajectory) -> str:
    """Return the duration of a motion in space with its first and last position."""
    if 0 in motion.batch:
        return _heading(type(motion).__name__, "a batch of no motions in space")
    first, last = motion.span
    batch = f", batch {motion.batch}" if motion.batch else ""
    heading = _heading(type(motion).__name__, f"motion in space, {first:.4g} s to {last:.4g} s{batch}")
    ends = [np.asarray(motion(t).pose).reshape(-1, 4, 4)[0, :3, 3] for t in (first, last)]
    return heading + _cut(
        ["", "from, m", "to, m"], [[x, f"{a:.4g}", f"{b:.4g}"] for x, a, b in zip("xyz", *ends, strict=True)]
    )


@verbs.to_html.register(CheckReport)
def check_html(report: CheckReport) -> str:
    """Return the violations of a motion, and the used share of the limits of each joint."""
    sentence = html.escape(str(report)).replace("\n", "<br>")
    share = report.share.reshape(-1, len(QUANTITIES), len(report.joint_names))
    if not len(share):
        return f"<p>{sentence}</p>"
    with np.errstate(invalid="ignore"):
        most = np.where(
            np.isnan(share).all(axis=0), np.nan, np.nanmax(np.where(np.isnan(share), -np.inf, share), axis=0)
        )
    bounded = [k for k in range(len(QUANTITIES)) if np.isfinite(most[k]).any()]
    body = [
        [html.escape(name), *("–" if np.isnan(most[k, j]) else _share(float(most[k, j])) for k in bounded)]
        for j, name in enumerate(report.joint_names)
    ]
    return f"<p>{sentence}</p>" + _cut(["used share of the limits", *(QUANTITIES[k] for k in bounded)], body)


def _share(value: float) -> str:
    """Return a share of a limit in percent, marked where the limit is broken."""
    text = f"{100.0 * value:.3g} %"
    return f"<b>{text}</b>" if value > 1.0 else text


def _heading(name: str, facts: str) -> str:
    return f"<p><b>{html.escape(name)}</b> <span style='opacity:0.7'>{html.escape(facts)}</span></p>"


def _freedoms(description: Description) -> str:
    return f"{description.nv} degrees of freedom" if description.nv != 1 else "1 degree of freedom"


def _joints(description: Description) -> str:
    """Return a table of the moving joints with their limits."""
    body = []
    for joint in description.ordered_joints:
        if not joint.moves:
            continue
        turns = joint.kind in ("revolute", "continuous", "helical")
        single = turns or joint.kind == "prismatic"
        scale, unit = (180.0 / np.pi, "°") if turns else (1.0, "m")
        ends = [float(end[0]) if single else np.inf for end in joint.position_limits]
        range_texts = [f"{scale * end:.4g} {unit}" if np.isfinite(end) else "–" for end in ends]
        body.append([html.escape(joint.name), joint.kind, *range_texts])
    return _cut(["joint", "kind", "from", "to"], body)


def _cut(head: Sequence[str], body: Sequence[Sequence[str]], count: int | None = None) -> str:
    """Return a table of the first rows, and the number of all rows."""
    total = len(body) if count is None else count
    rest = f"<p>… {total - _MOST_ROWS} more</p>" if total > _MOST_ROWS else ""
    return f'<div class="chasles-table">{_SPACE}{table(head, body[:_MOST_ROWS])}</div>{rest}'
