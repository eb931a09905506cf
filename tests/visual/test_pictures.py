"""Pictures and movies: rays meet solids where geometry says, files hold what was asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.visual.raster import Camera, Solid, meeting


def distance_to(solid: Solid, points: np.ndarray) -> np.ndarray:
    """Signed distance of points to a solid, by geometry without rays."""
    a = solid.end - solid.start
    y = (points - solid.start) @ a / (a @ a)
    if solid.form == "capsule":
        return np.linalg.norm(points - solid.start - np.clip(y, 0, 1)[:, None] * a, axis=1) - solid.radius
    across = np.linalg.norm(points - solid.start - y[:, None] * a, axis=1) - solid.radius
    along = (np.abs(y - 0.5) - 0.5) * np.linalg.norm(a)
    return np.where((across > 0) & (along > 0), np.hypot(across, along), np.maximum(across, along))


@given(seed=st.integers(0, 10_000), form=st.sampled_from(["capsule", "cylinder"]))
def test_rays_end_on_the_surface_and_pass_where_nothing_is(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    solid = Solid(form, (1.0, 1.0, 1.0), rng.normal(size=3), rng.normal(size=3), rng.uniform(0.05, 0.5))
    eye = 6.0 * np.array([np.cos(seed), np.sin(seed), 0.3])
    aims = rng.normal(size=(60, 3)) - eye
    rays = aims / np.linalg.norm(aims, axis=1)[:, None]
    t, normals = meeting(solid, eye, rays)
    hit = np.isfinite(t)
    ends = eye + t[hit, None] * rays[hit]
    assert np.abs(distance_to(solid, ends)).max(initial=0.0) < 1e-9
    assert (np.sum(normals[hit] * rays[hit], axis=1) < 1e-9).all()  # the side that one sees
    assert np.abs(np.linalg.norm(normals[hit], axis=1) - 1.0).max(initial=0.0) < 1e-12
    marched = eye + np.linspace(0.0, 12.0, 400)[:, None, None] * rays
    nearest = distance_to(solid, marched.reshape(-1, 3)).reshape(400, -1)
    assert (nearest[:, ~hit] > -1e-9).all()  # no point of a ray that misses is inside


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
