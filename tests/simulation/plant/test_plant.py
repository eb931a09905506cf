"""Plants: effects together, varied together, and next to runs that diverge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.simulation import DivergenceWarning, StiffnessWarning

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.2, 0.3], [0.6, -0.4], 0.1)
CONTROL = ch.PDGravity(ARM, kp=[400.0, 80.0], kd=[40.0, 8.0])


def effects(**changes: Any) -> dict[str, Any]:
    """One of each kind; a change is given by its name in the plant, with dots as underscores."""
    numbers: dict[str, Any] = {
        "friction_viscous": [0.3, 0.3],
        "motors_resistance": 1.0,
        "motors_rotor_inertia": 1e-4,
        "motors_gear_ratio": 30.0,
        "elastic_stiffness": 3000.0,
        "box_mass": 1.0,
        "push_force": 5.0,
        "floor_stiffness": 2000.0,
        "floor_point": [0.0, 0.32, 0.0],
        "position_noise": 1e-4,
    } | changes
    return {
        "friction": ch.Friction(ARM, coulomb=[1.0, 0.2], viscous=numbers["friction_viscous"], smoothing_velocity=0.2),
        "motors": ch.Motors(
            ARM,
            resistance=numbers["motors_resistance"],
            inductance=0.02,
            torque_constant=0.1,
            gear_ratio=numbers["motors_gear_ratio"],
            rotor_inertia=numbers["motors_rotor_inertia"],
            mode="voltage",
        ),
        "elastic_joints": ch.ElasticJoints(ARM, stiffness=numbers["elastic_stiffness"], damping=5.0, rotor_inertia=0.2),
        "payloads": [ch.PickedPayload("box", numbers["box_mass"], pick_time=0.03, put_time=0.07)],
        "wrenches": [
            ch.ExternalWrench(
                "push",
                lambda t, p: np.array([0.0, 0.0, 0.0, p["force"] + 0.0 * t, 0.0, 0.0]),
                axes="world",
                parameters={"force": numbers["push_force"]},
            )
        ],
        "contacts": [
            ch.ContactPlane(
                "floor",
                "tool",
                point=numbers["floor_point"],
                normal=[0.0, 1.0, 0.0],
                stiffness=numbers["floor_stiffness"],
                damping=20.0,
            )
        ],
        "sensors": ch.Sensors(
            ARM, position_noise=numbers["position_noise"], velocity="differentiated", filter_time=0.01
        ),
    }


VARIED = {
    "friction.viscous": ("friction_viscous", [3.0, 0.1]),
    "motors.resistance": ("motors_resistance", [1.3, 1.3]),
    "motors.rotor_inertia": ("motors_rotor_inertia", [2e-4, 3e-4]),
    "elastic_joints.stiffness": ("elastic_stiffness", [2000.0, 1500.0]),
    "payloads.box.mass": ("box_mass", 2.0),
    "wrenches.push.force": ("push_force", -4.0),
    "contacts.floor.stiffness": ("floor_stiffness", 4000.0),
    "contacts.floor.point": ("floor_point", [0.0, 0.33, 0.0]),
    "sensors.position_noise": ("position_noise", [3e-4, 1e-4]),
}
NAMES = ("q", "qd", "tau", "tau_applied", "current", "motor_position", "contacts.floor", "q_measured")


@pytest.mark.parametrize("name", VARIED)
def test_a_varied_number_is_another_plant(name: str) -> None:
    keyword, value = VARIED[name]
    nominal = ch.Plant(ARM, **effects())
    values = np.stack([np.broadcast_to(nominal.values[name], nominal.parameters[name]), value])
    run = ch.simulate(nominal.with_drives(delay=4e-4), CONTROL, MOTION, vary={name: values})
    # A drive converts with the numbers that were given to it: what varies is the motor.
    same = ch.simulate(nominal.with_drives(delay=4e-4), CONTROL, MOTION)
    for variable in NAMES:
        np.testing.assert_allclose(run[variable][0], same[variable], rtol=1e-9, atol=1e-9, err_msg=variable)
    assert float(np.abs(run.q[1] - run.q[0]).max()) > 1e-7
    if not name.startswith("motors.resistance"):
        other = ch.simulate(ch.Plant(ARM, **effects(**{keyword: value}), delay=4e-4), CONTROL, MOTION)
        for variable in NAMES:
            np.testing.assert_allclose(run[variable][1], other[variable], rtol=1e-9, atol=1e-9, err_msg=variable)


def test_everything_varies_at_once_and_equals_single_runs() -> None:
    plant = ch.Plant(ARM, **effects())
    count = 5
    rng = np.random.default_rng(0)
    vary: dict[str, Any] = {
        name: np.stack([np.asarray(value) * rng.uniform(0.9, 1.1) for _ in range(count)])
        for name, (_, value) in VARIED.items()
    }
    vary |= {
        "sensors.seed": np.arange(count),
        "controller.kp": rng.uniform(50.0, 100.0, (count, 2)),
        "reference.goal": rng.uniform(-0.5, 0.5, (count, 2)),
        "links.link2.mass": rng.uniform(4.0, 6.0, count),
        "joints.joint1.motor_inertia": rng.uniform(0.0, 0.1, count),
        "motors.gear_ratio": rng.uniform(29.0, 31.0, (count, 2)),
    }
    q0 = rng.uniform(0.0, 0.4, (count, 2))
    batch = ch.simulate(
        plant.with_drives(delay=1.3e-3), CONTROL, MOTION, vary=vary, start=q0, record=ch.Recording(energies=True)
    )
    for k in (0, 3):
        own = {name: value[k] for name, value in vary.items()}
        single = ch.simulate(
            plant.with_drives(delay=1.3e-3), CONTROL, MOTION, vary=own, start=q0[k], record=ch.Recording(energies=True)
        )
        for name in batch.data_vars:
            np.testing.assert_array_equal(batch[name].values[k], single[name].values, err_msg=name)


def test_energy_is_accounted_for_through_everything() -> None:
    plant = ch.Plant(ARM, **effects())
    run = ch.simulate(
        plant, CONTROL, MOTION, integrator=ch.integrators.Steps("rk4", 4), record=ch.Recording(energies=True)
    )
    mechanical = [name for name in run if name != "energy.motors"]
    energy, work, loss = (
        sum(run[name] for name in mechanical if name.startswith(kind)) for kind in ("energy.", "work.", "loss.")
    )
    assert float(np.abs(energy - energy[0] - work + loss).max()) < 1e-6 * float(np.abs(work).max())
    for name in run:
        if name.startswith(("work.", "loss.")):
            assert float(np.abs(run[name]).max()) > (1e-3 if name != "loss.robot_friction" else -1.0), name
            assert run[name].attrs["units"] == "J"
            if name.startswith("loss."):
                assert float(run[name].diff("time").min()) >= -1e-12, name
    electrical = run["electrical.work"] - run["electrical.loss"]
    magnetic = run["energy.motors"]
    np.testing.assert_allclose(magnetic, (0.5 * 0.02 * run.current**2).sum("joint"), rtol=1e-12)
    np.testing.assert_allclose(electrical - (magnetic - magnetic[0]), run["work.motors"], atol=1e-5)


def test_rotors_of_motors_are_on_the_motors_side_of_elastic_joints() -> None:
    """N² J at the motor or B at the spring: the same. The softer the spring, the less the links feel of it."""
    rotor, gear = 2e-4, 30.0
    common: dict[str, Any] = {"stiffness": 3000.0, "damping": 5.0}
    runs = [
        ch.simulate(
            ch.Plant(
                ARM,
                motors=ch.Motors(ARM, gear_ratio=gear, rotor_inertia=own),
                elastic_joints=ch.ElasticJoints(ARM, rotor_inertia=0.2 + rest, **common),
            ),
            CONTROL,
            MOTION,
        )
        for own, rest in ((rotor, 0.0), (0.0, gear**2 * rotor))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    alone = ch.simulate(ch.Plant(ARM, motors=ch.Motors(ARM, gear_ratio=gear, rotor_inertia=rotor)), CONTROL, MOTION)
    inertia = {f"joints.{name}.motor_inertia": gear**2 * rotor for name in ARM.joint_names}
    np.testing.assert_allclose(alone.q, ch.simulate(ARM.with_values(inertia), CONTROL, MOTION).q, atol=1e-12)


def test_a_robot_is_a_plant_without_effects() -> None:
    plain = ch.simulate(ARM, CONTROL, MOTION, start=[0.1, 0.1])
    plant = ch.simulate(ch.Plant(ARM), CONTROL, MOTION, start=[0.1, 0.1])
    np.testing.assert_array_equal(plain.q, plant.q)
    assert list(plain) == list(plant)


def test_effects_of_no_size_change_nothing() -> None:
    idle = ch.Plant(ARM, friction=ch.Friction(ARM), motors=ch.Motors(ARM), sensors=ch.Sensors(ARM))
    run = ch.simulate(idle, CONTROL, MOTION, start=[0.1, 0.1])
    np.testing.assert_allclose(run.q, ch.simulate(ARM, CONTROL, MOTION, start=[0.1, 0.1]).q, atol=1e-13)


@pytest.mark.parametrize("integrator", ["rk4", "RK45"])
def test_a_run_that_diverges_leaves_the_others_alone(integrator: str) -> None:
    plant = ch.Plant(ARM, friction=ch.Friction(ARM, viscous=0.5), sensors=ch.Sensors(ARM, velocity="differentiated"))
    gains = np.array([[40.0, 8.0], [40.0, 8e5], [8e7, 8.0], [40.0, 8.0]])
    options: dict[str, Any] = {"start": [0.21, 0.3], "integrator": integrator, "period": 2e-3}
    options["record"] = ch.Recording(energies=True)
    with pytest.warns(DivergenceWarning, match=r"2 of 4 runs diverged, the first at t ="):
        run = ch.simulate(plant, CONTROL, MOTION, vary={"controller.kd": gains}, **options)
    for k in (0, 3):
        single = ch.simulate(plant, CONTROL, MOTION, vary={"controller.kd": gains[k]}, **options)
        for name in single.data_vars:
            np.testing.assert_array_equal(run[name].values[k], single[name].values)
    assert list(np.isnan(run.diverged_at.values)) == [True, False, False, True]
    assert list(run.diverged_joint.values[[0, 1, 3]]) == ["", "joint2", ""]
    assert run.diverged_joint.values[2] in ("joint1", "joint2")


def test_stiff_effects_are_announced() -> None:
    stiff = ch.Plant(ARM, contacts=[ch.ContactPlane("wall", "tool", point=[9, 0, 0], normal=[0, 1, 0], stiffness=1e9)])
    with pytest.warns(StiffnessWarning, match=r"friction, motors, springs or contacts of robot 'planar2r' act at"):
        ch.simulate(stiff, CONTROL, MOTION, integrator="rk4")
    smooth = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=10.0, smoothing_velocity=1e-4))
    with pytest.warns(StiffnessWarning, match="integrators.Steps"):
        ch.simulate(smooth, CONTROL, MOTION, integrator=ch.integrators.Steps("rk4", 1))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"friction": ch.Motors(ARM)}, ArgumentError, "friction must be a Friction, not Motors"),
        ({"friction": ch.Friction(3)}, ArgumentError, "friction is made for 3 joints, but robot 'planar2r' has 2"),
        ({"payloads": [ch.Friction(2)]}, ArgumentError, "payloads must be a PickedPayload"),
        (
            {"payloads": [ch.PickedPayload("a", 1.0), ch.PickedPayload("a", 2.0)]},
            ArgumentError,
            "two of the payloads have the same name",
        ),
        (
            {"contacts": [ch.ContactPlane("f", "hand", point=[0, 0, 0], normal=[0, 0, 1], stiffness=1.0)]},
            UnknownNameError,
            r"frame for contacts\.f 'hand'",
        ),
    ],
)
def test_bad_plants_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ch.Plant(ARM, **arguments)


def test_what_is_no_plant_is_refused() -> None:
    with pytest.raises(ArgumentError, match="robot must be a Robot"):
        ch.Plant("planar2r")
    with pytest.raises(ArgumentError, match="plant must be a Robot or a Plant"):
        ch.simulate("planar2r", CONTROL, MOTION)
    with pytest.raises(UnknownNameError, match=r"'friction\.colomb'. Did you mean 'friction\.coulomb'"):
        ch.simulate(ch.Plant(ARM, friction=ch.Friction(ARM)), CONTROL, MOTION, vary={"friction.colomb": 1.0})
    with pytest.raises(ArgumentError, match=r"vary\['friction\.coulomb'\] must have shape"):
        ch.simulate(
            ch.Plant(ARM, friction=ch.Friction(ARM)), CONTROL, MOTION, vary={"friction.coulomb": [1.0, 2.0, 3.0]}
        )


def test_it_says_what_it_is() -> None:
    plant = ch.Plant(ARM, **effects())
    assert repr(plant) == (
        "<Plant 'planar2r': friction, motors, elastic_joints, sensors, payloads.box, wrenches.push, contacts.floor>"
    )
    assert plant.parameters["contacts.floor.normal"] == (3,)
    assert plant.parameters["links.link1.mass"] == ()
    assert ch.simulate(plant, CONTROL, MOTION).attrs["plant"] == repr(plant)
