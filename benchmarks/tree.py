"""A humanoid: the full Talos, 32 coordinates and 12 mimic joints."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from benchmarks.robots import MissingPeerError, talos
from benchmarks.startup import measure
from benchmarks.tables import Table, at_most, seconds

STATES = 20
FRAMES = 6
TOLERANCE = 1e-10
REPEATS = 3
COMPILE = """
import json, sys
from time import perf_counter
import chasles
start = perf_counter()
robot = chasles.load(sys.argv[1])
loaded = perf_counter()
robot.inverse_dynamics(robot.home, robot.home, robot.home)
inverse = perf_counter()
robot.inverse_dynamics_derivatives(robot.home, robot.home, robot.home)
derivatives = perf_counter()
print(json.dumps([loaded - start, inverse - loaded, derivatives - inverse]))
"""


def tables() -> Iterator[Table]:
    """The one table of this section."""
    try:
        from tests.oracles.pinocchio_comparison import Pair
    except ImportError:
        raise MissingPeerError("pin (Pinocchio)") from None
    path = talos()
    times = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as fresh:
            times.append(measure(COMPILE, fresh, [str(path)]))
    loading, inverse, derivatives = (median(column) for column in zip(*times, strict=True))

    pair = Pair.from_urdf(path, STATES)
    links = pair.robot.description.link_names
    comparisons = list(pair.comparisons(links[:: len(links) // FRAMES]))
    worst = max(comparisons, key=lambda comparison: comparison.error)
    agree = all(comparison.within(TOLERANCE) for comparison in comparisons)
    table = Table(
        f"Talos from example-robot-data: {pair.robot.n} coordinates, {pair.model.nv} moving joints, fixed base",
        ("", "measured", "required"),
        notes=["Compiled: traced and compiled in a fresh process with an empty cache, first call included."],
    )
    table.add("load the URDF file", seconds(loading), "")
    table.add("inverse dynamics compiled", seconds(inverse), at_most(2.0, inverse))
    table.add("derivatives compiled", seconds(derivatives), at_most(10.0, derivatives))
    table.add(
        f"{len(comparisons)} quantities against Pinocchio",
        f"{worst.error:.0e} ({worst.name})",
        f"{TOLERANCE:.0e} allowed: {'met' if agree else 'NOT MET'}",
    )
    yield table
