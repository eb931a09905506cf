"""Exciting motions: gradients, limits, and how much better than random ones they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.oracles.collisions import hits
from tests.oracles.example_robots import example
from threadpoolctl import threadpool_info
from typer.testing import CliRunner

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.cli.application import application
from chasles.distances import Body
from chasles.identification import FourierMotion, Region
from chasles.identification.excitation_problem import ExcitationProblem
from chasles.model import Limits, ModelWarning

ARM = ch.load("planar2r")


def test_a_robot_without_masses_is_planned_for_with_a_guess() -> None:
    rows = [{"theta": 0.0, "d": 0.0, "a": a, "alpha": 0.0} for a in (0.5, 0.25)]
    arm = ch.Robot.from_dh(rows, name="bare")
    plan = ch.excite(arm, period=5.0, starts=1, iterations=20)
    assert plan.robot.description.mass > 0.0
    limited = ch.Robot(
        arm.description.replace(joints=tuple(j.replace(limits=Limits(effort=30.0)) for j in arm.description.joints))
    )
    with pytest.warns(ModelWarning, match="effort limits are kept for solid rods of"):
        ch.excite(limited, period=5.0, starts=1, iterations=20)


@pytest.mark.parametrize("stage", ["determinant", "smooth condition", "condition", "parameters"])
def test_gradients_agree_with_differences(stage: str) -> None:
    """Beyond the limits, so that every penalty acts."""
    region = Region("tool", (0.0, -1.0, 0.0), -0.1, point=(0.1, 0.2, 0.3))
    own = ExcitationProblem(ARM, 10.0, 5, 4.0, 200.0, (region,))
    own.wanted = np.array([0, 3])
    rng = np.random.default_rng(0)
    x = 2.0 * own.random_start(rng).ravel()
    d = rng.normal(size=x.size)
    h = 1e-6
    slope = (own._cost(x + h * d, stage)[0] - own._cost(x - h * d, stage)[0]) / (2.0 * h)
    assert abs(own._cost(x, stage)[1] @ d - slope) < 1e-5 * abs(slope)


def test_fourier_motion_is_periodic_at_rest_at_its_ends_and_has_exact_derivatives(
    capfd: pytest.CaptureFixture[str],
) -> None:
    motion = ch.excite(ARM, period=6.0, repetitions=2, starts=1, iterations=20, progress=True).motion
    assert "planning, start 1 of 1" in capfd.readouterr().err
    t = np.linspace(0.0, 6.0, 50)
    for part, next_period in zip(motion(t), motion(t + 6.0), strict=True):
        assert np.allclose(part, next_period, atol=1e-9)
    for part in motion([0.0, 6.0, 12.0])[1:]:
        assert np.abs(part).max() < 1e-9
    h = 1e-5
    for order in range(3):
        slope = (np.asarray(motion.derivatives(t[1:-1] + h)[order]) - motion.derivatives(t[1:-1] - h)[order]) / (
            2.0 * h
        )
        assert np.allclose(slope, motion.derivatives(t[1:-1])[order + 1], atol=1e-6)
    assert np.abs(motion(99.0).qd).max() == 0.0


def test_motions_stay_within_all_limits_and_regions() -> None:
    region = Region("tool", (0.0, -1.0, 0.0), 0.2)  # y >= -0.2
    plan = ch.excite(ARM, acceleration_limits=4.0, jerk_limits=60.0, regions=[region], starts=2, iterations=80)
    assert plan.motion.check(ARM, acceleration=4.0, jerk=60.0).ok
    q = plan.motion(np.linspace(0.0, 10.0, 1000)).q
    assert np.asarray(ARM.forward_kinematics(q))[:, 1, 3].min() >= -0.2


def test_bodies_keep_their_distance_from_each_other_and_from_obstacles() -> None:
    """Distances in the plane by hand, to a ball on the way of the motion that is planned without it."""

    def tip(plan: ch.identification.Excitation, t: float | np.ndarray) -> np.ndarray:
        q = np.atleast_2d(plan.motion(t).q)
        both = q.sum(axis=1)
        elbow = 0.5 * np.stack([np.cos(q[:, 0]), np.sin(q[:, 0])], axis=1)
        return np.asarray(elbow + 0.25 * np.stack([np.cos(both), np.sin(both)], axis=1))

    blind = ch.excite(ARM, starts=1, iterations=60)
    ball = tip(blind, 5.0)[0]
    free = ch.clearance(ARM, bodies=[Body("tool", radius=0.05)], obstacles=[Body(None, [*ball, 0.0], radius=0.1)])
    plans = [blind, ch.excite(ARM, clearance=free, starts=1, iterations=60)]
    t = np.linspace(0.0, 10.0, 3000)
    nearest = [np.linalg.norm(tip(plan, t) - ball, axis=1).min() - 0.15 for plan in plans]
    assert nearest[0] < 0.0 < nearest[1]
    assert abs(plans[1].clearance - nearest[1]) < 1e-3
    assert [finding.rule.code for finding in plans[0].findings] == ["self-collision-not-looked-at"]
    assert np.isnan(plans[0].clearance)
    assert not plans[1].findings


def test_a_floor_is_kept_or_the_reason_said() -> None:
    plan = ch.excite(ch.load("scara"), floor=-5.0, starts=1, iterations=5)
    assert plan.condition > 1.0
    with pytest.raises(ArgumentError, match=r"In 100% of them .* is outside of a region. Give wider regions, a lower"):
        ch.excite(ch.load("puma560"), floor=9.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::chasles.model.ModelWarning")
@pytest.mark.parametrize("name", ["ur10_robot.urdf", "xarm7.urdf"])
def test_robots_do_not_hit_themselves(name: str) -> None:
    """Meshes of the robots, tested by coal in 800 configurations; plans without clearance hit in 5 to 27 %."""
    file = example(name)
    plan = ch.excite(ch.load(file), starts=1, iterations=150, time_limit=np.inf)
    assert not hits(file, np.asarray(plan.motion(np.linspace(0.0, 10.0, 800)).q)).any()
    assert plan.clearance > 0.0


def test_limits_of_zero_are_unknown_and_impossible_ones_are_named() -> None:
    def limited(**limits: float) -> ch.Robot:
        joints = [joint.replace(limits=joint.limits.replace(**limits)) for joint in ARM.description.joints]
        return ch.Robot(ARM.description.replace(joints=tuple(joints)))

    assert ch.excite(limited(effort=0.0, velocity=0.0), starts=1, iterations=10).condition < 1e3
    with pytest.raises(ArgumentError, match=r"this was broken: (torque|position) of joint\d: .* the limit"):
        ch.excite(limited(effort=1.0, lower=-0.5, upper=0.5), starts=1, iterations=5)


def test_parameters_that_matter_are_measured_better() -> None:
    plans = [ch.excite(ARM, parameters=wanted, starts=1, iterations=100) for wanted in ((), ["link2"])]
    own = [k for k, name in enumerate(plans[0].base.names) if name.startswith("link2.")]
    general, special = (np.log(plan.accuracy[own]).mean() for plan in plans)
    assert special < general
    with pytest.raises(UnknownNameError, match="link2"):
        ch.excite(ARM, parameters=["link22"])


def test_the_search_ends_at_its_time_limit_with_the_best_motion_so_far() -> None:
    early = ch.excite(ARM, starts=1000, iterations=100_000, time_limit=1e-9)
    assert not early.complete
    assert "time limit reached" in repr(early)
    assert early.motion.check(ARM).ok
    full = ch.excite(ARM, starts=1, iterations=100, time_limit=np.inf)
    assert full.complete
    assert full.condition < early.condition
    with pytest.raises(ArgumentError, match="time_limit is 0"):
        ch.excite(ARM, time_limit=0.0)


def test_the_search_leaves_the_matrices_to_one_thread() -> None:
    """BLAS's threads make a plan many times slower where other programs run."""
    used = set()

    class Watching(Region):
        def excess(self, robot: ch.Robot, q: np.ndarray) -> np.ndarray:
            used.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
            return super().excess(robot, q)

    before = threadpool_info()
    ch.excite(ARM, regions=[Watching("tool", (0.0, -1.0, 0.0), 2.0)], starts=1, iterations=2)
    assert used == {1}
    assert threadpool_info() == before


def test_command_says_that_its_time_was_over(tmp_path: Path) -> None:
    words = ["excite", "planar2r", "--out", str(tmp_path / "motion.csv"), "--time-limit", "1e-9"]
    answer = CliRunner().invoke(application, words)
    assert answer.exit_code == 0
    assert "ended at its time limit, before all starts were finished" in " ".join(answer.stdout.split())


def test_a_wrong_rate_is_refused_before_the_search(tmp_path: Path) -> None:
    answer = CliRunner().invoke(application, ["excite", "panda", "--out", str(tmp_path / "a.csv"), "--rate", "0"])
    assert answer.exit_code == 2
    assert "--rate is 0.0; it must be positive" in answer.stderr


def test_an_interrupted_command_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ExcitationProblem, "optimized", interrupted)
    answer = CliRunner().invoke(application, ["excite", "planar2r", "--out", str(tmp_path / "motion.csv")])
    assert answer.exit_code == 130
    assert "Traceback" not in answer.output
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_panda_is_excited_three_times_better_than_at_random() -> None:
    arm = ch.load("panda")
    own = ExcitationProblem(arm, 10.0, 5, None, None, (), ())
    rng = np.random.default_rng(1)
    at_random = np.median([own.condition(own.random_start(rng)) for _ in range(100)])
    plan = ch.excite(arm, period=10.0, starts=1, iterations=150)
    assert plan.condition < at_random / 3.0
    assert plan.motion.check(arm).ok
    W = np.asarray(plan.base.columns(arm.regressors.torque(*plan.motion(np.linspace(0.0, 10.0, 400)))))
    assert abs(np.linalg.cond(W.reshape(-1, len(plan.base))) / plan.condition - 1.0) < 0.2


def test_a_second_motion_complements_the_first() -> None:
    poor = FourierMotion(ARM.home, 0.05 * np.eye(2, 3), np.zeros((2, 3)), period=10.0)
    plan = ch.excite(ARM, complement=[poor], starts=1, iterations=40)
    assert plan.condition < 60.0


def test_identified_from_a_planned_motion() -> None:
    """The interval of each parameter is near the one that the plan promises."""
    plan = ch.excite(ARM, period=10.0, repetitions=4, starts=1)
    t = np.arange(0.0, 40.0, 0.01)
    q, qd, qdd = plan.motion(t)
    real = ARM.with_payload(2.0).with_friction(viscous=1.0, coulomb=2.0, coulomb_velocity=0.05)
    tau = np.asarray(real.inverse_dynamics(q, qd, qdd)) + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    found = ch.identify(ARM, {"t": t, "q": q, "tau": tau})
    assert found.predictions["model", "unseen"].relative().max() < 0.01


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"period": -1.0}, "period"),
        ({"harmonics": 1}, "harmonics"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        (
            {"regions": [Region("tool", (0.0, 0.0, 1.0), -1.0)], "starts": 1, "iterations": 5},
            "no motion.* In 100% of them tool is outside of a region",
        ),
        ({"jerk_limits": 1e-6, "starts": 1, "iterations": 5}, "cannot excite its parameters"),
    ],
)
def test_wrong_arguments(words: dict[str, object], message: str) -> None:
    with pytest.raises((ArgumentError, LookupError), match=message):
        ch.excite(ARM, **words)


def test_command_writes_a_file_that_a_controller_can_follow(tmp_path: Path) -> None:
    out = tmp_path / "motion.csv"
    words = ["--parameter", "link2"]
    answer = CliRunner().invoke(
        application, ["excite", "planar2r", "--out", str(out), "--period", "5", "--repetitions", "1", *words]
    )
    assert answer.exit_code == 0, answer.output
    assert answer.stderr == ""
    assert "time limit" not in answer.stdout
    rows = np.loadtxt(out, delimiter=",", skiprows=1)
    assert rows.shape == (501, 7)
    assert np.abs(np.gradient(rows[:, 1], rows[:, 0])[1:-1] - rows[1:-1, 3]).max() < 0.02 * np.abs(rows[:, 3]).max()
