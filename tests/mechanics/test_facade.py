"""Robots as objects: copies, pickling, programs, traced use, other types, special robots."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, ArgumentTypeError, ChaslesError
from chasles.mechanics import computations
from chasles.model import Description, Joint, Link

EPS = np.finfo(float).eps


def call(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


def test_pickling(panda: ch.Robot, mixed: ch.Robot, helpers: SimpleNamespace) -> None:
    for robot in (panda, mixed):
        q = helpers.states(robot.n, 3)["q"]
        again = pickle.loads(pickle.dumps(robot))
        assert again == robot
        assert hash(again) == hash(robot)
        assert np.array_equal(again.mass_matrix(q), robot.mass_matrix(q))
        function = pickle.loads(pickle.dumps(robot.mass_matrix))
        assert np.array_equal(function(q), robot.mass_matrix(q))
        special = robot.gravity_torque.specialize(vary=["payload.mass"])
        assert np.array_equal(pickle.loads(pickle.dumps(special))(q, 2.0), special(q, 2.0))


def test_functions_travel_to_other_processes(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    q = helpers.states(7, 3)["q"]
    special = panda.gravity_torque.specialize(vary=["payload.mass"])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for function, arguments in ((panda.mass_matrix, (q,)), (special, (q, 1.5))):
            assert np.array_equal(pool.submit(call, function, *arguments).result(), function(*arguments))
        changed = pool.submit(panda.with_payload, 2.0).result()
    assert changed == panda.with_payload(2.0)


def test_traced_inside_a_function(panda: ch.Robot, mixed: ch.Robot, helpers: SimpleNamespace) -> None:
    for robot in (panda, mixed):
        n = robot.n

        @ch.function(q=(n,), qd=(n,), tau=(n,), kd=())
        def damped(q: Any, qd: Any, tau: Any, kd: Any) -> Any:
            qdd = robot.forward_dynamics(q, qd, tau - kd * qd)  # noqa: B023  (called in this turn only)
            return qdd, robot.forward_kinematics(q)[:3, 3]  # noqa: B023

        states = helpers.states(n, 5)
        q, qd, tau = states.of("forward_dynamics")
        qdd, p = damped(q, qd, tau, 0.7)
        expected = robot.forward_dynamics(q, qd, tau - 0.7 * qd)
        assert np.abs(qdd - expected).max() <= 1e-12 * np.abs(expected).max()
        assert np.abs(p - robot.forward_kinematics(q)[:, :3, 3]).max() < 1e-14


def test_traced_with_known_numbers_parameters_and_wrenches(panda: ch.Robot) -> None:
    @ch.function(q=(7,), mass=(), f=(6,))
    def load(q: Any, mass: Any, f: Any) -> Any:
        return panda.inverse_dynamics(
            q, np.zeros(7), np.zeros(7), vary={"payload.mass": mass}, wrenches={"panda_hand": f}
        )

    q, f = np.linspace(-1, 1, 7), np.arange(6.0)
    expected = panda.with_payload(1.5).bias(q, np.zeros(7), wrenches={"panda_hand": f})
    assert np.abs(load(q, 1.5, f) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_batches_inside_a_trace_are_refused(panda: ch.Robot) -> None:
    @ch.function(q=(2, 7))
    def poses(q: Any) -> Any:
        return panda.forward_kinematics(q)

    with pytest.raises(ArgumentError, match=r"forward_kinematics.*\(7,\)"):
        poses(np.zeros((2, 7)))


def test_programs(panda: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    names, keywords = helpers.calls[computation]
    function = attrgetter(computation)(panda)
    program = function.specialize(**keywords).program
    assert tuple(argument.name for argument in program.inputs) == names
    assert program.name == computation
    if not keywords:
        assert function.program.operation_count == program.operation_count


def test_jacobian_of_a_computation(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    states = helpers.states(7, 4)
    arguments = states.of("inverse_dynamics")
    by_q, by_qd, by_qdd = panda.inverse_dynamics_derivatives(*arguments)
    for wrt, expected in (("q", by_q), ("qd", by_qd), ("qdd", by_qdd)):
        derivative = panda.inverse_dynamics.jacobian("tau", wrt)(*arguments)
        assert np.abs(derivative - expected).max() <= 1e-12 * np.abs(expected).max()


def test_single_precision(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    arguments = helpers.states(7, 50).of("inverse_dynamics")
    single = panda.inverse_dynamics.astype("float32")(*arguments)
    exact = panda.inverse_dynamics(*arguments)
    assert single.dtype == np.float32
    assert 0 < np.abs(single - exact).max() < 1e-5 * np.abs(exact).max()
    assert panda.inverse_dynamics(*arguments).dtype == np.float64


def test_copies_leave_the_original_alone(panda: ch.Robot) -> None:
    q = np.linspace(-1, 1, 7)
    before = panda.gravity_torque(q)
    heavier = panda.with_payload(5.0)
    assert not np.array_equal(heavier.gravity_torque(q), before)
    assert np.array_equal(panda.gravity_torque(q), before)
    assert heavier != panda
    assert panda.with_gravity([0.0, 0.0, 0.0]).gravity_torque(q).tolist() == [0.0] * 7
    with pytest.raises((AttributeError, TypeError)):
        panda.description.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        panda.home[0] = 1.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gravity", r"use with_gravity\(…\)"),
        ("name", r"use edit.renamed\(name=…\)"),
        ("home", r"Robot\(robot.description.replace\(home=…\)\)"),
        ("effort_limits", r"description.replace\(joints=…\)"),
        ("description", r"Robot\(description=…\)"),
        ("mass_matrix", "never changes, so its mass_matrix cannot be assigned"),
        ("joint_nmaes", "has no attribute 'joint_nmaes'; did you mean 'joint_names'?"),
    ],
)
def test_assignments_are_refused_with_what_to_do_instead(panda: ch.Robot, name: str, said: str) -> None:
    before = pickle.dumps(panda)
    with pytest.raises(ChaslesError, match=said):
        setattr(panda, name, 3.0)
    assert pickle.dumps(panda) == before


def test_names_and_representations(panda: ch.Robot) -> None:
    assert "panda" in repr(panda)
    assert "inverse_dynamics(q, qd, qdd)" in repr(panda.inverse_dynamics)
    assert panda.inverse_dynamics.__name__ == "inverse_dynamics"
    for function in (panda.inverse_dynamics, ch.Robot.inverse_dynamics, panda.inverse_dynamics.specialize()):
        assert "joint torques" in (function.__doc__ or "")
    assert len(panda.joint_names) == panda.n == len(panda.home)
    for limits in (panda.lower_limits, panda.upper_limits, panda.velocity_limits, panda.effort_limits):
        assert limits.shape == (7,)


def test_toml_round_trip(mixed: ch.Robot, tmp_path: Any, helpers: SimpleNamespace) -> None:
    mixed.save(tmp_path / "mixed.toml")
    again = ch.load(tmp_path / "mixed.toml")
    assert ch.load(tmp_path / "mixed.toml") == again
    arguments = helpers.states(mixed.n, 3).of("inverse_dynamics")
    assert again == mixed
    assert np.array_equal(again.inverse_dynamics(*arguments), mixed.inverse_dynamics(*arguments))


def test_mixed_joints_move_as_they_should(mixed: ch.Robot) -> None:
    def moved(name: str, joint: str, by: float) -> np.ndarray:
        q = np.zeros(mixed.n)
        q[mixed.joint_names.index(joint)] = by
        return np.linalg.inv(mixed.forward_kinematics(np.zeros(mixed.n), target=name)) @ mixed.forward_kinematics(
            q, target=name
        )

    assert mixed.n == 4
    T = moved("link1", "slide", 0.3)
    assert np.allclose(T[:3, 3], [0.3, 0.0, 0.0], atol=1e-15)
    assert np.allclose(T[:3, :3], np.eye(3), atol=1e-15)
    T = moved("link2", "screw", 2 * np.pi)
    assert np.allclose(T[:3, 3], 2 * np.pi * 0.05 * np.array([0.0, 0.6, 0.8]), atol=1e-14)
    assert np.allclose(T[:3, :3], np.eye(3), atol=1e-14)
    T = moved("link4", "branch", 0.8)
    q = np.zeros(4)
    relative = [
        np.linalg.inv(mixed.forward_kinematics(x, target="link3")) @ mixed.forward_kinematics(x, target="link4")
        for x in (q, np.where([name == "branch" for name in mixed.joint_names], 0.8, 0.0))
    ]
    turn = relative[0][:3, :3].T @ relative[1][:3, :3]  # about x by -0.5 * 0.8
    assert np.allclose(turn, [[1, 0, 0], [0, np.cos(0.4), np.sin(0.4)], [0, -np.sin(0.4), np.cos(0.4)]], atol=1e-15)


def test_dynamics_of_mixed_joints_are_consistent(mixed: ch.Robot, helpers: SimpleNamespace) -> None:
    q, qd, qdd, *_ = helpers.states(4, 40).values()
    back = mixed.forward_dynamics(q, qd, mixed.inverse_dynamics(q, qd, qdd))
    assert np.abs(back - qdd).max() < 1e-11
    M, C = mixed.mass_matrix(q), mixed.coriolis_matrix(q, qd)
    parts = (M @ qdd[..., None] + C @ qd[..., None])[..., 0] + mixed.gravity_torque(q) + mixed.friction_torque(q, qd)
    assert np.abs(parts - mixed.inverse_dynamics(q, qd, qdd)).max() < 1e-12 * np.abs(parts).max()
    assert np.array_equal(M, np.swapaxes(M, -1, -2))
    assert np.all(np.linalg.eigvalsh(M) > 0)
    assert np.allclose(M @ mixed.inverse_mass_matrix(q), np.eye(4), atol=1e-12)
    energy = 0.5 * np.einsum("ki,kij,kj->k", qd, M, qd)
    assert np.allclose(mixed.kinetic_energy(q, qd), energy, rtol=1e-13)


def test_friction_at_the_end_of_a_step_acts_like_armature(mixed: ch.Robot, helpers: SimpleNamespace) -> None:
    """(M + step D) qdd = tau - bias, with the slopes D of the friction by differences."""
    q, qd, _, tau, _ = helpers.states(4, 20).values()
    vary, step, h = {"joints.turn.viscous_friction": 30.0, "joints.follower.viscous_friction": 0.7}, 0.01, 1e-6
    rates = qd[:, None, :] + h * np.stack([np.eye(4), -np.eye(4)])[:, None]
    ahead, behind = mixed.friction_torque(q[:, None, :], rates, vary=vary)
    D = np.swapaxes(ahead - behind, -1, -2) / (2.0 * h)
    load = (tau - mixed.bias(q, qd, vary=vary))[..., None]
    expected = np.linalg.solve(mixed.mass_matrix(q) + step * D, load)[..., 0]
    found = mixed.forward_dynamics(q, qd, tau, step=step, vary=vary)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert np.abs(found - mixed.forward_dynamics(q, qd, tau, vary=vary)).max() > 0.1
    with pytest.raises(ArgumentError, match="step must be a duration"):
        mixed.forward_dynamics(q, qd, tau, step=-0.01)


def test_a_robot_without_joints() -> None:
    glue = Joint("glue", "fixed", "rock", "moss")
    stone = ch.Robot(Description("stone", links=(Link("rock"), Link("moss")), joints=(glue,)))
    assert stone.n == 0
    for function in (stone.mass_matrix, stone.gravity_torque, stone.forward_kinematics, stone.potential_energy):
        with contextlib.suppress(ChaslesError):  # it works or says in a sentence that it cannot
            assert np.isfinite(function(np.zeros(0))).all()


def test_equal_robots_have_one_digest(panda: ch.Robot) -> None:
    assert pickle.loads(pickle.dumps(panda)).digest == panda.digest == ch.load("panda").digest
    assert panda.with_payload(1.0).digest != panda.digest


def test_methods_may_be_held_and_shared(panda: ch.Robot) -> None:
    assert panda.mass_matrix is panda.mass_matrix
    held = ch.load("panda").mass_matrix
    q = np.zeros(7)
    assert np.array_equal(held(q), panda.mass_matrix(q))


WITHOUT_JIT = """
import json, sys
from operator import attrgetter
import numpy as np
import chasles as ch
from chasles.engine.running.compiling import native_available
calls = json.loads(sys.argv[1])
arm = ch.load("panda")
states = dict(zip(("q", "qd", "qdd", "tau", "weights"), np.random.default_rng(0).normal(size=(5, 3, 7))))
results = {}
for name, (arguments, keywords) in calls.items():
    value = attrgetter(name)(arm)(*(states[a] for a in arguments), **keywords)
    one = attrgetter(name)(arm)(*(states[a][0] for a in arguments), **keywords)
    results[name] = [np.asarray(x).tolist() for x in (value if isinstance(value, tuple) else (value,))]
    for a, b in zip(results[name], one if isinstance(one, tuple) else (one,)):
        assert np.array_equal(a[0], b), name
print(json.dumps([native_available(), results]))
"""


@pytest.mark.slow
def test_without_a_compiler_the_numbers_are_the_same(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    def run(jit: str) -> tuple[bool, dict[str, Any]]:
        command = [sys.executable, "-c", WITHOUT_JIT, json.dumps(helpers.calls)]
        output = subprocess.run(
            command, env={**os.environ, "CHASLES_JIT": jit}, check=True, capture_output=True, text=True
        ).stdout
        native, results = json.loads(output)
        return native, results

    native, plain = run("0")
    assert native is False
    compiled, expected = run("1")
    assert compiled is True
    for name, values in expected.items():
        for a, b in zip(plain[name], values, strict=True):
            difference = np.abs(np.array(a) - np.array(b)).max()
            assert difference <= 1e-12 * np.abs(np.array(b)).max(), name


def test_a_sub_tree_moves_as_it_did_in_the_whole_robot(panda: ch.Robot) -> None:
    forearm = panda.edit.sub_tree("panda_link4")
    q = np.linspace(-1, 1, 7)
    T_link4_tool = [
        np.linalg.inv(robot.forward_kinematics(x, target="panda_link4")) @ robot.forward_kinematics(x)
        for robot, x in ((panda, q), (forearm, q[4:]))
    ]
    np.testing.assert_allclose(*T_link4_tool, atol=1e-14)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_kinematics", "loops.constraints", "regressors.torque"])
def test_the_class_knows_how_its_computations_are_called(name: str) -> None:
    on_the_class, on_a_robot = computations()[name], attrgetter(name)(ch.load("planar2r"))
    robot, *parameters = inspect.signature(on_the_class).parameters.values()
    assert robot.name == "self"
    assert parameters == list(inspect.signature(on_a_robot).parameters.values())
    assert set(get_type_hints(on_the_class)) == {*(parameter.name for parameter in parameters), "return"}
    assert on_the_class.__doc__ == on_a_robot.__doc__


def test_a_computation_is_called_on_the_class_with_the_robot_first() -> None:
    arm = ch.load("planar2r")
    q = [0.3, -0.2]
    np.testing.assert_array_equal(ch.Robot.mass_matrix(arm, q), arm.mass_matrix(q))
    with pytest.raises(ArgumentTypeError, match=r"call mass_matrix of a robot, arm.mass_matrix\(…\), or give"):
        ch.Robot.mass_matrix(q)  # type: ignore[arg-type]


def test_parts_belong_to_their_robot(panda: ch.Robot) -> None:
    function = pickle.loads(pickle.dumps(panda.regressors.torque))
    states = np.random.default_rng(2).normal(size=(3, 7))
    np.testing.assert_array_equal(function(*states), panda.regressors.torque(*states))
    assert panda.regressors is panda.regressors
    assert pickle.loads(pickle.dumps(panda.regressors)).robot == panda
    with pytest.raises(AttributeError, match=r"'regressors' of robots has no attribute 'torqe'; did you mean 'torque'"):
        _ = panda.regressors.torqe  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'passivity_torque'; did you mean 'regressors.passivity_torque'"):
        _ = panda.passivity_torque  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"^regressors.torque\(q, qd, qdd\) (takes 3 arguments, not 2|misses qdd)"):
        panda.regressors.torque(*states[:2])  # type: ignore[call-arg]
