"""Inverse kinematics of four arms and of thousands of random ones, by iteration and in closed form, beside others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from tests.oracles.random_robots import Arms

import chasles as ch
from benchmarks import inverse_kinematics_peers as peers
from benchmarks.inverse_kinematics_peers import Arm, Solver
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, at_most, percent, rate, ratio, seconds
from benchmarks.timing import interleaved

TARGETS = 10_000
SINGLE = 1_000
EXACT = 1e-10
ITERATIONS = 1_000
BLOCKS = 10
BAR_OF_ONE_CALL = 1.2  # all branches of one target, against EAIK
ARMS = {"panda": "Panda", "iiwa14": "iiwa14", "ur5": "UR5", "puma560": "PUMA 560"}
NUMERIC, AUTO, TOOLBOX = "Chasles, numeric", "Chasles, auto", "roboticstoolbox ik_LM"


class Peer(NamedTuple):
    """A library that takes one target at a time: how to make its solver, and how many targets it is given."""

    make: Callable[[Arm], Solver]
    targets: int


PEERS = {
    TOOLBOX: Peer(peers.toolbox, TARGETS),
    "TRAC-IK": Peer(peers.trac_ik, 2_000),
    "modern_robotics IKinSpace": Peer(peers.modern_robotics, 200),
}


def tables() -> Iterator[Table]:
    """All tables of this section."""
    arms = [Arm(title, ch.load(name)) for name, title in ARMS.items()]
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    rng = np.random.default_rng(seed)
    for make in (many_targets, single_targets, closed_forms, random_robots):
        table = make(arms, rng)
        table.notes.append(f"Targets are drawn anew in each run; the seed of this one: {seed}.")
        yield table


def many_targets(arms: list[Arm], rng: np.random.Generator) -> Table:
    """How many of many targets are solved, and how fast."""
    table = Table(
        f"{TARGETS:,} targets for each arm, uniformly within the limits, to 1e-6 m and rad, limits kept, one thread",
        ("", "targets", "solved", "wrongly called solved", "solutions"),
        notes=[
            "Solved: the pose at q, computed anew by SciPy's rotations, is within the tolerance and q in the limits.",
            "Every search starts in the middle of the limits. Chasles is given all targets in one call, others one by "
            "one.",
            "ik_LM: its own limits of iterations and searches; tolerance 5e-13, which is 1e-6 for the length of the "
            "twist. TRAC-IK: 5 ms for a target, 1e-6 / sqrt(3) for each component; it uses two threads. IKinSpace "
            "knows neither limits nor restarts.",
        ],
    )
    for arm in arms:
        _, targets = arm.drawn(rng, TARGETS)
        ik = arm.robot.inverse_kinematics
        calls = {NUMERIC: partial(ik, targets, method="numeric"), AUTO: partial(ik, targets)}
        times = interleaved(calls)
        for method, call in calls.items():
            solution = call()
            correct = arm.reached(solution.q, targets)
            _add(table, f"{arm.name}: {method}", solution.success, correct, times[method], method == NUMERIC)
        for name, peer in PEERS.items():
            try:
                solve = peer.make(arm)
            except MissingPeerError as error:
                _note_once(table, str(error))
                continue
            part = targets[: peer.targets]
            start = perf_counter()
            answers = [solve(T) for T in part]
            elapsed = perf_counter() - start
            claimed = np.array([answer is not None for answer in answers])
            q = np.array([arm.middle if answer is None else answer for answer in answers])
            _add(table, f"{arm.name}: {name}", claimed, arm.reached(q, part), elapsed, False)
    return table


def _add(table: Table, name: str, claimed: np.ndarray, correct: np.ndarray, elapsed: float, judged: bool) -> None:
    """Append a row; its bars are given only for what is to be judged by them."""
    solved, per_second = (claimed & correct).mean(), (claimed & correct).sum() / elapsed
    table.add(
        name,
        f"{len(claimed):,}",
        at_least(0.999, solved, percent) if judged else percent(solved),
        f"{(claimed & ~correct).sum():,}",
        at_least(500_000.0, per_second, rate) if judged else rate(per_second),
    )


def single_targets(arms: list[Arm], rng: np.random.Generator) -> Table:
    """One target in one call."""
    table = Table(
        f"One target in one call from Python: median over {SINGLE:,} targets (IKinSpace: 100)",
        ("", NUMERIC, AUTO, *PEERS, f"ik_LM to {NUMERIC}"),
        notes=["Starts, tolerances and limits as above; the bars are for the Panda."],
    )
    for arm in arms:
        _, targets = arm.drawn(rng, SINGLE)
        ik = arm.robot.inverse_kinematics
        solvers: dict[str, Callable[[np.ndarray], object]] = {NUMERIC: partial(ik, method="numeric"), AUTO: ik}
        for name, peer in PEERS.items():
            try:
                solvers[name] = peer.make(arm)
            except MissingPeerError as error:
                _note_once(table, str(error))
        times = _medians(solvers, targets)
        judged = arm.name == ARMS["panda"]
        ours, compared = times[NUMERIC], "-"
        if TOOLBOX in times:
            measured = times[TOOLBOX] / ours
            compared = at_least(5.0, measured) if judged else ratio(measured)
        table.add(
            arm.name,
            at_most(30e-6, ours) if judged else seconds(ours),
            seconds(times[AUTO]),
            *(seconds(times[name]) if name in times else "-" for name in PEERS),
            compared,
        )
    return table


def _medians(solvers: dict[str, Callable[[np.ndarray], object]], targets: np.ndarray) -> dict[str, float]:
    """Median time of each solver over the targets; they take turns, block by block."""
    times: dict[str, list[float]] = {name: [] for name in solvers}
    for block in np.array_split(targets, BLOCKS):
        for name, solve in solvers.items():
            slow = name in PEERS and PEERS[name].targets < SINGLE
            for T in block[:10] if slow else block:
                start = perf_counter()
                solve(T)
                times[name].append(perf_counter() - start)
    return {name: median(values) for name, values in times.items()}


def closed_forms(arms: list[Arm], rng: np.random.Generator) -> Table:
    """All branches, beside EAIK."""
    table = Table(
        f"All branches in closed form, batch of {TARGETS:,} targets, one thread",
        ("", "targets", "one call", "against EAIK", "branches of a target", "largest residual of a branch"),
        notes=[
            "Limits are left out, as EAIK knows none. Branches: those called solutions, within 1e-10 m and rad; on "
            "average. Largest residual: over all of them, computed anew by SciPy's rotations.",
            "EAIK: IK_batched with one thread, and IK; approximate solutions of it do not count.",
        ],
    )
    for arm in arms:
        if arm.robot.n == 6:
            q, targets = arm.drawn(rng, TARGETS)
            _add_branches(table, arm, q, targets)
    return table


def _add_branches(table: Table, arm: Arm, q: np.ndarray, targets: np.ndarray) -> None:
    ours = partial(arm.robot.inverse_kinematics, select="all", limits=False, tolerance=EXACT)
    candidates = {"batch": partial(ours, targets), "one": partial(ours, targets[0].copy())}
    aligned = arm.aligned(targets)
    try:
        robot = peers.eaik(arm)
        candidates |= {
            "batch of the peer": partial(robot.IK_batched, aligned, 1),
            "one of the peer": partial(robot.IK, aligned[0].copy()),
        }
    except MissingPeerError as error:
        _note_once(table, str(error))
    times = interleaved(candidates)
    every = ours(targets)
    compared = at_least(BAR_OF_ONE_CALL, times["one of the peer"] / times["one"]) if len(times) > 2 else ""
    table.add(
        f"{arm.name}: Chasles",
        at_least(1_500_000.0, TARGETS / times["batch"], rate),
        at_most(10e-6, times["one"]),
        compared,
        f"{every.success.sum() / TARGETS:.3f}",
        at_most(EXACT, arm.errors(every.q, targets[:, None])[every.success].max(), "{:.1e}".format),
    )
    apart = np.abs((every.q - q[:, None] + np.pi) % (2.0 * np.pi) - np.pi).max(axis=-1)
    found = (np.where(every.success, apart, np.inf).min(axis=-1) < 1e-6).mean()
    table.notes.append(f"{arm.name}: {percent(found)} of the drawn configurations are among the branches found.")
    if not compared:
        return
    branches = peers.eaik_branches(robot.IK_batched(aligned, 1))
    table.add(
        f"{arm.name}: EAIK",
        rate(TARGETS / times["batch of the peer"]),
        seconds(times["one of the peer"]),
        "1x",
        f"{sum(map(len, branches)) / TARGETS:.3f}",
        f"{max(arm.errors(own, T).max(initial=0.0) for own, T in zip(branches, targets, strict=True)):.1e}",
    )


def random_robots(_: list[Arm], rng: np.random.Generator) -> Table:
    """Arms that nobody designed."""
    table = Table(
        f"{TARGETS:,} random arms of turning joints, one reachable target each, to 1e-6 m and rad, limits kept",
        ("", "solved", "wrongly called solved", "solutions"),
        notes=[
            "Denavit-Hartenberg parameters: any twist, lengths and offsets up to 0.5 m either way, limits between a "
            "quarter and half a turn either way. The search is that of robot.inverse_kinematics, with its "
            f"{ITERATIONS:,} iterations; the parameters are its arguments, so that one program serves all arms.",
            "Solved: checked by products of matrices in NumPy.",
        ],
    )
    for n in (6, 7):
        arms = Arms.drawn(rng, TARGETS, n)
        solve = partial(arms.solved_by, arms.solver(), ITERATIONS)
        q, claimed = solve()
        correct = arms.reached(q)
        table.add(
            f"{n}R",
            at_least(0.99, (claimed & correct).mean(), percent),
            at_most(0, int((claimed & ~correct).sum()), "{:,}".format),
            rate((claimed & correct).sum() / interleaved({"all": solve}, repeats=9)["all"]),
        )
    return table


def _note_once(table: Table, note: str) -> None:
    if note not in table.notes:
        table.notes.append(note)
