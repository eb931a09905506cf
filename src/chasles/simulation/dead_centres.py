"""Runs of robots with loops across dead centres, where the independent velocities no longer determine the motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import warn

if TYPE_CHECKING:
    from chasles.robot import Robot

Floats = NDArray[np.float64]
#: Samples whose velocity maps are found at a time.
_PIECE = 20_000
#: Velocity of a joint, per unit of the independent ones, beyond which a diverged run is said to have met a dead centre.
_FAST = 1e3
#: Share of the fastest joint, in the motion that goes on at a dead centre, above which a joint is named.
_SHARE = 0.1


class DeadCentreWarning(UserWarning):
    """A simulated robot with loops crossed a dead centre of its independent velocities and lost accuracy there."""


def warn_of_dead_centres(robot: Robot, q: Floats, time: Floats) -> None:
    """Warn of runs that cross, or end at, a singularity of the chosen independent velocities.

    The motions that the loops allow are the columns of G(q), per unit of the independent velocities. From one sample to
    the next these spaces hardly change; where det(GᵀG₊) < 0 the independent velocities have passed through a
    configuration in which they do not determine the others.

    Parameters
    ----------
    robot
        Robot with loops.
    q
        Configurations at the samples, shape (runs, samples, nq); NaN after a run diverged.
    time
        Times of the samples, s.
    """
    found: tuple[float, int, int] | None = None
    runs = 0
    for run, path in enumerate(q):
        sample = _crossing(robot, path)
        if sample is not None:
            runs += 1
            if found is None or time[sample] < found[0]:
                found = float(time[sample]), run, sample
    if found is not None:
        moment, run, sample = found
        who = f"{runs} of {len(q)} runs" if len(q) > 1 else "the run"
        warn(f"{who} lost accuracy at t = {moment:.6g} s: {_sentence(robot, q[run, sample])}", DeadCentreWarning)


def _crossing(robot: Robot, path: Floats) -> int | None:
    """First sample after which the path crosses a dead centre, or at which it ends near one."""
    finite = np.isfinite(path).all(axis=-1)
    last = len(path) if finite.all() else int(np.argmin(finite))
    for start in range(0, last, _PIECE):
        G = np.asarray(robot.velocity_map(path[start : min(start + _PIECE + 1, last)]))
        turned = np.linalg.det(np.einsum("kij,kil->kjl", G[:-1], G[1:]))
        crossed = np.flatnonzero(~(turned >= 0.0))
        if crossed.size:
            return start + int(crossed[0])
    fastest = np.abs(robot.velocity_map(path[last - 1])).max(initial=0.0) if 0 < last < len(path) else 0.0
    return None if fastest < _FAST else last - 1


def _sentence(robot: Robot, q: Floats) -> str:
    """Say which independent joint stands at a dead centre, in which loop, and which motion goes on."""
    description, free = robot.description, list(robot.description.independent_indices)
    names = description.joint_velocity_names
    motions: Any = np.linalg.qr(robot.velocity_map(q))[0]
    left, _, right = np.linalg.svd(motions[free])
    standing = names[free[int(np.argmax(np.abs(left[:, -1])))]]
    motion = motions @ right[-1]
    size = np.abs(motion).max()
    order = np.argsort(-np.abs(motion))
    moving = [f"{names[k]} {motion[k] / size:+.2g}" for k in order if abs(motion[k]) > _SHARE * size][:4]
    J = robot.loop_constraints(q).J
    counts = np.cumsum([0, *(loop.constraint_count for loop in description.loops)])
    loops = [
        f"'{loop.name}'"
        for loop, a, b in zip(description.loops, counts[:-1], counts[1:], strict=True)
        if np.abs(J[a:b, names.index(standing)]).any()
    ]
    which = f"loop {', '.join(loops[:3])}" if loops else "the loops"
    return (
        f"'{standing}' is at a dead centre of {which}, where the motion {', '.join(moving)} goes on without it; name "
        "one of these in independent=[…] to pass it"
    )
