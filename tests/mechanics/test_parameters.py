"""``vary=`` and ``wrenches=``: parameters as arguments."""

from __future__ import annotations

from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.model import build_tree

INERTIA = np.array([[0.05, 0.002, -0.001], [0.002, 0.04, 0.003], [-0.001, 0.003, 0.03]])
#: One value for every kind of parameter, for the robot of mixed joints.
VALUES: dict[str, Any] = {
    "links.link1.mass": 2.5,
    "links.link2.center_of_mass": [0.05, -0.1, 0.2],
    "links.link4.inertia": INERTIA,
    "joints.turn.viscous_friction": 0.9,
    "joints.slide.coulomb_friction": 1.5,
    "joints.turn.coulomb_velocity": 0.4,
    "joints.turn.load_friction": 0.2,
    "joints.turn.load_velocity": 0.3,
    "joints.slide.torque_offset": 2.0,
    "joints.turn.torque_sine": 1.5,
    "joints.branch.torque_cosine": -0.5,
    "joints.branch.motor_inertia": 0.3,
    "joints.screw.gear_ratio": 80.0,
    "joints.follower.viscous_friction": 0.7,
    "gravity": [1.0, -2.0, -3.0],
    "payload.mass": 3.0,
    "payload.center_of_mass": [0.1, 0.0, 0.05],
    "payload.inertia": INERTIA,
    "joints.branch.position": [0.1, -0.2, 0.3],
    "joints.turn.roll_pitch_yaw": [0.3, 0.2, -0.4],
    "joints.slide.child_position": [0.05, 0.1, -0.1],
    "joints.screw.child_roll_pitch_yaw": [-0.2, 0.1, 0.5],
}
TOLERANCE = 1e-12


def close(actual: Any, expected: Any) -> bool:
    pairs = zip(actual, expected, strict=True) if isinstance(expected, tuple) else [(actual, expected)]
    return all(np.linalg.norm(a - b) <= TOLERANCE * max(1.0, np.linalg.norm(b)) for a, b in pairs)


@pytest.mark.parametrize("name", VALUES)
def test_each_parameter(mixed: ch.Robot, name: str, helpers: SimpleNamespace) -> None:
    # a payload's centre and inertia matter only with its mass, and a velocity with its friction
    needed = {"payload": "payload.mass", "joints.turn.load_velocity": "joints.turn.load_friction"}
    vary = {name: VALUES[name]} | {
        other: VALUES[other] for start, other in needed.items() if name.startswith(start) and name != other
    }
    tree = build_tree(mixed.with_values(vary).description)
    states = helpers.states(mixed.n, 6)
    differs = False
    for computation in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "potential_energy", "friction_torque"):
        arguments = states.of(computation)
        function = attrgetter(computation)(mixed)
        varied = function(*arguments, vary=vary)
        textbook = np.stack([function.reference(tree, *sample) for sample in zip(*arguments, strict=True)])
        assert close(varied, textbook), computation
        differs |= not close(varied, function(*arguments))
    assert differs


def test_all_parameters_at_once(mixed: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    arguments = helpers.states(mixed.n, 3).of(computation)
    changed = mixed.with_values(VALUES)
    varied = attrgetter(computation)(mixed)(*arguments, vary=VALUES, **keywords)
    assert close(varied, attrgetter(computation)(changed)(*arguments, **keywords))


def test_parameters_listed_are_those_that_vary(mixed: ch.Robot) -> None:
    kinds = {name.rsplit(".", 1)[-1] for name in mixed.parameters}
    assert kinds == {name.rsplit(".", 1)[-1] for name in VALUES}
    assert mixed.parameters["gravity"] == (3,)
    assert mixed.parameters["payload.inertia"] == (3, 3)
    q = np.zeros(mixed.n)
    for name, shape in mixed.parameters.items():
        assert mixed.gravity_torque.specialize(vary=[name]).program.inputs[1].shape == shape
    assert mixed.gravity_torque(q, vary={}).shape == (mixed.n,)


def test_batches_of_parameters(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    masses = np.linspace(0.0, 5.0, 7)
    centers = np.random.default_rng(2).normal(size=(4, 1, 3)) * 0.1
    q = helpers.states(7)["q"]
    g = panda.gravity_torque(q, vary={"payload.mass": masses, "payload.center_of_mass": centers})
    assert g.shape == (4, 7, 7)
    for i in range(4):
        for k in range(7):
            assert close(g[i, k], panda.with_payload(masses[k], centers[i, 0]).gravity_torque(q))


def test_batches_of_parameters_equal_single_calls_bitwise(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    states = helpers.states(7, 9)
    masses = np.linspace(0.0, 5.0, 9)
    whole = panda.forward_dynamics(*states.of("forward_dynamics"), vary={"payload.mass": masses})
    for k, arguments in enumerate(zip(*states.of("forward_dynamics"), strict=True)):
        assert np.array_equal(panda.forward_dynamics(*arguments, vary={"payload.mass": masses[k]}), whole[k])
        assert np.array_equal(panda.forward_dynamics(*arguments, vary={"payload.mass": float(masses[k])}), whole[k])


def test_order_of_names_does_not_matter(panda: ch.Robot) -> None:
    q = np.linspace(-1, 1, 7)
    a = panda.gravity_torque(q, vary={"payload.mass": 2.0, "gravity": [0, 1.0, -9.0]})
    b = panda.gravity_torque(q, vary={"gravity": [0, 1.0, -9.0], "payload.mass": 2.0})
    assert close(a, b)
    assert close(a, panda.with_payload(2.0).with_gravity([0, 1.0, -9.0]).gravity_torque(q))


def test_a_link_without_motion_has_no_effect(panda: ch.Robot) -> None:
    q = np.linspace(-1, 1, 7)
    root = panda.description.root
    assert close(panda.gravity_torque(q, vary={f"links.{root}.mass": 50.0}), panda.gravity_torque(q))


def test_out_and_wrenches_and_parameters_together(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    q, qd, qdd, *_ = helpers.states(7, 5).values()
    w = np.random.default_rng(3).normal(size=(5, 6))
    out = np.empty((5, 7))
    returned = panda.inverse_dynamics(q, qd, qdd, vary={"payload.mass": 1.5}, wrenches={"panda_hand": w}, out=out)
    assert returned is out
    expected = panda.with_payload(1.5).inverse_dynamics(q, qd, qdd)
    J = panda.jacobian(q, frame="body", target="panda_hand")
    assert close(out, expected - np.einsum("kij,ki->kj", J, w))


@pytest.mark.parametrize("robot_name", ["panda", "mixed"])
def test_wrenches_act_through_the_jacobian(
    robot_name: str, request: pytest.FixtureRequest, helpers: SimpleNamespace
) -> None:
    robot = request.getfixturevalue(robot_name)
    q, qd, qdd, tau, _ = helpers.states(robot.n, 4).values()
    links = robot.description.link_names
    frames = [links[1], links[-1], robot.description.tool]
    rng = np.random.default_rng(4)
    w = {frames[0]: rng.normal(size=6), frames[1]: rng.normal(size=(4, 6)), frames[2]: rng.normal(size=(3, 1, 6))}
    jacobians = {frame: robot.jacobian(q, frame="body", target=frame) for frame in frames}
    load = sum(np.einsum("...ij,...i->...j", jacobians[frame], wrench) for frame, wrench in w.items())
    assert load.shape == (3, 4, robot.n)
    assert close(robot.bias(q, qd, wrenches=w), robot.bias(q, qd) - load)
    assert close(robot.inverse_dynamics(q, qd, qdd, wrenches=w), robot.inverse_dynamics(q, qd, qdd) - load)
    assert close(robot.forward_dynamics(q, qd, tau, wrenches=w), robot.forward_dynamics(q, qd, tau + load))
    for frame, wrench in w.items():
        alone = robot.bias(q, qd, wrenches={frame: wrench})
        assert close(alone, robot.bias(q, qd) - np.einsum("...ij,...i->...j", jacobians[frame], wrench))


def test_a_wrench_on_the_base_moves_nothing(panda: ch.Robot) -> None:
    q = np.linspace(-1, 1, 7)
    assert close(panda.bias(q, q, wrenches={panda.description.root: np.ones(6)}), panda.bias(q, q))


def test_derivatives_with_wrenches(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    q, qd, qdd, *_ = helpers.states(7).values()
    w = {"panda_hand": np.array([1.0, -2.0, 0.5, 10.0, -20.0, 5.0])}
    dtau_dq, dtau_dqd, dtau_dqdd = panda.inverse_dynamics_derivatives(q, qd, qdd, wrenches=w)
    step = 1e-4 * np.eye(7)
    for derivative, samples in (
        (dtau_dq, [panda.inverse_dynamics(q + s * step, qd, qdd, wrenches=w) for s in (-2, -1, 1, 2)]),
        (dtau_dqd, [panda.inverse_dynamics(q, qd + s * step, qdd, wrenches=w) for s in (-2, -1, 1, 2)]),
        (dtau_dqdd, [panda.inverse_dynamics(q, qd, qdd + s * step, wrenches=w) for s in (-2, -1, 1, 2)]),
    ):
        a, b, c, d = samples
        difference = ((a - d) / 12 + 2 * (c - b) / 3) / 1e-4
        assert np.abs(derivative.T - difference).max() < 1e-8
