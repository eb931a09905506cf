"""Further robots in the scene of a page: their shapes, their bodies and a kernel for their poses."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.wasm import lower
from chasles.robot.robot import Robot
from chasles.visual.bodies import Packages, robot_bodies
from chasles.visual.scene import bodies_data, frame_of, still_scene

_MOST_TRIANGLES = 20_000
_GAP = 0.2  # room at each side of a robot, in its lengths
_AZIMUTH = -0.5  # rad, of the camera: nearly from the front, as the robots stand side by side along y

#: A robot with its configuration (nq,), or with configurations (k, nq) at the times of the page's recording.
Companion = tuple[Robot, NDArray[np.float64]]


def add_companions(
    scene: dict[str, Any], others: Sequence[Companion], packages: Packages | None = None
) -> list[dict[str, Any]]:
    """Add the bodies of further robots to a scene, and return their data, ready for JSON.

    Parameters
    ----------
    scene
        Data of the page's own robot, as of `still_scene`, with its bodies; it grows to contain all robots.
    others
        Further robots.
    packages
        Folders of packages of meshes, by name.

    Returns
    -------
    list of dict
        For each robot its name, length, whether it stands on its root, drawn shapes, the key of its bodies, place
        beside the first robot, configurations and a module with the kernel ``frames``.
    """
    described = []
    outlines = [np.array(scene["outline"])]
    edge = outlines[0][:, 1].max() + _GAP * scene["size"]
    for k, (robot, q) in enumerate(others):
        bodies = robot_bodies(robot.description, packages=packages, most=_MOST_TRIANGLES)
        companion = still_scene(robot, np.atleast_2d(q)[:: max(1, len(np.atleast_2d(q)) // 50)], bodies)
        bodies_of = bodies_data(robot, bodies, companion["links"], ("visual",), packages).get("visual")
        if bodies_of is not None:
            scene["bodies"][f"companion {k}"] = bodies_of
        outline = np.array(companion["outline"])
        shift = edge + _GAP * companion["size"] - outline[:, 1].min()
        edge = shift + outline[:, 1].max() + _GAP * companion["size"]
        scene["ground"] = min(scene["ground"], companion["ground"])
        outlines.append(outline + np.array([0.0, shift, 0.0]))
        frames = lower({"frames": Kernel(robot.frame_poses.program, "map")})
        described.append(
            {
                "name": robot.name,
                "size": companion["size"],
                "stands": companion["stands"],
                "shapes": companion["shapes"],
                "frames": [robot.frame_names.index(link) for link in companion["links"]],
                "upright": companion["upright"],
                "shift": [0.0, float(shift), 0.0],
                "nq": robot.nq,
                "q": np.ravel(q).tolist(),
                "module": base64.b64encode(gzip.compress(frames.binary, mtime=0)).decode("ascii"),
            }
        )
    scene |= frame_of(np.concatenate(outlines), scene["ground"])
    if described:
        scene["camera"] = {**scene["camera"], "azimuth": _AZIMUTH}
    return described
