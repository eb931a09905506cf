"""ROBOOP's Stewart platform: the numbers that the manual prints, differences, and the balance of forces leg by leg."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chasles.base.errors import ArgumentError, ChaslesError
from chasles.interop import roboop as rb
from chasles.interop.roboop.link_stewart import COLUMNS
from chasles.interop.roboop.stewart import PLATFORM

# The manual, sections 5.1.2.1 to 5.1.2.10; the last row lost one of three 0.5 in print.
BASE = [(1.758, 2.8, -1.015), (1.6021, 3.07, -0.925), (-1.758, 2.8, -1.015), (-1.6021, 3.07, -0.925), (0, 2.8, 2.03),
        (0, 3.07, 1.85)]  # fmt: skip
TOP = [(0.225, 0), (0.1125, 0.1949), (-0.1125, 0.1949), (-0.225, 0), (-0.1125, -0.1949), (0.1125, -0.1949)]
LEG = [3.358, 0.05, 4.237, 0.1406, 10.0, 12.5, 0.5, 0.35]
DRIVE = [0.12, 0.04, 0.5, 0.5, 0.5, 1.5, 0.5, 0.005, 5.44, 0.443]
Q, GUESS = [0.2, 0.3, -0.4, 0.1, -1.4, 0.1], [0.25, 0.25, -0.45, 0.07, -1.7, 0.07]
LENGTHS = [3.0508, 3.2324, 3.2997, 3.4560, 3.5797, 3.6935]


def matrix() -> np.ndarray:
    rows = np.zeros((7, 17))
    for row, base, top in zip(rows, BASE, TOP, strict=False):
        row[:14] = [*base, *top, -0.228, *LEG]
    rows[6] = [0.0, 0.0, -0.114, 1.001, 0.59, 0.843, 10.0, *DRIVE]
    return rows


def moving(joint: bool = True) -> rb.Stewart:
    """A platform whose angles φ and ψ differ: those of all examples in the manual are equal, which hides a defect."""
    platform = rb.Stewart(matrix(), joint)
    platform.set_q([0.2, 0.3, -0.4, 0.1, -1.4, 0.5])
    platform.set_dq([0.2, 0.3, -0.4, 0.1, -1.4, 0.3])
    platform.set_ddq([0.5, -0.4, 0.3, -0.2, 0.1, 0.6])
    return platform


def after(platform: rb.Stewart, h: float) -> rb.Stewart:
    moved = rb.Stewart(platform)
    moved.set_q(platform.get_q() + h * platform.get_dq() + 0.5 * h**2 * platform.get_ddq())
    moved.set_dq(platform.get_dq() + h * platform.get_ddq())
    return moved


def test_the_lengths_that_the_manual_prints() -> None:
    platform = rb.Stewart(matrix())
    platform.set_q(Q)
    np.testing.assert_allclose(platform.InvPosKine(), LENGTHS, atol=1e-4)  # joints are printed to 1e-4 m as well
    np.testing.assert_allclose(platform.ForwardKine(GUESS, platform.InvPosKine()), Q, atol=1e-9)
    assert platform.get_q().tolist() == pytest.approx(Q, abs=1e-9)  # it is set, whatever was before


def test_motion_is_the_derivative_of_position() -> None:
    platform, h = moving(), 1e-5
    ahead, behind = after(platform, h), after(platform, -h)
    R = platform.wRp
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)  # no rotation in ROBOOP
    np.testing.assert_allclose(R, (rb.rotz(0.1) @ rb.rotx(-1.4) @ rb.rotz(0.5))[:3, :3], atol=1e-14)
    np.testing.assert_allclose((ahead.InvPosKine() - behind.InvPosKine()) / (2 * h), platform.dl, atol=1e-8)
    np.testing.assert_allclose((ahead.dl - behind.dl) / (2 * h), platform.ddl, atol=1e-7)
    spin = (ahead.wRp - behind.wRp) / (2 * h) @ R.T
    np.testing.assert_allclose(spin, rb.x_prod_matrix(platform.Omega), atol=1e-8)
    np.testing.assert_allclose((ahead.Omega - behind.Omega) / (2 * h), platform.Alpha, atol=1e-8)
    inverse = platform.IJ1 @ platform.IJ2
    np.testing.assert_allclose(inverse @ platform.Jacobian, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(inverse @ platform.get_dq(), platform.dl, atol=1e-13)
    change = (ahead.IJ1 @ ahead.IJ2 - behind.IJ1 @ behind.IJ2) / (2 * h)
    np.testing.assert_allclose(change, platform.jacobian_dot(), atol=1e-8)


@pytest.mark.parametrize("joint", [True, False])
def test_forces_balance_leg_by_leg(joint: bool) -> None:
    platform = moving(joint)
    M, tau = platform.Find_M(), platform.Torque()
    np.testing.assert_allclose(M, M.T, atol=1e-10)  # not symmetric in ROBOOP
    assert np.linalg.eigvalsh(M).min() > 0.0
    np.testing.assert_allclose(M @ platform.get_ddq() + platform.Find_h(), tau, rtol=1e-10)
    np.testing.assert_allclose(platform.ForwardDyn(tau), platform.get_ddq(), rtol=1e-9)
    forces = platform.JointSpaceForceVct()
    np.testing.assert_allclose((platform.IJ1 @ platform.IJ2).T @ forces, tau, rtol=1e-10, atol=1e-10)
    C, legs = platform.Find_C(), platform.Links
    for index, leg in enumerate(legs, start=1):
        assert leg.ActuationForce(platform.IJ1, C, index) == pytest.approx(forces[index - 1], rel=1e-9)
    # Newton and Euler of the platform alone: weight, inertia, the legs' transverse forces, and their joints' moments.
    R, w, wp = platform.wRp, platform.Omega, platform.Alpha
    r, inertia = R @ platform.get_pR(), R @ platform.get_pIp() @ R.T
    a = platform.get_ddq()[:3] + np.cross(wp, r) + np.cross(w, np.cross(w, r))
    force = platform.get_mp() * (np.array([0.0, -9.81, 0.0]) - a)
    moment = np.cross(r, force) - inertia @ wp - np.cross(w, inertia @ w)
    for leg in legs:
        force = force - leg.NormalForce()
        moment = moment - np.cross(leg.arm, leg.NormalForce()) - (0.0 if joint else leg.Moment())
    np.testing.assert_allclose(C, [*force, *moment], rtol=1e-9, atol=1e-9)


def test_moments_of_legs_keep_the_last_gravity() -> None:
    """The manual's equation (4.11.3.18), M = N · n / (c · n) along c, on the moon."""
    leg = moving().Links[2]
    on_earth = leg.M
    assert leg.gravity == pytest.approx([0.0, -9.81, 0.0])
    leg.tau_LTransform(0.3, -0.2, 1.62)
    assert leg.gravity == pytest.approx([0.0, -1.62, 0.0])
    assert np.abs(leg.M - on_earth).max() > 1e-3 * np.abs(on_earth).max()
    np.testing.assert_allclose(leg.M, (leg.N @ leg.UnitV) / (leg.Vc @ leg.UnitV) * leg.Vc, rtol=1e-9)
    np.testing.assert_allclose(leg.N, leg.Find_N(1.62), rtol=1e-12)
    leg.Find_N(9.81)
    np.testing.assert_allclose(leg.M, leg.Moment(9.81), rtol=1e-12)


def test_copies_of_legs_go_their_own_way() -> None:
    leg = moving().Links[0]
    other = rb.LinkStewart(leg)
    np.testing.assert_array_equal(other.M, leg.M)
    other.set_m1(1.0)
    other.LTransform(np.eye(3), [0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    assert leg.get_m1() == 10.0
    assert other.L != leg.L
    with pytest.raises(ArgumentError, match="a leg takes"):
        rb.LinkStewart()


def test_legs_turn_as_their_joints_allow() -> None:
    platform, h = moving(), 1e-5
    for leg, ahead, behind in zip(platform.Links, after(platform, h).Links, after(platform, -h).Links, strict=True):
        n_dot = (ahead.UnitV - behind.UnitV) / (2 * h)
        np.testing.assert_allclose(np.cross(leg.LOmega, leg.UnitV), n_dot, atol=1e-8)
        assert leg.LOmega @ leg.Vc == pytest.approx(0.0, abs=1e-12)  # it turns about the joint's two axes alone
        np.testing.assert_allclose((ahead.LOmega - behind.LOmega) / (2 * h), leg.LAlpha, atol=1e-7)
        np.testing.assert_allclose((ahead.aPos - behind.aPos) / (2 * h), leg.Find_da(), atol=1e-8)
        np.testing.assert_allclose((ahead.da - behind.da) / (2 * h), leg.Find_dda(), atol=1e-7)
        centers = [x.aPos - 0.5 * x.UnitV for x in (ahead, leg, behind)]
        np.testing.assert_allclose((centers[0] - 2 * centers[1] + centers[2]) / h**2, leg.ACM1, atol=1e-4)
        assert np.cross(leg.Moment(), leg.Vc) == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
        np.testing.assert_allclose(
            leg.Find_N(), leg.L * np.cross(leg.UnitV, leg.NormalForce()) + leg.Moment(), atol=1e-12
        )
        np.testing.assert_allclose(np.cross(leg.Find_VctU(), leg.Find_VctV()), leg.Find_VctC(), atol=1e-15)


def test_motors_follow_robOOPs_formula() -> None:
    platform, t, volts = moving(), 1e-3, np.array([1.0, 0.0, 0.0, -10.0, 0.0, 0.0])
    Js, Jm, bs, bm, p, n, Kb, L, R, Kt = DRIVE
    ddq = platform.ForwardDyn_AD(volts, t)
    moved = rb.Stewart(platform)
    moved.set_ddq(ddq)
    forces = moved.JointSpaceForceVct()
    screw = 2 * np.pi / (n * p) * ((Js + n**2 * Jm) * moved.ddl + (bs + n**2 * bm) * moved.dl)
    torque = Kt / L * np.exp(-R * t / L) * (volts - 2 * np.pi / p * Kb * moved.dl)
    np.testing.assert_allclose(p / (2 * np.pi * n) * forces + screw, torque, rtol=1e-8, atol=1e-8)
    Mc, Nc, Gc = platform.Find_Mc_Nc_Gc()
    np.testing.assert_allclose(Mc @ ddq + Nc + Gc, torque, rtol=1e-8, atol=1e-8)


def test_a_platform_of_a_file(tmp_path: Path) -> None:
    conf, rows = rb.Config(), matrix()
    for key, value in zip(PLATFORM, rows[6].tolist(), strict=True):
        conf.add("deck", key, value)
    conf.add("deck", "Joint", False)
    for index, row in enumerate(rows[:6].tolist(), start=1):
        for key, value in zip(COLUMNS, row, strict=False):
            conf.add(f"deck_LINK{index}", key, value)
    path = tmp_path / "deck.conf"
    conf.write_conf(path)
    platform, same = rb.Stewart(path, "deck"), moving(joint=False)
    assert not platform.get_Joint()
    for call in ("q", "dq", "ddq"):
        getattr(platform, f"set_{call}")(getattr(same, f"get_{call}")())
    assert platform.Torque().tolist() == same.Torque().tolist()
    path.write_text("[deck]\nmp: 1")
    with pytest.raises(ChaslesError, match="section 'deck_LINK1'"):
        rb.Stewart(path, "deck")


def test_values_can_be_changed() -> None:
    platform = moving()
    platform.set_mp(25.0)
    platform.set_pR([0.0, 0.1, 0.0])
    platform.set_pIp([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.5]])
    weight = platform.Torque(9.81) - platform.Torque(0.0)
    assert weight[1] > 25.0 * 9.81  # the platform's weight and part of the legs'
    leg = platform.Links[0]
    assert (leg.get_m1(), leg.get_Lenght1(), leg.get_b().tolist()) == (10.0, 0.5, list(BASE[0]))
    leg.set_m1(11.0)
    leg.set_ap([0.1, 0.2, 0.3])
    assert (leg.get_m1(), leg.get_ap().tolist()) == (11.0, [0.1, 0.2, 0.3])
    with pytest.raises(AttributeError, match="get_m3"):
        leg.get_m3()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rb.Stewart(), "takes a matrix"),
        (lambda: rb.Stewart(np.zeros((7, 16))), "InitPlat"),
        (lambda: rb.Stewart(np.zeros((7, 17))), "coincide|joints"),
        (lambda: moving().set_q([1.0, 2.0]), "q has shape"),
        (lambda: moving().ForwardKine(GUESS, [9.0, 1.0, 9.0, 1.0, 9.0, 1.0]), "ForwardKine: 1: "),
        (lambda: moving().set_mp(-1.0), "mp is -1"),
        (lambda: rb.LinkStewart([0] * 14, np.eye(3), [0, 1, 0, 0, 0, 0]), "along the y axis"),
        (lambda: rb.LinkStewart([0] * 14, np.eye(3), [0] * 6), "joints of a leg coincide"),
    ],
)
def test_bad_platforms_raise_with_a_sentence(call, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
