"""Inverse kinematics under random abuse: nothing is called solved that forward kinematics does not confirm.

The seed comes from the environment variable CHASLES_ATTACK_SEED; each case has a generator of its own, so that a
failure can be repeated alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.inverse_kinematics import (
    AccelerationLimit,
    ConfigurationLimit,
    DampingTask,
    FrameTask,
    PostureTask,
    Status,
    VelocityLimit,
    condition_number,
    damped_inverse,
    manipulability,
    pseudo_inverse,
    selectively_damped_inverse,
    solve_rates,
)
from chasles.inverse_kinematics.ranges import TURN
from chasles.inverse_kinematics.task import PoseWeights

SEED = int(os.environ.get("CHASLES_ATTACK_SEED", "20261122"))
ROBOTS = ["panda", "ur5", "iiwa14", "puma560", "stanford", "scara", "planar2r"]
#: Compiling takes most of the time.
FEW = ["ur5", "planar2r"]
MASKS: list[Any] = [None, "pose", "position", "orientation", "direction", "position and direction"]
Generator = np.random.Generator


def attack(few: int, many: int) -> Callable[..., Any]:
    """Run a test on generators and robots: a few by default, many cases and all robots with ``-m slow``."""

    def decorate(judge: Callable[[Generator, list[str]], bool]) -> Callable[[int], None]:
        def test(count: int) -> None:
            kept = 0
            for case in range(count):
                rng = np.random.default_rng([SEED, case])
                try:
                    kept += judge(rng, FEW if count == few else ROBOTS)
                except ChaslesError:  # a refusal is an answer
                    continue
                except Exception as error:
                    error.add_note(f"CHASLES_ATTACK_SEED={SEED}, case {case}")
                    raise
            assert kept >= count // 5  # not everything is refused

        test.__doc__ = judge.__doc__
        return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])(test)

    return decorate


@cache
def loaded(name: str) -> ch.Robot:
    return ch.load(name)


def robot_of(rng: Generator, names: list[str]) -> ch.Robot:
    return loaded(str(rng.choice(names)))


def size(rng: Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def strange(rng: Generator) -> float:
    """A number that is somewhere in double precision, or none."""
    somewhere = [size(rng, -320.0, 308.0), -size(rng, -300.0, 300.0)]
    return float(rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.8e308, 1.0, *somewhere]))


def configurations(robot: ch.Robot, rng: Generator, count: int) -> np.ndarray:
    """Within the limits, at them, and some places that are singular."""
    lower, upper = np.maximum(robot.lower_limits, -3.1), np.minimum(robot.upper_limits, 3.1)
    q = rng.uniform(lower, upper, (count, robot.n))
    at = rng.random(q.shape)
    return np.where(at < 0.05, lower, np.where(at < 0.1, upper, np.where(at < 0.15, np.clip(0.0, lower, upper), q)))


def spoiled(T: np.ndarray, rng: Generator) -> np.ndarray:
    """Some targets made poses no more, or out of reach, or twins."""
    T = T.copy()
    for k in range(len(T)):
        match rng.integers(12):
            case 0:
                T[k, rng.integers(4), rng.integers(4)] = strange(rng)
            case 1:
                T[k, :3, :3] *= rng.choice([1.0 + 1e-3, -1.0, 1.0 + 1e-5, 0.0, 1e150])
            case 2:
                T[k, :3, 0] *= -1.0
            case 3:
                T[k, :3, 3] *= rng.choice([3.0, 1e9, 1e99, 0.0])
            case 4:
                T[k] = T[0]
            case _:
                pass
    return T


def pose_defect(T: np.ndarray) -> np.ndarray:
    """Distance from being a pose, by plain NumPy; infinite for mirrors and what is not finite or too far away."""
    with np.errstate(all="ignore"):
        R = T[..., :3, :3]
        defect = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1))
        defect = np.maximum(defect, np.abs(T[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(axis=-1))
        mirror = ~(np.linalg.det(np.where(np.isfinite(R), R, 0.0)) > 0.0)
        far = ~(np.abs(T[..., :3, 3]) < 1e100).all(axis=-1)
        return np.where(np.isfinite(defect) & ~mirror & ~far, defect, np.inf)


@attack(30, 200)
def test_claims_are_confirmed(rng: Generator, names: list[str]) -> bool:
    """Successes reach their targets within the limits; the others are told apart; nothing is NaN but what must be."""
    robot = robot_of(rng, names)
    count = int(rng.choice([0, 1, 2, 9]))
    good = robot.forward_kinematics(configurations(robot, rng, max(count, 1)))
    T = spoiled(good, rng)[:count]
    tolerance = rng.choice([1e-6, size(rng, -9.0, -2.0), strange(rng)], p=[0.5, 0.4, 0.1])
    options: dict[str, Any] = {
        "mask": MASKS[rng.integers(len(MASKS))] if names is ROBOTS else [None, "position"][rng.integers(2)],
        "limits": bool(rng.random() < 0.8) or names is FEW,
        "tolerance": float(tolerance),
        "max_iterations": int(rng.choice([1, 20, 200])),
        "method": str(rng.choice(["auto", "auto", "numeric", "closed form"])),
        "select": str(rng.choice(["first", "first", "nearest", "best"])),
        "starts": 2,
        "seed": int(rng.integers(3)),
    }
    if names is ROBOTS and rng.random() < 0.2:
        options["mask"] = rng.choice([0.0, 1.0, 0.3], 6)
    q0 = None
    if rng.random() < 0.7:
        shape = [(robot.n,), (count, robot.n), (1, robot.n)][rng.integers(3)]
        q0 = rng.normal(size=shape) * rng.choice([0.0, 1.0, 10.0, 1e3])
        if rng.random() < 0.1 and q0.size:
            q0.flat[0] = strange(rng)
    solution = robot.inverse_kinematics(T, q0, **options)
    assert solution.q.shape == (count, robot.n)
    defect, invalid = pose_defect(T), solution.status == Status.INVALID_TARGET
    assert invalid[defect > 1e-3].all()
    assert not invalid[defect < 1e-6].any()
    np.testing.assert_array_equal(np.isnan(solution.q).all(axis=-1), invalid)
    np.testing.assert_array_equal(solution.success, solution.status == Status.SOLVED)
    won = solution.success
    if options["limits"]:
        kept = won if options["method"] == "closed form" else ~invalid
        assert ((solution.q >= robot.lower_limits) & (solution.q <= robot.upper_limits))[kept].all()
    goals, reached = T[won], robot.forward_kinematics(solution.q[won])
    weights = np.array(PoseWeights.of(options["mask"]).weights)
    across = np.swapaxes(goals[:, :3, :3], -1, -2) @ (goals - reached)[:, :3, 3, None]
    slack = tolerance * (1.0 + 1e-9) + 2e-4 * (defect[won] > 1e-6)
    assert (np.linalg.norm(across[..., 0][:, weights[3:] > 0.0], axis=-1) <= slack + 1e-12).all()
    if (weights[:3] > 0.0).all():
        chord = np.linalg.norm(np.swapaxes(reached, -1, -2)[:, :3, :3] @ goals[:, :3, :3] - np.eye(3), axis=(-2, -1))
        assert (chord <= np.sqrt(2.0) * slack + 1e-12).all()
    return True


@attack(12, 600)
def test_targets_do_not_influence_each_other(rng: Generator, names: list[str]) -> bool:
    """A target gives the same alone, in company, beside invalid ones and beside its twin."""
    robot = robot_of(rng, names)
    T = spoiled(robot.forward_kinematics(configurations(robot, rng, 6)), rng)
    q0 = rng.normal(size=(6, robot.n)) * rng.choice([1.0, 20.0])
    options: dict[str, Any] = {"max_iterations": 60, "method": str(rng.choice(["auto", "numeric"]))}
    together = robot.inverse_kinematics(T, q0, **options)
    order = rng.permutation(6)
    shuffled = robot.inverse_kinematics(T[order], q0[order], **options)
    np.testing.assert_array_equal(shuffled.q, together.q[order])
    np.testing.assert_array_equal(shuffled.status, together.status[order])
    k = int(rng.integers(6))
    alone = robot.inverse_kinematics(T[k], q0[k], **options)
    np.testing.assert_array_equal(alone.q, together.q[k])
    twins = robot.inverse_kinematics(T[[k, k]], q0[[k, k]], **options)
    np.testing.assert_array_equal(twins.q[0], twins.q[1])
    return True


@attack(30, 3000)
def test_reachable_poses_are_reached_from_anywhere(rng: Generator, names: list[str]) -> bool:
    """Joints that turn freely end within half a turn of the guess, or as near to it as the limits allow."""
    robot = robot_of(rng, names)
    q = configurations(robot, rng, 5)
    T = robot.forward_kinematics(q)
    q0 = rng.uniform(-50.0, 50.0, (5, robot.n))
    solution = robot.inverse_kinematics(T, q0, max_iterations=5000, tolerance=1e-5)
    assert solution.success.mean() >= 0.5
    assert (solution.residual.distance[solution.success] <= 1e-5).all()
    turns = np.array([unit == "rad" for unit in robot.description.coordinate_units]) & np.isinf(
        robot.upper_limits - robot.lower_limits
    )
    won = solution.success
    assert (np.abs(solution.q - q0)[won][:, turns] <= 0.5 * TURN + 1e-9).all()
    return True


@attack(8, 100)
def test_rates_return_within_the_limits_and_stay(rng: Generator, names: list[str]) -> bool:
    """From outside by 1e-12 to 2, any joints, steps and limits: rates and accelerations are kept, and it converges."""
    robot = robot_of(rng, names)
    lower, upper = robot.lower_limits, robot.upper_limits
    dt = float(rng.choice([0.02, 0.05, 0.3] if names is FEW else [1e-3, 0.01, 0.05, 0.3]))
    fastest = np.minimum(robot.velocity_limits, size(rng, -0.5, 1.0))
    acceleration = rng.choice([np.inf, size(rng, 0.5, 3.0)])
    limits: list[Any] = [ConfigurationLimit(float(rng.choice([0.5, 1.0, 0.2]))), VelocityLimit(fastest)]
    if np.isfinite(acceleration):
        limits.append(AccelerationLimit(acceleration))
    rng.shuffle(limits)
    q = configurations(robot, rng, 1)[0]
    start = q.copy()
    for joint in rng.choice(robot.n, rng.integers(1, robot.n + 1), replace=False):
        end, side = [(lower[joint], -1.0), (upper[joint], 1.0)][rng.integers(2)]
        q[joint] = end + side * size(rng, -12.0, 0.3) if np.isfinite(end) else q[joint]
    wanted: Any = FrameTask(robot.forward_kinematics(start)) if rng.random() < 0.5 else PostureTask(start, 1.0, 5.0)
    qd = np.zeros(robot.n)
    outside = np.maximum(np.maximum(lower - q, q - upper), 0.0)
    patience = outside.max() / fastest.min() + 2.0 * fastest.max() / acceleration + 1.0 / acceleration
    steps = int(min(3.0 * patience / dt + 200, 1500))
    for _ in range(steps):
        step = solve_rates(robot, q, [wanted, DampingTask(1e-2)], dt, qd=qd, limits=limits)
        assert (np.abs(step.qd) <= fastest * (1.0 + 1e-12)).all()
        if np.isfinite(acceleration):
            assert (np.abs(step.qd - qd) <= acceleration * dt * (1.0 + 1e-9) + 1e-12).all()
        qd = step.qd
        q = q + dt * qd
        now = np.maximum(np.maximum(lower - q, q - upper), 0.0)
        # the rate that ends a step on a limit is rounded in proportion to the step, not to where it ends
        assert (now <= outside + 4.0 * np.spacing(np.maximum(np.abs(q), np.abs(dt * qd)))).all()
        outside = now
    if steps < 1500:  # on the limit, or the number next to it: a share of one spacing is rounded to nothing
        assert (outside <= np.spacing(np.abs(q))).all()
    return True


@attack(60, 4000)
def test_inverses_of_jacobians(rng: Generator, names: list[str]) -> bool:
    """Finite where the Jacobian is, of the right shape, and what their names say."""
    m, n = rng.integers(1, 7, 2)
    batch = [(), (0,), (3,), (2, 2)][rng.integers(4)]
    J = rng.normal(size=(*batch, m, n)) * size(rng, -12.0, 12.0)
    if rng.random() < 0.3:
        J[..., 0, :] = J[..., -1, :]
    scale = np.abs(J).max(initial=0.0)
    if rng.random() < 0.2 and J.size:
        J.flat[rng.integers(J.size)] = rng.choice([np.nan, np.inf])
    spoilt = ~np.isfinite(J).all(axis=(-2, -1))
    damping = rng.choice([1e-3 * max(scale, 1e-30), strange(rng)], p=[0.8, 0.2])
    inverses = [pseudo_inverse(J), damped_inverse(J, damping), selectively_damped_inverse(J)]
    for inverse in inverses:
        assert inverse.shape == (*batch, n, m)
        np.testing.assert_array_equal(np.isnan(inverse).any(axis=(-2, -1)), spoilt)
    fine = J[~spoilt]
    if fine.size:
        np.testing.assert_allclose(fine @ inverses[0][~spoilt] @ fine, fine, atol=1e-8 * scale)
        bound = np.linalg.norm(inverses[1][~spoilt], ord=2, axis=(-2, -1))
        assert (bound * damping <= 0.5 * (1.0 + 1e-9)).all()
    for measure in (manipulability, condition_number):
        assert np.shape(measure(J)) == batch
    return True
