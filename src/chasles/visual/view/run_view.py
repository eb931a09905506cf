"""The verb `view` for simulations, which need xarray."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
import xarray
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.distances.bodies import Body, HalfSpace
from chasles.simulation.metrics import run_robot
from chasles.visual.bodies import Packages
from chasles.visual.panels import shown_runs
from chasles.visual.scene import last_finite
from chasles.visual.summary import by_run, require_run, run_labels
from chasles.visual.view.companions import Companion
from chasles.visual.view.views import Notebook, Viewed, frame_count, shown


@verbs.view.register(xarray.Dataset)
def run_view(
    run: xarray.Dataset,
    *,
    path: str | PathLike[str] | None = None,
    title: str | None = None,
    browser: bool = True,
    packages: Packages | None = None,
    notebook: Notebook = "",
    companions: Sequence[xarray.Dataset] = (),
    obstacles: Sequence[Body | HalfSpace] = (),
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
    return shown(
        robot,
        q[0, 0],
        path,
        title,
        browser,
        notebook,
        packages=packages,
        companions=[_sampled(other, times[frames]) for other in companions],
        obstacles=obstacles,
        recording={"times": times[frames], "runs": runs},
    )


def _sampled(run: xarray.Dataset, times: NDArray[np.float64]) -> Companion:
    """Return the robot of another run, with its first motion at some times."""
    require_run(run)
    robot = run_robot(run)
    q = last_finite(by_run(run, "q")[:1], robot.neutral)[0]
    own = np.asarray(run["time"].values, dtype=np.float64)
    return robot, q[np.minimum(np.searchsorted(own, times), len(own) - 1)]
