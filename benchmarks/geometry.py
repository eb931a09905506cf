"""Rotations, poses, quaternions and Euler angles beside SciPy's Rotation and RigidTransform."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import transform

from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, ratio, seconds
from benchmarks.timing import interleaved
from chasles import geometry

BATCH = 10_000
SEQUENCES = ("XYZ", "ZYX", "ZXZ", "xyz")


class Pair(NamedTuple):
    """One computation by both, and the ratio that it must reach; None where it is shown for information."""

    name: str
    ours: Callable[[], Any]
    scipy: Callable[[], Any]
    bar: float | None


def tables() -> Iterator[Table]:
    """All tables of this section."""
    if not hasattr(transform, "RigidTransform"):
        raise MissingPeerError("SciPy before 1.16 has no RigidTransform")
    yield _table(f"Batch of {BATCH:,} samples, float64, one thread: time for one sample", _pairs(BATCH), BATCH)
    yield _table("One sample, one call from Python", [pair._replace(bar=None) for pair in _pairs(None)], 1)


def _pairs(count: int | None) -> list[Pair]:
    rng = np.random.default_rng(0)
    lead = () if count is None else (count,)
    vectors = rng.normal(size=(*lead, 3))
    exponents = rng.normal(size=(*lead, 6))
    R = geometry.exp_rotation(vectors)
    T = geometry.exp_pose(exponents)
    q1, q2 = (geometry.quaternion_from_rotation(geometry.exp_rotation(rng.normal(size=(*lead, 3)))) for _ in range(2))
    from_vector = transform.Rotation.from_rotvec
    from_matrix = partial(transform.Rotation.from_matrix, assume_valid=True)
    rotation1, rotation2 = (transform.Rotation.from_quat(q, scalar_first=True) for q in (q1, q2))
    scipy_exponents = exponents  # SciPy's exponential coordinates have the rotation vector first, too
    from_exponent, from_pose = transform.RigidTransform.from_exp_coords, transform.RigidTransform.from_matrix
    pairs = [
        Pair(
            "rotation vector to matrix",
            lambda: geometry.exp_rotation(vectors),
            lambda: from_vector(vectors).as_matrix(),
            3.0,
        ),
        Pair("matrix to rotation vector", lambda: geometry.log_rotation(R), lambda: from_matrix(R).as_rotvec(), 5.0),
        Pair(
            "exponential coordinates to pose",
            lambda: geometry.exp_pose(exponents),
            lambda: from_exponent(scipy_exponents).as_matrix(),
            5.0,
        ),
        Pair(
            "pose to exponential coordinates",
            lambda: geometry.log_pose(T),
            lambda: from_pose(T).as_exp_coords(),
            5.0,
        ),
        Pair(
            "product of quaternions",
            lambda: geometry.multiply_quaternions(q1, q2),
            lambda: (rotation1 * rotation2).as_quat(scalar_first=True),
            5.0,
        ),
        Pair(
            "rotation vector to quaternion",
            lambda: geometry.quaternion_from_rotation_vector(vectors),
            lambda: from_vector(vectors).as_quat(scalar_first=True),
            None,
        ),
        Pair(
            "matrix to quaternion",
            lambda: geometry.quaternion_from_rotation(R),
            lambda: from_matrix(R).as_quat(scalar_first=True),
            None,
        ),
    ]
    for sequence in SEQUENCES:
        pairs.append(
            Pair(
                f"Euler angles {sequence} to matrix",
                partial(geometry.rotation_from_euler_angles, vectors, sequence=sequence),
                lambda s=sequence: transform.Rotation.from_euler(s, vectors).as_matrix(),
                5.0,
            )
        )
        pairs.append(
            Pair(
                f"matrix to Euler angles {sequence}",
                partial(geometry.euler_angles_from_rotation, R, sequence=sequence),
                lambda s=sequence: from_matrix(R).as_euler(s),
                5.0,
            )
        )
    return pairs


def _table(title: str, pairs: list[Pair], samples: int) -> Table:
    table = Table(
        title,
        ("", "Chasles", "SciPy", "largest difference", "ratio"),
        notes=[
            "Matrices, quaternions and vectors in, the same out. SciPy's matrices are handed over as valid (Rotation), "
            "its quaternions as Rotation objects that exist already.",
            "Largest difference: over the batch, relative to the largest value.",
        ],
    )
    for pair in pairs:
        ours, theirs = np.asarray(pair.ours()), np.asarray(pair.scipy())
        difference = np.abs(_same_sign(ours, theirs) - theirs).max() / np.abs(theirs).max()
        times = interleaved({"ours": pair.ours, "scipy": pair.scipy})
        measured = times["scipy"] / times["ours"]
        table.add(
            pair.name,
            seconds(times["ours"] / samples),
            seconds(times["scipy"] / samples),
            f"{difference:.0e}",
            ratio(measured) if pair.bar is None else at_least(pair.bar, measured),
        )
    return table


def _same_sign(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Quaternions of the same rotation may differ by their sign."""
    if ours.shape[-1] != 4 or ours.shape[-2:] == (4, 4):
        return ours
    return ours * np.sign(np.sum(ours * theirs, axis=-1, keepdims=True))
