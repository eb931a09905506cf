"""Stability margins of a sampled loop along a motion, without simulation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.controller import Controller
from chasles.control.delayed_hold import MOST_DELAY
from chasles.control.disk_margin import scaled
from chasles.control.linear_law import (
    LARGE_MEMORY,
    MARGINAL,
    LinearLaw,
    Velocity,
    alone_and_coupled,
    closed_loops,
    merged,
    open_loop,
)
from chasles.control.linear_loop import Side, Springs, call_times, loop_along
from chasles.engine.validators import real, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

_LARGE_PLACES = (
    60  # at most, at which a law of a large memory is differentiated; each stands for the calls up to the next
)
_FREQUENCIES = 150  # of the frequency response
_DECADES = 4.0  # below the Nyquist frequency
_LIGHT = 0.1  # damping ratio below which a peak is narrower than three steps of the grid


class LoopMargins(NamedTuple):
    """Margins of a sampled loop along a motion, linearised about it.

    Attributes
    ----------
    time
        Times of the frozen loops, shape (k,), s.
    disk
        Disk margin α at the torques of all joints at once, shape (k,): the loop stays stable under any simultaneous,
        independent gain and phase changes of its torques within a disk of this size. 0 for an unstable loop.
    radius
        Spectral radius of the frozen closed loop over a period, shape (k,): below 1 if stable.
    growth
        Growth rate of errors under endless repetition of the motion, 1/s: negative if they decay.
    amplification
        Largest ratio of a later joint error to the initial one, over the whole motion.
    """

    time: Floats
    disk: Floats
    radius: Floats
    growth: float
    amplification: float

    @property
    def gain_margin(self) -> tuple[Floats, Floats]:
        """Lowest and highest simultaneous, independent gain factors for which the loop stays stable, each (k,)."""
        half = 0.5 * np.minimum(self.disk, 2.0)
        with np.errstate(divide="ignore"):
            return (1.0 - half) / (1.0 + half), np.asarray((1.0 + half) / (1.0 - half))

    @property
    def phase_margin(self) -> Floats:
        """Simultaneous, independent phase lag or lead of the torques that the loop tolerates, rad, shape (k,)."""
        return 2.0 * np.arctan(0.5 * self.disk)

    @property
    def is_stable(self) -> bool:
        """Whether errors decay along the repeated motion."""
        return self.growth <= MARGINAL


def loop_margins(
    robot: Robot,
    controller: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    delay: float = 0.0,
    velocity: Velocity = "differentiated",
    places: int = 21,
    elastic_joints: Springs | None = None,
    side: Side = "link",
) -> LoopMargins:
    """Linearise a sampled loop along a planned motion and return its margins.

    The law is differentiated exactly, memory included, at the state that follows the motion without error; a law with
    more than 60 memory values at 60 places at most. Memory that does not affect the torques there is left out. Filters
    are settled: a motion that starts at rest is preceded by half a second of rest. The plant is linearised at the
    torques of the motion, without limits. Time-frozen margins treat the loop at one place as time-invariant; ``growth``
    lifts all periods of the motion to one map (Floquet).

    Source: Seiler, Packard and Gahinet, "An introduction to disk margins", IEEE Control Systems 40(5), 2020 (symmetric
    disks; several loops at once by diagonal scaling, after Safonov 1982). Åström and Wittenmark, Computer-Controlled
    Systems (1997), for the delay.

    Parameters
    ----------
    robot
        The plant, which may differ from the law's model: `Robot.with_payload`, for example.
    controller
        Traceable law for joint motions.
    motion
        The planned motion.
    period
        Sample period, s.
    delay
        Delay from a call to the effect of its torque, in sample periods.
    velocity
        ``"differentiated"``: the law's velocities are differences of two successive positions, half a period late, as
        joint encoders give them. ``"measured"``: they are the plant's, as always on robots with spherical or free
        joints.
    places
        Number of frozen loops along the motion.
    elastic_joints
        `chasles.ElasticJoints` between the plant's motors and links; default rigid joints. Teeth with backlash are in
        contact.
    side
        Side of elastic joints whose positions the law measures, ``"link"`` or ``"motor"``; laws that measure both take
        both.

    Raises
    ------
    ArgumentError
        The law follows a frame, or cannot be traced; or it measures motors, and no elastic joints are given.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> fast, late = (loop_margins(arm, law, motion, period=0.01, delay=delay) for delay in (0.0, 1.5))
    >>> bool(fast.disk.min() > 0.8), bool(late.disk.min() < 0.6 * fast.disk.min()), late.is_stable
    (True, True, True)
    """
    step, late = real(period, "period", above=0.0), real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
    count = whole_number(places, "places", 1, 10_000)
    times = call_times(motion, step)
    planned = on_manifold(robot, motion)(times)
    is_large = controller.memory_layout.size > LARGE_MEMORY
    every = -(-len(times) // _LARGE_PLACES) if is_large else 1
    law, A, B_late = loop_along(
        robot,
        controller,
        times,
        planned,
        step,
        late,
        every=every,
        velocity=velocity,
        elastic_joints=elastic_joints,
        side=side,
    )
    loops = closed_loops(law, A, B_late)
    chosen = np.unique(np.linspace(0, len(loops) - 1, count).round().astype(np.intp))
    some = LinearLaw(*(part[chosen] for part in law))
    radius, disk = _frozen_margins(some, A[chosen], tuple(B[chosen] for B in B_late))
    states = law.D.shape[-1]
    growth, amplification = _lifted(loops, robot.n, states, step, every, states + alone_and_coupled(law.A)[0])
    return LoopMargins(times[::every][chosen], disk, radius, growth, amplification)


def disk_margins(
    robot: Robot,
    controller: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    delay: float = 0.0,
    velocity: Velocity = "differentiated",
    places: int = 21,
    elastic_joints: Springs | None = None,
    side: Side = "link",
) -> Floats:
    """Disk margins of a sampled loop at equally spaced calls along a motion, at least so many; see `loop_margins`.

    Other calls are not linearised.
    """
    times = call_times(motion, period)
    every = max(1, (len(times) - 1) // max(1, places - 1))
    planned = on_manifold(robot, motion)(times)
    loop = loop_along(
        robot,
        controller,
        times,
        planned,
        period,
        delay,
        every=every,
        velocity=velocity,
        elastic_joints=elastic_joints,
        side=side,
    )
    return _frozen_margins(*loop)[1]


def _frozen_margins(law: LinearLaw, A: Floats, B_late: tuple[Floats, ...]) -> tuple[Floats, Floats]:
    """Return spectral radius and disk margin of frozen loops; the margin of an unstable loop is 0."""
    frozen, left = merged(law)
    poles: Complex = np.asarray(np.linalg.eigvals(closed_loops(frozen, A, B_late)), dtype=np.complex128)
    radius = np.maximum(np.abs(poles).max(axis=-1), left)
    angles = np.concatenate([np.pi * np.logspace(-_DECADES, 0.0, _FREQUENCIES), _resonances(poles)])
    return radius, np.where(radius <= 1.0 + MARGINAL, _disk_margins(frozen, A, B_late, angles), 0.0)


def _resonances(poles: Complex) -> Floats:
    """Return the angles of lightly damped poles, whose peaks a grid of frequencies may miss."""
    rates = np.log(poles[poles.imag > 0.0])
    return np.asarray(rates.imag[np.abs(rates.real) < _LIGHT * np.abs(rates)])


def _disk_margins(law: LinearLaw, A: Floats, B_late: tuple[Floats, ...], angles: Floats) -> Floats:
    """Return 1 / max over angles of the scaled size of (S - T)/2, of the loops cut open at the torques."""
    L = open_loop(law, A, B_late, np.arange(len(A)), angles)
    n = B_late[0].shape[-1]
    S = np.linalg.inv(np.eye(n) + L)
    sizes = np.linalg.norm(scaled(S - 0.5 * np.eye(n)), 2, axis=(-2, -1))  # (S - T)/2 with T = 1 - S
    return np.asarray(1.0 / sizes.max(axis=0))


def _lifted(
    loops: Floats, n: int, states: int, period: float, every: int, alone: NDArray[np.intp]
) -> tuple[float, float]:
    """Return the growth rate of the product of all maps, and the largest later joint error for a unit one at first.

    Each map stands for so many periods in a row. The states `alone` follow themselves and the plant's state only.
    """
    size = loops.shape[-1]
    rest = np.setdiff1d(np.arange(size), alone)
    order = np.concatenate([rest, alone])  # the plant's state stays first
    coupled, filters = slice(0, len(rest)), slice(len(rest), size)
    product, scale, largest = np.eye(size), 0.0, 1.0
    for loop in loops[:-1, order[:, None], order]:
        own, driven = np.diagonal(loop)[filters, None], loop[filters, :states]
        for _ in range(every):
            following = loop[coupled] @ product
            product[filters] *= own
            product[filters] += driven @ product[:states]
            product[coupled] = following
        norm = float(np.abs(product).max())
        if not math.isfinite(norm):
            return math.inf, math.inf
        if norm > 1e100:
            product, scale = product / norm, scale + math.log(norm)
        step = math.log(max(float(np.linalg.norm(product[:n, :n], 2)), 1e-300)) + scale
        largest = max(largest, math.exp(min(step, 700.0)))
    radius = float(np.abs(np.linalg.eigvals(product)).max())
    rate = (math.log(max(radius, 1e-300)) + scale) / (every * period * max(len(loops) - 1, 1))
    return rate, largest
