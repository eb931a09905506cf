"""Pictures of robots in pixels: rays from a camera against capsules and cylinders, and triangles, as pages draw them.

A ray o + t d meets the surface at distance r from the line s + y a where a quadratic in t vanishes; between the ends it
is the tube, beyond them a ball (capsule) or a disc (cylinder).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.model import ModelWarning
from chasles.model.formats.mesh_surfaces import Texture
from chasles.robot.robot import Robot
from chasles.visual.bodies import Kind, Packages, robot_bodies
from chasles.visual.scene import link_poses, still_scene
from chasles.visual.triangles import corner_normals, drawn

Floats = NDArray[np.float64]
Theme = Literal["light", "dark"]

AZIMUTH, ELEVATION = -0.85, 0.42
TANGENT = np.tan(0.3)
"""Half of the picture's height at distance 1, as in the pages."""
ROOM = 1.25
"""Height of the picture in that of the scene."""
NEAREST = 0.3
"""Least distance from the scene's middle, in lengths of the robot."""
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


class LinkTriangles(NamedTuple):
    """Triangles of one part of a robot on a link: corners and normals (m, 3, 3) in the link's frame, color, texture."""

    link: int
    corners: Floats
    normals: Floats
    rgba: tuple[float, float, float, float]
    texture: Texture | None

    def colors(self, triangles: NDArray[np.intp], weights: Floats) -> Floats:
        """Return colors (k, 3) of points in some triangles, given by the weights (k, 3) of their corners."""
        if self.texture is None:
            return np.broadcast_to(self.rgba[:3], (len(triangles), 3))
        return self.texture.colors(np.einsum("kc,kci->ki", weights, self.texture.uv[triangles]))


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
    shown
        Bodies to draw: ``"visual"`` or ``"collision"`` shapes, or those ``"drawn"`` from the kinematics.
    packages
        Folders of packages of meshes, by name; see `chasles.model.mesh_path`.
    """

    def __init__(
        self,
        robot: Robot,
        q: Floats,
        size: tuple[int, int],
        theme: Theme = "light",
        oversampling: int = 2,
        shown: Kind = "visual",
        packages: Packages | None = None,
    ) -> None:
        self.robot, self.size, self.theme, self.oversampling = robot, size, theme, oversampling
        bodies = robot_bodies(robot.description, shown, packages)
        if bodies.notes:
            warnings.warn(f"{'; '.join(bodies.notes)}; their links are drawn by kinematics", ModelWarning, stacklevel=4)
        self.data = data = still_scene(robot, q, bodies)
        links = list(data["links"])
        self.meshes = []
        for link, surface, T, rgba, textured in bodies.placed:
            vertices, faces = bodies.triangles[surface]
            placed = vertices @ T[:3, :3].T + T[:3, 3]
            texture = bodies.texture(surface) if textured else None
            self.meshes.append(
                LinkTriangles(links.index(link), placed[faces], corner_normals(placed, faces), rgba, texture)
            )
        self._own = [links.index(link) for link in links if not bodies.placed or link in bodies.incomplete]
        level = np.cos(ELEVATION)
        forward = -np.array([level * np.cos(AZIMUTH), level * np.sin(AZIMUTH), np.sin(ELEVATION)])
        right = np.cross(forward, [0.0, 0.0, 1.0]) / level
        self.axes = np.stack([right, np.cross(right, forward), forward])
        self.eye = self._fitting()

    def _fitting(self) -> Floats:
        """Place from which the outline of the scene fits into the picture, with some room, as in the pages."""
        right, up, forward = self.axes @ np.array(self.data["outline"]).T
        offsets = []
        for across, slope in ((right, TANGENT * self.size[0] / self.size[1] / ROOM), (up, TANGENT / ROOM)):
            back = -forward
            ahead, behind = (back + across / slope).max(), (back - across / slope).max()
            offsets.append((0.5 * slope * (ahead - behind), 0.5 * (ahead + behind)))
        nearest = 0.5 * (forward.min() + forward.max()) - NEAREST * self.data["size"]
        distance = min(-offsets[0][1], -offsets[1][1], nearest)
        return np.asarray(np.array([offsets[0][0], offsets[1][0], distance]) @ self.axes)

    def image(self, q: Floats) -> NDArray[np.uint8]:
        """Return the picture of a configuration, (height, width, 3), sRGB."""
        width, height = (self.oversampling * pixels for pixels in self.size)
        x = TANGENT * (2.0 * (np.arange(width) + 0.5) - width) / height
        y = TANGENT * (height - 2.0 * (np.arange(height) + 0.5)) / height
        rays = np.stack(np.broadcast_arrays(x[None], y[:, None], 1.0), axis=-1) @ self.axes
        rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        T_world_link = self._poses(q)
        solids = self.solids(T_world_link)
        corners = [self._in_world(mesh, T_world_link) for mesh in self.meshes]
        pixels = self._ground(rays, solids, corners)
        depth = np.full(rays.shape[:2], np.inf)
        light = np.array([0.3, -0.2, 0.9]) - self.axes[2]
        light /= np.linalg.norm(light)
        for solid in solids:
            window = self._window(solid, x, y)
            t, normal = meeting(solid, self.eye, rays[window])
            nearer = t < depth[window]
            colors = shaded(solid.color, normal[nearer], -rays[window][nearer], light)
            depth[window] = np.where(nearer, t, depth[window])
            part = pixels[window]
            part[nearer] = colors
            pixels[window] = part
        self._draw_meshes(pixels, depth, rays, corners, T_world_link, light)
        n = self.oversampling
        mean = pixels.reshape(self.size[1], n, self.size[0], n, 3).mean(axis=(1, 3))
        return np.asarray(np.clip(255.0 * mean + 0.5, 0.0, 255.0), dtype=np.uint8)

    def _poses(self, q: Floats) -> Floats:
        """Poses (links, 4, 4) of the links of the picture."""
        return link_poses(self.robot, self.data["links"], q)

    @staticmethod
    def _in_world(mesh: LinkTriangles, T_world_link: Floats) -> Floats:
        T = T_world_link[mesh.link]
        return np.asarray(mesh.corners @ T[:3, :3].T + T[:3, 3])

    def _in_picture(self, corners: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Places in pixels and depths of points in the world; points behind the camera have no place."""
        p = (corners - self.eye) @ self.axes.T
        height, width = shape
        with np.errstate(divide="ignore", invalid="ignore"):
            x = 0.5 * (p[..., 0] / p[..., 2] * height / TANGENT + width) - 0.5
            y = 0.5 * (height - p[..., 1] / p[..., 2] * height / TANGENT) - 0.5
        return np.stack([x, y], axis=-1), p[..., 2]

    def _draw_meshes(
        self, pixels: Floats, depth: Floats, rays: Floats, corners: list[Floats], T_world_link: Floats, light: Floats
    ) -> None:
        """Draw the meshes over what is farther than they: solid ones first, then those that let light through."""
        height, width = depth.shape
        forward = rays @ self.axes[2]
        for opaque in (True, False):
            chosen = [k for k, mesh in enumerate(self.meshes) if (mesh.rgba[3] >= 1.0) is opaque]
            if not chosen:
                continue
            fragments = drawn(
                *self._in_picture(np.concatenate([corners[k] for k in chosen]), (height, width)), (width, height)
            )
            distance = fragments.depth / forward
            is_nearer = distance < depth
            number, weights = fragments.triangle[is_nearer], fragments.weights[is_nearer]
            normals = [self.meshes[k].normals @ T_world_link[self.meshes[k].link, :3, :3].T for k in chosen]
            n = np.einsum("kc,kci->ki", weights, np.concatenate(normals)[number])
            n /= np.maximum(np.linalg.norm(n, axis=-1, keepdims=True), 1e-12)
            n = np.where(np.sum(n * rays[is_nearer], axis=-1, keepdims=True) > 0.0, -n, n)  # the inside of open meshes
            first = np.cumsum([0, *(len(corners[k]) for k in chosen)])
            part = np.searchsorted(first, number, side="right") - 1
            colors, opacity = np.empty((len(number), 3)), np.array([self.meshes[k].rgba[3] for k in chosen])[part]
            for j, k in enumerate(chosen):
                of_part = part == j
                colors[of_part] = self.meshes[k].colors(number[of_part] - first[j], weights[of_part])
            shaded_colors = shaded(colors, n, -rays[is_nearer], light)
            pixels[is_nearer] += opacity[:, None] * (shaded_colors - pixels[is_nearer])
            if opaque:
                depth[is_nearer] = distance[is_nearer]

    def solids(self, T: Floats) -> list[Solid]:
        """Drawn shapes of the robot in the world, and the pedestal that it stands on."""
        data = self.data
        solids = []
        for shape in data["shapes"]:
            if shape["link"] not in self._own:
                continue
            R, p = T[shape["link"], :3, :3], T[shape["link"], :3, 3]
            start, end = (R @ np.array(shape[name]) + p for name in ("start", "end"))
            solids.append(Solid(shape["form"], COLORS[shape["role"]], start, end, shape["radius"]))
        if data["stands"]:
            (x, y, z), ground, size = T[0, :3, 3], data["ground"], data["size"]
            foot, top = np.array([x, y, ground]), np.array([x, y, ground + 0.012 * size])
            solids.append(Solid("cylinder", COLORS["base"], foot, top, 0.115 * size))
            if z > ground + 0.03 * size:
                solids.append(Solid("cylinder", COLORS["base"], foot, np.array([x, y, z]), 0.06 * size))
        return solids

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

    def _ground(self, rays: Floats, solids: list[Solid], corners: Sequence[Floats] = ()) -> Floats:
        """Background with the ground, its lines and the shadows on it, (height, width, 3)."""
        background, plane, ink, (*shade, strength) = THEMES[self.theme]
        pixels = np.broadcast_to(background, rays.shape).copy()
        ground = self.data["ground"]
        down = rays[..., 2] < -1e-6
        points = self.eye + rays[down] * ((ground - self.eye[2]) / rays[down][:, 2])[:, None]
        reach = 1.4 * max(self.data["extent"], self.data["size"])
        away = np.linalg.norm(points[:, :2] - self.data["middle"][:2], axis=1) / reach
        fade = np.clip((1.0 - away) / 0.65, 0.0, 1.0)
        fade = (fade * fade * (3.0 - 2.0 * fade))[:, None]
        target = self.data["size"] / 8.0
        power = 10.0 ** np.floor(np.log10(target))
        spacing = power * (1.0 if target < 2.0 * power else 2.0 if target < 5.0 * power else 5.0)
        thin = 0.6 * TANGENT * np.linalg.norm(points - self.eye, axis=1) / rays.shape[0]
        line = np.zeros(len(points))
        for step, width, strong in ((spacing, 1.0, 0.5), (5.0 * spacing, 1.6, 1.0)):
            gap = np.abs(points[:, :2] / step - np.round(points[:, :2] / step)) * step
            line = np.maximum(line, strong * (gap.min(axis=1) < width * thin * self.oversampling))
        color = np.array(plane) + line[:, None] * (np.array(ink) - plane)
        dark = self._shadow(points, solids)
        if corners:
            flat = np.concatenate(corners)
            flat = flat - SHADOW_LIGHT * ((flat[..., 2:] - ground) / SHADOW_LIGHT[2])
            height, width = rays.shape[:2]
            dark = np.maximum(
                dark, drawn(*self._in_picture(flat, (height, width)), (width, height)).triangle[down] >= 0
            )
        color = color + strength * dark[:, None] * (np.array(shade) - color)
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
        distance = np.where(on_tube, t, np.inf)
        if solid.form == "capsule":
            for center in (solid.start, solid.end):
                c = origins - center
                dc, cc = np.sum(rays * c, axis=-1), np.sum(c * c, axis=-1) - solid.radius**2
                ball = -dc - np.sqrt(dc**2 - cc)
                distance = np.fmin(distance, np.where(ball > 0.0, ball, np.inf))
        else:
            for end in (0.0, 1.0):
                disc = (end * aa - oa) / da
                off = o + disc[..., None] * rays - end * a
                distance = np.fmin(distance, np.where(np.sum(off * off, axis=-1) <= solid.radius**2, disc, np.inf))
        distance = np.where(distance > 0.0, distance, np.inf)
        at = o + np.where(np.isfinite(distance), distance, 0.0)[..., None] * rays
        along = at @ a / aa
        if solid.form == "capsule":
            normals = at - np.clip(along, 0.0, 1.0)[..., None] * a
        else:
            flat = np.abs(distance - t) > 1e-9 * np.abs(t)
            normals = np.where(
                flat[..., None], np.where(along > 0.5, 1.0, -1.0)[..., None] * a, at - along[..., None] * a
            )
        return distance, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def shaded(color: tuple[float, float, float] | Floats, normals: Floats, toward_eye: Floats, light: Floats) -> Floats:
    """Colors (k, 3) of points with these normals: light from the sky, the sun and the viewer, and a highlight."""
    half = light + toward_eye
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    sky, sun = 0.5 + 0.5 * normals[:, 2], np.maximum(normals @ light, 0.0)
    fill = np.maximum(np.sum(normals * toward_eye, axis=-1), 0.0)
    shine = np.maximum(np.sum(normals * half, axis=-1), 0.0) ** 40
    return np.asarray(color * (0.42 + 0.2 * sky + 0.38 * sun + 0.1 * fill)[:, None] + 0.16 * shine[:, None])
