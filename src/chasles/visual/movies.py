"""The verbs `picture` and `movie` for robots and motions: files in pixels or vectors, without a browser."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError, import_extra
from chasles.base.progress import is_watched, with_progress
from chasles.base.writing import path_to_write, replacing, write
from chasles.engine.validators import choice, reals, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.visual.bodies import Kind, Packages
from chasles.visual.picture import svg_picture
from chasles.visual.raster import Camera
from chasles.visual.scene import THEMES, Theme

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".svg")
MOVIES = (".gif", ".webp", ".mp4")
LARGEST = 8192
MOST_FRAMES = 3000


@verbs.picture.register(Robot)
def picture(
    robot: Robot,
    path: str | PathLike[str],
    q: ArrayLike | None = None,
    *,
    size: tuple[int, int] = (800, 600),
    theme: Theme = "light",
    shown: Kind = "visual",
    packages: Packages | None = None,
) -> Path:
    """Write a picture of a robot; see `chasles.base.verbs.picture`."""
    target = path_to_write(path, PICTURES)
    configuration = robot.home if q is None else reals(q, "q", (robot.nq,))
    if target.suffix.lower() == ".svg":
        return write(target, svg_picture(robot, configuration, _size(size)[0]))
    choice(shown, "shown", ("visual", "collision", "drawn"))
    camera = Camera(robot, configuration[None], _size(size), _theme(theme), shown=shown, packages=packages)
    image = _pillow("a picture in pixels").fromarray(camera.image(configuration))
    with replacing(target) as temporary:
        image.save(temporary)
    return target


@verbs.movie.register(Robot, JointTrajectory)
def motion_movie(
    robot: Robot,
    motion: JointTrajectory,
    path: str | PathLike[str],
    *,
    size: tuple[int, int] = (480, 360),
    frame_rate: int = 25,
    theme: Theme = "light",
    progress: bool | None = None,
) -> Path:
    """Write a movie of a motion; see `chasles.base.verbs.movie`."""
    if motion.batch:
        raise ArgumentError(f"a movie shows one motion, not a batch of shape {motion.batch}")
    count = frame_count(float(motion.duration), whole_number(frame_rate, "frame_rate", 1, 120))
    times = motion.start_time + np.arange(count) / frame_rate
    q = np.asarray(motion(np.minimum(times, motion.start_time + motion.duration)).q)
    if q.ndim != 2 or q.shape[1] != robot.nq:
        raise ArgumentError(f"a movie shows one motion of {robot.nq} coordinates, not an array of shape {q.shape}")
    return write_movie(robot, q, path, size, frame_rate, theme, progress)


def write_movie(
    robot: Robot,
    q: Floats,
    path: str | PathLike[str],
    size: tuple[int, int],
    frame_rate: int,
    theme: Theme,
    progress: bool | None,
) -> Path:
    """Write the movie of configurations (frames, nq), one a frame."""
    target = path_to_write(path, MOVIES)
    camera = Camera(robot, q, _size(size), _theme(theme), oversampling=1)
    show = is_watched() if progress is None else progress
    frames = (camera.image(q[k]) for k in with_progress(range(len(q)), "drawing", show=show))
    with replacing(target) as temporary:
        (_write_mp4 if target.suffix.lower() == ".mp4" else _write_animation)(frames, temporary, size, frame_rate)
    return target


def _write_animation(frames: Iterator[Pixels], target: Path, size: tuple[int, int], frame_rate: int) -> None:
    image = _pillow("a GIF or WebP movie")
    first, *later = (image.fromarray(frame) for frame in frames)
    first.save(target, save_all=True, append_images=later, duration=1000.0 / frame_rate, loop=0)


def _write_mp4(frames: Iterator[Pixels], target: Path, size: tuple[int, int], frame_rate: int) -> None:
    width, height = (pixels - pixels % 2 for pixels in size)  # H.264 wants even numbers
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(frame_rate), "-i", "-"]
    command = [_ffmpeg(), "-y", "-loglevel", "error", *source, "-pix_fmt", "yuv420p", str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    try:
        with contextlib.suppress(BrokenPipeError):  # ffmpeg has ended, and says why
            for frame in frames:
                process.stdin.write(np.ascontiguousarray(frame[:height, :width]).tobytes())
        _, complaint = process.communicate()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode:
        raise OSError(complaint.decode(errors="replace").strip() or f"ffmpeg ended with {process.returncode}")


def _ffmpeg() -> str:
    installed = shutil.which("ffmpeg")
    if installed is not None:
        return installed
    purpose = "an MP4 movie without the program ffmpeg (GIF and WebP need neither)"
    return str(import_extra("imageio_ffmpeg", "movies", purpose).get_ffmpeg_exe())


def _pillow(purpose: str) -> Any:
    return import_extra("PIL.Image", "pictures", purpose)


def _size(size: tuple[int, int]) -> tuple[int, int]:
    if len(size) != 2:
        raise ArgumentError(f"size must be (width, height), not {size!r}")
    width, height = (whole_number(pixels, "size", 16, LARGEST) for pixels in size)
    return width, height


def _theme(theme: Theme) -> Theme:
    choice(theme, "theme", THEMES)
    return theme


def frame_count(duration: float, frame_rate: int) -> int:
    """Return the number of frames of a movie, or refuse one that is too long."""
    count = round(duration * frame_rate) + 1
    if count > MOST_FRAMES:
        raise ArgumentError(
            f"{duration:.3g} s at {frame_rate} frames a second are {count} frames; at most {MOST_FRAMES}"
        )
    return count
