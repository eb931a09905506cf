"""Interactive HTML page of a robot, self-contained with the robot and its kernels."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles import model
from chasles._version import __version__
from chasles.distances.bodies import Body, HalfSpace
from chasles.engine.targets.wasm import program_script
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.visual.bodies import Packages, robot_bodies
from chasles.visual.encoding import embedded_json
from chasles.visual.page import document, scene_script
from chasles.visual.scene import add_obstacles, bodies_data, still_scene
from chasles.visual.view.companions import Companion, add_companions
from chasles.visual.view.loops import USUAL, PageLaw
from chasles.visual.view.mechanism import mechanism_data

#: The browser itself refuses whatever would leave the page; a live page may also talk to its own server.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
)
_SCRIPTS = (
    *("numbers.js", "mechanism.js", "gizmo.js", "panels.js", "player.js", "motion.js", "closed_loop.js"),
    *("simulation.js", "pendant.js", "link.js", "view.js"),
)


def view_page(
    robot: Robot,
    q: NDArray[np.float64],
    *,
    title: str,
    ghosts: Mapping[str, NDArray[np.float64]] | None = None,
    first: str = "",
    recording: Mapping[str, Any] | None = None,
    live: bool = False,
    framed: bool = False,
    packages: Packages | None = None,
    companions: Sequence[Companion] = (),
    obstacles: Sequence[Body | HalfSpace] = (),
    laws: Sequence[PageLaw] = USUAL,
    motion: JointTrajectory | None = None,
) -> str:
    """Return the text of the page.

    Parameters
    ----------
    robot
        Robot on the page.
    q
        Configuration at the start, shape (nq,).
    title
        Title of the page.
    ghosts
        Further configurations (nq,) by their labels, drawn translucent.
    first
        Label of the configuration at the start, if there are others.
    recording
        ``times`` (k,) in s, and ``runs``: positions (k, nq) by label.
    live
        Whether the page is connected to a server.
    framed
        Whether it exchanges messages with the page that shows it in a frame.
    packages
        Folders of packages of meshes, by name; see `chasles.model.mesh_path`.
    companions
        Further robots in the scene, each with its configuration or with those at the times of the recording.
    obstacles
        Bodies in the world and half-spaces.
    laws
        Laws under which the page simulates the robot: names of `chasles.control.laws`, controllers or functions.
    motion
        Motion that the laws can follow, in place of a goal.
    """
    poses = [q, *(ghosts or {}).values()]
    for run in (recording or {}).get("runs", {}).values():
        poses += list(run[:: max(1, len(run) // 50)])
    bodies = robot_bodies(robot.description, packages=packages)
    scene = still_scene(robot, np.array(poses), bodies)
    scene["bodies"] = bodies_data(robot, bodies, scene["links"], ("visual", "collision"), packages)
    add_obstacles(scene, obstacles)
    data = {
        "title": title,
        "name": robot.name,
        "source": _source(robot),
        "scene": scene,
        "companions": add_companions(scene, companions, packages),
        "notes": bodies.notes,
        "frames": [robot.frame_names.index(link) for link in scene["links"]],
        "frameNames": robot.frame_names,
        "q": q.tolist(),
        "first": first,
        "ghosts": [{"label": label, "q": other.tolist()} for label, other in (ghosts or {}).items()],
        "recording": _recorded(recording),
        "live": live,
        "framed": framed,
        **mechanism_data(robot, scene["size"], laws, q, motion),
    }
    facts = f"{robot.n} degrees of freedom" if robot.n != 1 else "1 degree of freedom"
    content = f"""<header>
<h1 title="{html.escape(title, quote=True)}">{html.escape(title)}</h1><span class="quiet facts">{facts}</span>
<span class="space"></span>
<div class="cameras" role="group" aria-label="camera"></div>
<button type="button" class="theme" title="Light or dark">◐ Dark</button>
</header>
<main>
<div class="stage"><canvas tabindex="0" aria-label="the robot in 3D"></canvas>
<p class="notice" role="status"></p>
<div class="hint">drag to turn · shift-drag to move · scroll to zoom</div>
</div>
<aside class="panels"></aside>
</main>
<noscript><p class="notice">This page computes: it needs JavaScript.</p></noscript>
<script type="application/json" id="data">{embedded_json(data)}</script>
<!-- Written by Chasles {__version__}. This page is self-contained and loads nothing from a network. -->"""
    scripts = [program_script() + scene_script() + "".join(map(_own, _SCRIPTS))]
    policy = _POLICY.format(connect="'self'" if live else "'none'")
    return document(title, content, _own("view.css"), scripts, policy)


def _source(robot: Robot) -> str:
    """Return the argument of `chasles.load` for this robot: the name of a shipped robot or of a file to write."""
    name = robot.name
    if name in model.shipped() and model.load(name) == robot.description:
        return name
    return f"{name}.toml"


def _own(name: str) -> str:
    """Return the text of a script or style of the view."""
    return (files("chasles.visual.view") / "scripts" / name).read_text(encoding="utf-8")


def _recorded(recording: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if recording is None:
        return None
    return {
        "times": np.asarray(recording["times"]).tolist(),
        "runs": [{"label": label, "q": np.asarray(q).ravel().tolist()} for label, q in recording["runs"].items()],
    }
