"""Robots whose loops do not quite close, as in files with rounded numbers: a tolerance, and what the refusal says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.oracles.closed_machines import LINKAGES, MACHINES, Y, at, bar, four_bar, pivot
from tests.thinning import paired, thinned

import chasles as ch
from chasles.base.errors import ModelError
from chasles.model import Description, Link, with_loop

ALL = {**MACHINES, **LINKAGES}


def rounded(T: np.ndarray, digits: int) -> np.ndarray:
    """Placement whose position and roll, pitch and yaw have so many digits."""
    near = np.eye(4)
    near[:3, :3] = Rotation.from_euler(
        "xyz", np.round(Rotation.from_matrix(T[:3, :3]).as_euler("xyz"), digits)
    ).as_matrix()
    near[:3, 3] = np.round(T[:3, 3], digits)
    return near


def as_exported(description: Description, digits: int, tolerance: float, seed: int = 0) -> Description:
    """The machine with frames that stand at will, as a drawing program writes them."""
    rng = np.random.default_rng(seed)

    def placed(item: Any, before: str, after: str) -> Any:
        turn = np.eye(4)
        turn[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        axis = np.round(turn[:3, :3].T @ item.axis, 2 * digits)  # axes are written as vectors
        further = {before: rounded(getattr(item, before) @ turn, digits), "axis": axis}
        if after == "T_second_joint":
            return {**further, after: rounded(getattr(item, after) @ turn, digits), "tolerance": tolerance}
        return {**further, after: rounded(turn.T @ getattr(item, after), digits)}

    return description.replace(
        joints=tuple(joint.replace(**placed(joint, "T_parent_joint", "T_joint_child")) for joint in description.joints),
        loops=tuple(loop.replace(**placed(loop, "T_first_joint", "T_second_joint")) for loop in description.loops),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("digits", "name"), paired([4, 6, 9], ["four-bar", "five-bar", "slider-crank", "scissor", "Stephenson"])
)
def test_a_rounded_linkage_moves_as_the_exact_one(name: str, digits: int) -> None:
    share, machine = 10.0**-digits, ALL[name]()
    exact = ch.Robot(machine.replace(independent=tuple(ch.Robot(machine).velocity_names)))
    with pytest.raises(ModelError, match=r"numbers are rounded, give the loops? (tolerance=|a tolerance)"):
        ch.Robot(as_exported(exact.description, digits, 0.0)).n  # noqa: B018
    robot = ch.Robot(as_exported(exact.description, digits, 20.0 * share))
    assert (robot.loops.mobility.rank, robot.n) == (exact.loops.mobility.rank, exact.n)
    assert robot.velocity_names == exact.velocity_names
    assert np.abs(robot.home - exact.home).max() < 200.0 * share
    q = robot.home
    assert np.abs(robot.loops.constraints(q).residual).max() < 20.0 * share
    assert np.abs(robot.loops.constraints(q).residual[list(robot.loops.mobility.constraints)]).max() < 1e-13
    v = np.full(robot.n, 0.1)
    for computation in ("mass_matrix", "gravity_torque"):
        own, other = (getattr(one, computation)(one.integrate(one.home, v)) for one in (robot, exact))
        assert np.abs(own - other).max() < 1e3 * share * np.abs(other).max()
    assert robot.loops.close(q + 0.01).success
    assert robot.random_configuration(1, (3,)).shape == (3, robot.nq)


def third_bar(off: float, tolerance: float = 0.0) -> Description:
    """Parallelogram whose coupler a third bar carries, longer by `off` than the others."""
    tree = Description(
        "gate",
        (Link("ground"), bar("left", 0.3), bar("coupler", 0.6), bar("middle", 0.3), bar("right", 0.3)),
        (
            pivot("left", "ground", "left"),
            pivot("top", "left", "coupler", 0.3),
            pivot("middle", "ground", "middle", 0.25),
            pivot("right", "ground", "right", 0.6),
        ),
        home=[1.1, -1.1, 1.1, 1.1],
    )
    tree = with_loop(tree, "far", "revolute", "coupler", "right", T_first_joint=at(0.6), T_second_joint=at(0.3), axis=Y)
    place = {"T_first_joint": at(0.25), "T_second_joint": at(0.3 + off), "axis": Y}
    return with_loop(tree, "near", "revolute", "coupler", "middle", **place, tolerance=tolerance, independent=("left",))


@pytest.mark.parametrize("off", thinned([1e-9, 1e-6, 1e-4]))
def test_a_third_parallel_bar_that_is_a_little_too_long(off: float) -> None:
    with pytest.raises(ModelError, match="tolerance="):
        ch.Robot(third_bar(off)).n  # noqa: B018
    exact, robot = ch.Robot(third_bar(0.0)), ch.Robot(third_bar(off, 5.0 * off))
    assert (robot.n, robot.loops.mobility.rank) == (exact.n, exact.loops.mobility.rank) == (1, 3)
    q = robot.integrate(robot.home, [0.4])
    assert q[[0, 2, 3]] - q[0] == pytest.approx(0.0, abs=20.0 * off)
    assert robot.forward_dynamics(q, [1.0], [0.3]) == pytest.approx(
        exact.forward_dynamics(q, [1.0], [0.3]), rel=100.0 * off
    )
    run = ch.simulate(robot, None, duration=0.3)
    assert np.abs(robot.loops.constraints(run.q.values).residual).max() < 5.0 * off


def test_the_refusal_names_a_tolerance_that_suffices_and_a_kind_that_does_not_need_one() -> None:
    tilted = at(0.4)
    tilted[:3, :3] = Rotation.from_euler("x", 1e-9).as_matrix()
    (loop,) = four_bar().loops
    bent = four_bar().replace(loops=(loop.replace(T_second_joint=tilted),))
    with pytest.raises(
        ModelError, match=r"'pin' stays open by .*, or make it spherical in place of revolute"
    ) as refused:
        ch.Robot(bent).n  # noqa: B018
    enough = float(re.search(r"tolerance=(\S+),", str(refused.value))[1])  # type: ignore[index]
    tolerant = bent.replace(loops=(bent.loops[0].replace(tolerance=enough),))
    spherical = bent.replace(loops=(bent.loops[0].replace(kind="spherical"),))
    for cured in (tolerant, spherical):
        exact = ch.Robot(four_bar())
        assert ch.Robot(cured).mass_matrix(exact.home) == pytest.approx(exact.mass_matrix(exact.home), rel=1e-7)


@pytest.mark.parametrize("tolerance", [-1e-9, 0.02, np.nan])
def test_tolerances_are_small(tolerance: float) -> None:
    with pytest.raises(ModelError, match="tolerance of loop 'pin'"):
        four_bar().loops[0].replace(tolerance=tolerance)


def test_gaps_beyond_the_tolerance_are_refused_and_tolerances_survive_a_file(tmp_path: Any) -> None:
    with pytest.raises(ModelError, match=r"'(near|far)' stays open"):
        ch.Robot(third_bar(1e-4, 1e-6)).n  # noqa: B018
    robot = ch.Robot(third_bar(1e-6, 1e-5))
    robot.save(tmp_path / "gate.toml")
    assert [loop.tolerance for loop in ch.load(tmp_path / "gate.toml").description.loops] == [0.0, 1e-5]
