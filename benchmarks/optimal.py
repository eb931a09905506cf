"""Optimal control: a reach of the Panda beside IPOPT on the same nodes, and drawn reaches with limits and obstacles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from tests.control.optimal.robots import acrobot, cart_pole

import chasles as ch
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, seconds
from chasles.control.now import Now
from chasles.control.optimal import OptimalControl, Plan, PlanStatus, residuals
from chasles.control.optimal.numbers import Numbers
from chasles.distances import Body, Clearance

try:
    from tests.oracles.ipopt_motions import IpoptProblem, Motion
except ImportError:
    raise MissingPeerError("casadi") from None

NODES, DURATION, DRAWN = 100, 1.0, 8
#: Repetitions of a batch, and calls of predictive control.
TURNS, CALLS = 5, 20_000
#: First motions of each swing-up.
SWINGS = 24
#: Relative difference of costs up to which two optima are the same.
SAME = 1e-6
LINKS = [
    Body("panda_link4", [-0.08, 0.0, 0.0], [-0.08, 0.1, 0.0], radius=0.05),
    Body("panda_link5", [0.0, 0.0, -0.25], [0.0, 0.05, -0.1], radius=0.05),
    Body("panda_hand", [0.0, 0.0, -0.04], [0.0, 0.0, 0.08], radius=0.06),
]
ARM = ch.load("panda")


@dataclass
class Pair:
    """A problem solved by both from the same first motion, with our processor time."""

    plan: Plan
    ours: float
    peer: Motion

    @property
    def same(self) -> bool:
        """Whether both found the same optimum."""
        return bool(self.plan.success and self.peer.solved and abs(self.plan.cost / self.peer.cost - 1.0) < SAME)


def tables() -> Iterator[Table]:
    """All tables of this section."""
    yield one_reach()
    yield iterations()
    yield predictive_calls()
    yield drawn_reaches()
    yield swing_ups()


def reach(*, exact: bool, clearance: Clearance | None = None, nodes: int = NODES) -> OptimalControl:
    """The problem of a benchmark that Crocoddyl ships, on a Panda; or with an exact end at rest."""
    small = [0.1 * residual for residual in (residuals.position(), residuals.velocity(), residuals.torque())]
    end = [residuals.pose("goal"), residuals.velocity()]
    return OptimalControl(
        ARM,
        duration=DURATION * nodes / NODES,
        nodes=nodes,
        running=[residuals.pose("goal"), *small],
        final=[0.1 * residuals.position(), 0.1 * residuals.velocity()] if exact else [1e3 * residuals.pose("goal")],
        exact_end=end if exact else [],
        limits=(),
        clearance=clearance,
        integrator="semi-implicit-euler",
    )


def around(ball: np.ndarray) -> Clearance:
    """Distances of three capsules to a ball of 5 cm."""
    return ch.clearance(ARM, bodies=LINKS, obstacles=[Body(None, ball, radius=0.05, name="ball")], ignore=OWN_PAIRS)


OWN_PAIRS = [("panda_link4", "panda_link5"), ("panda_link4", "panda_hand"), ("panda_link5", "panda_hand")]


def solved_by_both(problem: OptimalControl, peer: IpoptProblem, q: np.ndarray, goal: np.ndarray) -> Pair:
    """Solve by both from the arm held at the start."""
    begin = process_time()
    plan = problem.solve(q, goal=goal)
    ours = process_time() - begin
    nodes, W = problem.posed(Numbers(q, 0.0 * q, [goal]))
    return Pair(plan, ours, peer.solve(nodes.x0, W, [goal], problem))


def one_reach() -> Table:
    """Without limits, with limits, and with an obstacle."""
    table = Table(
        f"A reach of the Panda, {NODES} nodes",
        ("constraints", "optimum", "iterations", "IPOPT", "processor time"),
        notes=[
            "Times only where both optima agree to 1e-6; second solution, so that all is compiled.",
            "Times of other programs: optimal-peers.",
        ],
    )
    q, goal = ARM.home, ARM.forward_kinematics(ARM.home + 0.5)
    free = reach(exact=False)
    plain = IpoptProblem(free)
    peaks = free.solve(q, goal=goal)
    torque, velocity = np.abs(peaks.torques).max(axis=0), np.abs(peaks.states[:, ARM.n :]).max(axis=0)
    limits = {"torque": 0.9 * torque, "velocity": 0.8 * velocity, "position": None}
    half_way = ARM.forward_kinematics(peaks.states[NODES // 2, : ARM.n])[:3, 3]
    obstacle = reach(exact=False, clearance=around(half_way + np.array([0.0, 0.0, 0.12])))
    for name, problem, peer in (
        ("none", free, plain),
        ("torques", free.with_limits({"torque": 0.9 * torque}), plain),
        ("torques, velocities, positions, a ball", obstacle.with_limits(limits), IpoptProblem(obstacle)),
    ):
        solved_by_both(problem, peer, q, goal)
        pair = solved_by_both(problem, peer, q, goal)
        table.add(
            name,
            f"{pair.plan.cost:.8g}",
            str(pair.plan.iterations),
            str(pair.peer.iterations),
            seconds(pair.ours) if pair.same else "-",
        )
    return table


def swing_ups() -> Table:
    """Of a cart-pole and an acrobot, each from guesses that a seed draws which no test has."""
    table = Table(
        f"Swing-ups from {SWINGS} drawn first motions each",
        ("", "solved", "iterations, median", "largest", "processor time, median"),
        notes=["Least squared torque within limits, exact ends; the pole or both rods hang at rest at first."],
    )
    for name, robot, end, duration in (
        ("cart-pole, 10 N, 100 nodes", cart_pole(), [0.0, np.pi], 2.0),
        ("acrobot, 10 N·m, 200 nodes", acrobot(), [np.pi, 0.0], 4.0),
    ):
        swing_up = OptimalControl(
            robot,
            duration=duration,
            nodes=int(50 * duration),
            running=[residuals.torque()],
            exact_end=[residuals.position(end), residuals.velocity()],
            limits={"torque": 10.0, "position": None},
            integrator="semi-implicit-euler",
        )
        rng, times, plans, spent = np.random.default_rng(2027), np.linspace(0.0, duration, 5), [], []
        for _ in range(SWINGS):
            ways = np.linspace(0.0, 1.0, 5)[:, None] * np.array(end)
            ways[1:-1] += 0.3 * rng.normal(size=2)
            begin = process_time()
            plans.append(swing_up.solve([0.0, 0.0], guess=ch.CubicSpline(times, ways)))
            spent.append(process_time() - begin)
        counts = [int(plan.iterations) for plan in plans]
        solved = at_least(SWINGS, sum(bool(plan.success) for plan in plans), "{:.0f}".format)
        table.add(name, solved, f"{median(counts):.0f}", str(max(counts)), seconds(median(spent)))
    return table


def iterations() -> Table:
    """An iteration of one problem, and of problems of a batch, from start to end."""
    table = Table(
        f"Iterations of reaches of the Panda, {NODES} nodes",
        ("problems", "a problem", "its iterations, mean", "an iteration"),
        notes=[f"Least processor time of {TURNS}, all of `solve` included, the certificate too."],
    )
    rng, problem = np.random.default_rng(7), reach(exact=False)
    for count in (1, 16, 128):
        goals = ARM.forward_kinematics(ARM.home + 0.3 * rng.normal(size=(count, ARM.n)))
        least = np.inf
        for _ in range(TURNS):
            begin = process_time()
            plans = problem.solve(ARM.home, goal=goals)
            least = min(least, (process_time() - begin) / count)
        mean = float(np.mean(plans.iterations))
        table.add(str(count), seconds(least), f"{mean:.1f}", seconds(least / mean))
    return table


class Timed(ch.ModelPredictive):
    """The law with the time of each call, s."""

    def __init__(self, problem: OptimalControl, **options: Any) -> None:
        super().__init__(problem, **options)
        self.took: list[float] = []

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        begin = perf_counter()
        tau = super().law(now)
        self.took.append(perf_counter() - begin)
        return tau


def predictive_calls() -> Table:
    """Predictive control of the Panda at 1 kHz over 50 nodes: how long its calls take, and how many take too long."""
    table = Table(
        f"Predictive control of the Panda at 1 kHz, 50 nodes over 0.5 s, torque and velocity limits, {CALLS} calls",
        ("iterations a call", "least", "median", "99 %", "99.9 %", "longest", "beyond 1 ms"),
        notes=["Time on the clock: whatever else runs on this core counts. The first call, from nothing, is left out."],
    )
    problem = OptimalControl(
        ARM,
        duration=0.5,
        nodes=50,
        running=[10.0 * residuals.position("goal"), residuals.velocity(), 1e-2 * residuals.torque()],
        final=[100.0 * residuals.position("goal")],
        limits=["torque", "velocity"],
    )
    for count in (1, 3):
        law = Timed(problem, goal=ARM.home + 0.4, iterations=count)
        ch.simulate(ARM, law, duration=1e-3 * CALLS, start=ARM.home, period=1e-3)
        took = np.array(law.took[1:])
        shares = (seconds(float(np.quantile(took, share))) for share in (0.0, 0.5, 0.99, 0.999, 1.0))
        table.add(str(count), *shares, f"{int((took > 1e-3).sum())} of {len(took)}")
    return table


def drawn_reaches() -> Table:
    """Limits around the peaks of the free optimum, a ball on its way, and exact ends at rest."""
    table = Table(
        f"Drawn reaches of the Panda, {DRAWN} a kind, {NODES} nodes",
        ("constraints", "solved", "IPOPT", "infeasible", "same optimum", "lower", "iterations, median", "IPOPT"),
        notes=["Limits are 0.7 to 1.5 times the peaks of the free optimum; some of the problems have no motion."],
    )
    for kind, (exact, states, ball) in enumerate(KINDS.values()):
        pairs = list(drawn_pairs(kind, exact, states, ball))
        ours = sum(bool(pair.plan.success) for pair in pairs)
        theirs = sum(pair.peer.solved for pair in pairs)
        none = sum(pair.plan.status in (PlanStatus.IMPOSSIBLE, PlanStatus.LOCALLY_INFEASIBLE) for pair in pairs)
        same = sum(pair.same for pair in pairs)
        lower = sum(
            bool(pair.plan.success and pair.peer.solved and pair.plan.cost < (1.0 - SAME) * pair.peer.cost)
            for pair in pairs
        )
        counts = map(str, (ours, theirs, none, same, lower))
        spent = [pair.plan.iterations for pair in pairs if pair.plan.success], [p.peer.iterations for p in pairs]
        table.add(list(KINDS)[kind], *counts, *(f"{median(each):g}" for each in spent))
    return table


#: Kinds of drawn reaches: exact ends, limits of states, a ball.
KINDS = {
    "torques": (False, False, False),
    "+ positions, velocities": (False, True, False),
    "+ a ball": (False, True, True),
    "exact end, torques, positions, velocities": (True, True, False),
    "exact end, + a ball": (True, True, True),
}


def drawn_pairs(kind: int, exact: bool, states: bool, ball: bool) -> Iterator[Pair]:
    """Solve the drawn problems of a kind."""
    rng = np.random.default_rng([11, kind])
    lower, upper = ARM.lower_limits, ARM.upper_limits
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    free = reach(exact=exact)
    peer = None if ball else IpoptProblem(free)
    for _ in range(DRAWN):
        q = middle + 0.6 * half * rng.uniform(-1.0, 1.0, ARM.n)
        turned = np.clip(q + rng.uniform(0.25, 0.6) * rng.normal(size=ARM.n), lower + 0.05, upper - 0.05)
        goal = ARM.forward_kinematics(turned)
        peaks = free.solve(q, goal=goal)
        share = rng.uniform(0.7, 1.5, 2)
        limits = {"torque": np.minimum(share[0] * np.abs(peaks.torques).max(axis=0), ARM.effort_limits)}
        if states:
            velocity = np.abs(peaks.states[:, ARM.n :]).max(axis=0)
            limits |= {"velocity": np.minimum(share[1] * velocity, ARM.velocity_limits), "position": None}
        problem = free
        if ball:
            way = ARM.forward_kinematics(peaks.states[rng.integers(30, 90), : ARM.n])[:3, 3]
            problem = reach(exact=exact, clearance=around(way + 0.08 * rng.normal(size=3)))
        yield solved_by_both(problem.with_limits(limits), peer or IpoptProblem(problem), q, goal)
