"""Free motions of linkages past the dead centres of their independent joints, and through bifurcations of their loops.

Nothing acts but weight, so the energy stays what it is. The motion itself is that of an equation of one unknown, and
the same whatever joints describe it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.mechanics.test_closed_chains import random_closed_robot
from tests.oracles.closed_machines import LINKAGES, scissor, slider_crank
from tests.simulation.plant.test_base_motion import Moving, no_turn

import chasles as ch
from chasles.algorithms import assembled
from chasles.base.errors import ArgumentError
from chasles.model import Description
from chasles.simulation.bifurcations import BifurcationWarning

BAR = 1e-4
"""Change of the energy in 10 s, J."""


GRAVITY = {"Stephenson": (0.0, 0.0, -9.81), "slider-crank": (0.0, 0.0, -9.81)}
"""Weights along directions in which a machine can move, and in which a scissor lift does not fold up."""


def free(description: Description, independent: tuple[str, ...] = ()) -> ch.Robot:
    """The machine without friction."""
    gravity = GRAVITY.get(description.name, (5.0, -7.0, 0.0))
    chosen = assembled(description).replace(independent=independent, gravity=gravity)
    return ch.Robot(chosen).with_friction(viscous=0.0, coulomb=0.0)


def start(description: Description, robot: ch.Robot, speed: float) -> np.ndarray:
    """Independent velocities of one and the same motion of all joints, however it is described."""
    own = ch.Robot(description)
    u = own.loops.velocity_map(robot.home) @ np.full(own.n, speed)
    independent: np.ndarray = u[list(robot.description.independent_indices)]
    return independent


def energy(run: Any) -> np.ndarray:
    total: np.ndarray = run["energy.kinetic"].values + run["energy.potential"].values
    return total


def swung(robot: ch.Robot, qd0: Any, duration: float = 10.0, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ch.simulate(
            robot, None, duration=duration, start=ch.State(qd=qd0), record=ch.Recording(energies=True), **options
        )
    assert np.abs(robot.loops.constraints(run.q.values).residual).max() < 1e-12
    return run


def choices(name: str) -> Iterator[tuple[str, ...]]:
    """All sets of joints whose velocities determine the motion at home."""
    description = LINKAGES[name]()
    own = ch.Robot(description)
    names, G = description.joint_velocity_names, np.asarray(own.loops.velocity_map(own.home))
    for chosen in itertools.combinations(names, own.n):
        if np.linalg.svd(G[[names.index(joint) for joint in chosen]])[1][-1] > 1e-3:
            yield chosen


QUICK = [("five-bar", ("motor1", "motor2")), ("Stephenson", ("rocker",)), ("scissor", ("slide",))]
ALL = [(name, chosen) for name in LINKAGES for chosen in choices(name)]
OTHERS = [case for case in ALL if case not in QUICK][::3]
CASES = [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS)]


@pytest.mark.parametrize(("name", "chosen"), CASES)
def test_a_free_motion_keeps_its_energy_whatever_joints_are_independent(name: str, chosen: tuple[str, ...]) -> None:
    description = LINKAGES[name]()
    robot = free(description, chosen)
    run = swung(robot, start(description, robot, 0.5))
    G = robot.loops.velocity_map(run.q.values)
    turned = np.linalg.det(np.einsum("kij,kil->kjl", G[:-1], G[1:]))
    assert np.ptp(energy(run)) < BAR
    assert np.ptp(run["energy.kinetic"].values) > 1.0
    if (name, chosen) in QUICK:
        assert (turned < 0.0).any()  # a dead centre of the chosen joints is passed


@pytest.mark.parametrize("name", ["five-bar", pytest.param("3-RRR", marks=pytest.mark.slow)])
def test_each_run_of_a_batch_keeps_its_energy_and_moves_as_it_does_alone(name: str) -> None:
    description = LINKAGES[name]()
    robot = free(description)
    speeds = np.array([[0.2], [0.7], [-1.3]]) * np.ones(robot.n)
    masses = {f"links.{description.links[-1].name}.mass": [0.8, 1.0, 2.0]}
    run = swung(robot, speeds, vary=masses)
    assert np.ptp(energy(run), axis=-1).max() < BAR
    alone = swung(robot, speeds[1], duration=0.5, vary={key: value[1] for key, value in masses.items()})
    assert run.q.values[1, : len(alone.time)] == pytest.approx(alone.q.values, abs=1e-6)


def test_a_slider_passes_its_dead_centres_as_its_crank_does() -> None:
    """Kinetic energy alone, so the crank's speed follows from its inertia: an equation of one unknown, by SciPy."""
    machine = slider_crank()
    runs = {}
    for joint in ("stroke", "motor", "knee"):
        robot = ch.Robot(machine.replace(independent=(joint,), gravity=(0.0, 0.0, 0.0)))
        robot = robot.with_friction(viscous=0.0, coulomb=0.0)
        (index,), G = robot.description.independent_indices, robot.loops.velocity_map(robot.home)
        runs[joint] = swung(robot, [-18.0 * G[index, 0] / G[0, 0]], 0.6)
    by_crank = ch.Robot(machine.replace(independent=("motor",)))
    crank = runs["motor"].q.values[:, 0]

    def inertia(angle: float) -> float:
        lean = -np.arcsin(np.sin(angle) / 3.0)
        return float(by_crank.mass_matrix([angle, lean - angle, 0.1 * np.cos(angle) + 0.3 * np.cos(lean)])[0, 0])

    def speed(t: float, angle: np.ndarray) -> list[float]:
        return [-18.0 * np.sqrt(inertia(crank[0]) / inertia(angle[0]))]

    ends = solve_ivp(speed, (0.0, 0.6), crank[:1], rtol=1e-9, atol=1e-10).y[0]
    assert abs(ends[-1] - ends[0]) > 2.0 * np.pi
    assert crank[-1] == pytest.approx(ends[-1], abs=1e-6)
    for joint in ("stroke", "knee"):
        assert runs[joint].q.values == pytest.approx(runs["motor"].q.values, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 3, 4, 6, 9))])
def test_drawn_machines_keep_their_energy(seed: int) -> None:
    description = random_closed_robot(seed)
    robot = ch.Robot(description).with_friction(viscous=0.0, coulomb=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BifurcationWarning)
        run = ch.simulate(robot, None, duration=2.0, record=ch.Recording(energies=True))
    assert np.ptp(energy(run)) < 1e-6 * np.ptp(run["energy.kinetic"].values)


@pytest.mark.parametrize("stages", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chosen", ["slide", "up0"])
def test_a_bifurcation_of_the_loops_is_said(stages: int, chosen: str) -> None:
    """With all its bars upright a scissor lift can fold up or sway as one bar."""
    description = scissor(stages).replace(gravity=(0.0, 0.0, 0.0), independent=(chosen,))
    robot = ch.Robot(description).with_friction(viscous=0.0, coulomb=0.0)
    G = robot.loops.velocity_map(robot.home)
    (index,) = robot.description.independent_indices
    inwards = [-0.8 * G[index, 0] / G[0, 0]]
    with pytest.warns(BifurcationWarning, match=r"passed a bifurcation at t = .*'centre0'.*freedoms instead of 1"):
        run = ch.simulate(robot, None, duration=1.5, start=ch.State(qd=inwards))
    assert run.q.values[:, 0].min() < 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ch.simulate(robot, None, duration=0.3, start=ch.State(qd=inwards))


def test_a_robot_that_starts_at_rest_at_a_dead_centre_falls() -> None:
    robot = ch.Robot(slider_crank().replace(independent=("stroke",))).with_friction(viscous=0.0, coulomb=0.0)
    folded = [0.0, 0.0, 0.4]
    assert not np.isfinite(robot.loops.velocity_map(folded)).all()
    run = ch.simulate(robot, None, duration=1.0, start=folded, record=ch.Recording(energies=True))
    assert np.ptp(run.q.values[:, 0]) > 1.0
    assert np.ptp(energy(run)) < BAR


def test_a_linkage_on_an_accelerating_base_swings_as_in_another_gravity() -> None:
    """Past its dead centres, with a weight at its tool, and with the work that moves the base in the audit."""
    across = np.array([3.0, -1.0, 0.0])

    def forward(t: Any) -> tuple[Any, Any, Any]:
        t = np.asarray(t)[..., None]
        return 0.5 * across * t**2, across * t, across + 0.0 * t

    robot = ch.Robot(LINKAGES["five-bar"]()).with_gravity([0.0, 0.0, -9.81])
    down = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -5.0])
    pull = [ch.ExternalWrench("pull", lambda t, parameters: down, axes="world")]
    carried = ch.Plant(robot, base=ch.BaseMotion(Moving([0, 0, 1], no_turn, forward)), wrenches=pull)
    other = robot.with_gravity(np.array([0.0, 0.0, -9.81]) - across)
    runs = [
        ch.simulate(plant, None, duration=1.0, record=ch.Recording(energies=True))
        for plant in (carried, ch.Plant(other, wrenches=pull))
    ]
    assert runs[0].q.values == pytest.approx(runs[1].q.values, abs=1e-6)
    assert np.abs(runs[0].energy_audit().residual).max() < BAR
    G = robot.loops.velocity_map(runs[0].q.values)
    assert (np.linalg.det(np.einsum("kij,kil->kjl", G[:-1], G[1:])) < 0.0).any()


def test_ends_of_loops_do_not_vary_in_a_simulation() -> None:
    robot = ch.Robot(LINKAGES["five-bar"]())
    with pytest.raises(ArgumentError, match=r"'joints.elbow1.position' cannot vary .* simulate one robot for each"):
        ch.simulate(robot, None, duration=0.1, vary={"joints.elbow1.position": [[0.3, 0.0, 0.0], [0.31, 0.0, 0.0]]})
    run = ch.simulate(robot, None, duration=0.01, vary={"base.position": [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]})
    assert run.q.values[0] == pytest.approx(run.q.values[1], abs=1e-12)
