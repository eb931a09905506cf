"""Self-contained HTML report of runs: plots, tables and the moving robot."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError
from chasles.model import to_toml
from chasles.robot.robot import Robot
from chasles.simulation.energy_audit import energy_audit
from chasles.simulation.metrics import run_metrics, run_robot
from chasles.visual.bodies import Packages
from chasles.visual.encoding import embedded_json
from chasles.visual.energy import energy_figure
from chasles.visual.figures import tracking_figure
from chasles.visual.page import asset, scene_script, write_page
from chasles.visual.panels import shown_runs
from chasles.visual.scene import scene_data
from chasles.visual.scores import scores_figure
from chasles.visual.summary import by_run, require_run, run_labels, tracking_summary
from chasles.visual.tables import joint_table, metrics_table
from chasles.visual.view.page import view_page
from chasles.visual.words import run_summary

_NO_ROBOT = '<p class="quiet">This run has no description of its robot, so there is no 3D view.</p>'
_SPEEDS = (("0.25", "¼ speed"), ("0.5", "½ speed"), ("1", "true speed"), ("2", "double speed"))


@verbs.report.register(Mapping)
def write_report(
    runs: Mapping[str, xarray.Dataset],
    path: str | PathLike[str],
    title: str | None = None,
    *,
    packages: Packages | None = None,
) -> Path:
    """Write a self-contained HTML report of runs.

    The report has, for each run, a summary of the tracking of joints and tool, tables, plots of positions, errors and
    torques, and the robot's motion in 3D. A batch adds errors over the varied parameters, an audited run its energy
    balance. The page needs no network and no other file.

    Parameters
    ----------
    runs
        Results of `chasles.simulate` by title. A batch of up to 20 runs is drawn as range and lines, a larger one as
        range, band of 90 % and median; at most 20 runs move in 3D.
    path
        File to write; its folder must exist.
    title
        Title of the page; default: that of the run, or "Closed-loop simulation" above several.
    packages
        Folders of packages of meshes, by name; see `chasles.model.mesh_path`.

    Returns
    -------
    Path
        Absolute path of the file.

    Raises
    ------
    MissingExtraError
        Plotly is not installed; the page contains its plotting code.
    ArgumentError
        A dataset is not the result of a simulation, or the file cannot be written.

    Examples
    --------
    >>> import chasles as ch, tempfile
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    >>> run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report({"first try": run}, folder + "/run.html").name
    'run.html'
    """
    if not runs:
        raise ArgumentError("runs is empty; a report needs at least one run")
    hands: dict[str, str] = {}
    if title is None:
        title = next(iter(runs)) if len(runs) == 1 else "Closed-loop simulation"
    sections = "\n".join(
        _section("" if name == title else f"<h2>{html.escape(name)}</h2>", run, hands, packages)
        for name, run in runs.items()
    )
    sections += "".join(f'\n<script type="text/plain" id="{key}">{page}</script>' for key, page in hands.items())
    return write_page(path, title, sections, scripts=[scene_script(), asset("viewer.js"), asset("report.js")])


@verbs.report.register(xarray.Dataset)
def _write_run_report(
    run: xarray.Dataset, path: str | PathLike[str], title: str | None = None, *, packages: Packages | None = None
) -> Path:
    require_run(run)
    name = title or str(run.attrs.get("robot", "run"))
    return write_report({name: run}, path, packages=packages)


def _section(heading: str, run: xarray.Dataset, hands: dict[str, str], packages: Packages | None) -> str:
    """Return the part of one run below its heading; `hands` collects packed pages of the robots, by identifier."""
    require_run(run)
    labels = run_labels(run)
    run_indices = shown_runs(len(labels))
    robot = _robot(run)
    metrics = run_metrics(run) if run.sizes["time"] > 1 else None
    data: dict[str, Any] = {"figure": tracking_figure(run), "more": _more_figures(run, metrics)}
    notes: list[str] = []
    if robot is not None:
        q = by_run(run, "q")[run_indices]
        times = np.asarray(run["time"].values, dtype=float)
        data["scene"] = scene_data(robot, times, q, [labels[k] for k in run_indices], packages)
        data["hand"] = _hand(robot, q[0, 0], hands, packages)
        notes = data["scene"].pop("notes")
    words = "" if metrics is None else f'<p class="words">{html.escape(run_summary(run, metrics))}</p>'
    numbers = "" if metrics is None else metrics_table(run, metrics)
    return f"""<section class="run-section">
{heading}
{_facts(run, robot, len(labels), len(run_indices))}
{words}
<div class="top">
{_view([labels[k] for k in run_indices], notes) if robot is not None else _NO_ROBOT}
<div class="table">{joint_table(tracking_summary(run), robot, errors="error" in run)}
{numbers}</div>
</div>
<div class="plots"><div class="plot"></div><div class="cursor" hidden></div></div>
<div class="more"></div>
<script type="application/json">{embedded_json(data)}</script>
</section>"""


def _hand(robot: Robot, q: NDArray[np.float64], hands: dict[str, str], packages: Packages | None) -> str:
    """Return the identifier of the page on which a robot can be moved, shared by the runs of equal robots."""
    toml = to_toml(robot.description, mesh_folders=True)
    key = f"hand-{hashlib.sha256(toml.encode()).hexdigest()[:12]}"
    if key not in hands:
        start = q if np.isfinite(q).all() else robot.home
        page = view_page(robot, start, title=robot.name, packages=packages)
        hands[key] = base64.b64encode(gzip.compress(page.encode("utf-8"), mtime=0)).decode("ascii")
    return key


def _more_figures(run: xarray.Dataset, metrics: xarray.Dataset | None) -> list[dict[str, Any]]:
    """Return figures of errors over varied parameters, and of the energy balance, where they exist."""
    scores = scores_figure(run, metrics) if metrics is not None else None
    audited = any(str(name).startswith("energy.") for name in run.data_vars)
    return [*([scores] if scores else []), *([energy_figure(energy_audit(run).balance)] if audited else [])]


def _robot(run: xarray.Dataset) -> Robot | None:
    """Return the robot that moved, from the description in the run's attributes."""
    return run_robot(run) if "robot_toml" in run.attrs else None


def _facts(run: xarray.Dataset, robot: Robot | None, count: int, shown: int) -> str:
    time = run["time"].values
    facts: dict[str, object] = {
        "robot": run.attrs.get("robot", "unknown"),
        "controller": run.attrs.get("controller"),
        "control period": _milliseconds(run.attrs.get("period")),
        "delay": _milliseconds(run.attrs.get("delay") or None),
        "integrator": run.attrs.get("integrator"),
        "duration": f"{float(time[-1] - time[0]):.4g} s",
        "payload": f"{robot.description.payload.mass:.4g} kg" if robot and robot.description.payload.mass else None,
        "joint friction": _own_friction(robot),
        "effects": run.attrs.get("effects") or None,
        "at effort limits": _saturated(run),
        "runs": f"{count} ({shown} drawn)" if count > shown else count if count > 1 else None,
    }
    texts = {name: html.escape(str(fact)) for name, fact in facts.items() if fact is not None}
    items = "".join(f"<li>{name} <b>{fact}</b></li>" for name, fact in texts.items())
    return f'<ul class="facts">{items}</ul>'


def _own_friction(robot: Robot | None) -> str | None:
    """Kinds of friction in the robot's description."""
    if robot is None:
        return None
    joints = robot.description.joints
    kinds = {"viscous": "viscous_friction", "Coulomb": "coulomb_friction"}
    return " and ".join(kind for kind, name in kinds.items() if any(getattr(j, name) for j in joints)) or None


def _saturated(run: xarray.Dataset) -> str | None:
    """Return the joint that was longest at its effort limit, and for how long."""
    if "saturation_time" not in run:
        return None
    saturated = run["saturation_time"].transpose(..., "joint").values.reshape(-1, run.sizes["joint"])
    longest = np.nan_to_num(saturated).max(axis=0, initial=0.0)
    joint = int(longest.argmax())
    return f"{run['joint'].values[joint]}, {longest[joint]:.3g} s" if longest[joint] > 0.0 else None


def _milliseconds(seconds: Any) -> str | None:
    return None if seconds is None else f"{1e3 * float(seconds):.4g} ms"


def _view(labels: list[str], notes: list[str]) -> str:
    select = ""
    if len(labels) > 1:
        options = "".join(f'<option value="{k}">{html.escape(label)}</option>' for k, label in enumerate(labels))
        select = f'<select class="run" aria-label="run shown in 3D">{options}</select>'
    missing = f'<p class="quiet missing">{html.escape(". ".join(notes))}.</p>' if notes else ""
    speeds = "".join(
        f'<option value="{value}"{" selected" if value == "1" else ""}>{text}</option>' for value, text in _SPEEDS
    )
    return f"""<div>{select}
<div class="view"><canvas tabindex="0" aria-label="the robot's motion in 3D"></canvas>
<div class="hint"><span class="grid-size"></span> · drag to rotate, shift-drag to pan, click and scroll to zoom</div>
</div>
<div class="player"><button class="play" type="button">Play</button>
<input type="range" value="0" aria-label="time"><span class="clock"></span>
<select class="speed" aria-label="speed">{speeds}</select>
<button class="hand" type="button" title="Move joints or tool, or let it go">Open interactive view</button></div>
{missing}</div>"""
