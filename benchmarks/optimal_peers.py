"""Optimal control beside other programs, each in an environment that is made for this run and thrown away."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import casadi
import numpy as np
from tests.control.optimal.robots import acrobot, cart_pole

import chasles as ch
from benchmarks.optimal import ARM, NODES, SAME, around, reach
from benchmarks.robots import PANDA, PANDA_TOOL
from benchmarks.tables import Table, seconds
from chasles.control.optimal import OptimalControl, residuals
from chasles.control.optimal.numbers import Numbers
from chasles.control.optimal.residuals import stacked
from chasles.control.optimal.terms import Terms
from chasles.engine import Function

PROGRAM, SHIPPED = (Path(__file__).parent / f"{name}.py" for name in ("optimal_programs", "shipped_arm"))
#: Crocoddyl's package of this version was built beside this one of Pinocchio.
PACKAGES = ("pin==4.0.0", "crocoddyl==3.2.1", "mim-solvers", "comma-deps-acados", "casadi")
PROGRAMS = ("IPOPT", "Fatrop", "acados", "Crocoddyl", "mim_solvers")
REPEATS, MINUTES = 3, 10
#: Largest gap between two steps, and largest violation of a limit, of a motion that counts as a solution.
EXACT = 1e-6


class Case(NamedTuple):
    """A problem with its start, and what the library that solves it knows about it."""

    name: str
    problem: OptimalControl
    q: np.ndarray
    values: Mapping[str, np.ndarray] = {}
    guess: Any = None
    qd: Any = 0.0


class Stages(NamedTuple):
    """A problem as functions of CasADi and arrays: what all programs but ours are given."""

    step: casadi.Function
    running: casadi.Function
    final: casadi.Function
    clear: casadi.Function
    states: np.ndarray
    torques: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def cost(self, states: np.ndarray, torques: np.ndarray) -> float:
        """Cost of a motion."""
        running = sum(0.5 * float(casadi.sumsqr(self.running(x, u))) for x, u in zip(states[:-1], torques, strict=True))
        return running + 0.5 * float(casadi.sumsqr(self.final(states[-1])[0]))

    def violation(self, states: np.ndarray, torques: np.ndarray) -> float:
        """Largest gap between steps, and violation of limits, distances and ends."""
        m = torques.shape[1]
        gaps = [
            np.asarray(self.step(x, u)).ravel() - after
            for x, u, after in zip(states[:-1], torques, states[1:], strict=True)
        ]
        W = np.hstack([np.vstack([torques, np.zeros(m)]), states])
        beyond = [self.lower - W, W - self.upper]
        parts = [np.abs(gaps), np.abs(states[0] - self.states[0]), *(part[:-1, :m] for part in beyond)]
        parts += [part[1:, m:] for part in beyond]
        parts += [np.abs(np.asarray(self.final(states[-1])[1]))]
        parts += [-np.asarray(self.clear(x)) for x in states[1:]]
        return max(float(part.max(initial=0.0)) for part in parts)


def tables() -> Iterator[Table]:
    """The arm that Crocoddyl ships, and the problems that all programs are given."""
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "environment")
        yield shipped_arm(python, Path(folder))
        table = Table(
            "Optimal control beside other programs: processor time of one solution, from the same first motion",
            ("", "program", "status", "cost", "violation", "iterations", "time", "made ready in"),
            notes=[
                "Costs and violations (gaps, limits, distances, ends) of all have the same judge. Times "
                f"stand where the cost is the best within {SAME:g} and nothing is violated by more than {EXACT:g}.",
                "IPOPT and Fatrop have Chasles' dynamics by to_casadi, compiled with -O2, and exact Hessians; "
                "acados has them as C, with Gauss-Newton; Crocoddyl and mim_solvers compute by Pinocchio. One thread.",
                "Crocoddyl's reach has the costs of the benchmark of an arm that it ships, in its own classes.",
                "Packages of the environment: " + ", ".join(PACKAGES) + ".",
            ],
        )
        counts: dict[str, Counter[str]] = {}
        for number, case in enumerate(cases()):
            place = Path(folder) / str(number)
            place.mkdir()
            for row in rows(case, place, python):
                counts.setdefault(row[1], Counter())[row[2]] += 1
                table.add(*row)
        for program, of in counts.items():
            table.notes.append(f"{program}: {', '.join(f'{count} {status}' for status, count in of.items())}")
        yield table


def shipped_arm(python: Path, folder: Path) -> Table:
    """Crocoddyl's file unchanged, from its own first motion and from ours; its problem judges what we find."""
    theirs = ask(python, SHIPPED)
    robot, goal, q = ch.load(theirs["urdf"]), np.eye(4), np.array(theirs["start"])
    goal[:3, 3] = 0.6, 0.2, 0.5
    tool = residuals.pose(goal, frame="j2s6s200_end_effector")
    small = [0.1 * residual for residual in (residuals.position(), residuals.velocity(), residuals.torque())]
    problem = OptimalControl(
        robot,
        duration=1.0,
        nodes=100,
        running=[tool, *small],
        final=[1e3 * tool],
        limits=(),
        integrator="semi-implicit-euler",
    )
    times = []
    for _ in range(1 + REPEATS):
        begin = process_time()
        plan = problem.solve(q)
        times.append(process_time() - begin)

    def judged(states: np.ndarray, torques: np.ndarray) -> dict[str, Any]:
        motion = folder / "motion.json"
        motion.write_text(json.dumps({"states": states.tolist(), "torques": torques.tolist()}), encoding="utf-8")
        return ask(python, SHIPPED, motion)

    W = problem.posed(Numbers(q, 0.0 * q, []))[1]
    again, judge = judged(W[:, robot.n :], W[:-1, : robot.n]), judged(plan.states, plan.torques)
    table = Table(
        "The reach of a Kinova arm in crocoddyl.examples.arm_manipulation_fwddyn, which is imported as it is",
        ("", "first motion", "status", "cost", "iterations", "time"),
        notes=[
            f"By Crocoddyl's problem our motion costs {judge['cost']:.9g} and misses its steps by {judge['gap']:.0e}; "
            f"from there its solver ends at {judge['ends_at']:.9g}, iterations: {judge['iterations']}.",
            "Median processor time of warm solutions, one thread.",
        ],
    )
    time = seconds(median(times[1:]))
    table.add("Chasles", "held at the start", str(plan.status), f"{plan.cost:.9g}", str(plan.iterations), time)
    for first, one in (("held at the start", again), ("the file's", theirs)):
        status, time = "solved" if one["solved"] else "not solved", seconds(one["seconds"])
        table.add("Crocoddyl", first, status, f"{one['ends_at']:.9g}", str(one["iterations"]), time)
    return table


def environment(folder: Path, packages: Sequence[str] = PACKAGES) -> Path:
    """Return the interpreter of a new environment with the programs."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, stdout=subprocess.DEVNULL)
    return python


def cases() -> Iterator[Case]:
    """The problems: Crocoddyl's reach, with more limits and more nodes, and two swing-ups."""
    q, goal = ARM.home, ARM.forward_kinematics(ARM.home + 0.3)
    free = reach(exact=False)
    yield Case("reach", free, q, {"goal": goal})
    peaks = free.solve(q, goal=goal)
    torque, velocity = np.abs(peaks.torques).max(axis=0), np.abs(peaks.states[:, ARM.n :]).max(axis=0)
    limits = {"torque": 0.9 * torque, "velocity": 0.8 * velocity, "position": None}
    yield Case("reach, torques", free.with_limits({"torque": 0.9 * torque}), q, {"goal": goal})
    yield Case("reach, torques, velocities, positions", free.with_limits(limits), q, {"goal": goal})
    half_way = ARM.forward_kinematics(peaks.states[NODES // 2, : ARM.n])[:3, 3]
    obstacle = reach(exact=False, clearance=around(half_way + np.array([0.0, 0.0, 0.12])))
    yield Case("the same and a ball", obstacle.with_limits(limits), q, {"goal": goal})
    for nodes in (50, 450):
        yield Case(f"reach, {nodes} nodes", reach(exact=False, nodes=nodes), q, {"goal": goal})
    for name, robot, end, most, duration in (
        ("cart-pole", cart_pole(), np.array([0.0, np.pi]), 20.0, 2.0),
        ("acrobot", acrobot(), np.array([np.pi, 0.0]), 20.0, 3.0),
    ):
        swing_up = OptimalControl(
            robot,
            duration=duration,
            nodes=NODES,
            running=[residuals.torque(), residuals.velocity()],
            exact_end=[residuals.position(end), residuals.velocity()],
            limits={"torque": most},
        )
        yield Case(name, swing_up, np.zeros(2), guess=ch.PointToPoint([0.0, 0.0], end, duration=duration))


def rows(case: Case, folder: Path, python: Path) -> list[tuple[str, ...]]:
    """Solve by all programs."""
    stages = exported(case)
    write(case, stages, folder)
    begin = perf_counter()
    case.problem.solve(case.q, guess=case.guess, **case.values)
    ready, times = perf_counter() - begin, []
    for _ in range(REPEATS):
        start = process_time()
        plan = case.problem.solve(case.q, guess=case.guess, **case.values)
        times.append(process_time() - start)
    ours = {
        "solved": plan.success,
        "iterations": plan.iterations,
        "seconds": median(times),
        "build": ready,
        "states": plan.states,
        "torques": plan.torques[:, case.problem.motors],
    }
    results = {"Chasles": ours} | {name: ask(python, PROGRAM, name, folder) for name in PROGRAMS}
    judged = {name: judgement(stages, result) for name, result in results.items() if "states" in result}
    valid = [cost for cost, violation in judged.values() if violation < EXACT]
    best = min(valid, default=np.nan)
    table = []
    for name, result in results.items():
        if name not in judged:
            table.append((case.name, name, result["reason"], *["-"] * 5))
            continue
        cost, violation = judged[name]
        is_best = violation < EXACT and abs(cost / best - 1.0) < SAME
        status = "solved" if result["solved"] else "not solved"
        if result["solved"] and not is_best:
            status = "another optimum" if violation < EXACT else "solved, which is not true"
        shown = f"{cost:.9g}", f"{violation:.0e}", str(result["iterations"])
        time = seconds(result["seconds"]) if is_best else "-"
        table.append((case.name, name, status, *shown, time, seconds(result["build"])))
    return table


def judgement(stages: Stages, result: dict[str, Any]) -> tuple[float, float]:
    """Cost and violation of what a program found."""
    states, torques = np.array(result["states"]), np.array(result["torques"])
    if not np.isfinite(states).all() or not np.isfinite(torques).all():
        return np.nan, np.inf
    return stages.cost(states, torques), stages.violation(states, torques)


def ask(python: Path, program: Path, *arguments: str | Path) -> dict[str, Any]:
    """Return what a program prints, or the reason why it printed nothing; the last argument may be its folder."""
    command: Sequence[Any] = [python, program, *arguments]
    folder = next((each for each in arguments if isinstance(each, Path) and each.is_dir()), None)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60 * MINUTES)
    except subprocess.TimeoutExpired:
        return {"reason": f"no answer in {MINUTES} minutes"}
    if done.returncode:
        return {"reason": f"failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1][:80]}"}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def exported(case: Case) -> Stages:
    """The problem as functions of CasADi, with the values of this case inside."""
    problem, robot = case.problem, case.problem.robot
    n, m, h, drift = robot.n, int(problem.motors.sum()), problem.step.h, problem.step.method.drift
    x, u = casadi.SX.sym("x", 2 * n), casadi.SX.sym("u", m)
    q = x[:n] + drift * h * x[n:]
    qd = x[n:] + h * robot.forward_dynamics.to_casadi()(q, x[n:], casadi.DM(np.eye(n)[:, problem.motors]) @ u)
    step = casadi.Function("step", [x, u], [casadi.vertcat(q + (1.0 - drift) * h * qd, qd)])
    values = [np.asarray(case.values[name]) for name in problem.values]
    given = [np.zeros(1 + 3 * n), 1.0, case.q, *values]
    running = np.sqrt(h) * residual(problem.terms.stage).to_casadi()(casadi.vertcat(u, x), *given)
    final = residual(problem.terms.last).to_casadi()(x, *given)
    ends = problem.terms.last.values.to_casadi()(x, *given)[1]
    clear = casadi.SX(0, 1)
    if problem.clearance is not None:
        clear = problem.terms.distances.values.to_casadi()(x, *given)[1]
    nodes, W = problem.posed(Numbers(case.q, case.qd + 0.0 * case.q, values), guess=case.guess)
    states = W[:, m:].copy()
    states[0] = nodes.x0
    rows = [np.tile(bound, (problem.nodes + 1, 1)) for bound in (problem.lower, problem.upper)]
    return Stages(
        step,
        casadi.Function("running", [x, u], [running]),
        casadi.Function("final", [x], [final, ends]),
        casadi.Function("clear", [x], [clear]),
        states,
        W[:-1, :m],
        *rows,
    )


def residual(terms: Terms) -> Function:
    """Residuals whose squares are the cost."""
    return Function(terms._program("residual", lambda *a: stacked(terms.costs, terms._known(*a)), ["r"]))


def write(case: Case, stages: Stages, folder: Path) -> None:
    """Write what the programs read."""
    m = stages.torques.shape[1]
    for name in ("step", "running", "final", "clear"):
        getattr(stages, name).save(str(folder / f"{name}.casadi"))
    arm = None
    if "goal" in case.values:
        arm = {"urdf": str(PANDA), "tool": PANDA_TOOL, "goal": case.values["goal"].tolist()}
    numbers = {
        "h": case.problem.step.h,
        "arm": arm,
        "states": stages.states.tolist(),
        "torques": stages.torques.tolist(),
        "lower_x": stages.lower[:, m:].tolist(),
        "upper_x": stages.upper[:, m:].tolist(),
        "lower_u": stages.lower[:-1, :m].tolist(),
        "upper_u": stages.upper[:-1, :m].tolist(),
    }
    (folder / "problem.json").write_text(json.dumps(numbers), encoding="utf-8")
