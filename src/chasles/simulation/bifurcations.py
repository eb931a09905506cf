"""Motions through configurations in which a robot's loops leave more freedoms than elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule

if TYPE_CHECKING:
    from chasles.robot.robot import Robot

Floats = NDArray[np.float64]

#: Samples whose constraints are looked at in one piece.
_PIECE = 10_000
#: Change of the constraints' Jacobian from sample to sample, as a share of it, beyond which they tell nothing.
_APART = 0.3
#: Joints that move less than this share of the fastest one are not named.
_SHARE = 0.02


BIFURCATION = Rule(
    "bifurcation", 0.0, "where a singular value of the loops' constraints passes through zero, a motion is free",
    "{who} passed a bifurcation at t = {time:.6g} s: {what}", "caution",
)  # fmt: skip


class BifurcationWarning(UserWarning):
    """A simulated robot with loops passed a configuration in which it can go on in several ways."""


def bifurcations(robot: Robot, q: Floats, time: Floats) -> tuple[Finding, ...]:
    """Find runs that pass a configuration in which the loops leave more degrees of freedom than elsewhere.

    There a singular value of the constraints' Jacobian passes through zero and changes its sign. The equations of
    motion do not say where the robot goes on; the integration chooses by its rounding, and may lose energy.

    Parameters
    ----------
    robot
        Robot with loops.
    q
        Configurations at the samples, shape (runs, samples, nq); NaN after a run diverged.
    time
        Times of the samples, s.
    """
    crossings = [(run, sample) for run, path in enumerate(q) if (sample := _crossing(robot, path)) is not None]
    if not crossings:
        return ()
    run, sample = min(crossings, key=lambda place: place[1])
    who = f"{len(crossings)} of {len(q)} runs" if len(q) > 1 else "the run"
    return BIFURCATION.told(len(crossings), who=who, time=float(time[sample]), what=_sentence(robot, q[run, sample]))


def _constraints(robot: Robot, q: Floats) -> Floats:
    """Jacobians of the constraints that take part, (..., constraints, joints)."""
    rows = list(robot.description.mobility.constraints)
    return np.asarray(robot.loops.constraints(q).J)[..., rows, :]


def _crossing(robot: Robot, path: Floats) -> int | None:
    """First sample after which a singular value of the constraints' Jacobian changes its sign."""
    finite = np.isfinite(path).all(axis=-1)
    last = len(path) if finite.all() else int(np.argmin(finite))
    rank = robot.description.mobility.rank
    for start in range(0, last - 1, _PIECE):
        J = _constraints(robot, path[start : min(start + _PIECE + 1, last)])
        smallest = np.sqrt(np.maximum(np.linalg.eigvalsh(J @ np.swapaxes(J, -1, -2))[:, -rank], 0.0))
        change = np.linalg.norm(np.diff(J, axis=0), axis=(-1, -2))
        # A value that changes its sign changes by more than it is, and by no more than the matrix.
        near = (smallest[:-1] + smallest[1:] <= change) & (change < _APART * np.linalg.norm(J[:-1], axis=(-1, -2)))
        for sample in np.flatnonzero(near):
            if _changes_sign(J[sample], J[sample + 1], rank):
                return start + int(sample)
    return None


def _changes_sign(J: Floats, J_next: Floats, rank: int) -> bool:
    """Whether a singular value, followed from one matrix to the next, passes through zero."""
    (U, _, V), (U_next, _, V_next) = (np.linalg.svd(matrix) for matrix in (J, J_next))
    carried = (U[:, :rank].T @ U_next[:, :rank]) @ (V_next[:rank] @ V[:rank].T)
    return bool(np.linalg.eigvals(carried).real.min() < 0.0)


def _sentence(robot: Robot, q: Floats) -> str:
    """Say how many degrees of freedom the loops leave, and which motion becomes possible."""
    description = robot.description
    J, rank = _constraints(robot, q), description.mobility.rank
    U, sizes, V = np.linalg.svd(J)
    vanishing = [k for k in range(rank) if sizes[k] <= max(2.0 * sizes[rank - 1], 1e-9 * sizes[0])]
    motion: Any = V[rank - 1]
    names = description.joint_velocity_names
    size = np.abs(motion).max()
    order = np.argsort(-np.abs(motion))
    moving = [f"{names[k]} {motion[k] / size:+.2g}" for k in order if abs(motion[k]) > _SHARE * size][:4]
    owners = [loop.name for loop in description.loops for _ in range(loop.constraint_count)]
    concerned = np.abs(U[:, vanishing]).max(axis=1) > 0.1
    loops = dict.fromkeys(
        f"'{owners[row]}'" for row, is_one in zip(description.mobility.constraints, concerned, strict=True) if is_one
    )
    return (
        f"there loop {', '.join(list(loops)[:3])} also lets through the motion {', '.join(moving)}, so the robot has "
        f"{description.n + len(vanishing)} freedoms instead of {description.n} and can go on in several ways; the "
        "equations of motion do not tell which, and from there on energies are wrong. Keep the motion away from there"
    )
