"""ROBOOP's robots against the manual's recursions written anew, differences, and each other; and bad input."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from tests.interop.roboop import formulas

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError, ModelError
from chasles.interop import roboop as rb
from chasles.model.formats.to_roboop import roboop_table

CLASSES = {rb.Robot: (True, False), rb.mRobot: (False, False), rb.mRobot_min_para: (False, True)}
KINDS = ([0, 0, 1, 0, 0, 0], [1, 0, 0, 1])
CASES = [(rb.Robot, KINDS[0]), (rb.mRobot, KINDS[1]), (rb.mRobot_min_para, KINDS[1])]


def made(kind: type, joints: list[int]) -> tuple[rb.Robot_basic, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(len(joints))
    rows = formulas.random_rows(rng, joints, minimal=CLASSES[kind][1])
    return kind(rows), rows, rng


@pytest.mark.parametrize(("kind", "joints"), CASES)
def test_torques_are_those_of_the_manual(kind: type, joints: list[int]) -> None:
    robot, rows, rng = made(kind, joints)
    n = len(joints)
    for _ in range(3):
        q, qp, qpp = rng.normal(size=(3, n))
        load = rng.normal(size=3), rng.normal(size=3)
        expected = formulas.torque(rows, q, qp, qpp, *CLASSES[kind])
        np.testing.assert_allclose(robot.torque(q, qp, qpp), expected, rtol=1e-10, atol=1e-9)
        expected = formulas.torque(rows, q, qp, qpp, *CLASSES[kind], load)
        np.testing.assert_allclose(robot.torque(q, qp, qpp, *load), expected, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(robot.kine(), formulas.pose(rows, q, CLASSES[kind][0]), atol=1e-13)
        still, zero = np.zeros(n), rows.copy()
        zero[:, 20:22] = 0.0
        np.testing.assert_allclose(robot.G(), formulas.torque(rows, q, still, still, *CLASSES[kind]), atol=1e-9)
        weightless = formulas.torque(rows, q, qp, still, *CLASSES[kind], gravity=0.0)
        np.testing.assert_allclose(robot.C(qp), weightless, rtol=1e-10, atol=1e-9)  # friction included
        columns = [formulas.torque(rows, q, still, e, *CLASSES[kind], gravity=0.0) for e in np.eye(n)]
        np.testing.assert_allclose(robot.inertia(q), np.array(columns).T, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(robot.torque_novelocity(qpp), np.array(columns).T @ qpp, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "joints"), CASES)
def test_derivatives_are_those_of_differences(kind: type, joints: list[int]) -> None:
    robot, rows, rng = made(kind, joints)
    n, h = len(joints), 1e-5
    q, qp, qpp, dq, dqp, dqpp = rng.normal(size=(6, n))
    arguments = CLASSES[kind]

    def tau(s: float) -> np.ndarray:
        return formulas.torque(rows, q + s * dq, qp + s * dqp, qpp + s * dqpp, *arguments)

    torque, change = robot.delta_torque(q, qp, qpp, dq, dqp, dqpp)
    np.testing.assert_allclose(torque, tau(0.0), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(change, (tau(h) - tau(-h)) / (2 * h), rtol=1e-6, atol=1e-5)
    by_q, by_qp = robot.dq_torque(q, qp, qpp, dq)[1], robot.dqp_torque(q, qp, dqp)[1]
    np.testing.assert_allclose(by_q + by_qp + robot.inertia(q) @ dqpp, change, rtol=1e-9, atol=1e-8)

    robot.set_q(q)
    robot.set_qp(qp)

    def frame(s: float) -> np.ndarray:
        return formulas.pose(rows, q + s * qp, arguments[0])

    velocity = robot.kine_pd()[:, 4]
    np.testing.assert_allclose(velocity, ((frame(h) - frame(-h)) / (2 * h))[:3, 3], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose((robot.jacobian() @ qp)[:3], velocity, rtol=1e-12, atol=1e-12)
    for i in range(1, n + 1):
        e = h * np.eye(n)[i - 1]
        change = (formulas.pose(rows, q + e, arguments[0]) - formulas.pose(rows, q - e, arguments[0])) / (2 * h)
        np.testing.assert_allclose(robot.dTdqi(i), change, atol=1e-7)
    ahead, behind = kind(robot), kind(robot)
    ahead.set_q(q + h * qp)
    behind.set_q(q - h * qp)
    np.testing.assert_allclose(
        robot.jacobian_dot(), (ahead.jacobian() - behind.jacobian()) / (2 * h), rtol=1e-6, atol=1e-6
    )
    R = robot.kine(2)[:3, :3].T
    turned = np.vstack([R @ robot.jacobian()[:3], R @ robot.jacobian()[3:]])
    np.testing.assert_allclose(robot.jacobian(2), turned, atol=1e-13)


@pytest.mark.parametrize(("kind", "joints"), CASES)
def test_acceleration_undoes_torque(kind: type, joints: list[int]) -> None:
    robot, _, rng = made(kind, joints)
    q, qp, qpp = rng.normal(size=(3, len(joints)))
    load = rng.normal(size=3), rng.normal(size=3)
    tau = robot.torque(q, qp, qpp, *load)
    np.testing.assert_allclose(robot.acceleration(q, qp, tau, *load), qpp, rtol=1e-8, atol=1e-8)


def test_a_link_in_the_chain_has_its_own_jacobian() -> None:
    robot, rows, rng = made(rb.Robot, KINDS[0])
    q, qp, h = *rng.normal(size=(2, 6)), 1e-6
    robot.set_q(q)
    T = [formulas.pose(rows[:3], (q + s * qp)[:3], True) for s in (h, -h)]
    J = robot.jacobian(3, 0)
    assert J.shape == (6, 3)
    np.testing.assert_allclose(J[:3] @ qp[:3], (T[0] - T[1])[:3, 3] / (2 * h), atol=1e-7)


def test_immobile_joints_have_no_column_and_stay_where_they_are() -> None:
    puma = rb.Robot(roboop_table(ch.model.load("puma560")).matrix)
    puma.set_q([0.1, 0.6, -0.9, 0.2, 0.7, 0.3])
    puma.links[3].set_immobile(True)
    assert (puma.get_dof(), puma.get_available_dof(), puma.get_available_dof(4)) == (6, 5, 3)
    assert puma.jacobian().shape == puma.jacobian_dot().shape == (6, 5)
    assert puma.jacobian_DLS_inv(0.01, 0.1).shape == (5, 6)
    assert not puma.dTdqi(4).any()
    goal = puma.kine()
    start = np.array([0.15, 0.55, -0.95, 0.75, 0.25])
    puma.set_q(start)  # of the five that move
    assert puma.get_q(4) == pytest.approx(0.2)
    found, converge = puma.inv_kin(goal, converge=True)
    assert converge
    np.testing.assert_allclose(found, [0.1, 0.6, -0.9, 0.7, 0.3], atol=1e-7)
    np.testing.assert_allclose(puma.get_available_q(), start)  # unchanged
    assert puma.inertia(puma.get_q()).shape == (6, 6)


RHINO = ([-np.pi / 2, 0, 0, -np.pi / 2, 0], [0, 0.2286, 0.2286, 0.0095, 0], [0.2604, 0, 0, 0, 0.135])
SCHILLING = ([np.pi / 2, 0, 0, -np.pi / 2, np.pi / 2, 0], [0.05, 0.8, 0.5, 0.1, 0, 0], [0.2, 0, 0, 0, 0, 0.3])
PUMA = ([np.pi / 2, 0, -np.pi / 2, np.pi / 2, -np.pi / 2, 0], [0, 0.4318, 0.0203, 0, 0, 0],
        [0, 0, 0.15005, 0.4318, 0, 0.1])  # fmt: skip


@pytest.mark.parametrize(
    ("table", "family", "tests"),
    [
        (RHINO, rb.RHINO, (True, False, False)),
        (PUMA, rb.PUMA, (False, True, False)),
        (SCHILLING, rb.SCHILLING, (False, False, True)),
    ],
)
def test_families_have_formulas_for_any_sign_of_their_twists(table, family: int, tests: tuple[bool, ...]) -> None:
    """ROBOOP's own formulas give wrong poses for its own PUMA tables, and report success."""
    rows = np.zeros((len(table[0]), 23))
    rows[:, 4], rows[:, 3], rows[:, 2] = table
    rows[:, 7], rows[:, 8] = 0.1, 1.0  # ROBOOP's formulas ignore joint offsets too
    robot = rb.Robot(rows)
    assert robot.robotType == family
    assert (rb.Rhino_DH(robot), rb.Puma_DH(robot), rb.Schilling_DH(robot)) == tests
    rng = np.random.default_rng(3)
    for _ in range(20):
        q = rng.uniform(-1.2, 1.2, len(rows))
        robot.set_q(q)
        goal = robot.kine()
        robot.set_q(q + rng.uniform(-0.05, 0.05, len(rows)))
        found, converge = robot.inv_kin(goal, converge=True)
        assert converge
        robot.set_q(found)
        np.testing.assert_allclose(robot.kine(), goal, atol=1e-10)
    far = goal.copy()
    far[:3, 3] += 10.0
    robot.set_q(q)
    kept, converge = robot.inv_kin(far, converge=True)
    assert not converge
    assert kept.tolist() == q.tolist()


def test_the_search_finds_its_way_from_where_the_robot_is() -> None:
    robot, _, rng = made(rb.mRobot, [0, 0, 1, 0, 0, 0])
    assert robot.robotType == rb.DEFAULT
    q = rng.normal(size=6)
    robot.set_q(q)
    goal = robot.kine()
    robot.set_q(q + 0.02)
    for mj in (0, 1):
        np.testing.assert_allclose(robot.inv_kin(goal, mj), q, atol=1e-6)
    goal4 = robot.kine(4)
    with pytest.raises(ArgumentError, match="mj must be 0 or 1"):
        robot.inv_kin(goal4, 2)


def test_state_is_kept_and_copied() -> None:
    robot, _, rng = made(rb.Robot, [0, 1, 0])
    q, qp, qpp = rng.normal(size=(3, 3))
    robot.set_q(q)
    robot.set_qp(qp)
    robot.set_qpp(qpp)
    other = copy.copy(robot)
    robot.set_q(7.0, 2)
    assert robot.get_q(2) == robot.get_q()[1] == robot.links[1].get_q() == 7.0
    assert other.get_q().tolist() == q.tolist()
    assert other.get_qp().tolist() == qp.tolist()
    assert other.get_available_qpp().tolist() == qpp.tolist()
    robot.torque(q, qp, qpp)
    assert robot.get_q().tolist() == q.tolist()  # torque sets it
    G, _ = robot.G(), robot.jacobian()
    assert robot.G().tolist() == G.tolist()  # in ROBOOP a Jacobian spoils it
    robot.gravity = np.zeros(3)
    assert not robot.G().any()


def test_a_changed_link_is_another_robot() -> None:
    robot, rows, rng = made(rb.Robot, [0, 0])
    q, qp, qpp = rng.normal(size=(3, 2))
    robot.links[1].set_m(9.0)
    robot.links[0].set_I(np.diag([1.0, 2.0, 2.5]))
    robot.links[1].set_r([0.1, 0.2, 0.3])
    robot.links[0].set_B(0.0)
    rows[1, 8:12] = 9.0, 0.1, 0.2, 0.3
    rows[0, 12:18] = 1.0, 0.0, 0.0, 2.0, 0.0, 2.5
    rows[0, 20] = 0.0
    np.testing.assert_allclose(robot.torque(q, qp, qpp), formulas.torque(rows, q, qp, qpp, True), rtol=1e-11)
    rb.perturb_robot(robot, 0.0, seed=1)
    np.testing.assert_allclose(robot.torque(q, qp, qpp), formulas.torque(rows, q, qp, qpp, True), rtol=1e-11)
    rb.perturb_robot(robot, 0.2, seed=1)
    assert 0.8 <= robot.links[1].get_m() / 9.0 <= 1.2
    assert robot.links[1].get_r().tolist() == [0.1, 0.2, 0.3]


def test_a_fixed_last_link_is_the_end(tmp_path: Path) -> None:
    rows = np.zeros((3, 23))
    rows[:, 3], rows[:2, 8] = [1.0, 0.5, 0.25], 1.0
    rows[2, 0], rows[2, 4] = 2, np.pi / 2
    robot = rb.Robot(rows)
    assert (robot.get_dof(), robot.get_fix()) == (2, 1)
    robot.set_q([0.0, np.pi / 2])
    np.testing.assert_allclose(robot.kine()[:3, 3], [1.0, 0.75, 0.0], atol=1e-15)
    np.testing.assert_allclose(robot.kine(2)[:3, 3], [1.0, 0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(robot.jacobian()[:2], [[-0.75, -0.75], [1.0, 0.0]], atol=1e-15)
    tau = robot.torque([0, np.pi / 2], [0, 0], [0, 0], robot.kine()[:3, :3].T @ [1.0, 0.0, 0.0], [0, 0, 0])
    np.testing.assert_allclose(tau, [-0.75, -0.75], atol=1e-14)
    path = tmp_path / "two.conf"
    ch.Robot(ch.model.formats.roboop.roboop_description(roboop_table(robot.model.description))).save(path)
    again = rb.Robot(str(path), "robot")
    again.set_q([0.0, np.pi / 2])
    np.testing.assert_allclose(again.kine(), robot.kine(), atol=1e-15)


def test_links_tell_what_they_are() -> None:
    link = rb.Link(0, 0.1, 0.2, 0.3, 0.4, it_off=0.5, mass=2.0, cmx=0.1, ixx=1.0, ixy=0.2, iIm=1e-4, iGr=50.0)
    assert (link.get_theta(), link.get_d(), link.get_a(), link.get_alpha()) == (0.6, 0.2, 0.3, 0.4)
    assert (link.get_q(), link.get_joint_offset(), link.get_joint_type()) == (0.1, 0.5, 0)
    assert link.get_mc().tolist() == [0.2, 0.0, 0.0]
    assert link.get_I().tolist() == [[1.0, 0.2, 0.0], [0.2, 0.0, 0.0], [0.0, 0.0, 0.0]]
    T = rb.rotz(0.6) @ rb.trans([0, 0, 0.2]) @ rb.trans([0.3, 0, 0]) @ rb.rotx(0.4)
    np.testing.assert_allclose(link.R, T[:3, :3], atol=1e-15)
    np.testing.assert_allclose(link.get_p(), [0.3, 0.2 * np.sin(0.4), 0.2 * np.cos(0.4)], atol=1e-15)
    modified = rb.Link(1, 0.1, 0.2, 0.3, 0.4, dh=False)
    modified.transform(0.7)
    np.testing.assert_allclose(modified.get_p(), [0.3, -0.7 * np.sin(0.4), 0.7 * np.cos(0.4)], atol=1e-15)
    minimal = rb.Link(mass=0.0, cmx=0.3, min_inertial_para=True)
    assert minimal.get_mc().tolist() == [0.3, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.set_q([1.0]), "q has 1 values; expected 2"),
        (lambda r: r.set_q([np.nan, 0.0]), "q"),
        (lambda r: r.set_q(1.0, 3), "joint must be a whole number from 1 to 2, not 3"),
        (lambda r: r.kine(3), "frame must be a whole number from 1 to 2"),
        (lambda r: r.kine(1.5), "frame must be a whole number"),
        (lambda r: r.jacobian(1, 2, 3), "jacobian takes"),
        (lambda r: r.dTdqi(0), "joint must be a whole number from 1"),
        (lambda r: r.torque([0, 0], [0, 0], [0, 0], [1, 2]), "Fext"),
        (lambda r: r.acceleration([0, 0], [0, 0], [0]), "tau_cmd"),
        (lambda r: r.inv_kin(np.eye(3)), "Tobj"),
        (lambda r: r.links[0].set_m(-1.0), "m is -1.0; it must"),
        (lambda r: rb.perturb_robot(r, 1.5), "f is 1.5; it must"),
        (lambda r: r.inv_kin_puma(np.eye(4)), "no closed form|parallel|mask"),
    ],
)
def test_bad_arguments_raise_with_their_names(call, message: str) -> None:
    robot = rb.Robot(2)
    if "closed form" in message:
        robot = rb.Robot(formulas.random_rows(np.random.default_rng(0), [0] * 6))
    with pytest.raises(ChaslesError, match=message):
        call(robot)


def test_matrices_that_are_no_robots_are_refused() -> None:
    for matrix in (np.zeros((2, 22)), np.zeros((0, 23)), np.full((1, 23), np.nan), np.full((1, 23), 3.0), "text"):
        with pytest.raises(ChaslesError):
            rb.Robot(matrix)
    with pytest.raises(ModelError):
        rb.Robot(np.zeros((2, 19)), np.zeros((1, 4)))
    with pytest.raises(ArgumentError, match="at most two arguments"):
        rb.Robot(1, 2, 3)


@pytest.mark.parametrize("kind", [rb.Robot, rb.mRobot])
def test_robots_without_masses_have_torques_of_friction_alone(kind: type[rb.Robot_basic]) -> None:
    """As ROBOOP's Rhino, whose file states no mass: zero inertia and gravity."""
    links = np.zeros((3, 23))
    links[:, [2, 3, 4]] = [[0.3, 0.0, 1.2], [0.0, 0.25, 0.0], [0.1, 0.2, -0.7]]
    arm, q, qp, qpp = kind(links), np.array([0.3, -0.4, 0.9]), np.array([0.5, -1.0, 2.0]), np.ones(3)
    assert not arm.torque(q, qp, qpp).any()
    assert not arm.inertia(q).any()
    assert not arm.G().any()
    assert not arm.C(qp).any()
    assert not arm.torque_novelocity(qpp).any()
    for part in (*arm.delta_torque(q, qp, qpp, q, qp, qpp), arm.dtau_dq(q, qp, qpp), arm.dtau_dqp(q, qp)):
        assert not part.any()
    links[:, 18:21] = [0.0, 2.0, 0.3]  # Im, Gr, B
    np.testing.assert_allclose(kind(links).torque(q, qp, qpp), 0.3 * 4.0 * qp, rtol=1e-14)
    J = arm.jacobian()
    np.testing.assert_allclose(arm.torque(q, qp, qpp, [1.0, 2.0, 3.0]), J[:3].T @ arm.kine()[:3, :3] @ [1.0, 2.0, 3.0],
                               atol=1e-14)  # fmt: skip
