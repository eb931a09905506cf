"""Constraints of loops against differences, mobility against Grübler's count, assembly, and refusals by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.closed_machines import FREEDOMS, MACHINES, at, five_bar, four_bar, three_rrr

import chasles as ch
from chasles import algorithms as alg
from chasles.algorithms import assembled
from chasles.algorithms.loops import loop_jacobian_derivative
from chasles.base.errors import ArgumentError, ModelError
from chasles.engine.linear.least_squares import least_squares
from chasles.model import Description, Joint, Link, Loop, spanning_tree, with_loop
from chasles.model.loop import LOOP_KINDS
from chasles.model.tree import Tree

FIELDS = {"rod": {"length": 0.7}, "helical": {"pitch": 0.13}}


def random_loop(kind: str, seed: int) -> Tree:
    """Two chains of all kinds of joints on a common body, whose ends a loop joins."""
    rng = np.random.default_rng(seed)

    def place() -> np.ndarray:
        T = at(*rng.normal(size=3))
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, 0] *= np.linalg.det(T[:3, :3])
        return T

    kinds = (("revolute", "universal", "helical"), ("spherical", "prismatic"), ("planar",))
    joints, links = [Joint("trunk", "free", "base", "body")], [Link("base"), Link("body")]
    for chain, of_chain in enumerate(kinds):
        parent = "body"
        for number, joint in enumerate(of_chain):
            links.append(Link(f"l{chain}{number}"))
            pitch = {"pitch": 0.2} if joint == "helical" else {}
            joints.append(Joint(f"j{chain}{number}", joint, parent, links[-1].name, place(), place(), **pitch))  # type: ignore[arg-type]
            parent = links[-1].name
    axis = rng.normal(size=3)
    second = np.cross(axis, rng.normal(size=3))
    loops = [
        Loop("x", kind, "l02", "l11", place(), place(), axis, second, **FIELDS.get(kind, {})),  # type: ignore[arg-type]
        Loop("y", kind, "base", "l20", place(), place(), axis, second, **FIELDS.get(kind, {})),  # type: ignore[arg-type]
    ]
    return spanning_tree(Description("two chains", tuple(links), tuple(joints), loops=tuple(loops)))


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_jacobian_is_the_rate_of_the_residual(kind: str) -> None:
    tree = random_loop(kind, 3)
    rng = np.random.default_rng(1)
    q = alg.normalize(tree, rng.normal(size=tree.nq))
    J, h = alg.loop_constraints(tree, q).J, 1e-6
    for v in np.eye(tree.n):
        ahead, behind = (alg.loop_constraints(tree, alg.integrate(tree, q, s * v)) for s in (h, -h))
        rate = (ahead.residual - behind.residual) / (2.0 * h)
        if kind != "helical":  # off the constraint the angle of two skew axes has another rate
            assert J @ v == pytest.approx(rate, abs=1e-8)
    v = rng.normal(size=tree.n)
    ahead, behind = (alg.loop_constraints(tree, alg.integrate(tree, q, s * v)) for s in (h, -h))
    assert loop_jacobian_derivative(tree, q, v) == pytest.approx((ahead.J - behind.J) / (2.0 * h), abs=1e-7)


def test_a_screw_that_is_closed_moves_as_it_turns() -> None:
    turn = Joint("turn", "revolute", "base", "nut")
    slide = Joint("slide", "prismatic", "base", "screw")
    screw = Description("jack", (Link("base"), Link("nut"), Link("screw")), (turn, slide))
    jack = ch.Robot(with_loop(screw, "thread", "helical", "nut", "screw", pitch=0.01, independent=["turn"]))
    assert jack.loops.velocity_map([0.3, -0.003]) == pytest.approx(np.array([[1.0], [-0.01]]))
    assert jack.integrate(jack.home, [2.0]) == pytest.approx([2.0, -0.02])


@pytest.mark.parametrize("name", MACHINES)
def test_mobility_is_grueblers(name: str) -> None:
    found = assembled(MACHINES[name]()).mobility
    assert (len(found.independent), found.rank, found.count) == FREEDOMS[name]


def test_a_planar_linkage_in_a_tilted_plane_keeps_its_freedom() -> None:
    T = at(0.1, 0.2, 0.3, 0.7) @ np.array([[1, 0, 0, 0], [0, 0.8, -0.6, 0], [0, 0.6, 0.8, 0], [0, 0, 0, 1.0]])
    tilted = assembled(four_bar().replace(T_world_base=T)).mobility
    assert (len(tilted.independent), tilted.rank) == (1, 2)


def test_bennetts_linkage_moves_against_grueblers_count() -> None:
    """Four revolute joints in space, with sin(alpha) / a equal for both pairs of bars (Bennett 1903)."""
    a, alpha, beta = 0.4, 0.6, 1.1
    b = a * np.sin(beta) / np.sin(alpha)
    rows = [{"a": length, "alpha": twist} for length, twist in ((a, alpha), (b, beta), (a, alpha), (b, beta))]
    chain = ch.Robot.from_dh(rows, name="Bennett").description
    # tan(theta_1 / 2) tan(theta_2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)
    t1 = 1.0
    t2 = 2.0 * np.arctan(np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha)) / np.tan(0.5 * t1))
    home = np.array([t1, t2, -t1, -t2])
    linkage = with_loop(chain.replace(home=home), "closing", "fixed", "link0", "tool")
    assert str(assembled(linkage).mobility) == "1 degree of freedom; 3 of 6 constraints independent"


def test_structures_that_do_not_move_or_close_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match="no degree of freedom: with loop 'lock' the loops put 3 independent"):
        ch.Robot(
            with_loop(four_bar(), "lock", "spherical", "ground", "coupler", closed_at_home=True).replace(
                home=assembled(four_bar()).home
            )
        )
    short = four_bar()
    apart = short.replace(loops=(short.loops[0].replace(T_first_joint=at(5.0)),))
    with pytest.raises(ModelError, match=r"'four-bar' cannot be assembled .*: loop 'pin' stays open by 3"):
        ch.Robot(apart)
    with pytest.raises(ModelError, match="the velocity 'knee' follows from those named before it"):
        ch.Robot(four_bar().replace(independent=("motor", "knee")))


def test_wanted_velocities_are_the_independent_ones() -> None:
    assert ch.Robot(four_bar().replace(independent=("swing",))).velocity_names == ("swing",)
    assert ch.Robot(five_bar().replace(independent=("elbow2",))).velocity_names == ("motor1", "elbow2")


def test_the_home_of_a_robot_is_closed() -> None:
    for name in ("four-bar", "excavator", "leg"):
        robot = ch.Robot(MACHINES[name]())
        assert np.abs(robot.loops.constraints(robot.home).residual).max() < 1e-10, name
        assert ch.Robot(robot.description).description is robot.description


def test_four_bar_modes_are_the_two_of_freudenstein() -> None:
    machine = ch.Robot(four_bar())
    modes = machine.loops.assembly_modes([0.8, -0.3, 1.7])
    a, b, c, d = 0.2, 0.5, 0.4, 0.6
    # Freudenstein: K1 cos(rocker) - K2 cos(crank) + K3 = cos(crank - rocker)
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2.0 * a * c)
    A = np.cos(0.8) - k1 - k2 * np.cos(0.8) + k3
    B, C = -2.0 * np.sin(0.8), k1 - (k2 + 1.0) * np.cos(0.8) + k3
    expected = 2.0 * np.arctan2(-B + np.array([1.0, -1.0]) * np.sqrt(B * B - 4.0 * A * C), 2.0 * A)
    assert len(modes) == 2
    assert np.sort(np.cos(modes[:, 2])) == pytest.approx(np.sort(np.cos(expected)), abs=1e-9)
    assert np.sort(np.sin(modes[:, 2])) == pytest.approx(np.sort(np.sin(expected)), abs=1e-9)


def test_close_says_what_it_found() -> None:
    machine = ch.Robot(four_bar())
    found = machine.loops.close([[0.5, 0.0, 1.5], [0.8, -0.3, 1.7]], hold=["motor"])
    assert found.success.all()
    assert found.q[:, 0] == pytest.approx([0.5, 0.8], abs=0.0)
    failed = machine.loops.close([0.5, 0.0, 1.5], hold=["motor", "knee"])
    assert not failed.success
    assert "loop 'pin' stays open by" in failed.message
    assert failed.gap > 0.01
    given_up = machine.loops.close([0.5, 3.0, -3.0], most_iterations=1)
    assert (bool(given_up.success), int(given_up.iterations)) == (False, 1)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (([0.0, 0.0],), {}, "q_guess"),
        (([0.0, np.nan, 0.0],), {}, "q_guess"),
        (([0.0, 0.0, 0.0],), {"hold": ["moter"]}, "hold: there is no joint"),
        (([0.0, 0.0, 0.0],), {"most_iterations": 0}, "most_iterations"),
    ],
)
def test_close_refuses_nonsense(arguments: tuple[object], options: dict[str, object], said: str) -> None:
    with pytest.raises((ArgumentError, ModelError), match=said):
        ch.Robot(four_bar()).loops.close(*arguments, **options)  # type: ignore[arg-type]


def test_robots_without_loops_have_no_mobility_to_tell() -> None:
    with pytest.raises(ModelError, match="has no loops"):
        _ = ch.load("planar2r").loops.mobility
    assert ch.load("planar2r").loops.velocity_map([0.0, 0.0]) == pytest.approx(np.eye(2))


@pytest.mark.parametrize(
    "name",
    ["five-bar", "leg", *(pytest.param(name, marks=pytest.mark.slow) for name in ("3-RRR", "Delta", "Stewart 6-UPS"))],
)
def test_displacements_follow_the_loops(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    v = 0.05 * np.random.default_rng(0).normal(size=(4, robot.n))
    q = robot.integrate(robot.home, v)
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-12
    assert robot.difference(robot.home, q) == pytest.approx(v, abs=1e-12)
    h = 1e-6
    rate = (robot.integrate(robot.home, h * v) - robot.integrate(robot.home, -h * v)) / (2.0 * h)
    assert robot.configuration_rate(robot.home, v) == pytest.approx(rate, abs=1e-7)


def test_what_cannot_be_closed_is_not_a_number() -> None:
    """With both upper bars turned outward, the elbows are 0.85 m apart, and the lower bars have 0.8 m."""
    machine = ch.Robot(five_bar())
    outward = np.array([np.pi, 0.0]) - machine.home[[0, 2]]
    assert np.isnan(machine.integrate(machine.home, outward)).all()
    assert np.isfinite(machine.integrate(machine.home, 0.5 * outward)).all()


def test_more_motors_than_freedoms_share_with_the_smallest_norm() -> None:
    robot = ch.Robot(three_rrr(motors=6))
    tau = np.array([1.0, -2.0, 0.5])
    forces = robot.loops.actuator_forces(robot.home, tau)
    B = robot.loops.velocity_map(robot.home)[list(robot.description.actuated_indices)]
    assert forces == pytest.approx(np.linalg.pinv(B.T) @ tau, abs=1e-12)
    assert robot.loops.generalized_forces(robot.home, forces) == pytest.approx(tau, abs=1e-12)
    single = ch.Robot(three_rrr())
    assert single.loops.actuator_forces(single.home, tau) == pytest.approx(tau, abs=1e-12)


def test_least_squares_needs_no_pivots() -> None:
    rng = np.random.default_rng(0)
    for rows, columns in ((3, 3), (7, 4), (12, 12)):
        A = np.where(rng.random((rows, columns)) < 0.4, 0.0, rng.normal(size=(rows, columns)))
        A[0] = 0.0
        A[:columns] += np.eye(columns)[::-1]
        B = rng.normal(size=(rows, 2))
        assert least_squares(A, B) == pytest.approx(np.linalg.lstsq(A, B)[0], abs=1e-10)
    assert np.isnan(least_squares(np.zeros((2, 2)), np.ones((2, 1)))).all()
    angle = 0.3  # rounding leaves 1e-17 of the second column beyond the first
    A = np.array([[np.cos(angle), 3.0 * np.cos(angle)], [np.sin(angle), 3.0 * np.sin(angle)]])
    assert np.isnan(least_squares(A, np.ones((2, 1)))).all()


def test_a_tree_without_loops_has_no_constraints() -> None:
    tree = replace(spanning_tree(four_bar()), loops=())
    assert alg.loop_constraints(tree, np.zeros(3)).J.shape == (0, 3)


def test_a_power_balance_of_a_tree_leaves_out_the_forces_of_loops_and_is_refused() -> None:
    tree = spanning_tree(four_bar())
    with pytest.raises(ArgumentError, match=r"needs a robot without loops.*Recording\(energies=True\)"):
        alg.power_balance(tree, np.zeros(tree.nq), np.zeros(tree.n), np.zeros(tree.n))
