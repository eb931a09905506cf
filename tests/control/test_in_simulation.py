"""All motion and force controllers in `chasles.simulate`: compiled, in batches, with force sensors, and as objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.control.calls import called
from tests.thinning import thinned

import chasles as ch
from chasles import control
from chasles.trajectories.motion import Motion, PoseMotion

ARM = ch.load("panda").with_friction(coulomb=0.0, viscous=0.0)
INERTIA = ARM.mass_matrix(ARM.home).diagonal()
SOFT: dict[str, Any] = {
    "stiffness": 400.0,
    "damping": 80.0,
    "rotational_stiffness": 30.0,
    "rotational_damping": 6.0,
}
SHAPED = SOFT | {"inertia": 4.0, "rotational_inertia": 0.3}
JOINT: dict[str, Callable[[], Any]] = {
    "PD": lambda: control.PD(ARM, kp=400.0 * INERTIA, kd=40.0 * INERTIA),
    "PD + gravity": lambda: control.PDGravity(ARM, kp=400.0 * INERTIA, kd=40.0 * INERTIA),
    "PID": lambda: control.PID(ARM, kp=400.0 * INERTIA, ki=400.0 * INERTIA, kd=40.0 * INERTIA),
    "computed torque": lambda: control.ComputedTorque(ARM, kp=400.0, kd=40.0, ki=100.0),
    "feed-forward": lambda: control.ComputedTorque(ARM, kp=400.0, kd=40.0, feedforward=True),
    "nominal torque": lambda: control.NominalTorque(ARM, kp=10.0 * INERTIA, kd=2.0 * INERTIA),
}
FRAME: dict[str, Callable[[], Any]] = {
    "resolved acceleration": lambda: control.ResolvedAcceleration(ARM, kp=400.0, kd=40.0),
    "operational space": lambda: control.OperationalSpace(ARM, kp=400.0, kd=40.0, orientation_error="logarithm"),
    "impedance": lambda: control.Impedance(ARM, **SOFT),
    "shaped impedance": lambda: control.Impedance(ARM, **SHAPED, axes="world"),
    "admittance": lambda: control.Admittance(ARM, **SHAPED, kp=900.0, kd=60.0),
    "hybrid": lambda: control.HybridForceMotion(
        ARM, {"rz": 0.0}, kp=400.0, kd=40.0, kf=0.5, kfi=0.1, force_damping=5.0
    ),
    "closed-loop kinematics": lambda: control.ClosedLoopKinematics(
        ARM, control.ComputedTorque(ARM, kp=900.0, kd=60.0), gain=20.0
    ),
}
ALL = JOINT | FRAME


def line() -> ch.StraightLine:
    start = ARM.forward_kinematics(ARM.home)
    end = start.copy()
    end[:3, 3] += [0.05, 0.1, -0.05]
    return ch.StraightLine(start, end, duration=0.5)


@pytest.mark.parametrize("name", list(FRAME))
def test_a_cartesian_reference_is_followed(name: str) -> None:
    run = ch.simulate(ARM, FRAME[name](), line(), duration=1.0, start=ARM.home)
    T = ARM.forward_kinematics(run.q.values)
    assert np.abs(T - line()(run.time.values).pose).max() < {"impedance": 0.04, "hybrid": 0.01}.get(name, 2e-3)


@pytest.mark.parametrize("name", list(ALL))
def test_a_joint_reference_is_followed(name: str) -> None:
    motion = ch.PointToPoint(ARM.home, ARM.home + 0.1, duration=0.5)
    plant = ARM.with_gravity([0.0, 0.0, 0.0]) if name == "PD" else ARM
    controller = control.PD(plant, kp=400.0 * INERTIA, kd=40.0 * INERTIA) if name == "PD" else ALL[name]()
    run = ch.simulate(plant, controller, motion, duration=2.0)
    T = ARM.forward_kinematics(run.q.values[-1])
    assert np.abs(T - ARM.forward_kinematics(motion.goal)).max() < {
        "nominal torque": 0.02,
        "PID": 0.05,
        "hybrid": 0.2,
    }.get(name, 2e-3)


@pytest.mark.parametrize("name", list(ALL))
def test_a_law_computes_the_same_on_numbers_and_compiled(name: str) -> None:
    """The first torque of a simulation is that of the law called by itself on floats."""
    controller, q0 = ALL[name](), ARM.home + 0.05
    motion = ch.PointToPoint(ARM.home, ARM.home + 0.1, duration=0.5)
    qd0 = np.linspace(-0.2, 0.2, 7)
    run = ch.simulate(ARM, controller, motion, duration=2e-3, start=ch.State(q0, qd0))
    tau, state = called(controller, q0, qd0, motion(0.0), wrench=np.zeros(6))
    np.testing.assert_allclose(run.tau.values[0], tau, rtol=1e-9, atol=1e-9)
    again, _ = called(controller, run.q.values[1], run.qd.values[1], motion(1e-3), state, t=1e-3, wrench=np.zeros(6))
    np.testing.assert_allclose(run.tau.values[1], again, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", list(ALL))
def test_every_number_can_be_varied_and_runs_do_not_meet(name: str) -> None:
    controller = ALL[name]()
    motion = ch.PointToPoint(ARM.home, ARM.home + 0.1, duration=0.1)
    vary = {f"controller.{key}": np.stack([value, 0.9 * value]) for key, value in controller.parameters.items()}
    both = ch.simulate(ARM, controller, motion, vary=vary)
    alone = ch.simulate(ARM, controller, motion)
    assert both.sizes["run"] == 2
    np.testing.assert_array_equal(both.q.values[0], alone.q.values)
    assert not np.array_equal(both.q.values[1], alone.q.values)


@pytest.mark.parametrize("name", list(ALL))
def test_controllers_pickle_and_name_their_gains(name: str) -> None:
    controller = ALL[name]()
    again = pickle.loads(pickle.dumps(controller))
    assert repr(again) == repr(controller)
    assert all(f"{key}=" in repr(controller) for key in controller.parameters)
    reference = Motion(ARM.home + 0.1, np.zeros(7), np.zeros(7))
    laws = [called(c, ARM.home, np.zeros(7), reference, wrench=np.zeros(6)) for c in (controller, again)]
    np.testing.assert_array_equal(laws[0][0], laws[1][0])


@pytest.mark.parametrize("name", ["shaped impedance", "admittance"])
def test_the_measured_wrench_of_the_plant_is_used(name: str) -> None:
    """10 N along the world's y axis move the frame by 10/400 m."""
    controller = FRAME[name]()
    push = ch.ExternalWrench("push", lambda t, p: np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]), axes="world")
    hold = ch.PointToPoint(ARM.home, ARM.home, duration=4.0)
    run = ch.simulate(ch.Plant(ARM, wrenches=[push]), controller, hold, record=ch.Recording(every=50))
    way = ARM.forward_kinematics(run.q.values[-1])[:3, 3] - ARM.forward_kinematics(ARM.home)[:3, 3]
    np.testing.assert_allclose(way, [0.0, 0.025, 0.0], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["impedance", "shaped impedance", "admittance"]))
def test_pressing_on_a_plane(name: str) -> None:
    """The reference is 2 cm inside a plane of 2 kN/m: springs in series, f = 0.02 / (1/400 + 1/2000)."""
    T = ARM.forward_kinematics(ARM.home)
    plane = ch.ContactPlane("table", "tool", point=T[:3, 3], normal=[0.0, 0.0, 1.0], stiffness=2000.0, damping=20.0)
    goal = T.copy()
    goal[2, 3] -= 0.02
    down = ch.StraightLine(T, goal, duration=0.5)
    run = ch.simulate(
        ch.Plant(ARM, contacts=[plane]),
        FRAME[name](),
        down,
        duration=5.0,
        start=ARM.home,
        record=ch.Recording(every=20),
    )
    depth = T[2, 3] - ARM.forward_kinematics(run.q.values[-1])[2, 3]
    np.testing.assert_allclose(2000.0 * depth, 0.02 / (1 / 400 + 1 / 2000), rtol=1e-3)


def test_a_cartesian_reference_is_no_motion_of_joints() -> None:
    with pytest.raises(ch.ChaslesError, match="moves a frame in space"):
        ch.simulate(ARM, control.PD(ARM, kp=1.0, kd=1.0), line())


def test_pose_motions_go_through_as_they_are() -> None:
    wanted = line()(0.2)
    assert isinstance(wanted, PoseMotion)
    assert FRAME["impedance"]().wanted(wanted) is wanted
