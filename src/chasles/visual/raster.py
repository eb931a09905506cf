"""Pictures of robots in pixels: triangles of bodies, or of capsules and cylinders that show the kinematics."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.geometry.elementary import rotation_taking_z_to
from chasles.model import ModelWarning
from chasles.model.formats.mesh_surfaces import Texture, surfaces
from chasles.model.shapes import Capsule, Cylinder
from chasles.robot.robot import Robot
from chasles.visual.bodies import Kind, Packages, robot_bodies
from chasles.visual.scene import CAMERA, COLORS, LIGHT, SHADING, THEMES, Theme, link_poses, still_scene
from chasles.visual.triangles import corner_normals, drawn

Floats = NDArray[np.float64]

#: Half of the picture's height at distance 1.
TANGENT = np.tan(0.5 * CAMERA["angle"])


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
        self.parts = []
        for link, surface, T, rgba, textured in bodies.placed:
            vertices, faces = bodies.triangles[surface]
            texture = bodies.texture(surface) if textured else None
            placed = vertices @ T[:3, :3].T + T[:3, 3]
            self.parts.append(
                LinkTriangles(links.index(link), placed[faces], corner_normals(placed, faces), rgba, texture)
            )
        for shape in data["shapes"]:
            if not bodies.placed or links[shape["link"]] in bodies.incomplete:
                ends = np.array(shape["start"]), np.array(shape["end"])
                self.parts.append(_solid(shape["link"], shape["form"], shape["role"], *ends, shape["radius"]))
        if data["stands"]:
            self.parts += self._base(self._poses(q[0])[0])
        azimuth, elevation = CAMERA["azimuth"], CAMERA["elevation"]
        level = np.cos(elevation)
        forward = -np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
        right = np.cross(forward, [0.0, 0.0, 1.0]) / level
        self.axes = np.stack([right, np.cross(right, forward), forward])
        self.eye = self._fitting()

    def _fitting(self) -> Floats:
        """Place from which the outline of the scene fits into the picture, with some room, as in the pages."""
        right, up, forward = self.axes @ np.array(self.data["outline"]).T
        offsets, room = [], CAMERA["room"]
        for across, slope in ((right, TANGENT * self.size[0] / self.size[1] / room), (up, TANGENT / room)):
            back = -forward
            ahead, behind = (back + across / slope).max(), (back - across / slope).max()
            offsets.append((0.5 * slope * (ahead - behind), 0.5 * (ahead + behind)))
        nearest = 0.5 * (forward.min() + forward.max()) - CAMERA["nearest"] * self.data["size"]
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
        corners = [self._in_world(part, T_world_link) for part in self.parts]
        pixels = self._ground(rays, corners)
        light = np.array(LIGHT["sun"]) - self.axes[2]
        light /= np.linalg.norm(light)
        self._draw(pixels, rays, corners, T_world_link, light)
        n = self.oversampling
        mean = pixels.reshape(self.size[1], n, self.size[0], n, 3).mean(axis=(1, 3))
        return np.asarray(np.clip(255.0 * mean + 0.5, 0.0, 255.0), dtype=np.uint8)

    def _poses(self, q: Floats) -> Floats:
        """Poses (links, 4, 4) of the links of the picture."""
        return link_poses(self.robot, self.data["links"], q)

    @staticmethod
    def _in_world(part: LinkTriangles, T_world_link: Floats) -> Floats:
        T = T_world_link[part.link]
        return np.asarray(part.corners @ T[:3, :3].T + T[:3, 3])

    def _in_picture(self, corners: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Places in pixels and depths of points in the world; points behind the camera have no place."""
        p = (corners - self.eye) @ self.axes.T
        height, width = shape
        with np.errstate(divide="ignore", invalid="ignore"):
            x = 0.5 * (p[..., 0] / p[..., 2] * height / TANGENT + width) - 0.5
            y = 0.5 * (height - p[..., 1] / p[..., 2] * height / TANGENT) - 0.5
        return np.stack([x, y], axis=-1), p[..., 2]

    def _draw(self, pixels: Floats, rays: Floats, corners: list[Floats], T_world_link: Floats, light: Floats) -> None:
        """Draw the parts over what is farther than they: solid ones first, then those that let light through."""
        height, width = rays.shape[:2]
        depth, forward = np.full((height, width), np.inf), rays @ self.axes[2]
        for opaque in (True, False):
            chosen = [k for k, part in enumerate(self.parts) if (part.rgba[3] >= 1.0) is opaque]
            if not chosen:
                continue
            fragments = drawn(
                *self._in_picture(np.concatenate([corners[k] for k in chosen]), (height, width)), (width, height)
            )
            distance = fragments.depth / forward
            is_nearer = distance < depth
            number, weights = fragments.triangle[is_nearer], fragments.weights[is_nearer]
            normals = [self.parts[k].normals @ T_world_link[self.parts[k].link, :3, :3].T for k in chosen]
            n = np.einsum("kc,kci->ki", weights, np.concatenate(normals)[number])
            n /= np.maximum(np.linalg.norm(n, axis=-1, keepdims=True), 1e-12)
            n = np.where(np.sum(n * rays[is_nearer], axis=-1, keepdims=True) > 0.0, -n, n)  # the inside of open meshes
            first = np.cumsum([0, *(len(corners[k]) for k in chosen)])
            owner = np.searchsorted(first, number, side="right") - 1
            colors, opacity = np.empty((len(number), 3)), np.array([self.parts[k].rgba[3] for k in chosen])[owner]
            for j, k in enumerate(chosen):
                of_part = owner == j
                colors[of_part] = self.parts[k].colors(number[of_part] - first[j], weights[of_part])
            shaded_colors = shaded(colors, n, -rays[is_nearer], light)
            pixels[is_nearer] += opacity[:, None] * (shaded_colors - pixels[is_nearer])
            if opaque:
                depth[is_nearer] = distance[is_nearer]

    def _base(self, T_world_root: Floats) -> list[LinkTriangles]:
        """Return the plate, and the pedestal, that the root of the robot stands on, carried by the root."""
        p, ground, size = T_world_root[:3, 3], self.data["ground"], self.data["size"]
        foot = np.array([*p[:2], ground])
        tops = [(np.array([*p[:2], ground + 0.012 * size]), 0.115 * size)]
        if p[2] > ground + 0.03 * size:
            tops.append((p, 0.06 * size))
        down, *up = ((point - p) @ T_world_root[:3, :3] for point in (foot, *(top for top, _ in tops)))
        return [_solid(0, "cylinder", "base", down, top, radius) for top, (_, radius) in zip(up, tops, strict=True)]

    def _ground(self, rays: Floats, corners: Sequence[Floats]) -> Floats:
        """Background with the ground, its lines and the shadows on it, (height, width, 3)."""
        theme = {part: np.array(color) for part, color in THEMES[self.theme].items()}
        pixels = np.broadcast_to(theme["background"], rays.shape).copy()
        ground = self.data["ground"]
        down = rays[..., 2] < -1e-6
        points = self.eye + rays[down] * ((ground - self.eye[2]) / rays[down][:, 2])[:, None]
        reach = 1.4 * max(self.data["extent"], self.data["size"])
        away = np.linalg.norm(points[:, :2] - self.data["middle"][:2], axis=1) / reach
        fade = np.clip((1.0 - away) / 0.65, 0.0, 1.0)
        fade = (fade * fade * (3.0 - 2.0 * fade))[:, None]
        spacing = self.data["grid"]
        thin = 0.6 * TANGENT * np.linalg.norm(points - self.eye, axis=1) / rays.shape[0]
        line = np.zeros(len(points))
        for step, width, strong in ((spacing, 1.0, 0.5), (5.0 * spacing, 1.6, 1.0)):
            gap = np.abs(points[:, :2] / step - np.round(points[:, :2] / step)) * step
            line = np.maximum(line, strong * (gap.min(axis=1) < width * thin * self.oversampling))
        color = theme["plane"] + line[:, None] * (theme["ink"] - theme["plane"])
        if corners:
            flat = np.concatenate(corners)
            x, y, z = LIGHT["shadow"]
            flat = flat - np.array([x, y, z]) * ((flat[..., 2:] - ground) / z)
            height, width = rays.shape[:2]
            dark = drawn(*self._in_picture(flat, (height, width)), (width, height)).triangle[down] >= 0
            color[dark] += theme["shade"][3] * (theme["shade"][:3] - color[dark])
        pixels[down] = theme["background"] + fade * (color - theme["background"])
        return pixels


def solid_triangles(form: str, start: Floats, end: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return corners and normals (m, 3, 3) of the triangles of a capsule or cylinder between two points.

    Examples
    --------
    >>> corners, normals = solid_triangles("cylinder", np.zeros(3), np.array([2.0, 0.0, 0.0]), 0.1)
    >>> np.ptp(corners.reshape(-1, 3), axis=0).round(6)
    array([2. , 0.2, 0.2])
    """
    axis = end - start
    length = float(np.linalg.norm(axis))
    (surface,) = surfaces((Capsule if form == "capsule" else Cylinder)(radius, length))
    R = rotation_taking_z_to(axis / length) if length else np.eye(3)
    turned, faces = surface.vertices @ R.T, surface.faces
    if form == "cylinder":
        normals = corner_normals(turned, faces)
    else:  # the ends of a short one are as smooth as a ball
        height = surface.vertices[:, 2:]
        normals = ((turned - np.clip(height, -0.5 * length, 0.5 * length) * R[:, 2]) / radius)[faces]
    return turned[faces] + 0.5 * (start + end), normals


def _solid(link: int, form: str, role: str, start: Floats, end: Floats, radius: float) -> LinkTriangles:
    return LinkTriangles(link, *solid_triangles(form, start, end, radius), (*COLORS[role], 1.0), None)


def shaded(color: tuple[float, float, float] | Floats, normals: Floats, toward_eye: Floats, light: Floats) -> Floats:
    """Colors (k, 3) of points with these normals: light from the sky, the sun and the viewer, and a highlight."""
    half = light + toward_eye
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    sky, sun = 0.5 + 0.5 * normals[:, 2], np.maximum(normals @ light, 0.0)
    fill = np.maximum(np.sum(normals * toward_eye, axis=-1), 0.0)
    shine = np.maximum(np.sum(normals * half, axis=-1), 0.0) ** SHADING["shininess"]
    diffuse = SHADING["ambient"] + SHADING["sky"] * sky + SHADING["sun"] * sun + SHADING["fill"] * fill
    return np.asarray(color * diffuse[:, None] + SHADING["gloss"] * shine[:, None])
