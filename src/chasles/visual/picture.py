"""SVG picture of a robot in parallel projection, for notebooks and documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.mechanics import Mechanics
from chasles.visual.scene import CAMERA, link_poses
from chasles.visual.shapes import skeleton

#: Fill and outline of each role.
_COLORS = {
    "link": ("#e9ebee", "#9aa5b0"),
    "joint": ("#3b78a8", "#2a5a80"),
    "sleeve": ("#3b78a8", "#2a5a80"),
    "slide": ("#9ea8b3", "#77828d"),
}


def svg_picture(robot: Mechanics, q: NDArray[np.float64] | None = None, width: int = 260) -> str:
    """Return a picture of a robot as an SVG element.

    Parameters
    ----------
    robot
        Robot to draw.
    q
        Configuration, shape (nq,); default `home`.
    width
        Width and height, pixels.

    Examples
    --------
    >>> import chasles as ch
    >>> svg_picture(ch.load("planar2r")).startswith("<svg")
    True
    """
    drawn = skeleton(robot.description)
    T_world_link = link_poses(robot, drawn.links, robot.home if q is None else q)
    pose_of = dict(zip(drawn.links, T_world_link, strict=True))
    toward = _view_axes()[2]
    strokes = []
    for shape in drawn.shapes:
        T = pose_of[shape.link]
        ends = np.array([T[:3, :3] @ point + T[:3, 3] for point in (shape.start, shape.end)])
        strokes.append((float(np.mean(ends @ toward)), ends @ _view_axes()[:2].T, shape.radius, shape))
    strokes.sort(key=lambda stroke: stroke[0])  # the farthest first
    origin = pose_of[drawn.root][:3, 3] @ _view_axes()[:2].T
    points = np.concatenate([*(ends for _, ends, _, _ in strokes), origin[None]])
    margin = max((radius for _, _, radius, _ in strokes), default=0.0) + 0.03 * drawn.size
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    scale = width / float(np.max(high - low))
    middle = 0.5 * (low + high)
    lines = []
    for _, ends, radius, shape in strokes:
        (x1, y1), (x2, y2) = (ends - middle) * (scale, -scale) + 0.5 * width
        cap = "round" if shape.form == "capsule" else "butt"
        fill, outline = _COLORS[shape.role]
        for color, thickness in ((outline, 2.0 * radius * scale + 1.5), (fill, max(2.0 * radius * scale - 1.0, 1.0))):
            line = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            lines.append(f'<line {line} stroke="{color}" stroke-width="{thickness:.1f}" stroke-linecap="{cap}"/>')
    size = f'width="{width}" height="{width}" viewBox="0 0 {width} {width}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>{"".join(lines)}</svg>'


def _view_axes() -> NDArray[np.float64]:
    """Return the picture's axes in the world as rows: right, up, toward the viewer."""
    (ca, sa), (ce, se) = ((np.cos(angle), np.sin(angle)) for angle in (CAMERA["azimuth"], CAMERA["elevation"]))
    return np.array([[-sa, ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]])
