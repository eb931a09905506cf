"""Stewart platforms: kinematics and dynamics, poses near a guess, and all poses for given leg lengths."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from tests.machines.parallel.platforms import moved, random_platform, random_poses, roboop
from tests.machines.parallel.test_stewart_poses import DIETMAIER, DIETMAIER_LENGTHS

from benchmarks.tables import Table, at_least, at_most, rate, seconds
from benchmarks.timing import fastest

BATCH = 100_000
PLATFORMS = 100


def tables() -> Iterator[Table]:
    """All tables of this section."""
    rng = np.random.default_rng(0)
    yield closed_forms(rng)
    yield near_a_guess(rng)
    yield all_poses(rng)


def closed_forms(rng: np.random.Generator) -> Table:
    """Time a pose of each closed form, for the platform of ROBOOP's manual."""
    table = Table(
        f"Stewart platform of ROBOOP's manual, one thread; batches of {BATCH:,}",
        ("", "a pose in a batch", "one call"),
    )
    stewart, T = roboop(), random_poses(rng, BATCH)
    twist, acceleration = rng.normal(size=(2, BATCH, 6))
    for name, arguments in (
        ("leg_lengths", (T,)),
        ("jacobian", (T,)),
        ("inverse_dynamics", (T, twist, acceleration)),
        ("forward_dynamics", (T, twist, acceleration)),
    ):
        function = getattr(stewart, name)
        first = [argument[0] for argument in arguments]
        times = fastest(
            {"batch": lambda f=function, a=arguments: f(*a), "one": lambda f=function, a=first: f(*a)}  # type: ignore[misc]
        )
        table.add(name, seconds(times["batch"] / BATCH), seconds(times["one"]))
    return table


def near_a_guess(rng: np.random.Generator) -> Table:
    """Time the search from guesses 0.05 rad and m away."""
    table = Table(
        f"Pose near a guess that is about 0.05 rad and m away, to 1e-12 of the size, one thread; batches of {BATCH:,}",
        ("", "poses", "solved", "one call"),
    )
    stewart, T = roboop(), _at_home(roboop().home, rng)
    lengths = stewart.leg_lengths(T)
    guess = np.asarray(moved(T, 0.03 * rng.normal(size=(BATCH, 6)), np.zeros(6), 1.0))
    found = stewart.forward_kinematics(lengths, guess)
    times = fastest(
        {
            "batch": lambda: stewart.forward_kinematics(lengths, guess),
            "one": lambda: stewart.forward_kinematics(lengths[0], guess[0]),
        }
    )
    in_a_second = BATCH / times["batch"]
    table.add("Chasles", rate(in_a_second), f"{100.0 * np.mean(found.success):.2f} %", seconds(times["one"]))
    table.notes.append(at_least(1e6, in_a_second, rate))
    table.notes.append(at_most(10e-6, times["one"]))
    return table


def all_poses(rng: np.random.Generator) -> Table:
    """Time and count all poses, of Dietmaier's platform and of random ones."""
    table = Table(
        "All real poses for given leg lengths, each proven, one thread",
        ("", "a platform", "real poses", "proven", "complete"),
    )
    found = DIETMAIER.forward_kinematics(DIETMAIER_LENGTHS, select="all")
    time = fastest({"": lambda: DIETMAIER.forward_kinematics(DIETMAIER_LENGTHS, select="all")})[""]
    table.add("Dietmaier's platform", seconds(time), f"{found.count}", f"{found.certified.sum()}", f"{found.complete}")
    general = [random_platform(rng) for _ in range(PLATFORMS)]
    begin = perf_counter()
    results = [
        stewart.forward_kinematics(_lengths(stewart.base, stewart.platform, T), select="all")
        for stewart, T in zip(general, random_poses(rng, PLATFORMS), strict=True)
    ]
    table.add(
        f"{PLATFORMS} random general platforms",
        seconds((perf_counter() - begin) / PLATFORMS),
        f"{sum(result.count for result in results)}",
        f"{sum(result.certified.sum() for result in results)}",
        f"{sum(bool(result.complete) for result in results)} of {PLATFORMS}",
    )
    table.notes.append("Dietmaier's 40 real poses: " + at_most(10e-3, time))
    return table


def _at_home(home: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(moved(np.tile(home, (BATCH, 1, 1)), 0.1 * rng.normal(size=(BATCH, 6)), np.zeros(6), 1.0))


def _lengths(base: NDArray[np.float64], platform: NDArray[np.float64], T: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(platform @ T[:3, :3].T + T[:3, 3] - base, axis=1))
