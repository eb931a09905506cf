"""Laws designed by margins keep them on plants that they do not know, and refuse what they cannot promise."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.oracles.turned_loops import drawn_arm, law_matrices, plant_matrices, radius
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import DesignError, loop_margins
from chasles.control.frozen_law import LawFunction

PAYLOAD = 1.0
SLOWLY_DESIGNED = ("slotine-li", "natural-adaptive", "composite-adaptive")


def loaded(arm: ch.Robot, rng: np.random.Generator) -> ch.Robot:
    direction = rng.normal(size=3)
    center = 0.06 * direction / np.linalg.norm(direction)
    return arm.with_payload(PAYLOAD, center_of_mass=center, inertia=0.4 * PAYLOAD * 0.04**2 * np.eye(3))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "late"), paired(["pd-gravity", "computed-torque", "time-varying-regulator"], [0, 1]))
def test_gains_turned_within_the_promised_factors_keep_loops_stable(kind: str, late: int) -> None:
    """A margin α bears factors from (2 - α)/(2 + α) to its inverse on every torque by itself."""
    arm, h = drawn_arm(7, 3), 0.004
    motion = ch.PointToPoint([0.2, 0.3, -0.4], [0.8, -0.2, 0.3], 1.0)
    law = ch.control.laws()[kind].tuned(arm, motion, h, payload=PAYLOAD, delay=float(late))
    assert law.designed.margin >= 0.3
    rng, alpha = np.random.default_rng(late), law.designed.margin
    ends = np.log([(2.0 - alpha) / (2.0 + alpha), (2.0 + alpha) / (2.0 - alpha)])
    times = h * np.arange(251)
    rows = law.schedule(times, motion(times)) if law.has_schedule else None
    for k in (0, 125, 250):
        matrices = law_matrices(law, motion, times[k], h, None if rows is None else rows[k])
        for plant in (arm, *(loaded(arm, rng) for _ in range(3))):
            step = plant_matrices(plant, motion(times[k]), h, 0.0)
            turned = np.exp(np.concatenate([rng.choice(ends, (6, 3)), rng.uniform(*ends, (4, 3))]))
            assert max(radius(matrices, step, factors, h, late) for factors in turned) < 1.0 + 1e-7


def test_the_margin_is_that_of_loop_margins_on_the_worst_plant() -> None:
    """Places, vertices and payload are those of the design: the least of `loop_margins` is what it promises."""
    arm, h = ch.load("planar2r"), 0.01
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    law = ch.ComputedTorque.tuned(
        arm, motion, h, payload=2.0, payload_radius=0.0, model_error=0.0, unknown_friction=0.0, jitter=0.0
    )
    ball = 2.0 * 0.4 * 0.04**2 * np.eye(3)
    disks = [
        loop_margins(arm, law, motion, period=h, places=5).disk for arm in (arm, arm.with_payload(2.0, inertia=ball))
    ]
    np.testing.assert_allclose(law.designed.margin, np.min(disks), rtol=2e-2)


def test_no_faster_law_has_the_margin() -> None:
    """Three percent more frequency, with the same damping, is less than the margin; the promise is not idle."""
    arm, h = ch.load("planar2r"), 0.01
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    free = {"payload_radius": 0.0, "model_error": 0.0, "unknown_friction": 0.0, "jitter": 0.0}
    law = ch.ComputedTorque.tuned(arm, motion, h, delay=1.0, margin=0.5, **free)
    assert law.designed.frequency < 60.0
    faster = ch.ComputedTorque(arm, kp=1.03**2 * law.kp, kd=1.03 * law.kd)
    assert loop_margins(arm, faster, motion, period=h, delay=1.0, places=5).disk.min() < 0.5
    assert loop_margins(arm, law, motion, period=h, delay=1.0, places=5).disk.min() > 0.49


def test_payload_margin_delay_and_rate_cost_frequency() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)

    def frequency(period: float = 0.01, **declared: float) -> float:
        return float(ch.PDGravity.tuned(arm, motion, period, **declared).designed.frequency)

    plain = frequency()
    assert frequency(payload=2.0) < plain
    assert frequency(margin=0.45) < plain
    assert frequency(delay=1.0) < plain
    assert frequency(period=0.004) > plain
    assert frequency(cap=12.0) == 12.0


def test_a_refusal_says_what_can_be_had_and_that_is_had() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    with pytest.raises(
        DesignError, match=r"torque reaches a disk margin of .* where 0.9 is asked for; .* rate of \d+ Hz, or accept"
    ) as met:
        ch.ComputedTorque.tuned(arm, motion, 0.01, margin=0.9)
    finding = met.value.finding
    law = ch.ComputedTorque.tuned(arm, motion, 0.01, margin=finding.facts["margin"])
    assert law.designed.frequency >= finding.facts["frequency"]
    assert ch.ComputedTorque.tuned(arm, motion, 1.0 / finding.facts["rate"], margin=0.9).designed.margin >= 0.9
    again = pickle.loads(pickle.dumps(met.value))
    assert str(again) == str(met.value)


def test_a_margin_that_leaves_errors_beyond_linear_loops_is_refused_and_not_offered() -> None:
    """At 100 Hz the planar arm's PID has a margin of 0.26 at a frequency that is too low for its coupling torques."""
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    with pytest.raises(DesignError, match=r"leaves an error of \d\.\d+ rad") as met:
        ch.control.PID.tuned(arm, motion, 0.01, margin=0.26)
    assert met.value.finding.rule.code == "too-far-off"
    with pytest.raises(DesignError, match=r"rate of 200 Hz$"):
        ch.control.PID.tuned(arm, motion, 0.01, margin=0.45)
    assert ch.control.PID.tuned(arm, motion, 1.0 / 200.0, margin=0.45).designed.expected_error < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["sliding-mode", *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOWLY_DESIGNED)]
)
def test_laws_that_learn_or_switch_carry_what_they_do_not_know(kind: str) -> None:
    arm, h = drawn_arm(3, 2), 0.005
    motion = ch.PointToPoint([0.2, 0.3], [0.9, -0.3], 1.0)
    law = ch.control.laws()[kind].tuned(arm, motion, h, payload=PAYLOAD)
    rng = np.random.default_rng(5)
    for plant in (loaded(arm, rng) for _ in range(2)):
        sensed = ch.Sensors(plant, velocity="differentiated")
        run = ch.simulate(ch.Plant(plant, sensors=sensed), law, motion, period=h, duration=1.5, progress=False)
        assert float(abs(run.error).max()) < 0.2


@pytest.mark.parametrize(("kind", "size", "order"), [("composite-adaptive", 76, 12), ("lee-chung", 125, 6)])
def test_memory_that_no_error_drives_or_no_torque_feels_is_left_out_exactly(kind: str, size: int, order: int) -> None:
    """The frozen law has the transfer function of the law as it is, by differences of calls, with all of its memory."""
    arm, h, n = drawn_arm(3, 3), 0.005, 3
    motion = ch.PointToPoint([0.2, 0.3, -0.2], [0.9, -0.3, 0.4], 1.0)
    law = ch.control.laws()[kind].tuned(arm, motion, h, frequency=10.0)
    linear = LawFunction(law).frozen(law, motion, np.array([0.5]), h).linear
    memory = law.memory
    for k in range(200, 0, -1):
        time = max(0.5 - k * h, 0.0)
        place = motion(time)
        memory = law.evaluate(place.q, place.qd, place, t=time, memory=memory, period=h).memory
    tau, following = law_matrices(law, motion, 0.5, h, memory=memory)
    assert (len(following), linear.A.shape[-1]) == (size, order)
    for angle in (0.005, 0.1, 2.0):
        z = np.exp(1j * angle)
        sees = np.concatenate([np.eye(n), np.eye(n) * (1.0 - 1.0 / z) / h])
        whole = np.linalg.solve(z * np.eye(size) - following[:, 2 * n :], following[:, : 2 * n] @ sees)
        expected = tau[:, : 2 * n] @ sees + tau[:, 2 * n :] @ whole
        small = np.linalg.solve(z * np.eye(order) - linear.A[0], linear.B[0][:, :n])
        got = linear.C[0] @ small + linear.D[0][:, :n]
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())


def test_estimates_settle_together_as_they_do_one_by_one() -> None:
    arm, h = drawn_arm(3, 2), 0.005
    motion = ch.PointToPoint([0.2, 0.3], [0.9, -0.3], 1.0)
    law = ch.control.SlotineLi(arm, rate=8.0, damping=2.0, adaptation=0.3)
    function, where = LawFunction(law), (law, motion, np.array([0.3, 0.5]), h)
    some = [{"estimate": scale * law.memory.estimate} for scale in (1.0, 1.5)]
    together = function.frozen_with(some, *where)
    np.testing.assert_array_equal(together[0].torque, function.frozen(*where).torque)
    for estimates, both in zip(some, together, strict=True):
        (alone,) = function.frozen_with([estimates], *where)
        assert all(map(np.array_equal, both.linear, alone.linear))
    model = arm.with_payload(0.5)
    heavier = ch.control.SlotineLi(model, rate=8.0, damping=2.0, adaptation=0.3)
    needed = model.inverse_dynamics(*motion(where[2]))
    (matched,) = function.frozen_with([{"estimate": heavier.memory.estimate}], *where)
    np.testing.assert_allclose(matched.torque, needed, atol=1e-9)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"payload": 1.0, "frequency": 20.0}, "'payload' is a setting of designs by margins"),
        ({"margin": 0.4, "frequency": 20.0}, "'margin' is a setting of designs by margins"),
        ({"damping_times_period": 0.5}, "'damping_times_period' lowers a frequency"),
        ({"margin": 0.0}, "margin"),
        ({"payload": -1.0}, "payload"),
        ({"delay": 20.0}, "delay"),
        ({"jitter": np.nan}, "jitter"),
    ],
)
def test_what_is_asked_for_must_make_sense(setting: dict[str, Any], said: str) -> None:
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    with pytest.raises(ArgumentError, match=said):
        ch.ComputedTorque.tuned(ch.load("planar2r"), motion, 0.01, **setting)


def test_laws_of_frames_need_a_frequency() -> None:
    arm = ch.load("ur5")
    with pytest.raises(ArgumentError, match=r"follows a frame.*give frequency="):
        ch.control.OperationalSpace.tuned(arm, ch.PointToPoint(arm.home, arm.home + 0.3, 1.0), 0.004)
