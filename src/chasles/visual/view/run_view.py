"""The verb `view` for simulations, which need xarray."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Unpack

import numpy as np
import xarray
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.simulation.metrics import run_robot
from chasles.trajectories import CubicSpline
from chasles.visual.panels import shown_runs
from chasles.visual.scene import last_finite
from chasles.visual.summary import by_run, require_run, run_labels
from chasles.visual.view.companions import Companion
from chasles.visual.view.views import Viewed, frame_count, shown


@verbs.view.register(xarray.Dataset)
def run_view(
    run: xarray.Dataset,
    *,
    path: str | PathLike[str] | None = None,
    companions: Sequence[xarray.Dataset] = (),
    **options: Unpack[verbs.ViewOptions],
) -> Viewed:
    """Play a simulation; see `Run.view`."""
    require_run(run)
    robot = run_robot(run)
    labels = run_labels(run)
    drawn = shown_runs(len(labels))
    times = np.asarray(run["time"].values, dtype=np.float64)
    count = frame_count(float(times[-1] - times[0]), len(drawn), robot.nq)
    frames = np.unique(np.linspace(0, len(times) - 1, min(count, len(times))).round().astype(np.intp))
    q = last_finite(by_run(run, "q")[drawn][:, frames], robot.neutral)
    runs = {labels[k]: part for k, part in zip(drawn, q, strict=True)}
    others = [_sampled(other, times[frames]) for other in companions]
    recording = {"times": times[frames], "runs": runs}
    return shown(robot, q[0, 0], path, companions=others, recording=recording, motion=motion_to_follow(run), **options)


def motion_to_follow(run: xarray.Dataset) -> CubicSpline | None:
    """Return the motion of joints that other laws can follow on the page: the cubic spline through recorded samples.

    They are those of the first run's reference, or of its own motion if the reference is the motion of a frame.
    None if they are not finite.
    """
    positions, velocities = ("q_reference", "qd_reference") if "q_reference" in run else ("q", "qd")
    q, qd = by_run(run, positions)[0], by_run(run, velocities)[0]
    if len(q) < 2 or not (np.isfinite(q).all() and np.isfinite(qd).all()):
        return None
    ends = {} if q.shape != qd.shape else {"start_velocity": qd[0], "end_velocity": qd[-1]}
    return CubicSpline(np.asarray(run["time"].values, dtype=np.float64), q, **ends)


def _sampled(run: xarray.Dataset, times: NDArray[np.float64]) -> Companion:
    """Return the robot of another run, with its first motion at some times."""
    require_run(run)
    robot = run_robot(run)
    q = last_finite(by_run(run, "q")[:1], robot.neutral)[0]
    times_of_run = np.asarray(run["time"].values, dtype=np.float64)
    return robot, q[np.minimum(np.searchsorted(times_of_run, times), len(times_of_run) - 1)]
