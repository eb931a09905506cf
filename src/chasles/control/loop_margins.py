"""Stability margins of a sampled loop along a motion, without simulation."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.controller import Controller
from chasles.control.linear_quadratic.along_motion import MOST_DELAY, delayed_hold
from chasles.control.linear_quadratic.linear_model import linear_model
from chasles.control.now import PlannedMotion
from chasles.control.traced_law import TracedLaw, traced_law
from chasles.engine import Function, trace
from chasles.engine.program.records import Memory
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import real, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory, Motion
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

#: Eigenvalues this far outside of the unit circle count as on it: estimates and filters that hold their values.
_MARGINAL = 1e-7
_LARGE_MEMORY = 60  # values, from which on a law is differentiated by central differences
_LARGE_PLACES = 60  # at most, at which it is; each then stands for the calls up to the next
_DIFFERENCE = 1e-5  # their half width, relative to values above 1
_UNFELT = 1e-9  # share of a value that counts as rounding
_FREQUENCIES = 150  # of the frequency response
_DECADES = 4.0  # below the Nyquist frequency
_DIGITS = 8  # of poles, up to which filters have the same


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
        return self.growth <= _MARGINAL


def loop_margins(
    robot: Robot,
    controller: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    delay: float = 0.0,
    places: int = 21,
) -> LoopMargins:
    """Linearise a sampled loop along a planned motion and return its margins.

    The law is differentiated exactly, memory included, at the state that follows the motion without error. A law with
    more than 60 memory values is differentiated by central differences, at 60 places at most. Memory that does not
    affect the torques there is left out. The plant is linearised at the torques of the motion, without limits.
    Time-frozen margins treat the loop at one place as time-invariant; ``growth`` lifts all periods of the motion to one
    map (Floquet).

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
    places
        Number of frozen loops along the motion.

    Raises
    ------
    ArgumentError
        The law follows a frame, or cannot be traced.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> fast, late = (loop_margins(arm, law, motion, period=0.01, delay=delay) for delay in (0.0, 1.5))
    >>> bool(fast.disk.min() > 0.9), bool(late.disk.min() < 0.6 * fast.disk.min()), late.is_stable
    (True, True, True)
    """
    step, late = real(period, "period", above=0.0), real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
    count = whole_number(places, "places", 1, 10_000)
    times = float(motion.start_time) + step * np.arange(
        max(2, math.floor(motion.duration / step + 1e-9) + 1), dtype=np.float64
    )
    planned = on_manifold(robot, motion)(times)
    is_large = controller.memory_layout.size > _LARGE_MEMORY
    every = -(-len(times) // _LARGE_PLACES) if is_large else 1
    law = linear_law(robot, controller, times, planned, step, every)
    held = delayed_hold(*linear_model(robot, Motion(*(part[::every] for part in planned))), step, late)
    loops = closed_loops(law, held.A, held.B_late)
    chosen = np.unique(np.linspace(0, len(loops) - 1, count).round().astype(np.intp))
    frozen, left = _merged(LinearLaw(*(part[chosen] for part in law)))
    A, B_late = held.A[chosen], tuple(B[chosen] for B in held.B_late)
    radius = np.maximum(np.abs(np.linalg.eigvals(closed_loops(frozen, A, B_late))).max(axis=-1), left)
    disk = np.where(radius <= 1.0 + _MARGINAL, _disk_margins(frozen, A, B_late), 0.0)
    alone = law.D.shape[-1] + _alone(law.A)[0]
    growth, amplification = _lifted(loops, robot.n, step, every, alone)
    return LoopMargins(times[::every][chosen], disk, radius, growth, amplification)


class LinearLaw(NamedTuple):
    """δm[k+1] = A δm + B δx and δu = C δm + D δx, of every call, with δx = (δq, δq̇)."""

    A: Floats
    B: Floats
    C: Floats
    D: Floats


def linear_law(
    robot: Robot, controller: Controller, times: Floats, planned: Motion, period: float, every: int
) -> LinearLaw:
    """Differentiate every so many calls of a law that follows the motion without error; its memory runs along."""
    traced = traced_law(controller, times, planned, period)
    function, schedule = _function(traced)
    given = (times, planned.q, planned.qd, traced.references)
    memories = np.repeat(traced.initial_memory[None], len(times), axis=0)
    for k in range(len(times) - 1 if traced.initial_memory.size else 0):
        memories[k + 1] = function(*(part[k] for part in (*given, memories, *schedule)))[1]
    arguments = tuple(part[::every] for part in (*given, memories, *schedule))
    torques = np.ravel(function(*given, memories, *schedule)[0])
    sizes = _sizes(memories), float(_sizes(torques[:, None])[0])
    states, size = planned.q.shape[-1] + planned.qd.shape[-1], traced.initial_memory.size
    if size <= _LARGE_MEMORY:
        tau, following = (
            np.concatenate([function.jacobian(output, wrt)(*arguments) for wrt in ("q", "qd", "memory")], axis=-1)
            for output in ("tau", "following")
        )
        kept = _memory_that_acts(tau[..., states:], following[..., states:], *sizes)
    else:
        count = len(arguments[0])
        some = np.unique(np.linspace(0, count - 1, 5).astype(np.intp))
        found = _differences(function, tuple(part[some] for part in arguments), np.arange(states + size))
        by_tau, by_following = (part[..., states:] for part in found)
        kept = _memory_that_acts(by_tau, by_following, *sizes)
        columns = np.concatenate([np.arange(states), states + kept])
        tau, following = (np.zeros((count, rows, states + size)) for rows in (planned.qd.shape[-1], size))
        tau[..., columns], following[..., columns] = _differences(function, arguments, columns)
    D, B = (_by_displacements(robot, arguments[1], part[..., :states]) for part in (tau, following))
    return LinearLaw(following[:, kept][..., states + kept], B[:, kept], tau[..., states + kept], D)


def _function(traced: TracedLaw) -> tuple[Function, tuple[Floats, ...]]:
    """Return a law as a function, and its schedule; one of a large memory without schedule has no argument for it.

    Functions with empty arguments are not compiled. That suits a few batched calls, but not the many that a large
    memory asks for.
    """
    function = Function(traced.program)
    memory = traced.initial_memory.size
    if traced.schedule.shape[1] or memory <= _LARGE_MEMORY:
        return function, (traced.schedule,)
    shapes = {array.name: array.shape for array in traced.program.inputs if array.name != "schedule"}

    def law(t: Real, q: Array, qd: Array, reference: PlannedMotion, memory: Memory) -> Any:
        return function(t, q, qd, reference, memory, np.zeros(0))

    return Function(trace(law, shapes, name="law", outputs=["tau", "following"])), ()


def _by_displacements(robot: Robot, q: Floats, derivatives: Floats) -> Floats:
    """Return derivatives by displacements and q̇ of those by the elements of q and q̇."""
    if robot.nq == robot.n:
        return derivatives
    G = np.moveaxis(np.asarray(robot.configuration_rate(q, np.eye(robot.n)[:, None, :])), 0, -1)
    return np.concatenate([derivatives[..., : robot.nq] @ G, derivatives[..., robot.nq :]], axis=-1)


def _sizes(values: Floats) -> Floats:
    """Largest magnitude of each column; 1 for those that are zero throughout."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def _memory_that_acts(by_tau: Floats, by_following: Floats, memory: Floats, torque: float) -> NDArray[np.intp]:
    """Indices of the memory that torques depend on, at once or later, beyond rounding at its and the torques' sizes.

    What a law has learnt of errors that are zero, as a covariance or a matrix that multiplies them, is not felt.
    """
    reads = np.any(np.abs(by_following) * memory > _UNFELT * memory[:, None], axis=0)
    felt = np.any(np.abs(by_tau) * memory > _UNFELT * torque, axis=(0, 1))
    while (further := felt | reads[felt].any(axis=0)).sum() > felt.sum():
        felt = further
    return np.flatnonzero(felt)


def _differences(function: Function, arguments: tuple[Floats, ...], columns: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return derivatives of torques and memory by some elements of (q, qd, memory), by central differences."""
    times, q, qd, references, memories, *schedule = arguments
    nq, states, found = q.shape[-1], q.shape[-1] + qd.shape[-1], []
    for k in range(len(times)):
        point = np.concatenate([q[k], qd[k], memories[k]])
        h = _DIFFERENCE * np.maximum(1.0, np.abs(point[columns]))
        moved = np.tile(point, (2, len(columns), 1))
        moved[:, np.arange(len(columns)), columns] += h * np.array([[1.0], [-1.0]])
        parts = moved[..., :nq], moved[..., nq:states], references[k], moved[..., states:]
        ends = function(times[k], *parts, *(part[k] for part in schedule))
        found.append([((end[0] - end[1]) / (2.0 * h[:, None])).T for end in ends])
    return np.array([tau for tau, _ in found]), np.array([following for _, following in found])


def closed_loops(law: LinearLaw, A: Floats, B_late: tuple[Floats, ...]) -> Floats:
    """Return maps (k, m, m) of a period on (δx, δm, u[k-1], u[k-2], …), for the plant of a `DelayedHold`."""
    count, states, n = B_late[0].shape
    memory, late = law.A.shape[-1], len(B_late) - 1
    size = states + memory + late * n
    feedback = np.zeros((count, n, size))
    feedback[..., :states], feedback[..., states : states + memory] = law.D, law.C
    loops = np.zeros((count, size, size))
    loops[:, :states] = B_late[0] @ feedback
    loops[:, :states, :states] += A
    loops[:, states : states + memory, :states] = law.B
    loops[:, states : states + memory, states : states + memory] = law.A
    first = states + memory
    for i in range(late):
        loops[:, :states, first + i * n : first + (i + 1) * n] += B_late[i + 1]
    if late:
        loops[:, first : first + n] = feedback
        loops[:, first + n :, first : size - n] = np.eye((late - 1) * n)
    return loops


def _disk_margins(law: LinearLaw, A: Floats, B_late: tuple[Floats, ...]) -> Floats:
    """Return 1 / max over frequency of the scaled size of (S - T)/2, of the loops cut open at the torques."""
    L = open_loop(law, A, B_late, np.arange(len(A)), np.pi * np.logspace(-_DECADES, 0.0, _FREQUENCIES))
    n = B_late[0].shape[-1]
    S = np.linalg.inv(np.eye(n) + L)
    sizes = _scaled_size(np.asarray(S - 0.5 * np.eye(n), dtype=np.complex128))  # (S - T)/2 with T = 1 - S
    return np.asarray(1.0 / sizes.max(axis=0))


def open_loop(
    law: LinearLaw, A: Floats, B_late: tuple[Floats, ...], chosen: NDArray[np.intp], angles: Floats
) -> Complex:
    """Return the loops (angles, chosen, n, n), cut open at the torques, at angles on the unit circle."""
    z = np.exp(1j * angles)[:, None, None, None]
    late = sum(B[chosen] * z**-i for i, B in enumerate(B_late))
    G = np.linalg.solve(z * np.eye(A.shape[-1]) - A[chosen], late)
    return np.asarray(-_response(LinearLaw(*(part[chosen] for part in law)), z * (1.0 + _MARGINAL)) @ G)


def _response(law: LinearLaw, z: Complex) -> Complex:
    """Return the law's transfer matrices D + C (z - A)⁻¹ B; memory that only follows itself, as filters, is divided."""
    alone, coupled = _alone(law.A)
    of_alone = law.B[:, alone] / (z - np.diagonal(law.A, axis1=-2, axis2=-1)[:, alone, None])
    driven = law.B[:, coupled] + law.A[:, coupled[:, None], alone] @ of_alone
    of_coupled = np.linalg.solve(z * np.eye(len(coupled)) - law.A[:, coupled[:, None], coupled], driven)
    return np.asarray(law.D + law.C[..., alone] @ of_alone + law.C[..., coupled] @ of_coupled)


def _merged(law: LinearLaw) -> tuple[LinearLaw, Floats]:
    """Return frozen laws whose filters of one pole are merged, and the largest pole among what is left over.

    Filters m' = p m + B δx of equal poles p, however many, hold what the filters w' = p w + δx hold: m = B w. Initial
    differences from that decay by themselves.
    """
    alone, coupled = _alone(law.A)
    count, states = law.D.shape[0], law.D.shape[-1]
    own = np.diagonal(law.A, axis1=-2, axis2=-1)[:, alone]
    poles, group = np.unique(own.round(_DIGITS), axis=1, return_inverse=True)
    if poles.shape[1] * states >= len(alone):
        return law, np.zeros(count)
    size, kept = poles.shape[1] * states, len(coupled)
    A, B = np.zeros((count, size + kept, size + kept)), np.zeros((count, size + kept, states))
    C = np.zeros((*law.C.shape[:-1], size + kept))
    A[:, size:, size:], B[:, size:] = law.A[:, coupled[:, None], coupled], law.B[:, coupled]
    C[..., size:] = law.C[..., coupled]
    for number, pole in enumerate(poles.T):
        same, place = alone[group.ravel() == number], slice(number * states, (number + 1) * states)
        A[:, place, place] = pole[:, None, None] * np.eye(states)
        B[:, place] = np.eye(states)
        A[:, size:, place] = law.A[:, coupled[:, None], same] @ law.B[:, same]
        C[..., place] = law.C[..., same] @ law.B[:, same]
    return LinearLaw(A, B, C, law.D), np.abs(poles).max(axis=1)


def _alone(A: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return indices of the memory that follows only itself and the state, and of the rest."""
    own = np.diagonal(A, axis1=-2, axis2=-1)
    others = np.any(A - own[..., None] * np.eye(own.shape[-1]) != 0.0, axis=(0, 2))
    return np.flatnonzero(~others), np.flatnonzero(others)


def _scaled_size(M: Complex) -> Floats:
    """Return the largest singular value after the diagonal scaling that makes |M| least (Safonov)."""
    sizes = np.abs(M) + 1e-12 * np.abs(M).max(axis=(-1, -2), keepdims=True)
    right = np.ones(M.shape[:-1])
    left = np.ones(M.shape[:-1])
    for _ in range(30):  # the Perron vectors, by powers
        right = (sizes @ right[..., None])[..., 0]
        left = (left[..., None, :] @ sizes)[..., 0, :]
        right, left = right / right.max(axis=-1, keepdims=True), left / left.max(axis=-1, keepdims=True)
    D = np.sqrt(left / right)
    scaled = D[..., :, None] * M / D[..., None, :]
    return np.asarray(np.linalg.svd(scaled, compute_uv=False)[..., 0])


def _lifted(loops: Floats, n: int, period: float, every: int, alone: NDArray[np.intp]) -> tuple[float, float]:
    """Return the growth rate of the product of all maps, and the largest later joint error for a unit one at first.

    Each map stands for so many periods in a row. The states `alone` follow themselves and the plant's state only.
    """
    size, states = loops.shape[-1], 2 * n
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
