"""The drop-in for Modern Robotics beside the published package, on a UR5."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import perf_counter
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, ratio, seconds
from benchmarks.timing import interleaved
from chasles.interop import modern_robotics as ours

BAR = 100.0
ROWS, STEPS = 10, 8
#: Lynch and Park, Modern Robotics, section 8.9 and figure 4.6.
INERTIAS = (
    (0.010267495893, 0.010267495893, 0.00666, 3.7),
    (0.22689067591, 0.22689067591, 0.0151074, 8.393),
    (0.049443313556, 0.049443313556, 0.004095, 2.275),
    (0.111172755531, 0.111172755531, 0.21942, 1.219),
    (0.111172755531, 0.111172755531, 0.21942, 1.219),
    (0.0171364731454, 0.0171364731454, 0.033822, 0.1879),
)
Mlist = np.array(
    [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.089159], [0, 0, 0, 1]],
        [[0, 0, 1, 0.28], [0, 1, 0, 0.13585], [-1, 0, 0, 0], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 1, 0, -0.1197], [0, 0, 1, 0.395], [0, 0, 0, 1]],
        [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.14225], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 1, 0, 0.093], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.09465], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 0, 1, 0.0823], [0, -1, 0, 0], [0, 0, 0, 1]],
    ],
    dtype=float,
)
Glist = np.array([np.diag([*moments, mass, mass, mass]) for *moments, mass in INERTIAS])
Slist = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 0, 1],
        [1, 0, 0, 0, -1, 0],
        [0, -0.089159, -0.089159, -0.089159, -0.10915, 0.005491],
        [0, 0, 0, 0, 0.81725, 0],
        [0, 0, 0.425, 0.81725, 0, 0.81725],
    ]
)


def tables() -> Iterator[Table]:
    """The one table of this section."""
    published = package()
    table = Table(
        "UR5 of the book, functions of Modern Robotics by name, one call from Python, one thread",
        ("", "Chasles", "first call", "modern_robotics", "largest difference", "ratio"),
        notes=[
            f"ForwardDynamicsTrajectory and SimulateControl: {ROWS} rows of {STEPS} Euler steps. IKinSpace: from 0.1 "
            "to 0.3 rad beside the solution, to 1e-3 rad and 1e-4 m. The published package's plot is switched off.",
            "First call: the robot is read and the function traced and compiled, or loaded from the cache on disk.",
            "Largest difference: relative to the largest value.",
        ],
    )
    for name, arguments, bar in calls(published):
        call = partial(getattr(ours, name), *arguments)
        ours.forget_robots()
        start = perf_counter()
        call()
        first = perf_counter() - start
        theirs = partial(getattr(published, name), *arguments)
        times = interleaved({"ours": call, "theirs": theirs}, repeats=5)
        measured = times["theirs"] / times["ours"]
        verdict = ratio(measured) if bar is None else at_least(bar, measured)
        table.add(
            name, seconds(times["ours"]), seconds(first), seconds(times["theirs"]), difference(call, theirs), verdict
        )
    yield table


def package() -> ModuleType:
    """The published package, without its plots."""
    try:
        published = importlib.import_module("modern_robotics")
    except ImportError:
        raise MissingPeerError("modern_robotics") from None
    simulate = published.SimulateControl

    def without_plot(*arguments: Any) -> Any:
        hidden: Mapping[str, Any] = {"matplotlib": None, "matplotlib.pyplot": None}
        with mock.patch.dict(sys.modules, hidden), contextlib.redirect_stdout(io.StringIO()):
            return simulate(*arguments)

    module = ModuleType("modern_robotics without plots")
    module.__dict__.update(published.__dict__, SimulateControl=without_plot)
    return module


def calls(published: ModuleType) -> Iterator[tuple[str, tuple[Any, ...], float | None]]:
    """Name, arguments and bar of each function."""
    rng = np.random.default_rng(0)
    robot = Mlist, Glist, Slist
    q, qd, qdd, tau, guess = rng.uniform(-1.5, 1.5, (5, 6))
    g, Ftip, M = np.array([0.0, 0.0, -9.81]), rng.normal(size=6), np.linalg.multi_dot(Mlist)
    T = published.FKinSpace(M, Slist, q)
    start = q + np.sign(guess) * rng.uniform(0.1, 0.3, 6)
    rows, wrenches = rng.uniform(-1.0, 1.0, (ROWS, 6)), np.tile(Ftip, (ROWS, 1))
    desired = published.JointTrajectory(q, q + 0.5, 1.0, ROWS, 5)
    still, dt = np.zeros((ROWS, 6)), 1.0 / (ROWS - 1)
    model = g + 0.1, Mlist, 1.1 * Glist
    yield "FKinSpace", (M, Slist, q), None
    yield "JacobianSpace", (Slist, q), None
    yield "IKinSpace", (Slist, M, T, start, 1e-3, 1e-4), BAR
    yield "InverseDynamics", (q, qd, qdd, g, Ftip, *robot), BAR
    yield "MassMatrix", (q, *robot), BAR
    yield "ForwardDynamics", (q, qd, tau, g, Ftip, *robot), BAR
    yield "ForwardDynamicsTrajectory", (q, qd, 10.0 * rows, g, wrenches, *robot, 0.01, STEPS), BAR
    yield (
        "SimulateControl",
        (q, qd, g, wrenches, *robot, desired, still, still, *model, 20.0, 10.0, 18.0, 0.1 * dt, STEPS),
        BAR,
    )


def difference(call: Callable[[], Any], theirs: Callable[[], Any]) -> str:
    """Largest difference between two results, relative to the largest value."""
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(_parts(call()), _parts(theirs()), strict=True)]
    largest = max(float(np.abs(1.0 * a - b).max() / np.abs(b).max()) for a, b in pairs)
    return f"{largest:.0e}"


def _parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
