"""Data of the 3D view: shapes of a robot, and poses of its links over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from chasles.base.errors import ArgumentError
from chasles.distances.bodies import Body, HalfSpace
from chasles.geometry.elementary import rotation_taking_z_to
from chasles.mechanics import Mechanics
from chasles.robot.robot import Robot
from chasles.visual.bodies import DrawnBodies, Kind, Packages, packed, robot_bodies
from chasles.visual.encoding import typed_array
from chasles.visual.shapes import Skeleton, skeleton

_FRAME_RATE = 60.0
_MOST_FRAMES = 1800
_MOST_POSES = 30_000  # of links, over all frames and runs: 1 MB in the page
_MOST_COLLISION_TRIANGLES = 12_000
#: Unit vectors to the faces, edges and corners of a cube.
_DIRECTIONS = np.array([d for d in np.ndindex(3, 3, 3) if d != (1, 1, 1)], dtype=np.float64) - 1.0
_DIRECTIONS /= np.linalg.norm(_DIRECTIONS, axis=1, keepdims=True)

#: Colors of the shapes that show the kinematics, and of what a robot stands on.
COLORS = {
    "link": (0.93, 0.935, 0.94),
    "joint": (0.23, 0.47, 0.66),
    "sleeve": (0.23, 0.47, 0.66),
    "slide": (0.62, 0.66, 0.7),
    "base": (0.5, 0.55, 0.6),
}
#: Where pictures and pages are seen from: direction to the viewer, rad; angle of view from the lower edge to the upper,
#: rad; height of the picture in that of the scene; and least distance from its middle, in lengths of the robot.
CAMERA = {"azimuth": -0.85, "elevation": 0.42, "angle": 0.6, "room": 1.25, "nearest": 0.3}
Theme = Literal["light", "dark"]
#: Colors of background, ground and its lines, and of shadows with their opacity.
THEMES: dict[Theme, dict[str, tuple[float, ...]]] = {
    "light": {
        "background": (0.975, 0.98, 0.985),
        "plane": (0.935, 0.947, 0.958),
        "ink": (0.72, 0.765, 0.81),
        "shade": (0.16, 0.2, 0.25, 0.3),
    },
    "dark": {
        "background": (0.075, 0.09, 0.105),
        "plane": (0.1, 0.118, 0.136),
        "ink": (0.26, 0.3, 0.34),
        "shade": (0.0, 0.0, 0.0, 0.5),
    },
}
#: Direction to the sun that casts the shadows, and how far the sun that lights solids is from the viewer's direction:
#: it goes along with the viewer, whose side of the robot is never dark.
LIGHT = {"shadow": (0.35, -0.3, 0.9), "sun": (0.3, -0.2, 0.9)}
#: Light of solids, as parts of their color: from everywhere, the sky, the sun and the viewer; then strength and
#: exponent of the white highlight (Blinn 1977, "Models of light reflection for computer synthesized pictures").
SHADING = {"ambient": 0.42, "sky": 0.2, "sun": 0.38, "fill": 0.1, "gloss": 0.16, "shininess": 32.0}


def scene_data(
    robot: Robot,
    times: NDArray[np.float64],
    q: NDArray[np.float64],
    labels: Sequence[str],
    packages: Packages | None = None,
) -> dict[str, Any]:
    """Return the data of the 3D view, ready for JSON.

    Parameters
    ----------
    robot
        Robot to draw.
    times, q
        Times (time,), s, and configurations (runs, time, nq).
    labels
        Name of each run.
    packages
        Folders of packages of meshes, by name; see `chasles.model.mesh_path`.

    Returns
    -------
    dict
        Shapes with the index of their link, and whether the robot stands on its root; times (frames,) and poses
        (runs, frames, links, 7), position and quaternion (x, y, z, w) in the world; ground level, outline that the
        first picture must contain, middle and diagonal of the box around it, in m; sentences about bodies that cannot
        be shown.
    """
    drawn = skeleton(robot.description)
    bodies = robot_bodies(robot.description, packages=packages)
    links = _links(drawn, bodies)
    frames = _frames(times, len(q) * len(links))
    T_world_link = link_poses(robot, links, last_finite(q[:, frames], robot.neutral))
    p = T_world_link[..., :3, 3]
    wxyz = Rotation.from_matrix(T_world_link[..., :3, :3].reshape(-1, 3, 3)).as_quat().reshape(*p.shape[:-1], 4)
    return _shapes(robot, drawn, bodies, links, T_world_link) | {
        "bodies": bodies_data(robot, bodies, links, ("visual",)),
        "notes": bodies.notes,
        "runs": list(labels),
        "times": typed_array(times[frames]),
        "poses": typed_array(np.concatenate([p, wxyz], axis=-1)),
    }


def still_scene(robot: Robot, q: NDArray[np.float64], bodies: DrawnBodies) -> dict[str, Any]:
    """Return the data of the 3D view of a robot whose poses the page computes.

    Parameters
    ----------
    robot
        Robot to draw.
    q
        Configurations (k, nq) that the first picture must contain.
    bodies
        Bodies of the picture, as of `robot_bodies`.

    Returns
    -------
    dict
        Data as of `scene_data`, without times, poses and triangles.
    """
    drawn = skeleton(robot.description)
    links = _links(drawn, bodies, [link.name for link in robot.description.links if link.collisions])
    return _shapes(robot, drawn, bodies, links, link_poses(robot, links, q[None]))


def add_obstacles(scene: dict[str, Any], obstacles: Sequence[Body | HalfSpace]) -> None:
    """Add obstacles in the world to a scene, whose outline grows to contain those of finite size.

    Raises
    ------
    ArgumentError
        An obstacle is neither a body in the world nor a half-space.
    """
    outlines = [np.array(scene["outline"])]
    R = np.reshape(scene["upright"], (4, 4))[:3, :3]
    for obstacle in obstacles:
        if not isinstance(obstacle, (Body, HalfSpace)) or obstacle.frame is not None:
            raise ArgumentError(f"obstacles must be bodies in the world (frame None) or half-spaces, not {obstacle!r}")
        if isinstance(obstacle, Body):
            ends = np.stack([obstacle.start, obstacle.end]) @ R.T
            outlines.append(_farthest(ends, obstacle.radius))
    scene |= frame_of(np.concatenate(outlines), scene["ground"])
    middle = np.array(scene["middle"])
    reach = max(scene["extent"], scene["size"])
    scene["obstacles"] = []
    for obstacle in obstacles:
        if isinstance(obstacle, HalfSpace):
            normal = R @ obstacle.normal
            foot = middle - ((middle - R @ obstacle.point) @ normal) * normal
            ends = np.stack([foot, foot + normal])
            form, radius, alpha = "disc", 0.6 * reach, 0.18
        else:
            ends = np.stack([obstacle.start, obstacle.end]) @ R.T
            ends[1, 2] += 1e-9 * obstacle.is_sphere
            form, radius, alpha = "capsule", obstacle.radius, None
        start, end = ends.tolist()
        scene["obstacles"].append({"form": form, "start": start, "end": end, "radius": radius, "alpha": alpha})


def bodies_data(
    robot: Robot, bodies: DrawnBodies, links: Sequence[str], kinds: Sequence[Kind], packages: Packages | None = None
) -> dict[str, Any]:
    """Return the bodies of a page by kind: packed triangles, parts, and the links that keep their drawn shapes.

    Parameters
    ----------
    robot
        Robot to draw.
    bodies
        Its visual bodies, as of `robot_bodies`.
    links
        Links of the scene.
    kinds
        Kinds of bodies.
    packages
        Folders of packages of meshes, by name.
    """
    data: dict[str, Any] = {}
    for kind in kinds:
        of_kind = (
            bodies if kind == "visual" else robot_bodies(robot.description, kind, packages, _MOST_COLLISION_TRIANGLES)
        )
        if not of_kind.placed:
            continue
        placements = [
            {"link": links.index(link), "surface": surface, "T": T.T.ravel().tolist(), "rgba": list(rgba)}
            | ({"textured": True} if textured else {})
            for link, surface, T, rgba, textured in of_kind.placed
        ]
        drawn = [links.index(link) for link in links if link in of_kind.incomplete]
        data[kind] = packed(of_kind) | {"parts": placements, "drawn": drawn}
    return data


def _links(drawn: Skeleton, bodies: DrawnBodies, further: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the links that carry shapes, root first."""
    shaped = (shape.link for shape in drawn.shapes)
    placed = (body.link for body in bodies.placed)
    return tuple(dict.fromkeys((drawn.root, *shaped, *placed, *further, drawn.tool)))


def upright(robot: Mechanics) -> NDArray[np.float64]:
    """Return the pose (4, 4) of the world in the picture, whose z axis points against gravity.

    Examples
    --------
    >>> import chasles as ch
    >>> upright(ch.load("planar2r"))[:3, :3] @ [0.0, 1.0, 0.0]  # in a vertical plane: gravity along -y
    array([0., 0., 1.])
    """
    T = np.eye(4)
    gravity = robot.description.gravity
    if gravity.any():
        T[:3, :3] = rotation_taking_z_to(-gravity / np.linalg.norm(gravity)).T
    return T


def link_poses(robot: Mechanics, links: Sequence[str], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return poses (..., links, 4, 4) of some links in the picture."""
    where = [robot.frame_names.index(name) for name in links]
    return upright(robot) @ np.asarray(robot.frame_poses(q))[..., where, :, :]


def _shapes(
    robot: Robot, drawn: Skeleton, bodies: DrawnBodies, links: Sequence[str], T_world_link: NDArray[np.float64]
) -> dict[str, Any]:
    """Return drawn shapes with the index of their link, and the extent at poses (runs, frames, links, 4, 4)."""
    ground, outline = _extent(drawn, bodies, links, T_world_link)
    size = _size(drawn, outline)
    return {
        "links": links,
        "tool": links.index(drawn.tool),
        "shapes": [
            {
                "link": links.index(shape.link),
                "form": shape.form,
                "role": shape.role,
                "start": shape.start.tolist(),
                "end": shape.end.tolist(),
                "radius": shape.radius,
            }
            for shape in drawn.shapes
        ],
        "size": size,
        "grid": _grid_spacing(size),
        "upright": upright(robot).ravel().tolist(),
        "stands": drawn.stands and not bodies.placed,
        "ground": ground,
        "colors": COLORS,
        "camera": CAMERA,
        "themes": THEMES,
        "light": LIGHT,
        "shading": SHADING,
    } | frame_of(outline, ground)


def _size(drawn: Skeleton, outline: NDArray[np.float64]) -> float:
    """Return the length by which frames, handles and the grid are drawn: not more than what is seen measures."""
    extent = float(np.linalg.norm(np.ptp(outline, axis=0)))
    return min(drawn.size, extent) if extent > 0.0 else drawn.size


def _grid_spacing(size: float) -> float:
    """Return the distance of the lines on the ground, m: 1, 2 or 5 times a power of ten, at most an eighth of size."""
    most = size / 8.0
    power = 10.0 ** np.floor(np.log10(most))
    return float(power * (1.0 if most < 2.0 * power else 2.0 if most < 5.0 * power else 5.0))


def frame_of(outline: NDArray[np.float64], ground: float) -> dict[str, Any]:
    """Return what frames the picture of a scene on level ground whose outermost points (k, 3) are known."""
    outline = _farthest(outline)
    low, high = outline.min(axis=0), outline.max(axis=0)
    low[2] = min(low[2], ground)
    extent = float(np.linalg.norm(high - low))
    return {"outline": outline.tolist(), "middle": (0.5 * (low + high)).tolist(), "extent": extent}


def _frames(times: NDArray[np.float64], poses_a_frame: int) -> NDArray[np.intp]:
    """Return the indices of the samples that are shown."""
    smooth = int(np.ceil((times[-1] - times[0]) * _FRAME_RATE)) + 1
    count = max(2, min(smooth, len(times), _MOST_FRAMES, _MOST_POSES // poses_a_frame))
    return np.unique(np.linspace(0, len(times) - 1, count).round().astype(np.intp))


def last_finite(q: NDArray[np.float64], neutral: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return configurations (runs, frames, nq) with the last finite one held where a run diverged."""
    finite = (np.abs(q) < 1e6).all(axis=-1)  # beyond, angles mean nothing and prismatic joints leave every picture
    if finite.all():
        return q
    last = np.maximum.accumulate(np.where(finite, np.arange(q.shape[1]), 0), axis=1)
    held = np.take_along_axis(q, last[..., None], axis=1)
    return np.where((np.isfinite(held) & (np.abs(held) < 1e6)).all(axis=-1, keepdims=True), held, neutral)


def _extent(
    drawn: Skeleton, bodies: DrawnBodies, links: Sequence[str], T_world_link: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the ground level, and the outermost points (k, 3) of what is seen at all poses."""
    T_world_root = T_world_link[0, 0, 0]
    tool = T_world_link[:, :, links.index(drawn.tool), :3, 3].reshape(-1, 3)
    outlines = [_farthest(tool)]
    deepest = 0.0
    for shape in drawn.shapes:
        if bodies.placed and shape.link not in bodies.incomplete:
            continue
        p = _moved(T_world_link[:, :, links.index(shape.link)], np.stack([shape.start, shape.end]))
        outlines.append(_farthest(p, shape.radius))
        if shape.link != drawn.root and not bodies.placed:
            deepest = min(deepest, float(p[:, 2].min()) - shape.radius)
    for link in bodies.links:
        p = _moved(T_world_link[:, :, links.index(link)], bodies.corners(link))
        outlines.append(_farthest(p))
        deepest = min(deepest, float(p[:, 2].min()))
    ground = min(float(T_world_root[2, 3]), 0.0)
    if deepest < ground:  # the arm reaches below its base frame, which then stands on a pedestal
        ground = deepest - (0.0 if bodies.placed else 0.08 * drawn.size)
    if drawn.stands and not bodies.placed:  # its plate
        outlines.append(np.append(T_world_root[:2, 3], ground) + 0.115 * drawn.size * _DIRECTIONS * [1.0, 1.0, 0.0])
    return ground, np.concatenate(outlines)


def _farthest(points: NDArray[np.float64], radius: float = 0.0) -> NDArray[np.float64]:
    """Return the farthest places (k, 3) of balls about points (m, 3) in 26 directions."""
    farthest = (points @ _DIRECTIONS.T).argmax(axis=0)
    return np.unique(points[farthest] + radius * _DIRECTIONS, axis=0)


def _moved(T_world_link: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points (k, 3) of a link at all its poses (..., 4, 4), shape (-1, 3)."""
    p = np.einsum("...ij,kj->...ki", T_world_link[..., :3, :3], points) + T_world_link[..., None, :3, 3]
    return np.asarray(p.reshape(-1, 3))
