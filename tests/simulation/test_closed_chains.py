"""Closed chains in simulation: no drift, energies that close, motions against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES, at, four_bar, slider_crank

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import PD
from chasles.model import Description, Inertia, Joint, Link, with_loop

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("excavator", "palletiser")]


def no_torque(now: ch.control.Now) -> Any:
    return 0.0 * now.qd


def rest(robot: ch.Robot, duration: float) -> ch.PointToPoint:
    return ch.PointToPoint(robot.home, robot.home, duration)


def gap(robot: ch.Robot, run: Any) -> float:
    return float(np.abs(robot.loops.constraints(run.q.values).residual).max())


def test_a_long_swing_neither_opens_the_loop_nor_loses_energy() -> None:
    robot = ch.Robot(four_bar()).with_friction(viscous=0.0, coulomb=0.0)
    run = ch.simulate(robot, no_torque, rest(robot, 10.0), start=ch.State(qd=[8.0]), record=ch.Recording(energies=True))
    assert gap(robot, run) < 1e-12
    energy = robot.kinetic_energy(run.q.values, run.qd.values) + robot.potential_energy(run.q.values)
    assert np.ptp(energy) < 1e-8 * np.ptp(robot.kinetic_energy(run.q.values, run.qd.values))
    assert np.ptp(run.q.values[:, 0]) > 10.0  # the crank goes round and round


@pytest.mark.parametrize("name", ["four-bar", *SLOW])
def test_the_energy_audit_closes(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    weight = robot.gravity_torque(robot.home)
    run = ch.simulate(robot, lambda now: weight + 0.2, rest(robot, 0.5), record=ch.Recording(energies=True))
    audit = run.energy_audit()
    assert gap(robot, run) < 1e-12
    assert float(np.abs(audit.residual).max()) < 1e-7
    assert float(run["loss.robot_friction"][-1]) > 0.0


def test_a_parallelogram_swings_as_a_pendulum() -> None:
    """A bar on two equal rods without mass moves on a circle and does not turn."""
    rod, length = 0.5, 0.3
    tree = Description(
        "swing",
        (Link("ceiling"), Link("left"), Link("bar", Inertia(2.0, [0.15, 0.0, 0.0], np.eye(3))), Link("right")),
        (
            Joint("a", "continuous", "ceiling", "left", axis=[0.0, 1.0, 0.0]),
            Joint("b", "continuous", "left", "bar", at(z=-rod), axis=[0.0, 1.0, 0.0]),
            Joint("c", "continuous", "ceiling", "right", at(length), axis=[0.0, 1.0, 0.0]),
        ),
        home=[0.4, -0.4, 0.4],
        actuated=("a",),
    )
    place = {"T_first_joint": at(length), "T_second_joint": at(z=-rod), "axis": [0.0, 1.0, 0.0]}
    robot = ch.Robot(with_loop(tree, "d", "revolute", "bar", "right", **place))
    assert robot.forward_dynamics(robot.home, [0.7], [0.0]) == pytest.approx(-9.81 / rod * np.sin(0.4), rel=1e-12)
    run = ch.simulate(robot, no_torque, rest(robot, 3.0))
    assert run.q.values[:, 1] == pytest.approx(-run.q.values[:, 0], abs=1e-9)


def test_a_slider_crank_moves_as_its_formula_says() -> None:
    robot = ch.Robot(slider_crank())
    crank = np.linspace(0.0, 6.0, 50)
    q = np.array([robot.home])
    for angle in crank:
        q = np.vstack([q, robot.integrate(q[-1], [angle - q[-1][0]])])
    q, r, rod = q[1:], 0.1, 0.3
    root = np.sqrt(rod**2 - (r * np.sin(crank)) ** 2)
    assert q[:, 2] == pytest.approx(r * np.cos(crank) + root, abs=1e-10)
    slope = -r * np.sin(crank) - r**2 * np.sin(crank) * np.cos(crank) / root
    assert robot.loops.velocity_map(q)[:, 2, 0] == pytest.approx(slope, abs=1e-10)


def test_references_are_closed_and_followed() -> None:
    """Feed-forward torques of a motion that is straight in all joints, and so closed only at its ends."""
    robot = ch.Robot(MACHINES["five-bar"]())
    goal = robot.integrate(robot.home, [0.3, -0.2])
    motion = ch.PointToPoint(robot.home, goal, 1.0)
    run = ch.simulate(
        robot, lambda now: robot.inverse_dynamics(now.reference.q, now.reference.qd, now.reference.qdd), motion
    )
    assert np.abs(robot.loops.constraints(run.q_reference.values).residual).max() < 1e-9
    assert float(np.abs(run.error).max()) < 1e-3
    q, v = run.q_reference.values, run.qd_reference.values
    assert robot.difference(q[:-1], q[1:]) / 1e-3 == pytest.approx(0.5 * (v[:-1] + v[1:]), abs=2e-5)


def test_masses_vary_in_a_batch() -> None:
    robot = ch.Robot(four_bar())
    run = ch.simulate(robot, no_torque, rest(robot, 0.2), vary={"links.rocker.mass": [1.0, 1.5, 3.0]})
    assert run.q.values.shape == (3, 201, 3)
    assert np.abs(run.q.values[0, -1] - run.q.values[2, -1]).max() > 1e-3


@pytest.mark.parametrize("name", ["five-bar", pytest.param("Delta", marks=pytest.mark.slow)])
def test_controllers_follow_motions_of_the_motors(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    motion = ch.PointToPoint(robot.home, robot.integrate(robot.home, np.full(robot.n, 0.2)), 0.4)
    run = ch.simulate(robot, ch.ComputedTorque(robot, kp=400.0, kd=40.0), motion)
    assert gap(robot, run) < 1e-12
    assert float(np.abs(run.error).max()) < 2e-4


def test_friction_and_rotors_at_the_motors_of_a_plant_are_those_of_the_robot() -> None:
    """The same friction and inertia, once at the robot's joint and once as effects of the plant, move it equally."""
    bare = ch.Robot(four_bar()).with_friction(viscous=0.0, coulomb=0.0)
    motion, law = ch.PointToPoint(bare.home, bare.integrate(bare.home, [0.3]), 0.3), PD(bare, kp=300.0, kd=20.0)
    friction = ch.Friction(bare, viscous=0.5, coulomb=2.0, smoothing_velocity=0.1)
    motors = ch.Motors(bare, rotor_inertia=2e-5, gear_ratio=100.0)
    with_effects = ch.simulate(
        ch.Plant(bare, friction=friction, motors=motors), law, motion, record=ch.Recording(energies=True)
    )
    values = {"viscous_friction": 0.5, "coulomb_friction": 2.0, "coulomb_velocity": 0.1, "motor_inertia": 0.203}
    own = bare.with_values({f"joints.motor.{name}": value for name, value in values.items()})
    in_joints = ch.simulate(own, law, motion)
    assert with_effects.q.values == pytest.approx(in_joints.q.values, abs=1e-10)
    assert float(np.abs(with_effects.energy_audit().residual).max()) < 1e-7
    assert float(with_effects["loss.friction"][-1]) > 0.0


def test_springs_between_motors_and_a_linkage_carry_its_weight() -> None:
    robot = ch.Robot(four_bar()).with_friction(viscous=0.0, coulomb=0.0)
    springs = ch.ElasticJoints(robot, stiffness=500.0, rotor_inertia=0.1, damping=5.0)
    weight = robot.gravity_torque(robot.home)
    run = ch.simulate(
        ch.Plant(robot, elastic_joints=springs),
        lambda now: weight,
        rest(robot, 0.2),
        record=ch.Recording(energies=True),
    )
    assert run.q.values == pytest.approx(np.broadcast_to(robot.home, run.q.shape), abs=1e-9)
    assert run.motor_position.values[-1] == pytest.approx(robot.home[:1] + weight / 500.0, abs=1e-9)
    moved = ch.simulate(
        ch.Plant(robot, elastic_joints=springs), None, rest(robot, 0.2), record=ch.Recording(energies=True)
    )
    assert gap(robot, moved) < 1e-12
    assert float(np.abs(moved.energy_audit().residual).max()) < 1e-6


def test_sensors_of_the_motors_tell_the_configuration_that_closes_the_loops() -> None:
    robot = ch.Robot(four_bar())
    motion = ch.PointToPoint(robot.home, robot.integrate(robot.home, [0.3]), 0.3)
    law = ch.ComputedTorque(robot, kp=400.0, kd=40.0)
    ideal, direct = (
        ch.simulate(ch.Plant(robot, sensors=ch.Sensors(robot)), law, motion),
        ch.simulate(robot, law, motion),
    )
    assert ideal.q.values == pytest.approx(direct.q.values, abs=1e-12)
    coarse = ch.Sensors(robot, position_resolution=1e-3, delay=2e-3, velocity="differentiated", filter_time=2e-3)
    run = ch.simulate(ch.Plant(robot, sensors=coarse), law, motion)
    seen = run.q_measured.values
    assert np.abs(robot.loops.constraints(seen).residual).max() < 1e-9
    steps = seen[2:, 0] / 1e-3
    assert steps == pytest.approx(np.round(steps), abs=1e-6)
    assert np.abs(seen[2:, 0] - run.q.values[:-2, 0]).max() <= 0.5e-3 + 1e-9


def test_motors_away_from_the_independent_joints_are_refused() -> None:
    robot = ch.Robot(four_bar().replace(independent=("swing",)))
    with pytest.raises(ArgumentError, match="act on independent joints, but robot 'four-bar' has motors at motor"):
        ch.Plant(robot, motors=ch.Motors(robot, rotor_inertia=1e-4))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "palletiser"])
def test_nothing_drifts_in_a_minute_of_control_with_friction(name: str) -> None:
    """60 s to and fro under computed torque: loops closed to 1e-12 m, and every joule accounted for."""
    robot = ch.Robot(MACHINES[name]())
    goal = robot.integrate(robot.home, np.full(robot.n, 0.3))
    free = list(robot.description.independent_indices)
    way = np.array([robot.home, goal])[:, free]
    motion = ch.QuinticSpline(np.arange(61.0), way[np.arange(61) % 2])
    run = ch.simulate(
        robot, ch.ComputedTorque(robot, kp=400.0, kd=40.0), motion, record=ch.Recording(every=20, energies=True)
    )
    assert run.time.values[-1] == pytest.approx(60.0, abs=0.1)
    assert gap(robot, run) < 1e-12
    audit = run.energy_audit()
    assert float(run["loss.robot_friction"][-1]) > 1.0
    assert float(np.abs(audit.residual).max()) < 1e-6 * float(run["loss.robot_friction"][-1])
    assert float(np.abs(run.error).max()) < 5e-3
