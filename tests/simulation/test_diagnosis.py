"""What a run says of itself: sticking joints, and runs that diverge without a controller."""

import warnings
from pathlib import Path

import pytest

import chasles as ch
from chasles.base.findings import codes
from chasles.simulation.diagnosis import DivergenceWarning, StickingWarning
from chasles.simulation.results import Run

ARM = ch.load("planar2r").with_gravity([0.0, 0.0, 0.0])
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)


def test_a_joint_that_friction_holds_is_named() -> None:
    rough = ARM.with_friction(coulomb={"joint2": 3.0}, coulomb_velocity=1e-3)
    law = ch.PDGravity(ARM, kp=[400.0, 5.0], kd=[80.0, 5.0])
    with pytest.warns(StickingWarning, match=r"gain is too low for the friction of joint2: 3 N·m hold it \d+.*° off"):
        run = ch.simulate(rough, law, MOTION, duration=3.0)
    assert abs(run.error[-1, 1]) > 0.05
    (sticks,) = run.findings
    assert (sticks.rule.code, sticks.facts["joint"]) == ("joint-sticks", "joint2")
    assert sticks.value == pytest.approx(abs(float(run.error[-1, 1])) / 0.05)
    assert sticks.facts["friction"] == pytest.approx(3.0)


def test_the_same_joint_with_friction_of_the_plant_in_a_batch() -> None:
    plant = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=[0.0, 0.01], smoothing_velocity=1e-3))
    law = ch.PDGravity(ARM, kp=[400.0, 5.0], kd=[80.0, 5.0])
    with pytest.warns(StickingWarning, match="friction of joint2"):
        ch.simulate(plant, law, MOTION, duration=3.0, vary={"friction.coulomb": [[0.0, 0.01], [0.0, 3.0]]})


def test_joints_that_arrive_or_are_free_of_friction_say_nothing() -> None:
    rough = ARM.with_friction(coulomb={"joint2": 3.0}, coulomb_velocity=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ch.simulate(rough, ch.PDGravity(ARM, kp=400.0, kd=80.0), MOTION, duration=3.0).findings == ()
        ch.simulate(ARM, ch.PDGravity(ARM, kp=[400.0, 5.0], kd=[80.0, 30.0]), MOTION)


def test_a_free_run_that_diverges_hears_nothing_of_gains() -> None:
    with pytest.warns(DivergenceWarning, match="no controller runs") as caught:
        ch.simulate(ARM, duration=1.0, start=ch.State(qd=[1e6, -2e6]), period=0.01, integrator="rk4")
    assert not any("gain" in str(warning.message) for warning in caught)


def test_findings_of_a_run_are_kept_in_its_file(tmp_path: Path) -> None:
    """A joint alone, sampled and held: kd·T/M beyond 2 makes it diverge, and the finding has this number."""
    rotor = ch.Robot.from_dh([{"a": 0.5, "mass": 0.0, "motor_inertia": 0.1}], check=False).with_gravity([0.0, 0.0, 0.0])
    with pytest.warns(DivergenceWarning, match=r"kd·T/M = 3 must be below 2"):
        run = ch.simulate(rotor, ch.PDGravity(rotor, kp=0.0, kd=300.0), duration=2.0, start=ch.State(qd=[1.0]))
    assert codes(run.findings) == ["diverged", "damping-gain-too-high"]
    assert run.findings[1].value == pytest.approx(3.0, rel=1e-6)
    run.to_netcdf(tmp_path / "run.nc")
    kept = Run.open(tmp_path / "run.nc").findings
    assert [own.record for own in kept] == [own.record for own in run.findings]


@pytest.mark.slow
def test_gains_from_poles_that_lose_their_motion_name_the_margin_and_what_finds_one() -> None:
    """20 rad/s, 60 Hz, two periods late: the advice of the finding, followed to its end, keeps the motion."""
    arm, motion, late = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.9, 0.7], 1.0), 2.0

    def simulated(law: ch.ComputedTorque, h: float) -> Run:
        sensors = ch.Sensors(arm, velocity="differentiated")
        plant = ch.Plant(arm, sensors=sensors, delay=late * h, effort_limits=False)
        return ch.simulate(plant, law, motion, period=h, duration=6.0)

    h = 1.0 / 60.0
    with pytest.warns(DivergenceWarning, match=r"ComputedTorque.tuned\(robot, motion, 0.01666.*without frequency="):
        run = simulated(ch.ComputedTorque.tuned(arm, motion, h, frequency=20.0), h)
    finding = next(finding for finding in run.findings if finding.rule.code == "low-margin")
    assert finding.value < 0.3
    with pytest.raises(ch.control.DesignError) as refused:
        ch.ComputedTorque.tuned(arm, motion, finding.facts["period"], delay=finding.facts["delay"])
    h = 1.0 / refused.value.finding.facts["rate"]
    kept = simulated(ch.ComputedTorque.tuned(arm, motion, h, delay=late), h)
    assert not kept.findings
    assert float(abs(kept.error).max()) < 0.05
