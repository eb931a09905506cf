"""Identification of robots with loops, from torques of virtual work: the tree's, by differences of closed positions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, make_interp_spline
from tests.identification.synthetic_logs import coloured_noise, fourier_motion
from tests.oracles.closed_machines import MACHINES, three_rrr

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.identification import Identification, filtered_signals
from chasles.identification.equations import TorqueEquations, inertial_unknowns
from chasles.identification.excitation_problem import ExcitationProblem
from chasles.model import Limits

FloatArray = NDArray[np.float64]


class ClosedLog(NamedTuple):
    """Positions and torques of the independent joints over time, and the motion of all joints."""

    t: FloatArray
    q: FloatArray
    tau: FloatArray
    configuration: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    virtual: FloatArray

    @property
    def table(self) -> dict[str, FloatArray]:
        return {"t": self.t, "q": self.q, "tau": self.tau}


def machine(name: str) -> tuple[ch.Robot, ch.Robot]:
    """A machine as its file has it, and the real one: other masses, and friction of its motors."""
    arm = ch.Robot(MACHINES[name]())
    friction = {"viscous": 0.5, "coulomb": 0.8, "coulomb_velocity": 0.1}
    named = {key: dict.fromkeys(arm.velocity_names, value) for key, value in friction.items()}
    return arm, arm.inertial.perturbed({"mass": 0.25, "inertia": 0.25}, seed=2).with_friction(**named)


def by_virtual_work(
    robot: ch.Robot, *, seed: int, size: float, duration: float = 12.0, noise: float = 0.0
) -> ClosedLog:
    """Motion whose loops are closed one by one, rates from splines, torques from displacements that close the loops."""
    free = list(robot.description.independent_indices)
    motion = fourier_motion(robot.n, duration, seed=seed, size=size, harmonics=8)
    q = robot.home[free] + motion.q - motion.q[0]
    whole = np.tile(robot.home, (len(q), 1))
    names = robot.velocity_names
    for k in range(len(q)):
        whole[k] = whole[max(k - 1, 0)]
        whole[k, free] = q[k]
        whole[k] = robot.loops.close(whole[k], hold=names).q
    spline = make_interp_spline(motion.t, whole, k=7)
    rates, accelerations = spline(motion.t, 1), spline(motion.t, 2)
    step, columns = 1e-5, []
    for joint in free:
        ends = []
        for sign in (1.0, -1.0):
            guess = whole.copy()
            guess[:, joint] += sign * step
            ends.append(robot.loops.close(guess, hold=names).q)
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    virtual = np.stack(columns, axis=2)
    tree = robot.edit.without_loops()
    tau = np.einsum("kji,kj->ki", virtual, np.asarray(tree.inverse_dynamics(whole, rates, accelerations)))
    tau += noise * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, 0.9, seed)
    return ClosedLog(motion.t, q, tau, whole, rates, accelerations, virtual)


@pytest.fixture(scope="module")
def five_bar() -> Identification:
    arm, real = machine("five-bar")
    return ch.identify(arm, by_virtual_work(real, seed=1, size=0.12, noise=0.02).table)


def relative_errors(found: Identification, log: ClosedLog) -> tuple[FloatArray, FloatArray]:
    """RMS errors of prior and identified model over the moving samples of a log, relative to the RMS torques."""
    signals = filtered_signals(ch.Log(found.robot, log.table), 2.0)
    tau = signals.filter(signals.torque(found.robot))
    size = np.sqrt(np.mean(signals.effort**2, axis=0))
    prior = np.sqrt(np.mean((tau - signals.effort) ** 2, axis=0)) / size
    return prior, found.predict(log.table).relative()


@pytest.mark.slow
def test_unseen_motion_of_a_five_bar_linkage_is_predicted(five_bar: Identification) -> None:
    _, real = machine("five-bar")
    prior, model = relative_errors(five_bar, log := by_virtual_work(real, seed=5, size=0.1, duration=6.0))
    assert (prior > 0.1).all()
    assert (model < 0.03).all()
    assert five_bar.score(log.table) > 0.99


def test_parameters_of_a_closed_chain_lie_in_their_intervals(five_bar: Identification) -> None:
    arm, real = machine("five-bar")
    unknowns = inertial_unknowns(arm)
    truth = dict(zip(unknowns.names, unknowns.to_base @ unknowns.of(real), strict=True))
    truth |= {f"{joint}.viscous": 0.5 for joint in arm.velocity_names}
    assert len(truth) > 10
    for name, value in truth.items():
        assert abs(five_bar[name].value - value) < 4.0 * five_bar[name].error, name


@pytest.mark.parametrize("name", ["five-bar", pytest.param("palletiser", marks=pytest.mark.slow), "slider-crank"])
def test_base_parameters_are_as_many_as_virtual_work_tells_apart(name: str) -> None:
    arm, _ = machine(name)
    log = by_virtual_work(arm, seed=2, size=0.25 if name == "palletiser" else 0.1, duration=2.0)
    unknowns = inertial_unknowns(arm)
    used = (*range(10 * unknowns.bodies), *unknowns.rotors.tolist())
    Y = arm.edit.without_loops().regressors.torque(log.configuration, log.rates, log.accelerations, columns=used)
    projected = np.einsum("kji,kjp->kip", log.virtual, np.asarray(Y))[8:-8].reshape(-1, len(used))
    lengths = np.linalg.norm(projected, axis=0)
    sizes = np.linalg.svd(projected / np.where(lengths > 1e-9, lengths, 1.0), compute_uv=False)
    assert int((sizes > 1e-6 * sizes[0]).sum()) == len(unknowns.names)
    kept = projected[:, unknowns.independent]
    explained = kept @ unknowns.to_base
    np.testing.assert_allclose(explained, projected, atol=1e-7 * np.abs(projected).max())


def test_equations_of_a_closed_chain_are_those_of_virtual_work() -> None:
    _, real = machine("five-bar")
    log = by_virtual_work(real, seed=3, size=0.12, duration=4.0)
    signals = filtered_signals(ch.Log(real, log.table), 49.0)  # as good as unfiltered
    motors = dict.fromkeys(real.velocity_names, 0.0)
    equations = TorqueEquations(real, inertial_unknowns(real), signals)
    bare = real.with_friction(viscous=motors, coulomb=motors)
    friction = np.asarray(real.friction_torque(signals.configuration, signals.qd))
    friction -= np.asarray(bare.friction_torque(signals.configuration, signals.qd))
    left = equations.effort - equations.columns @ equations.inertial.of(real) - friction[equations.kept]
    assert np.abs(equations.passive).max() > 0.1  # passive joints have friction of their own
    assert np.abs(left[5:-5]).max() < 2e-3 * np.abs(equations.effort).max()


@pytest.mark.slow
def test_a_parallelogram_palletiser_is_identified(tmp_path: Path) -> None:
    arm, real = machine("palletiser")
    found = ch.identify(arm, by_virtual_work(real, seed=1, size=0.25, noise=0.02, duration=16.0).table)
    prior, model = relative_errors(found, by_virtual_work(real, seed=5, size=0.2))
    assert (model < 0.2 * prior).all()
    assert (model < 0.06).all()
    again = ch.identification.load(found.save(tmp_path / "found.npz"))
    assert again.model == found.model
    found.model.save(tmp_path / "palletiser.toml")
    assert ch.load(tmp_path / "palletiser.toml").inertial.values == pytest.approx(found.model.inertial.values)
    elbow, before = (robot.description.joint("elbow") for robot in (found.model, arm))
    assert (elbow.viscous_friction, elbow.motor_inertia) == (before.viscous_friction, before.motor_inertia)
    assert found.report(tmp_path / "page.html").exists()


def test_motors_must_be_as_many_as_degrees_of_freedom() -> None:
    arm = ch.Robot(three_rrr(motors=4))
    q = np.tile(arm.home[list(arm.description.independent_indices)], (200, 1))
    q = q + 0.05 * np.sin(np.outer(np.arange(200), [0.05, 0.07, 0.09]))
    with pytest.raises(ArgumentError, match="one motor for each degree of freedom"):
        ch.identify(arm, {"t": 0.01 * np.arange(200), "q": q, "tau": q})


def test_positions_that_open_the_loops_are_refused() -> None:
    arm, _ = machine("five-bar")
    wave = 2.5 * np.sin(np.outer(0.02 * np.arange(400), [1.0, -1.0]))
    with pytest.raises(IdentificationError, match="do not suit the loops: the loops of robot 'five-bar'"):
        ch.identify(arm, {"t": 0.02 * np.arange(400), "q": arm.home[[0, 2]] + wave, "tau": wave})


def test_gradients_of_excitation_follow_the_loops() -> None:
    """Beyond limits, of a passive joint and of the transmission too."""
    description = ch.Robot(MACHINES["five-bar"]()).description
    narrow = [
        joint.replace(kind="revolute", limits=Limits(lower=-1.4, upper=-1.2)) if joint.name == "elbow1" else joint
        for joint in description.joints
    ]
    problem = ExcitationProblem(ch.Robot(description.replace(joints=tuple(narrow))), 10.0, 5, 4.0)
    rng = np.random.default_rng(0)
    x = 1.3 * problem.random_start(rng).ravel()
    d, h = rng.normal(size=x.size), 1e-6
    for stage in ("determinant", "condition"):
        slope = (problem._cost(x + h * d, stage)[0] - problem._cost(x - h * d, stage)[0]) / (2.0 * h)
        assert abs(problem._cost(x, stage)[1] @ d - slope) < 1e-5 * abs(slope)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["five-bar", "slider-crank"])
def test_exciting_motions_keep_loops_closed_and_clear_of_singular_configurations(name: str) -> None:
    """Configurations that are closed one by one, and their displacements by those of the motors."""
    arm, real = machine(name)
    plan = ch.excite(arm, starts=1, iterations=20, seed=1)
    names, free = arm.velocity_names, list(arm.description.independent_indices)
    t = np.linspace(0.0, 10.0, 101)
    way = np.concatenate([np.linspace(arm.home[free], plan.start, 20), plan.motion(t).q])
    q, moved = np.tile(arm.home, (len(way), 1)), []
    for k, place in enumerate(way):
        q[k] = q[k - 1] if k else arm.home
        q[k, free] = place
        closed = arm.loops.close(q[k], hold=names)
        assert closed.success
        q[k] = closed.q
        near = np.tile(q[k], (len(free), 1))
        near[np.arange(len(free)), free] += 1e-6
        moved.append(np.linalg.norm((arm.loops.close(near, hold=names).q - q[k]) / 1e-6))
    assert max(moved) < (3.01 if name == "five-bar" else 4.0) * moved[0]  # lengths count relative to the size
    problem = ExcitationProblem(arm, 10.0, 5)
    rng = np.random.default_rng(0)
    assert plan.condition < 0.7 * np.median([problem.condition(problem.random_start(rng)) for _ in range(9)])
    many = np.arange(0.0, 10.0, 0.01)
    motion = plan.motion(many)
    closed_q = CubicSpline(t, q[20:])(many)
    tau = np.asarray(real.inverse_dynamics(closed_q, motion.qd, motion.qdd))
    found = ch.identify(arm, {"t": many, "q": motion.q, "tau": tau})
    prior, model = (found.predictions[own, "unseen"].relative() for own in ("prior", "model"))
    assert (model < 0.5 * prior).all()  # 0.02 to 0.35 with other seeds, whose motions differ


@pytest.mark.slow
def test_excitation_needs_a_motor_for_each_degree_of_freedom() -> None:
    with pytest.raises(ArgumentError, match="one motor for each degree of freedom"):
        ch.excite(ch.Robot(three_rrr(motors=4)), starts=1, iterations=2)
