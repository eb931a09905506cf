"""Pictures of robots in pixels: rays from a camera against capsules and cylinders, as the pages draw them.

A ray o + t d meets the surface at distance r from the line s + y a where a quadratic in t vanishes; between the ends it
is the tube, beyond them a ball (capsule) or a disc (cylinder).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.robot import Robot
from chasles.visual.scene import still_scene

Floats = NDArray[np.float64]
Theme = Literal["light", "dark"]

AZIMUTH, ELEVATION = -0.85, 0.42
TANGENT = np.tan(0.3)
"""Half of the picture's height at distance 1, as in the pages."""
SHADOW_LIGHT = np.array([0.35, -0.3, 0.9]) / np.linalg.norm([0.35, -0.3, 0.9])
COLORS = {
    "link": (0.93, 0.935, 0.94),
    "joint": (0.23, 0.47, 0.66),
    "sleeve": (0.23, 0.47, 0.66),
    "slide": (0.62, 0.66, 0.7),
    "base": (0.5, 0.55, 0.6),
}
THEMES = {
    "light": ((0.975, 0.98, 0.985), (0.935, 0.947, 0.958), (0.72, 0.765, 0.81), (0.16, 0.2, 0.25, 0.3)),
    "dark": ((0.075, 0.09, 0.105), (0.1, 0.118, 0.136), (0.26, 0.3, 0.34), (0.0, 0.0, 0.0, 0.5)),
}
"""Background, ground, its lines, and the shadow with its strength."""


class Solid(NamedTuple):
    """Capsule or cylinder in the world."""

    form: str
    color: tuple[float, float, float]
    start: Floats
    end: Floats
    radius: float


class Camera:
    """A robot seen from one place, in every configuration.

    Parameters
    ----------
    robot
        Robot to draw.
    q
        Configurations (k, nq) that the picture must contain.
    size
        Width and height, pixels.
    theme
        ``"light"`` or ``"dark"``.
    oversampling
        Rays in a row of each pixel; 1 draws jagged edges four times as fast as 2.
    """

    def __init__(
        self, robot: Robot, q: Floats, size: tuple[int, int], theme: Theme = "light", oversampling: int = 2
    ) -> None:
        self.robot, self.size, self.theme, self.oversampling = robot, size, theme, oversampling
        self.data = data = still_scene(robot, q)
        self.middle = np.array(data["middle"])
        distance = 1.35 * max(data["extent"], 0.6 * data["size"]) + 0.35 * data["size"]
        level = np.cos(ELEVATION)
        forward = -np.array([level * np.cos(AZIMUTH), level * np.sin(AZIMUTH), np.sin(ELEVATION)])
        right = np.cross(forward, [0.0, 0.0, 1.0]) / level
        self.axes = np.stack([right, np.cross(right, forward), forward])
        self.eye = self.middle - distance * forward

    def image(self, q: Floats) -> NDArray[np.uint8]:
        """Return the picture of a configuration, (height, width, 3), sRGB."""
        width, height = (self.oversampling * pixels for pixels in self.size)
        x = TANGENT * (2.0 * (np.arange(width) + 0.5) - width) / height
        y = TANGENT * (height - 2.0 * (np.arange(height) + 0.5)) / height
        rays = np.stack(np.broadcast_arrays(x[None], y[:, None], 1.0), axis=-1) @ self.axes
        rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        solids = self.solids(q)
        pixels = self._ground(rays, solids)
        depth = np.full(rays.shape[:2], np.inf)
        light = self.eye - self.middle + np.linalg.norm(self.eye - self.middle) * np.array([0.3, -0.2, 0.9])
        light /= np.linalg.norm(light)
        for solid in solids:
            window = self._window(solid, x, y)
            t, normal = meeting(solid, self.eye, rays[window])
            nearer = t < depth[window]
            shown = shaded(solid.color, normal[nearer], -rays[window][nearer], light)
            depth[window] = np.where(nearer, t, depth[window])
            part = pixels[window]
            part[nearer] = shown
            pixels[window] = part
        n = self.oversampling
        mean = pixels.reshape(self.size[1], n, self.size[0], n, 3).mean(axis=(1, 3))
        return np.asarray(np.clip(255.0 * mean + 0.5, 0.0, 255.0), dtype=np.uint8)

    def solids(self, q: Floats) -> list[Solid]:
        """Shapes of the robot in the world, and the pedestal that it stands on."""
        data, frames = self.data, self.robot.frame_names
        T = np.asarray(self.robot.frame_poses(q))[[frames.index(name) for name in data["links"]]]
        found = []
        for shape in data["shapes"]:
            R, p = T[shape["link"], :3, :3], T[shape["link"], :3, 3]
            start, end = (R @ np.array(shape[name]) + p for name in ("start", "end"))
            found.append(Solid(shape["form"], COLORS[shape["role"]], start, end, shape["radius"]))
        if data["stands"]:
            (x, y, z), ground, size = T[0, :3, 3], data["ground"], data["size"]
            foot, top = np.array([x, y, ground]), np.array([x, y, ground + 0.012 * size])
            found.append(Solid("cylinder", COLORS["base"], foot, top, 0.115 * size))
            if z > ground + 0.03 * size:
                found.append(Solid("cylinder", COLORS["base"], foot, np.array([x, y, z]), 0.06 * size))
        return found

    def _window(self, solid: Solid, x: Floats, y: Floats) -> tuple[slice, slice]:
        """Rows and columns of the picture that may show a solid."""
        ends = (np.stack([solid.start, solid.end]) - self.eye) @ self.axes.T
        near = float(ends[:, 2].min()) - solid.radius
        if near <= 0.0:
            return slice(None), slice(None)
        reach = 1.5 * solid.radius / near
        low, high = (ends[:, :2] / ends[:, 2:]).min(axis=0) - reach, (ends[:, :2] / ends[:, 2:]).max(axis=0) + reach
        columns = slice(*np.searchsorted(x, [low[0], high[0]]).tolist())
        rows = slice(*(len(y) - np.searchsorted(y[::-1], [high[1], low[1]])).tolist())
        return rows, columns

    def _ground(self, rays: Floats, solids: list[Solid]) -> Floats:
        """Background with the ground, its lines and the shadows on it, (height, width, 3)."""
        background, plane, ink, (*shade, strength) = THEMES[self.theme]
        pixels = np.broadcast_to(background, rays.shape).copy()
        ground = self.data["ground"]
        down = rays[..., 2] < -1e-6
        points = self.eye + rays[down] * ((ground - self.eye[2]) / rays[down][:, 2])[:, None]
        reach = 1.4 * max(self.data["extent"], self.data["size"])
        away = np.linalg.norm(points[:, :2] - self.middle[:2], axis=1) / reach
        fade = np.clip((1.0 - away) / 0.65, 0.0, 1.0)
        fade = (fade * fade * (3.0 - 2.0 * fade))[:, None]
        wanted = self.data["size"] / 8.0
        power = 10.0 ** np.floor(np.log10(wanted))
        spacing = power * (1.0 if wanted < 2.0 * power else 2.0 if wanted < 5.0 * power else 5.0)
        thin = 0.6 * TANGENT * np.linalg.norm(points - self.eye, axis=1) / rays.shape[0]
        line = np.zeros(len(points))
        for step, width, strong in ((spacing, 1.0, 0.5), (5.0 * spacing, 1.6, 1.0)):
            gap = np.abs(points[:, :2] / step - np.round(points[:, :2] / step)) * step
            line = np.maximum(line, strong * (gap.min(axis=1) < width * thin * self.oversampling))
        color = np.array(plane) + line[:, None] * (np.array(ink) - plane)
        color = color + strength * self._shadow(points, solids)[:, None] * (np.array(shade) - color)
        pixels[down] = background + fade * (color - background)
        return pixels

    def _shadow(self, points: Floats, solids: list[Solid]) -> Floats:
        """Whether points of the ground see the light, 0, or a solid, 1."""
        dark = np.zeros(len(points))
        for solid in solids:
            ends = np.stack([solid.start, solid.end])
            ends = ends - SHADOW_LIGHT * ((ends[:, 2:] - self.data["ground"]) / SHADOW_LIGHT[2])
            low, high = ends.min(axis=0)[:2] - 1.6 * solid.radius, ends.max(axis=0)[:2] + 1.6 * solid.radius
            near = np.flatnonzero(((points[:, :2] > low) & (points[:, :2] < high)).all(axis=1))
            if near.size:
                rays = np.broadcast_to(SHADOW_LIGHT, (near.size, 3))
                dark[near] = np.maximum(dark[near], meeting(solid, points[near], rays)[0] < np.inf)
        return dark


def meeting(solid: Solid, origins: Floats, rays: Floats) -> tuple[Floats, Floats]:
    """Distances (...,) to a solid along unit rays (..., 3), inf for those that miss, and its normals there (..., 3)."""
    a = solid.end - solid.start
    o = origins - solid.start
    aa, da, oa, do = a @ a, rays @ a, o @ a, np.sum(o * rays, axis=-1)
    oo = np.sum(o * o, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The tube: |o + t d - y a|² = r² with y along the axis.
        k2, k1, k0 = aa - da**2, aa * do - oa * da, aa * oo - oa**2 - solid.radius**2 * aa
        root = np.sqrt(k1**2 - k2 * k0)
        t = (-k1 - root) / k2
        y = (oa + t * da) / aa
        on_tube = (y >= 0.0) & (y <= 1.0)
        found = np.where(on_tube, t, np.inf)
        if solid.form == "capsule":
            for center in (solid.start, solid.end):
                c = origins - center
                dc, cc = np.sum(rays * c, axis=-1), np.sum(c * c, axis=-1) - solid.radius**2
                ball = -dc - np.sqrt(dc**2 - cc)
                found = np.fmin(found, np.where(ball > 0.0, ball, np.inf))
        else:
            for place in (0.0, 1.0):
                disc = (place * aa - oa) / da
                off = o + disc[..., None] * rays - place * a
                found = np.fmin(found, np.where(np.sum(off * off, axis=-1) <= solid.radius**2, disc, np.inf))
        found = np.where(found > 0.0, found, np.inf)
        at = o + np.where(np.isfinite(found), found, 0.0)[..., None] * rays
        along = at @ a / aa
        if solid.form == "capsule":
            normals = at - np.clip(along, 0.0, 1.0)[..., None] * a
        else:
            flat = np.abs(found - t) > 1e-9 * np.abs(t)
            normals = np.where(
                flat[..., None], np.where(along > 0.5, 1.0, -1.0)[..., None] * a, at - along[..., None] * a
            )
        return found, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def shaded(color: tuple[float, float, float], normals: Floats, toward_eye: Floats, light: Floats) -> Floats:
    """Colors (k, 3) of points with these normals: light from the sky, the sun and the viewer, and a highlight."""
    half = light + toward_eye
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    sky, sun = 0.5 + 0.5 * normals[:, 2], np.maximum(normals @ light, 0.0)
    fill = np.maximum(np.sum(normals * toward_eye, axis=-1), 0.0)
    shine = np.maximum(np.sum(normals * half, axis=-1), 0.0) ** 40
    return np.asarray(color * (0.42 + 0.2 * sky + 0.38 * sun + 0.1 * fill)[:, None] + 0.16 * shine[:, None])
