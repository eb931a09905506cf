"""Laws linearised about the motion that they follow, memory included, and the loops that they close."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import PlannedMotion
from chasles.control.traced_law import TracedLaw, traced_law
from chasles.engine import Function, Layout, trace
from chasles.engine.program.program import Program
from chasles.engine.program.records import Memory
from chasles.engine.program.scalar import Array, Real
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
#: How a law gets its velocities: as differences of two positions, or as the plant's.
Velocity = Literal["differentiated", "measured"]

#: Eigenvalues this far outside of the unit circle count as on it: estimates and filters that hold their values.
MARGINAL = 1e-7
LARGE_MEMORY = 60  # values, from which on a law is differentiated direction by direction
_UNFELT = 1e-9  # share of a value that counts as rounding
_SETTLING, _MOST_SETTLING = 0.5, 500  # s, and calls at most, at rest before a motion
_BY_EIGENVECTORS, _BEST_CONDITIONED = 40, 1e8  # memory from which on responses use them, if they lose few digits
_MEMORY = 4  # its place among the arguments of a law, behind t, q, qd and the reference
_DIGITS = 8  # of poles, up to which filters have the same


class LinearLaw(NamedTuple):
    """δm[k+1] = A δm + B δx and δu = C δm + D δx, of every call, with δx = (δq, δq̇)."""

    A: Floats
    B: Floats
    C: Floats
    D: Floats


def law_along(
    robot: Robot,
    controller: Controller,
    times: Floats,
    planned: Motion,
    period: float,
    every: int = 1,
    velocity: Velocity = "differentiated",
) -> LinearLaw:
    """Differentiate every so many calls of a law that follows a motion; its filters settle at rest before that."""
    before = 0
    if not np.any(planned.qd[0]):
        before = every * math.ceil(min(_SETTLING / period, _MOST_SETTLING) / every)
    start = np.repeat(planned.q[:1], before, axis=0), *(np.zeros((before, planned.qd.shape[-1])) for _ in range(2))
    settled = Motion(*(np.concatenate([rest, part]) for rest, part in zip(start, planned, strict=True)))
    earlier = times[0] - period * np.arange(before, 0, -1)
    law = linear_law(robot, controller, np.concatenate([earlier, times]), settled, period, every)
    law = LinearLaw(*(part[before // every :] for part in law))
    return differenced(law, period) if velocity == "differentiated" and robot.nq == robot.n else law


def differenced(law: LinearLaw, period: float) -> LinearLaw:
    """Return the law with (q[k] - q[k-1]) / period in place of the velocities; q[k-1] is the first of its memory.

    q are all measured positions: those of the motors too, for laws of elastic joints.
    """
    count, _, states = law.D.shape
    n, kept = states // 2, law.A.shape[-1]
    by_velocity_D, by_velocity_B = law.D[..., n:] / period, law.B[..., n:] / period
    A, B = np.zeros((count, n + kept, n + kept)), np.zeros((count, n + kept, states))
    C, D = np.concatenate([-by_velocity_D, law.C], axis=-1), np.zeros_like(law.D)
    A[:, n:, :n], A[:, n:, n:] = -by_velocity_B, law.A
    B[:, :n, :n], B[:, n:, :n] = np.eye(n), law.B[..., :n] + by_velocity_B
    D[..., :n] = law.D[..., :n] + by_velocity_D
    return LinearLaw(A, B, C, D)


def linear_law(
    robot: Robot, controller: Controller, times: Floats, planned: Motion, period: float, every: int
) -> LinearLaw:
    """Differentiate every so many calls of a law that follows the motion without error; its memory runs along."""
    traced = _traced(controller, times, planned, period)
    function, schedule = _function(traced)
    q, qd = measured_along(controller, planned, times)
    given = (times, q, qd, traced.references)
    memories = _memories(function, traced, (*given, *schedule))
    arguments = tuple(part[::every] for part in (*given, memories, *schedule))
    torques = np.ravel(function(*given, memories, *schedule, *traced.further)[0])
    sizes = sizes_of(memories), float(sizes_of(torques[:, None])[0])
    states, size = q.shape[-1] + qd.shape[-1], traced.initial_memory.size
    if size <= LARGE_MEMORY:
        tau, following = (
            np.concatenate(
                [_slopes(function.program, output, wrt)(*arguments, *traced.further) for wrt in ("q", "qd", "memory")],
                axis=-1,
            )
            for output in ("tau", "following")
        )
        kept = memory_that_acts(tau[..., states:], following[..., states:], *sizes)
    else:
        count = len(arguments[0])
        some = np.unique(np.linspace(0, count - 1, 5).astype(np.intp))
        found = _directional(function, tuple(part[some] for part in arguments), np.arange(states + size))
        by_tau, by_following = (part[..., states:] for part in found)
        kept = memory_that_acts(by_tau, by_following, *sizes)
        columns = np.concatenate([np.arange(states), states + kept])
        tau, following = (np.zeros((count, rows, states + size)) for rows in (planned.qd.shape[-1], size))
        tau[..., columns], following[..., columns] = _directional(function, arguments, columns)
    D, B = (_by_displacements(robot, arguments[1], part[..., :states]) for part in (tau, following))
    return LinearLaw(following[:, kept][..., states + kept], B[:, kept], tau[..., states + kept], D)


def measured_along(controller: Controller, planned: Motion, times: Floats | None = None) -> tuple[Floats, Floats]:
    """Return positions and velocities that a law measures at places of a motion: of joints, and of motors behind."""
    if not controller.reads_motors:
        return planned.q, planned.qd
    motors = controller.motor_motion(planned, times)
    return np.concatenate([planned.q, motors.q], axis=-1), np.concatenate([planned.qd, motors.qd], axis=-1)


def _traced(controller: Controller, times: Floats, planned: Motion, period: float) -> TracedLaw:
    """Trace a law once for all gains and periods; one of a large memory, or that cannot take them, with its own."""
    if controller.memory_layout.size <= LARGE_MEMORY:
        with contextlib.suppress(ArgumentError):
            return traced_law(controller, times, planned, period, varied=True)
    return traced_law(controller, times, planned, period)


def _memories(function: Function, traced: TracedLaw, given: Sequence[Floats]) -> Floats:
    """Memory of a law at each call, of which the arguments but the memory are given."""
    count = len(given[0])
    if not traced.initial_memory.size:
        return np.zeros((count, 0))
    rows = np.concatenate([np.reshape(part, (count, -1)) for part in given], axis=-1)
    memories = _memory_scan(function.program, len(given))(traced.initial_memory, rows[:, None], *traced.further)[1]
    return np.asarray(memories)


@lru_cache(maxsize=16)
def _memory_scan(program: Program, count: int) -> Function:
    """Loop over the calls of a law, of which so many arguments change from call to call: (memory, given, …)."""
    memory, *given = program.inputs[_MEMORY], *program.inputs[:_MEMORY], *program.inputs[_MEMORY + 1 : count + 1]
    law, layout = Function(program), Layout({a.name: a.shape for a in given})

    def call(memory: Array, given: Mapping[str, Array], *further: Array) -> Any:
        before, after = list(given.values())[:_MEMORY], list(given.values())[_MEMORY:]
        return law(*before, memory, *after, *further)[1], memory

    shapes: dict[str, Any] = {"memory": memory.shape, "given": layout.shapes}
    shapes |= {a.name: a.shape for a in program.inputs[count + 1 :]}
    return Function(trace(call, shapes, name="memory_along", outputs=["following", "memory_now"]), shape="scan")


@lru_cache(maxsize=16)
def _compiled(program: Program) -> Function:
    """Return a law as a function, the same one for the same law."""
    return Function(program)


@lru_cache(maxsize=16)
def _slopes(program: Program, output: str, wrt: str) -> Function:
    """Return the derivatives of a law, as the same function for the same law."""
    return _compiled(program).jacobian(output, wrt)


def _function(traced: TracedLaw) -> tuple[Function, tuple[Floats, ...]]:
    """Return a law as a function, and its schedule; one of a large memory without schedule has no argument for it.

    Functions with empty arguments are not compiled. That suits a few batched calls, but not the many that a large
    memory asks for.
    """
    function = _compiled(traced.program)
    memory = traced.initial_memory.size
    if traced.schedule.shape[1] or memory <= LARGE_MEMORY:
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


def sizes_of(values: Floats) -> Floats:
    """Largest magnitude of each column; 1 for those that are zero throughout."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def memory_that_acts(by_tau: Floats, by_following: Floats, memory: Floats, torque: float) -> NDArray[np.intp]:
    """Indices of the memory that torques depend on, at once or later, beyond rounding at its and the torques' sizes.

    A covariance or a matrix that multiplies errors that are zero does not count.
    """
    reads = np.any(np.abs(by_following) * memory > _UNFELT * memory[:, None], axis=0)
    felt = np.any(np.abs(by_tau) * memory > _UNFELT * torque, axis=(0, 1))
    while (further := felt | reads[felt].any(axis=0)).sum() > felt.sum():
        felt = further
    return np.flatnonzero(felt)


def _directional(function: Function, arguments: tuple[Floats, ...], columns: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return exact derivatives of torques and memory by some elements of (q, qd, memory), one direction each."""
    derivative = function.jvp(["q", "qd", "memory"])
    nq, states = arguments[1].shape[-1], arguments[1].shape[-1] + arguments[2].shape[-1]
    directions = np.eye(states + arguments[4].shape[-1])[columns]
    along = directions[:, :nq], directions[:, nq:states], directions[:, states:]
    moved = [derivative(*(part[k] for part in arguments), *along) for k in range(len(arguments[0]))]
    return np.stack([tau.T for tau, _ in moved]), np.stack([following.T for _, following in moved])


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


def open_loop(
    law: LinearLaw, A: Floats, B_late: tuple[Floats, ...], chosen: NDArray[np.intp], angles: Floats
) -> Complex:
    """Return the loops (angles, chosen, n, n), cut open at the torques, at angles on the unit circle."""
    z = np.exp(1j * angles)[:, None, None, None]
    late = sum(B[chosen] * z**-i for i, B in enumerate(B_late))
    G = np.linalg.solve(z * np.eye(A.shape[-1]) - A[chosen], late)
    return np.asarray(-response(LinearLaw(*(part[chosen] for part in law)), z * (1.0 + MARGINAL)) @ G)


def response(law: LinearLaw, z: Complex) -> Complex:
    """Return the law's transfer matrices D + C (z - A)⁻¹ B; memory that only follows itself, as filters, is divided."""
    alone, coupled = alone_and_coupled(law.A)
    of_alone = law.B[:, alone] / (z - np.diagonal(law.A, axis1=-2, axis2=-1)[:, alone, None])
    driven = law.B[:, coupled] + law.A[:, coupled[:, None], alone] @ of_alone
    A = law.A[:, coupled[:, None], coupled]
    if len(coupled) > _BY_EIGENVECTORS:
        poles, V = np.linalg.eig(A)
        if np.linalg.cond(V).max(initial=0.0) < _BEST_CONDITIONED:
            of_coupled = V @ (np.linalg.solve(V, driven) / (z - poles[..., None]))
            return np.asarray(law.D + law.C[..., alone] @ of_alone + law.C[..., coupled] @ of_coupled)
    of_coupled = np.linalg.solve(z * np.eye(len(coupled)) - A, driven)
    return np.asarray(law.D + law.C[..., alone] @ of_alone + law.C[..., coupled] @ of_coupled)


def merged(law: LinearLaw) -> tuple[LinearLaw, Floats]:
    """Return frozen laws whose filters of one pole are merged, and the largest pole among what is left over.

    Filters m' = p m + B δx of equal poles p, however many, hold what the filters w' = p w + δx hold: m = B w. Initial
    differences from that decay by themselves.
    """
    alone, coupled = alone_and_coupled(law.A)
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


def alone_and_coupled(A: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return indices of the memory that follows only itself and the state, and of the rest."""
    own = np.diagonal(A, axis1=-2, axis2=-1)
    others = np.any(A - own[..., None] * np.eye(own.shape[-1]) != 0.0, axis=(0, 2))
    return np.flatnonzero(~others), np.flatnonzero(others)
