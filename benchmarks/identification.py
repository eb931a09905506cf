"""Identification on logs of real robots, and how long it and its planning take.

Logs besides the shipped one are read from the folder that the environment variable CHASLES_ROBOT_LOGS names:
`panda_exciting_30hz.csv`, `ur10_exciting.csv` (github unisa-acg/inverse-dynamics-solver), `tiago_*.csv.gz`,
`tx40_*.csv.gz` and `tx40.urdf` (github thanhndv212/figaroh-examples).

FIGAROH and mujoco.sysid take part if they are installed: ``pip install figaroh cyipopt-wheels`` and ``pip install
"mujoco[sysid]"``. FIGAROH's excitation takes minutes, and mujoco.sysid many of them for each half.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from tests.identification.synthetic_logs import coloured_noise, coverage, drawn_arm, everyday_motion
from tests.oracles.collisions import hits
from tests.oracles.example_robots import example

import chasles as ch
from benchmarks.tables import Table, at_most, percent, ratio, seconds
from chasles.identification import (
    FourierMotion,
    IdentificationWarning,
    Signals,
    filtered_signals,
    shipped_log,
)
from chasles.identification.estimation import Friction
from chasles.identification.excitation_problem import ExcitationProblem

FOLDER = "CHASLES_ROBOT_LOGS"
REPEATS = 3
RANDOM_STARTS = 100
COVERED_ROBOTS = ("ur5", "xarm6", "z1", "iiwa14", "panda", "puma560")
COVERED_LOGS = {0.0: 20, 0.9: 50, 0.95: 20}
#: Robots whose logs are drawn for other motions and collisions; no constant was chosen on them.
DRAWN_ROBOTS, DRAWN_LOGS = ("ur5", "z1", "iiwa14", "panda", "puma560", "gen3", "xarm7"), 4
ENCODER = 1e-5
PUSHES, PUSH, PUSHED = 10, 0.5, 0.3
#: Robots with shapes whose plans are checked by coal.
SHAPED = ("ur10_robot.urdf", "xarm7.urdf", "z1.urdf")
JERK_LIMIT = 500.0
ALLOWED_SECONDS, ALLOWED_PLANNING = 1.0, 10.0
#: Joint side of the TX40's motors; motor 6 moves with joint 5 too.
TX40_REDUCTIONS = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
#: Positions of the TX40's joints where its log shows zero, as its source adds them.
TX40_ZEROS = np.radians([0.0, -90.0, 90.0, 0.0, 0.0, 0.0])
#: Drive gains of the TIAGo's joints that can be told; the others do not count.
TIAGO_GAINS = (0.0, 0.0, 17.2, -10.1, -10.6, 0.0, 0.0, 0.0)
PROGRAMS = {"FIGAROH": "benchmarks.figaroh_peer", "mujoco.sysid": "benchmarks.sysid_peer"}
Predicted = Callable[[Signals, Signals, NDArray[np.bool_]], NDArray[np.float64]]
ALLOWED_MEAN, ALLOWED_OTHERS, ALLOWED_EACH, ALLOWED_WORST, ALLOWED_SHARE = 0.80, 0.85, 1.15, 1.3, 0.05
ALLOWED_MASS, ALLOWED_ALARMS = 0.15, 2.0


def tables() -> Iterator[Table]:
    """Unseen errors, coverage, excitation, and times."""
    logs = dict(_logs())
    yield _halves(logs, "all")
    yield _halves(logs, "urdf")
    yield _peers(logs)
    yield _other_motions()
    yield _coverage()
    yield _collisions()
    yield _self_collisions()
    yield _excitation({name: log for name, (log, _) in logs.items()})
    yield _speed()


def _logs() -> Iterator[tuple[str, tuple[ch.Log, float]]]:
    """Logs by name, each with the frequency below which it is fitted and judged, Hz."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        yield "UR10 at 31 Hz (shipped)", (ch.Log(ch.load("ur10"), shipped_log("ur10")), 5.0)
        return
    path = Path(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "Panda at 30 Hz", (ch.Log(ch.load("panda"), path / "panda_exciting_30hz.csv", clock="repeats"), 4.0)
        ur10 = ch.load(example("ur_description/urdf/ur10_robot.urdf"), check=False)
        yield "UR10 at 31 Hz", (ch.Log(ur10, path / "ur10_exciting.csv"), 5.0)
        whole = ch.load(example("tiago_description/robots/tiago.urdf"), check=False)
        moved = {"torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8))}
        tiago = whole.edit.lock([name for name in whole.joint_names if name not in moved])
        parts = [path / f"tiago_{quantity}.csv.gz" for quantity in ("position", "velocity", "effort")]
        yield "TIAGo", (ch.Log(tiago, parts, drive_gains=TIAGO_GAINS), 5.0)
        motors = np.diag(TX40_REDUCTIONS)
        motors[5, 4] = TX40_REDUCTIONS[5]
        sources = {"q": path / "tx40_motor_positions.csv.gz", "effort": path / "tx40_currents.csv.gz"}
        tx40 = ch.load(path / "tx40.urdf")
        declared = {"sample_period": 2e-4, "motor_from_joint": motors, "zero_positions": TX40_ZEROS}
        yield "TX40", (ch.Log(tx40, sources, **declared), 15.0)


def _halves(logs: dict[str, tuple[ch.Log, float]], friction: Friction) -> Table:
    """Errors of a model that was written to a file, on the half of a log that it was not fitted to."""
    suffix = {"all": "toml", "urdf": "urdf"}[friction]
    table = Table(
        f"Unseen errors of moving joints by the {suffix.upper()} file of a model, relative to textbook least squares "
        "with the best of four transitions of friction",
        ("log, fitted half", "below", "joint by joint", "mean", "moving mass", "prior"),
    )
    everything: list[float] = []
    masses: list[float] = []
    for name, (log, band) in logs.items():
        for half, (fitted, unseen) in enumerate((log.split(0.5), log.split(0.5)[::-1]), 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IdentificationWarning)
                result = ch.identify(log.robot, fitted, unseen=unseen, cutoff=band, friction=friction, check=False)
            errors = replace(result, model=_through_file(result.model, suffix)).predict(unseen).rms()
            ratios = (errors / result.predictions["least squares", "unseen"].rms())[log.measured]
            before, now = np.sum(list(result.masses.values()), axis=0)
            shown = " ".join(f"{own:.2f}" for own in ratios)
            table.add(
                f"{name}, {half}", f"{band:g} Hz", shown, f"{_mean(ratios):.2f}", f"{now:.1f} kg", f"{before:.1f} kg"
            )
            everything += ratios.tolist()
            masses.append(abs(now / before - 1.0))
    each = np.array(everything)
    if friction == "urdf":
        table.notes.append(f"All {len(each)} joints, geometric mean: {_mean(each):.2f}x; worst: {each.max():.2f}x")
        return table
    beyond = float((each > ALLOWED_EACH).mean())
    table.notes.append(f"All {len(each)} joints, geometric mean: {at_most(ALLOWED_MEAN, _mean(each), ratio)}")
    table.notes.append(f"Joints above {ratio(ALLOWED_EACH)}: {at_most(ALLOWED_SHARE, beyond, percent)}")
    table.notes.append(f"Worst: {at_most(ALLOWED_WORST, float(each.max()), ratio)}")
    table.notes.append(
        f"Moving mass, largest deviation from the prior's: {at_most(ALLOWED_MASS, max(masses), percent)}"
    )
    return table


def _drawn_log(arm: ch.Robot, real: ch.Robot, seed: int) -> dict[str, NDArray[np.float64]]:
    """Everyday motion of a real arm: torques with coloured noise of 4 %, positions of encoders."""
    motion = everyday_motion(arm, seed)
    tau = np.asarray(real.inverse_dynamics(*motion[1:]))
    noise = 0.04 * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, 0.9, seed)
    q = motion.q + ENCODER * np.random.default_rng(seed).normal(size=tau.shape)
    return {"t": motion.t, "q": q, "qd": motion.qd, "tau": tau + noise}


def _other_motions() -> Table:
    """Errors on another motion of the whole robot that was written to a file."""
    table = Table(
        f"Unseen errors on another motion by the TOML file, relative to textbook least squares; {DRAWN_LOGS} drawn "
        "arms for each robot, 24 s at 100 Hz",
        ("robot", "mean", "worst joint", "mass, largest deviation from the truth"),
    )
    everything: list[float] = []
    for name in DRAWN_ROBOTS:
        arm, ratios, masses = ch.load(name), [], []
        for seed in range(DRAWN_LOGS):
            real = drawn_arm(arm, everyday_motion(arm, seed), seed)
            fitted, unseen = (ch.Log(arm, _drawn_log(arm, real, own)) for own in (seed, 500 + seed))
            result = ch.identify(arm, fitted, unseen=unseen, check=False)
            errors = replace(result, model=_through_file(result.model, "toml")).predict(unseen).rms()
            ratios += (errors / result.predictions["least squares", "unseen"].rms()).tolist()
            names, values = real.inertial.names, real.inertial.values
            truth = sum(value for own, value in zip(names, values, strict=True) if own.endswith(".m"))
            masses.append(abs(sum(now for _, now in result.masses.values()) / truth - 1.0))
        table.add(name, f"{_mean(np.array(ratios)):.2f}", f"{max(ratios):.2f}", percent(max(masses)))
        everything += ratios
    each = np.array(everything)
    table.notes.append(f"All {len(each)} joints, geometric mean: {at_most(ALLOWED_OTHERS, _mean(each), ratio)}")
    table.notes.append(
        f"Joints above {ratio(ALLOWED_EACH)}: {at_most(ALLOWED_SHARE, float((each > ALLOWED_EACH).mean()), percent)}"
    )
    return table


def _collisions() -> Table:
    """Pushes on drawn arms at work, found by the observer of a model that was identified on another run."""
    table = Table(
        f"Collisions: {PUSHES} pushes of {PUSHED:g} s with {PUSH:.0%} of a joint's RMS torque, in a run that neither "
        "the model nor the thresholds saw; one false alarm an hour asked",
        ("robot", "pushes found", "false alarms in runs of other kinds"),
    )
    alarms, hours = 0, 0.0
    for name in DRAWN_ROBOTS:
        arm = ch.load(name)
        real = drawn_arm(arm, everyday_motion(arm, 0), 0)
        result = ch.identify(arm, _drawn_log(arm, real, 0), check=False)
        observer = ch.MomentumObserver(result, bandwidth=25.0, period=0.01)
        runs = [_drawn_log(arm, real, seed) for seed in range(1, 17)]
        residuals = [observer.residuals(*(run[name] for name in ("q", "qd", "tau"))) for run in runs]
        alarm = observer.alarm(
            np.concatenate(residuals[:8]), np.concatenate([run["qd"] for run in runs[:8]]), false_alarms_per_hour=1.0
        )
        false = sum(alarm.episodes(alarm(own, run["qd"])) for own, run in zip(residuals[8:], runs[8:], strict=True))
        alarms, hours = alarms + false, hours + 8 * len(runs[0]["t"]) / 100.0 / 3600.0
        run, found = runs[9], 0
        for k in range(PUSHES):
            rows = slice(200 * (k + 1), 200 * (k + 1) + round(100 * PUSHED))
            pushed, joint = run["tau"].copy(), k % min(3, arm.n)
            pushed[rows, joint] -= PUSH * np.sqrt(np.mean(run["tau"][:, joint] ** 2))
            hit = alarm(observer.residuals(run["q"], run["qd"], pushed), run["qd"])
            found += bool(hit[rows].any())
        table.add(name, f"{found} of {PUSHES}", str(false))
    table.notes.append(f"False alarms an hour: {ALLOWED_ALARMS:g} allowed, {alarms / hours:.1f} in {hours:.1f} h")
    return table


def _self_collisions() -> Table:
    """Plans for robots with shapes, whose meshes coal looks at."""
    table = Table(
        "Planned motions of robots with shapes: configurations of 800 in which meshes overlap, by coal",
        ("robot", "condition number", "least clearance", "overlaps"),
    )
    for name in SHAPED:
        file = example(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = ch.excite(ch.load(file), period=10.0, starts=1)
        q = np.asarray(plan.motion(np.linspace(0.0, 10.0, 800)).q)
        table.add(name, f"{plan.condition:.3g}", f"{1e3 * plan.clearance:.0f} mm", str(int(hits(file, q).sum())))
    return table


def _peers(logs: dict[str, tuple[ch.Log, float]]) -> Table:
    """Errors of FIGAROH and mujoco.sysid beside ours, from the same signals."""
    table = Table(
        "Unseen errors of moving joints by other programs and by the robot that identify returns, relative to textbook "
        "least squares, from the same filtered signals",
        ("log, fitted half", "program", "joint by joint", "mean"),
    )
    programs: dict[str, Predicted] = {}
    for name, module in PROGRAMS.items():
        try:
            programs[name] = import_module(module).predicted
        except ImportError:
            table.notes.append(f"{name} is not installed.")
    for name, (log, band) in logs.items():
        for half, (fitted, unseen) in enumerate((log.split(0.5), log.split(0.5)[::-1]), 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IdentificationWarning)
                result = ch.identify(log.robot, fitted, unseen=unseen, cutoff=band, check=False)
            textbook, ours = (result.predictions[own, "unseen"] for own in ("least squares", "model"))
            told = log.measured & (textbook.rms() > 0.0)
            judged = filtered_signals(unseen, band)
            for program, predicted in [("Chasles", None), *programs.items()]:
                try:
                    tau = ours.predicted if predicted is None else predicted(result.signals, judged, log.measured)
                except Exception as error:  # a peer may fail in any way, and the row says how
                    table.add(f"{name}, {half}", program, f"fails: {error}", "")
                    continue
                ratios = (replace(ours, predicted=tau).rms() / textbook.rms())[told]
                table.add(f"{name}, {half}", program, " ".join(f"{own:.2f}" for own in ratios), f"{_mean(ratios):.2f}")
    return table


def _mean(ratios: NDArray[np.float64]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def _through_file(robot: ch.Robot, suffix: str) -> ch.Robot:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"robot.{suffix}"
        robot.save(path)
        return ch.load(path, check=False)


def _coverage() -> Table:
    """Share of the 95 % intervals of all parameters that hold the truth."""
    table = Table(
        "95 % intervals that hold the truth, in logs of drawn arms at 100 Hz with noise of 4 % of the torques",
        ("robot", *(f"autoregression {memory:g}, {count} logs" for memory, count in COVERED_LOGS.items())),
    )
    shares = np.array(
        [[coverage(ch.load(name), n, memory) for memory, n in COVERED_LOGS.items()] for name in COVERED_ROBOTS]
    )
    for name, row in zip((*COVERED_ROBOTS, "all (bar: 93 to 97 %)"), [*shares, shares.mean(axis=0)], strict=True):
        table.add(name, *(f"{100 * share:.1f} %" for share in row))
    return table


def _excitation(logs: dict[str, ch.Log]) -> Table:
    """Condition numbers of planned motions beside random ones, those of the logs and FIGAROH's plan."""
    table = Table(
        "Condition number of the observation matrix of all base parameters (SI units)",
        ("robot", "motion", "condition number", "time"),
        notes=[
            f"Bar of the planning time: {seconds(ALLOWED_PLANNING)}; of the condition number: a third of the random "
            "motions', and FIGAROH's. 10 s, 5 harmonics."
        ],
    )
    for name, log in logs.items():
        if not name.startswith(("Panda", "UR10 at 31")):
            continue
        arm = log.robot
        start = perf_counter()
        plan = ch.excite(arm, period=10.0, jerk_limits=JERK_LIMIT)
        table.add(arm.name, "planned", f"{plan.condition:.3g}", seconds(perf_counter() - start))
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
    """20,000 samples of 7 joints: everything."""
    arm = ch.load("panda")
    rng = np.random.default_rng(0)
    motion = FourierMotion(arm.home, 0.1 * rng.normal(size=(7, 5)), 0.1 * rng.normal(size=(7, 5)), period=20.0)
    t = np.arange(0.0, 20.0, 0.001)
    q, qd, qdd = (np.asarray(part) for part in motion(t))
    real = arm.with_friction(viscous=1.0, coulomb=1.0, coulomb_velocity=0.05)
    tau = np.asarray(real.inverse_dynamics(q, qd, qdd)) + 0.1 * rng.normal(size=q.shape)
    log = ch.Log(arm, {"t": t, "q": q, "tau": tau})
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        ch.identify(arm, log)
        times.append(perf_counter() - start)
    table = Table("Identification of a Panda from 20,000 samples, filtered, fitted three times, judged", ("", "time"))
    table.add("best of 3", at_most(ALLOWED_SECONDS, min(times)))
    return table
