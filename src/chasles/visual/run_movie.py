"""The verb `movie` for simulations, which need xarray."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import xarray

from chasles.base import verbs
from chasles.engine.validators import whole_number
from chasles.simulation.metrics import run_robot
from chasles.visual.movies import frame_count, write_movie
from chasles.visual.scene import Theme, last_finite
from chasles.visual.summary import by_run, require_run


@verbs.movie.register(xarray.Dataset)
def run_movie(
    data: xarray.Dataset,
    path: str | PathLike[str],
    *,
    run: int = 0,
    size: tuple[int, int] = (480, 360),
    frame_rate: int = 25,
    theme: Theme = "light",
    progress: bool | None = None,
) -> Path:
    """Write a movie of one run of a simulation; see `chasles.base.verbs.movie`."""
    require_run(data)
    robot = run_robot(data)
    all_runs = by_run(data, "q")
    number = whole_number(run, "run", 0, len(all_runs) - 1)
    times = np.asarray(data["time"].values, dtype=np.float64)
    count = frame_count(float(times[-1] - times[0]), whole_number(frame_rate, "frame_rate", 1, 120))
    frames = np.minimum(np.searchsorted(times, times[0] + np.arange(count) / frame_rate), len(times) - 1)
    q = last_finite(all_runs[number : number + 1][:, frames], robot.neutral)[0]
    return write_movie(robot, q, path, size, frame_rate, theme, progress)
