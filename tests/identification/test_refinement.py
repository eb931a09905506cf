"""Output-error refinement against simulated robots whose elasticity, friction and delay are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError, UnknownNameError
from chasles.identification import FourierMotion, refine

PERIOD = 0.001
FRICTION = {"viscous": [1.0, 0.5], "coulomb": [2.0, 1.0], "coulomb_velocity": 0.02}
NAMES = [
    "elastic_joints.stiffness",
    "elastic_joints.backlash",
    *(f"joints.joint{k}.{kind}_friction" for kind in ("viscous", "coulomb") for k in (1, 2)),
]
TRUTH = [3000.0, 1200.0, 0.01, 0.02, 1.0, 0.5, 2.0, 1.0]


@pytest.fixture(scope="module")
def arm() -> ch.Robot:
    return ch.load("planar2r")


@pytest.fixture(scope="module")
def motion() -> FourierMotion:
    sines, cosines = [[0.3, 0.2, -0.1], [-0.2, 0.3, 0.1]], [[-0.1, 0.05, 0.05], [0.1, -0.05, -0.05]]
    return FourierMotion([0.0, 0.0], sines, cosines, period=4.0)


def plant(arm: ch.Robot, stiffness: list[float], backlash: Any = 0.0, **friction: Any) -> ch.Plant:
    """Elastic arm with play and with encoders at the motors."""
    elastic = ch.ElasticJoints(arm, stiffness=stiffness, backlash=backlash, rotor_inertia=[1.0, 0.3], damping=1.0)
    return ch.Plant(arm.with_friction(**friction), elastic_joints=elastic, sensors=ch.Sensors(arm, side="motor"))


@pytest.fixture(scope="module")
def controller(arm: ch.Robot) -> ch.PDGravity:
    return ch.PDGravity(arm, kp=[300.0, 100.0], kd=[30.0, 10.0])


@pytest.fixture(scope="module")
def log(arm: ch.Robot, motion: FourierMotion, controller: ch.PDGravity) -> dict[str, Any]:
    real = plant(arm, TRUTH[:2], TRUTH[2:4], **FRICTION)
    run = ch.simulate(real.with_drives(delay=0.002), controller, motion, period=PERIOD)
    rng = np.random.default_rng(0)
    q = run["q_measured"].values + 1e-5 * rng.normal(size=run["q"].shape)
    return {"t": run["time"].values, "q": q, "tau": run["tau"].values + 0.05 * rng.normal(size=q.shape)}


@pytest.mark.slow
def test_springs_play_friction_and_delay_are_found(
    arm: ch.Robot, motion: FourierMotion, controller: ch.PDGravity, log: dict[str, Any]
) -> None:
    guess = plant(arm, [1500.0, 1500.0], 0.005, viscous=[0.5, 1.0], coulomb=[1.0, 2.0], coulomb_velocity=0.02)
    found = refine(guess, controller, motion, log, NAMES, period=PERIOD, delays=[0.0, 0.001, 0.002, 0.003])
    assert found.delay == 0.002
    assert [p.name for p in found.parameters][:2] == ["elastic_joints.stiffness[0]", "elastic_joints.stiffness[1]"]
    for parameter, truth in zip(found.parameters, TRUTH, strict=True):
        assert parameter.value == pytest.approx(truth, rel=0.02)
        assert abs(parameter.value - truth) < 4.0 * parameter.error
        assert parameter.determined
    assert (found.unseen < 0.1 * found.before).all()
    assert "best of 4" in found.summary()
    # The values go back into a simulation as they are.
    run = ch.simulate(guess.with_drives(delay=0.002), controller, motion, period=PERIOD, vary=found.values)
    assert np.abs(run["q_measured"].values - log["q"]).max() < 1e-3


LINK = '<inertial pos="0 0 -0.4" mass="3" diaginertia="0.1 0.1 0.02"/>'
PENDULUM = (
    f"""<mujoco><worldbody><body name="link"><joint name="joint1" axis="0 1 0"/>{LINK}</body></worldbody></mujoco>"""
)
GEARED = f"""<mujoco><option timestep="0.0001" integrator="implicitfast"/><worldbody>
<body name="link"><joint name="joint1" axis="0 1 0"/>{LINK}</body>
<body name="motor"><joint name="motor1" axis="0 1 0" armature="0.4"/>
<inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/></body>
</worldbody></mujoco>"""


@pytest.mark.slow
def test_play_and_friction_of_a_geared_pendulum_in_mujoco_are_found(tmp_path: Path) -> None:
    """MuJoCo moves motor and pendulum at 10 kHz; the teeth between them and the friction are written out here."""
    stiffness, damping, backlash, viscous, coulomb = 2000.0, 3.0, 0.02, 0.8, 1.5
    (tmp_path / "pendulum.xml").write_text(PENDULUM)
    arm = ch.load(tmp_path / "pendulum.xml")
    motion = FourierMotion([0.0], [[0.3, 0.3, -0.2]], [[-0.1, 0.05, 0.05]], period=3.0)
    times = PERIOD * np.arange(3000)
    wanted, wanted_rates, _ = (np.asarray(part)[:, 0].tolist() for part in motion(times))
    model = mujoco.MjModel.from_xml_string(GEARED)
    state = mujoco.MjData(model)
    state.qpos[:], state.qvel[:] = wanted[0], wanted_rates[0]
    logged = []
    for position, rate in zip(wanted, wanted_rates, strict=True):
        gravity = float(arm.gravity_torque(state.qpos[1:])[0])
        tau = 400.0 * (position - state.qpos[1]) + 30.0 * (rate - state.qvel[1]) + gravity
        logged.append((state.qpos[1], tau))
        for _ in range(10):
            (q, motor), (qd, motor_rate) = state.qpos, state.qvel
            side, excess = np.sign(motor - q), abs(motor - q) - 0.5 * backlash
            teeth = side * max(stiffness * excess + damping * side * (motor_rate - qd), 0.0) if excess > 0.0 else 0.0
            friction = viscous * qd + coulomb * np.tanh(qd / 0.02)
            state.qfrc_applied[:] = teeth - friction, tau - teeth
            mujoco.mj_step(model, state)
    q, tau = np.array(logged).T

    def geared(stiffness: float, backlash: float, viscous: float, coulomb: float) -> ch.Plant:
        teeth = ch.ElasticJoints(arm, stiffness=stiffness, backlash=backlash, rotor_inertia=0.4, damping=damping)
        rough = arm.with_friction(viscous=viscous, coulomb=coulomb, coulomb_velocity=0.02)
        return ch.Plant(rough, elastic_joints=teeth, sensors=ch.Sensors(arm, side="motor"))

    log = {"t": times, "q": q[:, None], "tau": tau[:, None]}
    names = [*NAMES[:2], "joints.joint1.viscous_friction", "joints.joint1.coulomb_friction"]
    law = ch.PDGravity(arm, kp=[400.0], kd=[30.0])
    found = refine(geared(1200.0, 0.008, 0.4, 0.8), law, motion, log, names, period=PERIOD)
    values = [parameter.value for parameter in found.parameters]
    assert values == pytest.approx([stiffness, backlash, viscous, coulomb], rel=0.02)
    assert (found.unseen < 0.02 * found.before).all()


def test_what_the_log_does_not_show_stays_where_it_was(
    arm: ch.Robot, motion: FourierMotion, controller: ch.PDGravity
) -> None:
    """Positions of rigid joints do not tell a payload's inertia about an axis that does not turn."""
    run = ch.simulate(arm, controller, motion, period=PERIOD)
    log = {"t": run["time"].values, "q": run["q"].values, "tau": run["tau"].values}
    found = refine(arm, controller, motion, log, ["gravity", "links.link2.mass"], period=PERIOD)
    by_name = {parameter.name: parameter for parameter in found.parameters}
    assert not by_name["gravity[2]"].determined  # the arm is in a vertical plane: gravity along z turns no joint
    assert by_name["links.link2.mass"].value == pytest.approx(5.0, rel=1e-3)
    assert "not determined" in found.summary()


@pytest.mark.slow
def test_steps_that_the_error_controls_are_differentiated_too(
    arm: ch.Robot, motion: FourierMotion, controller: ch.PDGravity
) -> None:
    options: dict[str, Any] = {"period": 0.01, "integrator": "rodas5p"}
    run = ch.simulate(arm.with_payload(1.0), controller, motion, duration=1.0, **options)
    log = {"t": run["time"].values, "q": run["q"].values, "tau": run["tau"].values}
    found = refine(arm.with_payload(0.5), controller, motion, log, ["payload.mass"], **options)
    assert float(found.values["payload.mass"]) == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(ArgumentError, match="a loop that runs compiled"):
        refine(arm, controller, motion, log, ["payload.mass"], period=0.01, integrator="RK45")


@pytest.mark.slow
def test_bad_input_is_answered(
    arm: ch.Robot, motion: FourierMotion, controller: ch.PDGravity, log: dict[str, Any]
) -> None:
    guess = plant(arm, [1500.0, 1500.0])

    def attempt(parameters: Any = ("elastic_joints.stiffness",), **changes: Any) -> None:
        refine(guess, controller, motion, changes.pop("log", log), parameters, **{"period": PERIOD, **changes})

    with pytest.raises(UnknownNameError, match="stifness"):
        attempt(["elastic_joints.stifness"])
    with pytest.raises(ArgumentError, match="must be a list of names"):
        attempt("elastic_joints.stiffness")
    with pytest.raises(ArgumentError, match="no parameters"):
        attempt([])
    with pytest.raises(ArgumentError, match="outputs"):
        attempt(outputs=["q", "torque"])
    with pytest.raises(ArgumentError, match="delays"):
        attempt(delays=[-0.001])
    with pytest.raises(IdentificationError, match="opposite sign of its position's slope"):
        attempt(log={**log, "qd": -np.gradient(log["q"], log["t"], axis=0)})
    rng = np.random.default_rng(1)
    noise = {
        "t": log["t"],
        "q": log["q"] + rng.normal(size=log["q"].shape).cumsum(0),
        "tau": rng.normal(size=log["q"].shape),
    }
    with pytest.raises(IdentificationError, match="no values of these parameters explain the log"):
        attempt(log=noise)
