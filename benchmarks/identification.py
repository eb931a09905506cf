"""Identification on logs of real robots, and how long it and its planning take.

Logs besides the shipped one are read from the folder that the environment variable CHASLES_ROBOT_LOGS names:
`panda_exciting_30hz.csv`, `ur10_exciting.csv` (github unisa-acg/inverse-dynamics-solver), `tiago_*.csv.gz`,
`tx40_*.csv.gz` and `tx40.urdf` (github thanhndv212/figaroh-examples).

FIGAROH takes part if it is installed: ``pip install figaroh cyipopt-wheels``. Its excitation alone takes minutes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from tests.identification.synthetic_logs import coverage, real_arm, real_planar
from tests.oracles.example_robots import example

import chasles as ch
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_most, ratio, seconds
from chasles.identification import BaseParameterFit, FourierMotion, Identification, filtered_signals, shipped_log
from chasles.identification.excitation_problem import ExcitationProblem

FOLDER = "CHASLES_ROBOT_LOGS"
REPEATS = 3
RANDOM_STARTS = 100
COVERED_LOGS = {"planar2r": 500, "puma560": 80, "ur5": 80}
JERK_LIMIT = 500.0
ALLOWED_SECONDS, ALLOWED_PLANNING = 2.0, 10.0
#: Joint side of the TX40's motors; motor 6 moves with joint 5 too.
TX40_REDUCTIONS = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
#: Positions of the TX40's joints where its log shows zero, as its source adds them.
TX40_ZEROS = np.radians([0.0, -90.0, 90.0, 0.0, 0.0, 0.0])
#: Viscous friction, Coulomb friction and rotor inertia that the source of the TX40's log gives, at the joints.
TX40_PUBLISHED = (
    (8.05, 5.53, 1.97, 1.11, 1.86, 0.65),
    (7.14, 8.26, 6.34, 2.48, 3.03, 0.282),
    (0.362, 0.362, 0.0988, 0.0313, 0.0468, 0.0105),
)


def tables() -> Iterator[Table]:
    """Unseen errors, excitation, and times."""
    logs = dict(_logs())
    results = {name: ch.identify(log.robot, log, check=False) for name, log in logs.items()}
    for name, result in results.items():
        yield _errors(name, result)
        if name.startswith("Panda"):
            yield _mirrored(logs[name])
            yield _noise_bands(result)
    yield _coverage()
    yield _excitation(logs)
    yield _speed()


def _logs() -> Iterator[tuple[str, ch.Log]]:
    yield "UR10 at 31 Hz (shipped)", ch.Log(ch.load("ur10"), shipped_log("ur10"))
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    path = Path(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "Panda at 30 Hz", ch.Log(ch.load("panda"), path / "panda_exciting_30hz.csv")
        ur10 = ch.load(example("ur_description/urdf/ur10_robot.urdf"), check=False)
        yield "UR10 at 125 Hz", ch.Log(ur10, path / "ur10_exciting.csv")
        whole = ch.load(example("tiago_description/robots/tiago.urdf"), check=False)
        moved = {"torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8))}
        tiago = whole.edit.lock([name for name in whole.joint_names if name not in moved])
        parts = [path / f"tiago_{quantity}.csv.gz" for quantity in ("position", "velocity", "effort")]
        yield "TIAGo, currents", ch.Log(tiago, parts, units={"effort": "A"})
        motors = np.diag(TX40_REDUCTIONS)
        motors[5, 4] = TX40_REDUCTIONS[5]
        sources = {"q": path / "tx40_motor_positions.csv.gz", "effort": path / "tx40_currents.csv.gz"}
        tx40 = ch.load(path / "tx40.urdf")
        yield "TX40", ch.Log(tx40, sources, sample_period=2e-4, motor_from_joint=motors, zero_positions=TX40_ZEROS)


def _errors(name: str, result: Identification) -> Table:
    published = _published_tx40(result) if name == "TX40" else None
    table = Table(
        f"{name}: unseen second half, RMS error relative to the RMS effort of each joint while it moves",
        (
            *("joint", "RMS effort", "prior", *(["published"] if published else []), "least squares", "model"),
            *("expected", "both halves", "noise floor", "largest", "at rest"),
        ),
        notes=[
            "Both halves: what least squares fitted to the whole log leave of the second half.",
            *(f"{finding.rule.weight}: {finding}" for finding in result.findings),
        ],
    )
    if published:
        table.notes.append(
            "Published: prior with friction and rotor inertias of the log's source, which does not say what they fit."
        )
    found = {model: result.predictions[model, "unseen"] for model in ("prior", "least squares", "model")}
    both = _fitted_to_both_halves(result)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = found["model"].rms() / found["model"].relative()
    for k, joint in enumerate(result.robot.velocity_names):
        shares = [found[model].relative()[k] for model in found]
        shares[1:1] = published[k : k + 1] if published else []
        table.add(
            joint,
            f"{size[k]:.3g}",
            *(
                f"{100 * share:.1f} %"
                for share in (*shares, result.expected[k] / size[k], both[k], result.noise[k] / size[k])
            ),
            f"{found['model'].largest()[k]:.3g}",
            f"{100 * found['model'].relative('resting')[k]:.1f} %",
        )
    return table


def _fitted_to_both_halves(result: Identification) -> list[float]:
    """Relative errors on the second half of least squares that were fitted to both."""
    whole = ch.identify(result.robot, result.log, training=1.0, check=False).predictions["least squares", "training"]
    second = slice(len(whole.measured) // 2, None)
    parts = zip(whole.predicted[second].T, whole.measured[second].T, whole.moving[second].T, strict=True)
    return [_rms((tau - measured)[m]) / _rms(measured[m]) for tau, measured, m in parts]


def _mirrored(log: ch.Log) -> Table:
    """What no rigid-body model with friction of each joint's own velocity can fit, without a model.

    The motion comes back on its own way: q(c + t) = q(c - t). Gravity, inertial and centrifugal torques are equal at
    both times, so half the difference of the torques is friction at the velocity of then: an odd function of it. What
    differs from the best such function (seven shapes) is below the errors of the two halves: the mean of their squares
    is at least its square.
    """
    signals = filtered_signals(log)
    q, tau = (CubicSpline(signals.time, own) for own in (signals.q, signals.effort))
    t = np.arange(0.5, 0.45 * (signals.time[-1] - signals.time[0]), 0.05)
    middle = signals.time[0] + 0.5 * (signals.time[-1] - signals.time[0])
    centres = middle + np.linspace(-0.5, 0.5, 1001)
    apart = [float(np.sqrt(np.mean((q(c - t) - q(c + t)) ** 2))) for c in centres]
    c = centres[int(np.argmin(apart))]
    rates, odd = q(c + t, 1), 0.5 * (tau(c + t) - tau(c - t))
    table = Table(
        "Panda: what any rigid-body model with friction of the own velocity leaves of each joint's torque, both halves",
        ("joint", "RMS effort", "left over"),
        notes=[f"The halves of the motion are mirror images in time to {1e3 * min(apart):.2g} mrad RMS."],
    )
    for k, joint in enumerate(log.robot.velocity_names):
        moving = np.abs(rates[:, k]) > 0.02 * np.abs(rates[:, k]).max()
        v, y = rates[moving, k], odd[moving, k]
        widths = np.abs(v).max() * np.array([0.01, 0.03, 0.1, 0.3])
        shapes = np.stack([v, v * np.abs(v), v**3, *(np.tanh(v / width) for width in widths)], axis=1)
        left = _rms(y - shapes @ np.linalg.lstsq(shapes, y)[0])
        size = _rms(np.concatenate([tau(c + t)[moving, k], tau(c - t)[moving, k]]))
        table.add(joint, f"{size:.3g}", f"{100 * left / size:.1f} %")
    return table


def _noise_bands(result: Identification) -> Table:
    """What white noise as dense as the measured effort in each band leaves below the cut-off.

    Neither position nor velocity nor acceleration moves there. Noise is white where the bands agree, and no function of
    the motion predicts it.
    """
    log, cutoff, bounds = result.log, result.signals.cutoff.frequency, (2.5, 3.4, 5.0, 7.5, 10.0, 15.0)
    window = np.hanning(len(log.time))
    spectrum = np.fft.rfft((log.effort - log.effort.mean(axis=0)) * window[:, None], axis=0)
    density = np.abs(spectrum) ** 2 / np.sum(window**2)
    frequency = np.fft.rfftfreq(len(log.time), log.sample_period)
    bands = list(pairwise(bounds))
    table = Table(
        "Panda: noise of the efforts' sensors below the cut-off, by the density of their spectra in bands above the "
        "motion, relative to the RMS effort of the second half",
        ("joint", *(f"{low:g} to {high:g} Hz" for low, high in bands)),
        notes=[f"The bandwidth of the motion is {result.signals.cutoff.bandwidth.max():.2g} Hz."],
    )
    model = result.predictions["model", "unseen"]
    size = model.rms() / model.relative()
    means = [density[(frequency >= low) & (frequency < high)].mean(axis=0) for low, high in bands]
    floors = np.sqrt(np.array(means) * 2.0 * cutoff * log.sample_period) / size
    for joint, own in zip(log.robot.velocity_names, floors.T, strict=True):
        table.add(joint, *(f"{100 * floor:.1f} %" for floor in own))
    return table


def _published_tx40(result: Identification) -> list[float]:
    viscous, coulomb, rotor = TX40_PUBLISHED
    values = {f"joints.{name}.motor_inertia": own for name, own in zip(result.robot.joint_names, rotor, strict=True)}
    known = result.robot.with_friction(viscous=viscous, coulomb=coulomb, coulomb_velocity=0.05).with_values(values)
    signals = result.unseen
    kept = signals.kept()
    tau = signals.filter(np.asarray(known.inverse_dynamics(signals.q, signals.qd, signals.qdd)))[kept]
    measured, moving = signals.effort[kept], signals.moving[kept]
    return [_rms((tau - measured)[m, k]) / _rms(measured[m, k]) for k, m in enumerate(moving.T)]


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _coverage() -> Table:
    """Share of the 95 % intervals of all parameters that hold the truth."""
    colours = (0.0, 0.9, 0.95)
    table = Table(
        "95 % intervals that hold the truth, in synthetic logs at 100 Hz with noise of 3 % of the torques (bar: 93 to "
        "97 %)",
        ("robot", "logs", "duration", *(f"autoregression {memory:g}" for memory in colours)),
    )
    for name, count in COVERED_LOGS.items():
        arm = ch.load(name)
        real = real_planar() if name == "planar2r" else real_arm(arm)
        for duration in (20.0, 60.0):
            shares = [coverage(arm, real, count, memory, duration) for memory in colours]
            table.add(name, str(count), f"{duration:g} s", *(f"{100 * share:.1f} %" for share in shares))
    return table


def _excitation(logs: dict[str, ch.Log]) -> Table:
    """Condition numbers of planned motions beside random ones, those of the logs and FIGAROH's plan."""
    table = Table(
        "Condition number of the observation matrix of all base parameters (SI units)",
        ("robot", "motion", "condition number", "time"),
        notes=[
            f"Bar of the planning time: {seconds(ALLOWED_PLANNING)}; of the condition number: a third of the random "
            "motions', and FIGAROH's. 10 s, 5 harmonics, or as many spline coefficients."
        ],
    )
    for name, log in logs.items():
        if not name.startswith(("Panda", "UR10 at 31")):
            continue
        arm = log.robot
        for shape in ("fourier", "spline"):
            start = perf_counter()
            plan = ch.excite(arm, period=10.0, shape=shape, jerk_limits=JERK_LIMIT)
            table.add(arm.name, shape, f"{plan.condition:.3g}", seconds(perf_counter() - start))
        problem = ExcitationProblem(arm, 10.0, 5)
        rng = np.random.default_rng(0)
        at_random = float(np.median([problem.condition(problem.random_start(rng)) for _ in range(RANDOM_STARTS)]))
        table.add(arm.name, f"random, median of {RANDOM_STARTS}", f"{at_random:.3g}", "")
        signals = filtered_signals(log)
        recorded = problem.base.columns(arm.regressors.torque(signals.q, signals.qd, signals.qdd))
        table.add(arm.name, "the log's", f"{np.linalg.cond(recorded.reshape(-1, len(problem.base))):.3g}", "")
    peer = ch.load("panda")
    try:
        from benchmarks.figaroh_peer import planned
    except ImportError:
        table.notes.append("FIGAROH is not installed.")
        return table
    problem = ExcitationProblem(peer, 10.0, 5)
    start = perf_counter()
    motion = planned(peer)
    took = perf_counter() - start
    Y = problem.base.columns(problem.smooth.regressors.torque(*motion))
    condition = np.linalg.cond(Y.reshape(-1, len(problem.base)))
    table.add(peer.name, "FIGAROH, 6 waypoints, 100 iterations of IPOPT", f"{condition:.3g}", seconds(took))
    return table


def _speed() -> Table:
    """20,000 samples of 7 joints: everything, and the least squares alone beside NumPy on Pinocchio's regressors."""
    arm = ch.load("panda")
    rng = np.random.default_rng(0)
    motion = FourierMotion(arm.home, 0.1 * rng.normal(size=(7, 5)), 0.1 * rng.normal(size=(7, 5)), period=20.0)
    t = np.arange(0.0, 20.0, 0.001)
    q, qd, qdd = (np.asarray(part) for part in motion(t))
    real = arm.with_friction(viscous=1.0, coulomb=1.0, coulomb_velocity=0.05)
    tau = np.asarray(real.inverse_dynamics(q, qd, qdd)) + 0.1 * rng.normal(size=q.shape)
    log = ch.Log(arm, {"t": t, "q": q, "tau": tau})
    fit = BaseParameterFit(arm)
    fit(q, qd, qdd, tau)

    def everything() -> object:
        return ch.identify(arm, log)

    def least_squares() -> object:
        return fit(q, qd, qdd, tau)

    rows = {"filtered, identified, consistent, judged": everything, "one least squares": least_squares}
    repeats = dict(zip(rows, (REPEATS, 10 * REPEATS), strict=True))
    times = {name: min(_seconds(call) for _ in range(repeats[name])) for name, call in rows.items()}
    table = Table(
        "Identification of a Panda from 20,000 samples",
        ("", "time", "ratio to one least squares"),
        notes=[at_most(ALLOWED_SECONDS, times["filtered, identified, consistent, judged"])],
    )
    for name, time in times.items():
        table.add(name, seconds(time), "")
    own = times["one least squares"]
    peer = min(_pinocchio_least_squares(q, qd, qdd, tau) for _ in range(REPEATS))
    table.add("one least squares, NumPy on Pinocchio's regressors (bar 10×)", seconds(peer), ratio(peer / own))
    try:
        from benchmarks.figaroh_peer import least_squares_seconds
    except ImportError:
        table.notes.append("FIGAROH is not installed.")
        return table
    figaroh = min(least_squares_seconds(arm, q, qd, qdd, tau) for _ in range(REPEATS))
    table.add("one least squares, FIGAROH (bar 20×)", seconds(figaroh), ratio(figaroh / own))
    return table


def _seconds(call: object) -> float:
    start = perf_counter()
    call()  # type: ignore[operator]
    return perf_counter() - start


def _pinocchio_least_squares(
    q: NDArray[np.float64], qd: NDArray[np.float64], qdd: NDArray[np.float64], tau: NDArray[np.float64]
) -> float:
    try:
        import pinocchio
    except ImportError:
        raise MissingPeerError("pin") from None
    from benchmarks.robots import PANDA

    model = pinocchio.buildModelFromUrdf(str(PANDA))
    data = model.createData()
    wide = [np.pad(part, ((0, 0), (0, model.nv - part.shape[1]))) for part in (q, qd, qdd)]
    start = perf_counter()
    rows = [pinocchio.computeJointTorqueRegressor(model, data, *state).copy()[:7] for state in zip(*wide, strict=True)]
    A = np.concatenate(rows)
    np.linalg.lstsq(A.T @ A, A.T @ tau.ravel())
    return perf_counter() - start
