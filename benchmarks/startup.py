"""How long a fresh process waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter

from benchmarks.tables import Table, at_most, seconds

REPEATS = 7
FIRST_CALL = """
import json, sys
from time import perf_counter
times = [perf_counter()]
import numpy
times.append(perf_counter())
import chasles
times.append(perf_counter())
chasles.Robot
times.append(perf_counter())
arm = chasles.load("panda")
times.append(perf_counter())
arm.inverse_dynamics(arm.home, arm.home, arm.home)
times.append(perf_counter())
modules = sum(name.partition(".")[0] == "chasles" for name in sys.modules)
print(json.dumps([later - earlier for earlier, later in zip(times, times[1:])] + [modules]))
"""

#: The same where no process remembers what another traced: machine code is found by the digest of the program.
TRACED = FIRST_CALL.replace(
    "arm.inverse_dynamics", "chasles.engine.trace_cache._key = lambda *_: None\narm.inverse_dynamics"
)


def tables() -> Iterator[Table]:
    """The one table of this section."""
    in_process("import chasles")  # bytecode is compiled once for all
    with tempfile.TemporaryDirectory() as warm:
        measure(FIRST_CALL, warm)
        nothing, whole, uncached, traced, cached = [], [], [], [], []
        for _ in range(REPEATS):
            nothing.append(in_process("pass"))
            whole.append(in_process("import chasles"))
            with tempfile.TemporaryDirectory() as fresh:
                uncached.append(measure(FIRST_CALL, fresh))
            traced.append(measure(TRACED, warm))
            cached.append(measure(FIRST_CALL, warm))
    runs = [*uncached, *cached]
    numpy, imported, robots = (median(times[part] for times in runs) for part in range(3))
    table = Table(
        "Start in a fresh process",
        ("", "median", "of which loading the robot", "allowed"),
        notes=[
            "First inverse dynamics: chasles.load('panda') and the first call together, after the imports; "
            f"{runs[0][-1]:.0f} modules of Chasles are loaded by then.",
            f"Whole process: python -c 'import chasles', from start to exit; without the import it takes "
            f"{seconds(median(nothing))}.",
        ],
    )
    table.add("import numpy", seconds(numpy), "", "")
    table.add("import chasles, beyond NumPy", seconds(imported), "", at_most(0.6 * numpy, imported))
    table.add("chasles.Robot, first used", seconds(robots), "", at_most(0.25, robots))
    table.add("import chasles, whole process", seconds(median(whole)), "", at_most(0.25, median(whole)))
    for label, times_of, allowed in (
        ("compiled", uncached, 0.5),
        ("traced, code from the cache", traced, 0.03),
        ("from the cache", cached, 0.03),
    ):
        both = median(times[3] + times[4] for times in times_of)
        loading = median(times[3] for times in times_of)
        table.add(f"first inverse dynamics, {label}", seconds(both), seconds(loading), at_most(allowed, both))
    yield table


def in_process(code: str) -> float:
    """Seconds that a process takes from start to exit."""
    start = perf_counter()
    _run(code, dict(os.environ))
    return perf_counter() - start


def measure(code: str, cache: str, arguments: Sequence[str] = ()) -> list[float]:
    """The times that a program prints as JSON, with kernels kept in a directory of their own."""
    environment = {**os.environ, "CHASLES_CACHE_DIR": cache}
    times: list[float] = json.loads(_run(code, environment, arguments))
    return times


def _run(code: str, environment: dict[str, str], arguments: Sequence[str] = ()) -> str:
    # An installed package has its bytecode beside it; a checkout writes it on the first run, which is not counted.
    environment = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
