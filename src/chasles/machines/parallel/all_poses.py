"""All real poses of a Stewart-Gough platform with given leg lengths, each proven, and whether any can be missing.

Forty paths lead from the poses of a general complex platform to all isolated poses of this one (`homotopy`). Newton's
method polishes their ends, and a certificate proves each (`certificate`). Forty different proven ends are all there can
be. Otherwise paths must account for each other: ends at infinity, as those of special platforms, or at singular poses,
beside proven ones. A result with a gap is computed again from rotated frames, which lead along other paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.geometry import (
    conjugate_quaternion,
    multiply_quaternions,
    quaternion_from_rotation,
    random_rotation,
    rotation_from_quaternion,
)
from chasles.machines.parallel import certificate, homotopy
from chasles.machines.parallel.kinematics import JointCenters
from chasles.machines.parallel.start_system import start_system
from chasles.machines.parallel.study_equations import POSES, Parameters

#: Ends with |e·e| below this lie at infinity.
_AT_INFINITY = 1e-6
#: Imaginary parts below this are taken for zero, and the proof decides; below the second, for those of a singular pose.
_NEARLY_REAL, _MAYBE_REAL = 1e-6, 2e-2
_SINGULAR_STEPS = 40
#: Residual of a singular pose relative to the size, and distance within which two of them are one.
_SINGULAR_RESIDUAL, _SINGULAR_DISTANCE = 1e-10, 1e-3
#: Half of the squared distance of points of unit length beyond which they clearly differ.
_CLEARLY = 1e-10
#: Rounding of the distance of two points of unit length.
_SAME = 1e-12
#: A path that stops beyond this t has come as near to its end as a singular one lets it.
_NEAR_END = 1.0 - 1e-6
_ATTEMPTS = 4
#: Samples that are followed together.
_CHUNK = 500

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class FoundPoses:
    """Results for leg lengths (n, 6), m of them being the most poses of a row; see `PoseSet`."""

    T: Doubles
    count: NDArray[np.int64]
    certified: NDArray[np.bool_]
    error_bound: Doubles
    complete: NDArray[np.bool_]
    ends: NDArray[np.int64]


class _Ends(NamedTuple):
    """Ends of the forty paths: points (..., 40, 2, 8) of unit length, and what is known of them, (..., 40).

    An end is `certified` with the `radius` of its proof, or `infinite`, or a `singular` real pose without proof, or
    `complex`: singular, but clearly not real. All other ends are lost paths.
    """

    x: Doubles
    radius: Doubles
    certified: NDArray[np.bool_]
    infinite: NDArray[np.bool_]
    singular: NDArray[np.bool_]
    complex: NDArray[np.bool_]
    real: NDArray[np.bool_]

    def of(self, row: int) -> _Ends:
        """Ends of one row."""
        return _Ends(*(part[row] for part in self))

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Whether nothing is known of an end."""
        return ~(self.certified | self.infinite | self.singular | self.complex)


class _Row:
    """Different ends of one row of leg lengths, over all attempts."""

    def __init__(self) -> None:
        self.x = np.zeros((0, 2, 8))
        self.certified, self.real = np.zeros((2, 0), dtype=bool)
        self.radius = np.zeros(0)
        self.infinite = self.complex = 0
        self.complete = False

    def take(self, ends: _Ends, settled: bool) -> None:
        """Add the ends of one attempt, and decide whether everything is accounted for."""
        useful = ends.certified | ends.singular
        repeated = False
        if settled and not len(self.x):
            self.x, self.certified = ends.x[useful], ends.certified[useful]
            self.real, self.radius = ends.real[useful], ends.radius[useful]
        else:
            repeated = self._merge(ends, [*np.flatnonzero(ends.certified), *np.flatnonzero(ends.singular)])
        self.infinite, self.complex = int(np.count_nonzero(ends.infinite)), int(np.count_nonzero(ends.complex))
        clean = not repeated and bool(ends.certified.any()) and not np.any(ends.lost) and _closed(ends)
        self.complete = bool(np.count_nonzero(self.certified) >= POSES or clean)

    def _merge(self, ends: _Ends, order: list[int]) -> bool:
        """Add those of the ends that are new; return whether two regular paths ended at the same one."""
        met: set[int] = set()
        repeated = False
        for k in order:
            apart = _distances(self.x, ends.x[k])
            same = apart <= (self.radius + ends.radius[k] if ends.certified[k] else _SINGULAR_DISTANCE)
            if np.any(same):
                first = int(np.argmax(same))
                repeated |= bool(ends.certified[k]) and first in met
                met.add(first)
                continue
            met.add(len(self.x))
            self.x = np.concatenate([self.x, ends.x[k][None]])
            self.certified = np.append(self.certified, ends.certified[k])
            self.real = np.append(self.real, ends.real[k])
            self.radius = np.append(self.radius, ends.radius[k])
        return repeated


def all_poses(geometry: JointCenters, lengths: Doubles, searched: NDArray[np.bool_]) -> FoundPoses:
    """Find the real poses for those of the rows of leg lengths (n, 6) that are wanted, (n,); the others have none."""
    rows = [_Row() for _ in lengths]
    reachable = np.flatnonzero(searched)
    scale = _scale(geometry, lengths)
    for first in range(0, len(reachable), _CHUNK):
        pending = reachable[first : first + _CHUNK]
        rng = np.random.default_rng(0)
        for attempt in range(_ATTEMPTS):
            turns = random_rotation(rng, (2,)) if attempt else np.tile(np.eye(3), (2, 1, 1))
            ends = _followed(_parameters(geometry, lengths[pending], scale, turns))
            ends = ends._replace(x=_turned_back(ends.x, turns))
            for k, (row, settled) in enumerate(zip(pending, _settled(ends), strict=True)):
                rows[row].take(ends.of(k), bool(settled))
            pending = np.array([row for row in pending if not rows[row].complete], dtype=np.int64)
            if not len(pending):
                break
    for row in np.flatnonzero(~searched):
        rows[row].complete = True
    return _gathered(geometry, rows, scale)


def _gathered(geometry: JointCenters, rows: Sequence[_Row], scale: float) -> FoundPoses:
    count = np.array([np.count_nonzero(row.real) for row in rows], dtype=np.int64)
    shape = (len(rows), int(count.max(initial=0)))
    T, error_bound, certified = np.full((*shape, 4, 4), np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    if count.any():
        is_filled = np.arange(shape[1]) < count[:, None]
        x, proofs, radius = (
            np.concatenate([getattr(row, name)[row.real] for row in rows]) for name in ("x", "certified", "radius")
        )
        certified[is_filled] = proofs
        T[is_filled], error_bound[is_filled] = _poses(geometry, x, radius, scale)
    ends = [[np.count_nonzero(row.certified), row.infinite, row.complex] for row in rows]
    complete = np.array([row.complete for row in rows], dtype=bool)
    return FoundPoses(T, count, certified, error_bound, complete, np.array(ends, dtype=np.int64).reshape(-1, 3))


def _complex(x: Doubles) -> NDArray[np.complex128]:
    """Complex numbers (..., 8) of real and imaginary parts (..., 2, 8), of unit length."""
    z = x[..., 0, :] + 1j * x[..., 1, :]
    with np.errstate(invalid="ignore"):
        return np.asarray(z / np.linalg.norm(z, axis=-1, keepdims=True))


def _distances(x: Doubles, point: Doubles) -> Doubles:
    """Distances of points (m, 2, 8) from one (2, 8), as points of projective space."""
    z, coordinates = _complex(x), _complex(point)
    product = z @ coordinates.conj()
    return np.asarray(np.linalg.norm(z - np.exp(1j * np.angle(product))[:, None] * coordinates, axis=-1))


def _settled(ends: _Ends) -> NDArray[np.bool_]:
    """Whether the regular ends of each row (n, 40) are clearly different from each other, and none is lost."""
    z = _complex(ends.x)
    apart = 1.0 - np.abs(z @ np.swapaxes(z, -1, -2).conj()) > _CLEARLY
    either = ~(ends.certified[..., :, None] & ends.certified[..., None, :]) | np.eye(POSES, dtype=bool)
    return np.asarray(np.all(apart | either, axis=(-2, -1)) & ~np.any(ends.lost | ends.singular, axis=-1))


def _closed(ends: _Ends) -> bool:
    """Whether the conjugate of every regular complex end is another one: the equations are real."""
    pairs = ends.certified & ~ends.real
    x, radius = ends.x[pairs], ends.radius[pairs]
    apart = np.array([_distances(x, end * np.array([[1.0], [-1.0]])) for end in x]).reshape(len(x), len(x))
    np.fill_diagonal(apart, np.inf)
    return bool(np.all(np.any(apart <= 2.0 * (radius[:, None] + radius) + _SAME, axis=-1)))


def _followed(parameters: Parameters) -> _Ends:
    """Ends of all paths for parameters (n, …)."""
    system = start_system()
    targets = homotopy.parameter_vector(parameters)
    states, _, _ = homotopy.tracker()(system.states, system.parameters, targets[:, None], homotopy.MAX_ITERATIONS)
    followed = homotopy.ends(states)
    y = followed.x / np.linalg.norm(followed.x, axis=-1, keepdims=True)
    y = y * np.exp(-0.5j * np.angle(np.sum(y * y, axis=-1)))[..., None]  # a real point becomes real
    x = np.stack([y.real, y.imag], axis=-2)
    patch = x * np.array([1.0, -1.0])[:, None]
    vector, L = certificate.parameter_vector(parameters)[:, None], certificate.lipschitz(parameters)[:, None]
    newton = certificate.newton()
    with np.errstate(all="ignore"):
        for _ in range(2):
            x = newton(x, patch, vector).next_x
        real = np.abs(x[..., 1, :]).max(axis=-1) < _NEARLY_REAL
        for pairs in (x, patch):
            pairs[..., 1, :] *= ~real[..., None]
        x = newton(x, patch, vector).next_x
        proof = certificate.proof(newton(x, patch, vector), x, L)
        e = x[..., 0, :4] + 1j * x[..., 1, :4]
        certified = proof.exists & (np.abs(np.sum(e * e, axis=-1)) > 3.0 * proof.radius)
    infinite = ~certified & (np.abs(np.sum(y[..., :4] ** 2, axis=-1)) < _AT_INFINITY)
    near = np.abs(y.imag).max(axis=-1) < _MAYBE_REAL
    maybe = ~certified & ~infinite & near
    singular = np.zeros_like(maybe)
    if maybe.any():
        x[maybe], singular[maybe] = _singular_poses(y.real[maybe], np.broadcast_to(vector, (*maybe.shape, 36))[maybe])
    nonreal = ~certified & ~infinite & ~near & (followed.t > _NEAR_END)
    return _Ends(x, proof.radius, certified, infinite, singular, nonreal, (real & certified) | singular)


def _singular_poses(guess: Doubles, vector: Doubles) -> tuple[Doubles, NDArray[np.bool_]]:
    """Real points (m, 2, 8) to which Newton's method converges, if slowly, from guesses (m, 8), and whether it does."""
    newton = certificate.newton()
    x = np.stack([guess, np.zeros_like(guess)], axis=-2)
    patch = x / np.sum(x * x, axis=(-2, -1), keepdims=True)
    with np.errstate(all="ignore"):
        for _ in range(_SINGULAR_STEPS):
            following = newton(x, patch, vector).next_x
            x = np.where(np.isfinite(following), following, x)
        return x, newton(x, patch, vector).residual < _SINGULAR_RESIDUAL


def _scale(geometry: JointCenters, lengths: Doubles) -> float:
    """Power of two near the largest distance, by which everything is divided without rounding."""
    largest = max(*(np.abs(joints - joints[0]).max() for joints in geometry), lengths.max(initial=0.0))
    return float(2.0 ** np.round(np.log2(largest)))


def _parameters(geometry: JointCenters, lengths: Doubles, scale: float, turns: Doubles) -> Parameters:
    """Parameters of the equations, with the axes of base and platform rotated."""
    a, b = ((joints[1:] - joints[0]) / scale @ turn.T for joints, turn in zip(geometry, turns, strict=True))
    squares = (lengths / scale) ** 2
    k = 0.5 * (np.sum(a * a, axis=1) + np.sum(b * b, axis=1) - squares[:, 1:] + squares[:, :1])
    rows = len(lengths)
    return Parameters(np.broadcast_to(a, (rows, 5, 3)), np.broadcast_to(b, (rows, 5, 3)), k, squares[:, 0])


def _turned_back(x: Doubles, turns: Doubles) -> Doubles:
    """Points in the axes of the platform as it was given: q_base* x q_platform for e and g."""
    of_base, of_platform = quaternion_from_rotation(turns)
    halves = x.reshape(*x.shape[:-1], 2, 4)
    turned = multiply_quaternions(conjugate_quaternion(of_base), multiply_quaternions(halves, of_platform))
    return np.asarray(turned.reshape(x.shape))


def _poses(geometry: JointCenters, x: Doubles, radius: Doubles, scale: float) -> tuple[Doubles, Doubles]:
    """Poses (m, 4, 4) of real points (m, 2, 8), and bounds (m,) on the displacement of any platform joint, m."""
    length = np.linalg.norm(x[:, 0, :4], axis=1)
    e, g = x[:, 0, :4] / length[:, None], x[:, 0, 4:] / length[:, None]
    R = rotation_from_quaternion(e)
    p = scale * multiply_quaternions(g, conjugate_quaternion(e))[:, 1:]
    T = np.tile(np.eye(4), (len(x), 1, 1))
    T[:, :3, :3] = R
    T[:, :3, 3] = geometry.base[0] + p - R @ geometry.platform[0]
    arm = np.linalg.norm(geometry.platform - geometry.platform[0], axis=1).max()
    relative = radius / length
    bound = scale * relative * (1.0 + np.linalg.norm(g, axis=1)) / (1.0 - relative) + 2.0 * arm * relative
    offsets = np.abs(geometry.base[0]).max() + np.abs(geometry.platform[0]).max()
    return T, bound * (1.0 + 1e-9) + 1e-14 * (scale + offsets)
