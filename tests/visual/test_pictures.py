"""Pictures and movies: solids and pixels are where geometry says, files hold what was asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.visual.raster import Camera, solid_triangles
from chasles.visual.triangles import drawn

Floats = NDArray[np.float64]


def distance_to(form: str, start: Floats, end: Floats, radius: float, points: Floats) -> Floats:
    """Signed distance (k,) of points (k, 3) to a solid, by geometry without triangles."""
    a = end - start
    y = (points - start) @ a / (a @ a)
    if form == "capsule":
        return np.linalg.norm(points - start - np.clip(y, 0, 1)[:, None] * a, axis=1) - radius
    across = np.linalg.norm(points - start - y[:, None] * a, axis=1) - radius
    along = (np.abs(y - 0.5) - 0.5) * np.linalg.norm(a)
    return np.where((across > 0) & (along > 0), np.hypot(across, along), np.maximum(across, along))


@given(seed=st.integers(0, 10_000), form=st.sampled_from(["capsule", "cylinder"]), short=st.booleans())
def test_solids_have_their_surface_and_their_normals(seed: int, form: str, short: bool) -> None:
    rng = np.random.default_rng(seed)
    start, radius = rng.normal(size=3), rng.uniform(0.05, 0.5)
    solid = form, start, start + (1e-6 if short else 1.0) * rng.normal(size=3), radius
    corners, normals = solid_triangles(*solid)
    sides = np.diff(corners, axis=1)
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    corners, normals = corners[area > 1e-9 * radius**2], normals[area > 1e-9 * radius**2]  # at poles there are none
    assert np.abs(distance_to(*solid, corners.reshape(-1, 3))).max() < 1e-9
    inside = distance_to(*solid, corners.mean(axis=1))
    assert (inside < 1e-9).all()
    assert (inside > -0.01 * radius).all()  # 1 - cos(π / 32) of the radius, of faces of 32 around and 16 upward
    assert np.abs(np.linalg.norm(normals, axis=-1) - 1.0).max() < 1e-9
    step = 1e-4 * radius
    ahead = distance_to(*solid, (corners + step * normals).reshape(-1, 3))
    assert ahead.min() > 0.9 * step  # they lead straight away, but for edges, where faces meet


@given(seed=st.integers(0, 10_000))
def test_pixels_show_the_nearest_triangle(seed: int) -> None:
    """Beside the same by all pairs of triangles and pixels; some triangles are slivers, or reach beyond the picture."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-5.0, 25.0, size=(12, 3, 2))
    places[0, 2] = places[0, :2].mean(axis=0) + 1e-3
    places[1] = np.array([[2.0, 3.0], [12.0, 3.0], [2.0, 11.0]]) + rng.integers(
        0, 6, size=2
    )  # at the centers of pixels
    depths = rng.uniform(1.0, 3.0, size=(12, 3))
    depths[2, 0] = -1.0
    fragments = drawn(places, depths, (20, 16))
    x, y = np.meshgrid(np.arange(20.0), np.arange(16.0))
    pixels = np.stack([x, y, np.ones_like(x)], axis=-1)
    matrices = np.concatenate([places, np.ones((12, 3, 1))], axis=-1).transpose(0, 2, 1)
    shares = np.einsum("tij,hwj->hwti", np.linalg.inv(matrices), pixels) / depths
    depth = np.where((shares * depths).min(axis=-1) >= -1e-9, 1.0 / shares.sum(axis=-1), np.inf)
    depth[..., 2] = np.inf  # behind the camera
    np.testing.assert_allclose(fragments.depth, depth.min(axis=-1), rtol=1e-7)
    seen = np.isfinite(fragments.depth)
    np.testing.assert_array_equal(fragments.triangle[seen], depth.argmin(axis=-1)[seen])
    assert (fragments.triangle[~seen] == -1).all()


def test_a_picture_shows_the_robot_where_it_is(tmp_path: Path) -> None:
    """The tool's own place in the picture has the color of a link, and the corner that of the background."""
    arm = ch.load("planar2r")
    for q in ([0.3, 0.5], [-1.0, 2.0]):
        camera = Camera(arm, np.array([q]), (200, 150))
        image = camera.image(np.array(q)).astype(float)
        x, y, _ = arm.forward_kinematics(q)[:3, 3]
        p = (np.array([x, 0.0, y]) - camera.eye) @ camera.axes.T  # gravity along -y points down
        column = round(100 + 75 * p[0] / p[2] / np.tan(0.3))
        row = round(75 - 75 * p[1] / p[2] / np.tan(0.3))
        empty = Camera(arm, np.array([q]), (200, 150))
        ground = empty._ground(np.broadcast_to(empty.axes[2], (1, 1, 3)), [])
        assert np.abs(image[row, column] / 255.0 - ground[0, 0]).max() > 0.02
        assert image[0, 0] == pytest.approx(255.0 * np.array([0.975, 0.98, 0.985]), abs=1.0)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp"])
def test_pictures_have_the_size_that_was_asked_for(suffix: str, tmp_path: Path) -> None:
    path = ch.picture(ch.load("scara"), tmp_path / f"arm{suffix}", size=(64, 48), theme="dark")
    with Image.open(path) as image:
        assert image.size == (64, 48)
        assert np.asarray(image.convert("RGB"))[0, 0].max() < 60


def test_vectors_and_free_bases(tmp_path: Path) -> None:
    assert ch.picture(ch.load("panda"), tmp_path / "arm.svg").read_text().startswith("<svg")
    floating = ch.load("planar2r").with_free_base()
    assert ch.picture(floating, tmp_path / "floating.png", size=(64, 48)).stat().st_size > 100


def test_movies_last_as_long_as_the_motion(tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.8)
    run = ch.simulate(arm, ch.PDGravity(arm, kp=100.0, kd=20.0), motion)
    small: dict[str, Any] = {"size": (48, 36), "frame_rate": 10}
    for path in (ch.movie(arm, motion, tmp_path / "motion.gif", **small), run.movie(tmp_path / "run.gif", **small)):
        with Image.open(path) as movie:
            assert movie.n_frames == 9
            assert movie.info["duration"] == 100
    if shutil.which("ffmpeg"):
        assert run.movie(tmp_path / "run.mp4", **small).stat().st_size > 500


def test_bad_input_is_answered(tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    with pytest.raises(ArgumentError, match=r"must end in \.png"):
        ch.picture(arm, tmp_path / "arm.bmp")
    with pytest.raises(ArgumentError, match="size"):
        ch.picture(arm, tmp_path / "arm.png", size=(0, 10))
    with pytest.raises(ArgumentError, match="q"):
        ch.picture(arm, tmp_path / "arm.png", [0.0, np.nan])
    with pytest.raises(UnknownNameError, match="theme 'blue'"):
        ch.picture(arm, tmp_path / "arm.png", theme="blue")
    with pytest.raises(ArgumentError, match="cannot be written"):
        ch.picture(arm, tmp_path / "no" / "arm.png", size=(16, 16))
    with pytest.raises(ArgumentError, match="one motion of 7 coordinates"):
        ch.movie(ch.load("panda"), motion, tmp_path / "m.gif")
    with pytest.raises(ArgumentError, match="frames; at most"):
        ch.movie(arm, ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1e4), tmp_path / "m.gif")
