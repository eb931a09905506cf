"""A thousand random calls of each function of chapter 3 against the published package, one by one and as a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.interop.modern_robotics.robots import close, published

import chasles.interop.modern_robotics as mr

COUNT = 1000
Sampler = Callable[[np.random.Generator], tuple[Any, ...]]


def rotations(rng: np.random.Generator) -> np.ndarray:
    """Rotations by up to 3 rad: beyond, the published logarithm loses digits."""
    return Rotation.from_rotvec(rotation_vectors(rng)).as_matrix()


def rotation_vectors(rng: np.random.Generator) -> np.ndarray:
    axes = rng.normal(size=(COUNT, 3))
    return axes / np.linalg.norm(axes, axis=1, keepdims=True) * rng.uniform(0.01, 3.0, (COUNT, 1))


def transforms(rng: np.random.Generator) -> np.ndarray:
    T = np.tile(np.eye(4), (COUNT, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = rotations(rng), rng.normal(size=(COUNT, 3))
    return T


def hats(vectors: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), -vectors[:, None, :])


def twist_matrices(rng: np.random.Generator) -> np.ndarray:
    matrices = np.zeros((COUNT, 4, 4))
    matrices[:, :3, :3], matrices[:, :3, 3] = hats(rotation_vectors(rng)), rng.normal(size=(COUNT, 3))
    return matrices


def twists(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(COUNT, 6))


def near_poses(rng: np.random.Generator) -> np.ndarray:
    return transforms(rng) + 0.1 * rng.normal(size=(COUNT, 4, 4))


def barely_poses(rng: np.random.Generator) -> np.ndarray:
    """Some within, some beyond the tolerance of the tests, and mirrors."""
    T = transforms(rng) + 2e-4 * rng.normal(size=(COUNT, 4, 4))
    T[::5, :3, 0] *= -1.0
    return T


CALLS: dict[str, Sampler] = {
    "NearZero": lambda rng: (rng.normal(scale=2e-6, size=COUNT),),
    "Normalize": lambda rng: (rng.normal(size=(COUNT, 5)),),
    "RotInv": lambda rng: (rotations(rng),),
    "VecToso3": lambda rng: (rng.normal(size=(COUNT, 3)),),
    "so3ToVec": lambda rng: (hats(rng.normal(size=(COUNT, 3))),),
    "AxisAng3": lambda rng: (rng.normal(size=(COUNT, 3)),),
    "MatrixExp3": lambda rng: (hats(4.0 * rng.normal(size=(COUNT, 3))),),
    "MatrixLog3": lambda rng: (rotations(rng),),
    "RpToTrans": lambda rng: (rotations(rng), rng.normal(size=(COUNT, 3))),
    "TransToRp": lambda rng: (transforms(rng),),
    "TransInv": lambda rng: (transforms(rng),),
    "VecTose3": lambda rng: (twists(rng),),
    "se3ToVec": lambda rng: (twist_matrices(rng),),
    "Adjoint": lambda rng: (transforms(rng),),
    "ad": lambda rng: (twists(rng),),
    "ScrewToAxis": lambda rng: (*rng.normal(size=(2, COUNT, 3)), rng.normal(size=COUNT)),
    "AxisAng6": lambda rng: (np.where(rng.random((COUNT, 1)) < 0.3, [0, 0, 0, 1, 1, 1], 1) * twists(rng),),
    "MatrixExp6": lambda rng: (twist_matrices(rng),),
    "MatrixLog6": lambda rng: (transforms(rng),),
    "ProjectToSO3": lambda rng: (near_poses(rng)[:, :3, :3],),
    "ProjectToSE3": lambda rng: (near_poses(rng),),
    "DistanceToSO3": lambda rng: (barely_poses(rng)[:, :3, :3],),
    "DistanceToSE3": lambda rng: (barely_poses(rng),),
    "TestIfSO3": lambda rng: (barely_poses(rng)[:, :3, :3],),
    "TestIfSE3": lambda rng: (barely_poses(rng),),
    "CubicTimeScaling": lambda rng: (rng.uniform(1.0, 5.0, COUNT), rng.uniform(0.0, 1.0, COUNT)),
    "QuinticTimeScaling": lambda rng: (rng.uniform(1.0, 5.0, COUNT), rng.uniform(0.0, 1.0, COUNT)),
}


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", CALLS)
def test_random_calls(name: str) -> None:
    arrays = CALLS[name](np.random.default_rng(len(name)))
    ours, theirs = getattr(mr, name), getattr(published, name)
    batch = parts(ours(*arrays))
    for k in range(COUNT):
        arguments = [array[k] for array in arrays]
        single = ours(*arguments)
        assert close(single, theirs(*arguments)), k
        assert all(np.array_equal(part[k], one) for part, one in zip(batch, parts(single), strict=True)), k
    if name.startswith(("Test", "Near")):
        assert set(batch[0].tolist()) == {True, False}


@pytest.mark.parametrize("name", CALLS)
def test_lists_of_whole_numbers_are_taken_like_arrays(name: str) -> None:
    arrays = CALLS[name](np.random.default_rng(1))
    whole = [np.round(3.0 * array[0]) for array in arrays]
    ours = getattr(mr, name)
    for given, expected in zip(
        parts(ours(*(array.astype(int).tolist() for array in whole))), parts(ours(*whole)), strict=True
    ):
        np.testing.assert_array_equal(given, expected)


def test_types_of_results() -> None:
    T = np.eye(4)
    assert isinstance(mr.TransToRp(T), tuple)
    assert isinstance(mr.AxisAng3([1.0, 2.0, 3.0]), tuple)
    assert isinstance(mr.AxisAng6([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[1], float)
    assert mr.TestIfSE3(T) is True
    assert mr.TestIfSO3(-T[:3, :3]) is False
    assert mr.NearZero(1e-3) is False
    assert isinstance(mr.DistanceToSE3(T), float)
    assert isinstance(mr.CubicTimeScaling(1, 0.5), float)


def test_traced_and_symbolic_arguments_pass_through() -> None:
    sympy = pytest.importorskip("sympy")
    a, b, c = sympy.symbols("a b c")
    assert mr.VecToso3([a, b, c])[2, 1] == a
    assert mr.TransToRp(np.array([[1, 0, 0, a], [0, 1, 0, b], [0, 0, 1, c], [0, 0, 0, 1]]))[1].tolist() == [a, b, c]
