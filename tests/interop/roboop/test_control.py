"""ROBOOP's controllers, impedance, closed-loop inverse kinematics and simulation: their equations, files and ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError, UnknownNameError
from chasles.interop import roboop as rb
from chasles.interop.roboop.controllers import orientation_error
from chasles.model.formats.to_roboop import roboop_table
from chasles.trajectories import PathData, write_path_file


def rr() -> rb.Robot:
    """The RR robot of the manual, section 5.13.2.4."""
    rods = np.zeros((2, 23))
    rods[:, 3], rods[:, 8], rods[:, 9] = 1.0, [2.0, 1.0], -0.5
    rods[:, 15] = rods[:, 17] = [0.1666666, 0.0833333]
    return rb.Robot(rods)


def puma() -> rb.Robot:
    arm = rb.Robot(roboop_table(ch.model.load("puma560")).matrix)
    arm.set_q([0.1, 0.5, -0.8, 0.2, 0.7, 0.3])
    return arm


def pd_file(folder: Path) -> Path:
    path = folder / "pd.conf"
    path.write_text(
        "[CONTROLLER]\ntype: PROPORTIONAL_DERIVATIVE\ndof: 2\n[GAINS]\nKp_1: 25\nKp_2: 25\nKd_1: 7\nKd_2: 7\n"
    )
    return path


def path_file(folder: Path) -> Path:
    """The joint trajectory of ROBOOP's program demo_2dof_pd."""
    path = folder / "path.dat"
    corners = [[0.0, 0.0], [1.0, 0.5], [0.5, 1.0], [1.0, 0.5], [0.5, 1.0], [0.0, 0.0]]
    write_path_file(path, PathData("joint", np.arange(6.0), corners))
    return path


def test_torques_of_the_laws() -> None:
    arm, rng = rr(), np.random.default_rng(0)
    q, qp, qd, qpd, qppd = rng.normal(size=(5, 2))
    Kp, Kd = rng.uniform(1, 9, (2, 2))
    arm.set_q(q)
    arm.set_qp(qp)
    feedback = Kp * (qd - q) + Kd * (qpd - qp)
    np.testing.assert_allclose(
        rb.Proportional_Derivative(arm, np.diag(Kp), Kd).torque_cmd(arm, qd, qpd), feedback, rtol=1e-14
    )
    law = rb.Computed_torque_method(arm, Kp, Kd)
    tau = law.torque_cmd(arm, qd, qpd, qppd)
    np.testing.assert_allclose(arm.acceleration(q, qp, tau), qppd + feedback, rtol=1e-12)


def test_resolved_acceleration_gives_the_end_the_acceleration_it_asks_for() -> None:
    arm, rng = puma(), np.random.default_rng(1)
    qp = rng.normal(size=6)
    arm.set_qp(qp)
    law = rb.Resolved_acc(arm, 5.0, 50.0, 6.0, 60.0)
    pdpp, pdp, wdp, wd = rng.normal(size=(4, 3))
    T, J = arm.kine(), arm.jacobian()
    quatd = rb.Quaternion(0.1, [1.0, 2.0, 3.0]) * rb.Quaternion(T)
    tau = law.torque_cmd(arm, pdpp, pdp, T[:3, 3] + 0.01, wdp, wd, quatd, 6, 0.001)
    qpp = arm.acceleration(arm.get_q(), qp, tau)
    arm.set_qp(qp)
    reached = J @ qpp + arm.jacobian_dot() @ qp
    np.testing.assert_allclose(reached[:3], pdpp + 5.0 * (pdp - (J @ qp)[:3]) + 0.5, rtol=1e-8, atol=1e-8)
    towards = np.sin(0.05) * np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    np.testing.assert_allclose(reached[3:], wdp + 6.0 * (wd - (J @ qp)[3:]) + 60.0 * towards, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("link", [3, 5, 6, 7])
def test_resolved_acceleration_follows_the_link_that_is_named(link: int) -> None:
    """A PUMA with a tool, 11 cm from its sixth frame: the acceleration is that of the link's frame, by differences."""
    fixed = np.zeros(23)
    fixed[[0, 2, 3]] = 2.0, 0.1, 0.05
    arm, rng = rb.Robot(np.vstack([roboop_table(ch.model.load("puma560")).matrix, fixed])), np.random.default_rng(link)
    q, qp = np.array([0.1, 0.5, -0.8, 0.2, 0.7, 0.3]), 0.3 * rng.normal(size=6)
    arm.set_q(q)
    arm.set_qp(qp)
    T = arm.kine(link)
    h, joints = 1e-6, min(link, 6)

    def velocity(q: np.ndarray, qp: np.ndarray) -> np.ndarray:
        """Velocity of the frame's origin, by differences of `kine`."""
        ends = []
        for sign in (1.0, -1.0):
            arm.set_q(q + sign * h * qp)
            ends.append(arm.kine(link)[:3, 3])
        return (ends[0] - ends[1]) / (2.0 * h)

    v, J = velocity(q, qp), np.column_stack([velocity(q, unit) for unit in np.eye(6)])
    arm.set_q(q)
    pdpp = J[:, :joints] @ rng.normal(size=joints)
    still, held = np.zeros(3), rb.Quaternion(T)
    tau = rb.Resolved_acc(arm).torque_cmd(arm, pdpp, v, T[:3, 3], still, still, held, link)
    qpp = arm.acceleration(q, qp, tau)
    assert not qpp[joints:].round(9).any()
    if joints == 6:  # fewer joints cannot give all six components
        k = 1e-4
        drift = (velocity(q + k * qp, qp) - velocity(q - k * qp, qp)) / (2.0 * k)
        np.testing.assert_allclose(J @ qpp + drift, pdpp, atol=2e-3)
    else:
        other = rb.Resolved_acc(arm).torque_cmd(arm, pdpp, v, T[:3, 3], still, still, held)
        assert np.abs(other - tau).max() > 1e-3


def test_a_compliant_frame_obeys_its_equation_and_does_not_run_away() -> None:
    """ROBOOP's own turns to 180 degrees for a moment of 1e-6 N·m, because its rotational spring pushes."""
    M, D, K = np.array([2.0, 3.0, 4.0]), np.array([20.0, 25.0, 30.0]), np.array([100.0, 150.0, 200.0])
    frame = rb.Impedance(puma(), M, D, K, 0.1 * M, 0.1 * D, 0.1 * K)
    zero, f, n = np.zeros(3), np.array([1.0, -2.0, 3.0]), np.array([1e-6, 0.0, 0.0])
    desired, pd = rb.Quaternion(0.7, [0.0, 1.0, 0.0]), np.array([0.1, 0.2, 0.3])
    velocities = []
    for _ in range(600):
        frame.control(zero, zero, pd, zero, zero, desired, f, n, 8e-3)
        velocities.append(frame.pcp)
        balance = M * frame.pcpp + D * frame.pcp + K * (frame.pc - pd)
        np.testing.assert_allclose(balance, f, atol=1e-9)
    np.testing.assert_allclose(frame.pc - pd, f / K, atol=1e-6)
    np.testing.assert_allclose(2.0 * orientation_error(frame.qc, desired), n / (0.1 * K), rtol=1e-3, atol=1e-12)
    np.testing.assert_allclose(np.sum(velocities, axis=0) * 8e-3, frame.pc - pd, atol=1e-3)
    frame.set_Kp(500.0, 3)
    frame.set_Ko([1.0, 1.0, 1.0])
    for bad in (lambda: frame.set_Kp(1.0, 4), lambda: frame.set_Mp(np.ones(2)), lambda: frame.set_Mp([0, 1, 1], 1)):
        with pytest.raises(ChaslesError):
            bad()


def test_clik_follows_a_moving_frame() -> None:
    arm = puma()
    start, v, w, dt = arm.kine(), np.array([-0.05, 0.1, -0.08]), np.array([0.2, 0.1, -0.3]), 0.005
    clik = rb.Clik(arm, 30.0 * np.eye(3), 30.0 * np.eye(3), 0.01, 0.02, dt)
    for step in range(1, 201):
        pd = start[:3, 3] + v * dt * step
        qd = rb.Quaternion(np.linalg.norm(w) * dt * step, w) * rb.Quaternion(start)
        q, qp = clik.q_qdot(qd, pd, v, w)
    arm.set_q(q)
    np.testing.assert_allclose(arm.kine()[:3, 3], pd + v * dt, atol=1e-5)  # the positions of the next call
    assert np.linalg.norm(orientation_error(qd, rb.Quaternion(arm.kine()))) < 2e-3
    np.testing.assert_allclose(arm.jacobian() @ qp, [*v, *w], atol=0.05)
    with pytest.raises(ChaslesError, match="Kp"):
        rb.Clik(arm, np.ones(2), np.ones(3))
    with pytest.raises(ArgumentError, match="takes a robot and the gains"):
        rb.Clik(arm)


def test_a_copy_of_clik_follows_alone() -> None:
    arm = puma()
    arm.set_q([0.1, 0.5, -0.8, 0.2, 0.7, 0.3])
    goal, start = arm.kine(), arm.get_q() + 0.05
    arm.set_q(start)
    clik = rb.Clik(arm, np.full(3, 20.0), np.full(3, 20.0), dt=0.01)
    motion = (rb.Quaternion(goal), goal[:3, 3], np.zeros(3), np.zeros(3))
    clik.q_qdot(*motion)
    other = rb.Clik(clik)
    np.testing.assert_array_equal(other.q_qdot(*motion), clik.q_qdot(*motion))
    before = arm.get_q()
    other.q_qdot(*motion)
    np.testing.assert_array_equal(arm.get_q(), before)


def test_the_two_joint_demo_ends_as_its_equation_does(tmp_path: Path) -> None:
    """ROBOOP holds the set-point during each step, and is 0.017 rad away; here every stage has its own."""
    arm = rr()
    simulation = rb.New_dynamics(arm)
    simulation.set_controller(rb.Control_Select(str(pd_file(tmp_path))))
    trajectory = rb.Trajectory_Select(str(path_file(tmp_path)))
    simulation.set_trajectory(trajectory)
    assert simulation.set_robot_on_first_point_of_splines().tolist() == [0.0] * 4
    simulation.set_time_frame(200)
    end = simulation.Runge_Kutta4()
    assert simulation.xout.shape == (4, 800)
    assert simulation.time == simulation.tout[-1] == pytest.approx(5.0)

    def xdot(t: float, x: np.ndarray) -> np.ndarray:
        p, pdot = trajectory.path.p_pdot(min(t, 5.0))
        tau = 25.0 * (p - x[:2]) + 7.0 * (pdot - x[2:])
        return np.concatenate([x[2:], arm.model.forward_dynamics(x[:2], x[2:], tau)])

    np.testing.assert_allclose(end, rb.Runge_Kutta4(xdot, np.zeros(4), 0.0, 5.0, 200)[1][:, -1], atol=1e-9)
    assert rb.Dynamics.Instance() is simulation


def test_a_cartesian_simulation_starts_on_the_path_and_stays_there(tmp_path: Path) -> None:
    arm = puma()
    start = arm.kine()
    arm.set_q(arm.get_q() + 0.02)
    path, turning, gains = (tmp_path / name for name in ("path.dat", "turn.dat", "rra.conf"))
    points = start[:3, 3] + np.outer([0.0, 0.3, 0.7, 1.0], [0.05, 0.05, -0.02])
    write_path_file(path, PathData("cartesian", np.linspace(0.0, 0.5, 4), points))
    R = " ".join(map(repr, start[:3, :3].ravel().tolist()))
    turning.write_text(f"0\nR\n{R}\n0.5\nR\n{R}\n")
    gains.write_text(
        "[CONTROLLER]\ntype: RESOLVED_RATE_ACCELERATION\ndof: 6\n[GAINS]\nKvp: 50\nKpp: 700\nKvo: 50\nKpo: 700"
    )
    simulation = rb.Dynamics(arm)
    simulation.set_controller(rb.Control_Select(gains))
    trajectory = rb.Trajectory_Select(path)
    trajectory.set_trajectory(turning)
    simulation.set_trajectory(trajectory)
    simulation.set_robot_on_first_point_of_splines()
    np.testing.assert_allclose(arm.kine(), start, atol=1e-9)
    simulation.set_time_frame(40)
    simulation.Runge_Kutta4()
    np.testing.assert_allclose(arm.kine()[:3, 3], points[-1], atol=1e-3)


def test_controllers_and_trajectories_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    simulation = rb.Dynamics(rb.Robot(3))
    with pytest.raises(ArgumentError, match="controller is for 2 joints, the robot has 3"):
        simulation.set_controller(rb.Control_Select(pd_file(tmp_path)))
    with pytest.raises(ArgumentError, match="trajectory is in joint space, the controller works in no space"):
        simulation.set_trajectory(rb.Trajectory_Select(path_file(tmp_path)))
    with pytest.raises(ArgumentError, match="no trajectory yet"):
        simulation.set_robot_on_first_point_of_splines()
    with pytest.raises(ChaslesError):
        rb.Proportional_Derivative(2, [1.0], [1.0])


def test_the_controller_of_the_manual(tmp_path: Path) -> None:
    path = tmp_path / "rra.conf"
    path.write_text(
        "[CONTROLLER]\ntype: RESOLVED_RATE_ACCELERATION\ndof: 6\n"
        "[GAINS]\nKvp: 500.0\nKpp: 5000.0\nKvo: 500.0\nKpo: 5000.0"
    )
    control = rb.Control_Select(path)
    assert (control.type, control.space_type, control.get_dof()) == (rb.RRA, rb.CARTESIAN_SPACE, 6)
    assert (control.rra.Kvp, control.rra.Kpp, control.rra.Kvo, control.rra.Kpo) == (500.0, 5000.0, 500.0, 5000.0)
    path.write_text("[CONTROLLER]\ntype: IMPEDANCE\ndof: 6")
    assert rb.Control_Select(path).type == rb.IMP
    for text, error in (
        ("[CONTROLLER]\ndof: 6", UnknownNameError),
        ("[CONTROLLER]\ntype: FUZZY\ndof: 6", UnknownNameError),
        ("[CONTROLLER]\ntype: IMPEDANCE\ndof: 1e6", ChaslesError),
        (
            "[CONTROLLER]\ntype: PROPORTIONAL_DERIVATIVE\ndof: 2\n[GAINS]\nKp_1: 1\nKp_2: x\nKd_1: 1\nKd_2: 1",
            ChaslesError,
        ),
    ):
        path.write_text(text)
        with pytest.raises(error):
            rb.Control_Select(path)
