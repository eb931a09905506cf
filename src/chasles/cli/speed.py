"""Speed of a robot's compiled kernels on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from chasles.engine import threads
from chasles.engine.running import aside
from chasles.robot.robot import Robot

_BATCH = 4096
_FIRST_CALLS = 4  # of a batch, after which code for such batches is worth its compilation
_KERNELS: tuple[tuple[str, str, int, dict[str, str]], ...] = (
    ("inverse dynamics", "inverse_dynamics", 3, {}),
    ("forward dynamics", "forward_dynamics", 3, {}),
    ("mass matrix", "mass_matrix", 1, {}),
    ("Jacobian of the tool", "jacobian", 1, {"frame": "body"}),
    ("∂τ/∂(q, q̇, q̈)", "inverse_dynamics_derivatives", 3, {}),
)


@dataclass(frozen=True)
class KernelSpeed:
    """Speed of one computation.

    Attributes
    ----------
    title
        Name of the computation.
    operations
        Number of scalar operations in one evaluation.
    batched
        Time per state in a batch of 4,096 on one thread, s.
    single
        Time of one call from Python with one state, s.
    """

    title: str
    operations: int
    batched: float
    single: float


def kernel_speeds(robot: Robot, effort: float = 0.02) -> list[KernelSpeed]:
    """Time a robot's main computations.

    Parameters
    ----------
    robot
        Robot being timed.
    effort
        Approximate time to spend on each measurement, s.

    Examples
    --------
    >>> import chasles as ch
    >>> [speed.title for speed in kernel_speeds(ch.load("planar2r"), effort=1e-3)][0]
    'inverse dynamics'
    """
    random = np.random.default_rng(0)
    batch = [robot.random_configuration(random, (_BATCH,)), *random.uniform(-1.0, 1.0, (2, _BATCH, robot.n))]
    speeds = []
    for title, name, count, keywords in _KERNELS:
        function = getattr(robot, name)
        program = function.specialize(**keywords).program
        batched, single = batch[:count], [each[0] for each in batch[:count]]
        with threads(1):
            seconds_batched = _seconds(partial(function, *batched, **keywords), effort)
        seconds_single = _seconds(partial(function, *single, **keywords), effort)
        speeds.append(KernelSpeed(title, program.operation_count, seconds_batched / _BATCH, seconds_single))
    return speeds


def _seconds(call: Callable[[], Any], effort: float) -> float:
    """Return the shortest time of a call, the one least disturbed by other programs."""
    for _ in range(_FIRST_CALLS):
        call()
    aside.wait()  # the code of later calls is compiled meanwhile
    call()
    start = time.perf_counter()
    call()
    repeats = max(1, int(effort / 5 / max(time.perf_counter() - start, 1e-9)))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - start) / repeats)
    return best
