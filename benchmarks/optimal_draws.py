"""A thousand drawn reaches with limits, obstacles and exact ends, of three arms, beside IPOPT and judged by Pinocchio.

Eight of a hundred are drawn to be impossible. More are: limits of torques are a share of a motion's peaks, which of the
Panda are mostly its weight, and some are too low to carry it. What is reported as solved is rolled out by Pinocchio and
held against the limits; what is not solved, IPOPT tries from three first motions, all else from one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import chasles as ch
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table
from chasles.control.optimal import OptimalControl, Plan, PlanStatus, Residual, residuals
from chasles.control.optimal.numbers import Numbers
from chasles.studies.statistics import proportion

try:
    import pinocchio as pin
    from tests.oracles.ipopt_motions import IpoptProblem, Motion
    from tests.oracles.pinocchio_models import model_of

    from benchmarks.optimal_peers import EXACT, PROGRAM, Case, ask, environment, exported, judgement, write
except ImportError:
    raise MissingPeerError("casadi or pinocchio") from None

#: Number of draws of each arm, and their nodes: of the PUMA 560 so many that its friction is not too stiff for them.
ARMS = {"planar2r": (400, 25), "panda": (300, 25), "puma560": (300, 75)}
SEED, IMPOSSIBLE = 21, 0.1
#: Radius of the ball that frames stay out of, and the distance that counts as one, m.
RADIUS, UNIT = 0.1, 0.1
#: Scaled violation that refutes: the solver allows 1e-6, and Pinocchio's rounding is not ours.
REFUTED, SAME = 1e-5, 1e-6
#: Processor time that IPOPT has for a motion, s.
PATIENCE = 30.0
#: acados is asked for one of so many reaches, as its code is compiled anew for each; progress is told after so many.
ASKED, TOLD = 20, 25
#: Kinds of reaches: exact ends, limits of states, a ball.
KINDS = ((False, False, False), (False, True, False), (False, True, True), (True, True, False), (True, True, True))


class Reach(NamedTuple):
    """A drawn problem with its limits, start, and values."""

    problem: OptimalControl
    q: np.ndarray
    qd: np.ndarray
    end: np.ndarray
    limits: dict[str, Any]
    values: dict[str, Any]


def tables() -> Iterator[Table]:
    """One table for each arm, as soon as it is done, and at last that of all arms."""
    everything: list[Outcome] = []
    with asked_acados() as acados:
        for name, (count, nodes) in ARMS.items():
            tried = list(outcomes(Arm(name, nodes), count, acados))
            everything += tried
            yield counted(f"{name}, {nodes} nodes", tried)
    yield counted("all arms", everything)


class Outcome(NamedTuple):
    """Our plan of a reach, whether Pinocchio refutes it, IPOPT's motions, and whether acados solved it, if asked."""

    plan: Plan
    is_refuted: bool
    peers: list[Motion]
    by_acados: bool | None

    @property
    def ours(self) -> bool:
        """Whether we solved it."""
        return bool(self.plan.success)

    @property
    def theirs(self) -> bool:
        """Whether IPOPT solved it from the first motion that was ours."""
        return self.peers[0].solved

    @property
    def ratio(self) -> float:
        """Our cost beside IPOPT's."""
        return float(self.plan.cost / self.peers[0].cost)


def counted(name: str, tried: list[Outcome]) -> Table:
    """Counts of reaches with their 95 % intervals."""
    table = Table(
        f"Drawn reaches, {name}: {len(tried)}",
        ("", "count", "of", "share, 95 %"),
        notes=[
            f"Refuted: Pinocchio's motion by the plan's regulator violates something by more than {REFUTED:g}, scaled.",
            f"Lower, higher: both solved it, at costs that differ by more than {SAME:g}.",
            f"IPOPT has {PATIENCE:g} s for a motion and begins where we do; where we end without one, at two more.",
        ],
    )

    def add(what: str, of: list[Outcome], flags: Iterable[bool]) -> None:
        count = sum(flags)
        share = proportion(count, len(of))
        table.add(what, str(count), str(len(of)), f"{100 * share.low:.1f}-{100 * share.high:.1f} %")

    solved = [one for one in tried if one.ours]
    add("solved", tried, (one.ours for one in tried))
    add("solved by IPOPT from the same start", tried, (one.theirs for one in tried))
    add("solved by us alone", tried, (one.ours and not one.theirs for one in tried))
    add("solved by IPOPT alone, from the same start", tried, (one.theirs and not one.ours for one in tried))
    add("solved, but refuted", solved, (one.is_refuted for one in solved))
    both = [one for one in solved if one.theirs]
    add("solved by both, at a lower cost", both, (one.ratio < 1.0 - SAME for one in both))
    add("solved by both, at a higher cost", both, (one.ratio > 1.0 + SAME for one in both))
    for status in (PlanStatus.IMPOSSIBLE, PlanStatus.LOCALLY_INFEASIBLE, PlanStatus.STOPPED):
        alike = [one for one in tried if one.plan.status is status]
        add(status, tried, (one.plan.status is status for one in tried))
        add("solved by IPOPT from one of three starts", alike, (any(m.solved for m in one.peers) for one in alike))
    asked = [one for one in tried if one.by_acados is not None]
    add("solved by acados, of those that it was asked", asked, (bool(one.by_acados) for one in asked))
    add("solved by us, of these", asked, (one.ours for one in asked))
    for who, counts in (
        ("iterations where solved, median", [one.plan.iterations for one in solved]),
        ("iterations of IPOPT where solved, median", [one.peers[0].iterations for one in tried if one.theirs]),
    ):
        table.add(who, f"{median(counts):g}" if counts else "-", str(len(counts)), "")
    return table


def outcomes(arm: Arm, count: int, acados: Acados | None) -> Iterator[Outcome]:
    """Solve drawn reaches of an arm, and say on the way how many were solved."""
    problems = {key: IpoptProblem(problem, seconds=PATIENCE) for key, problem in arm.problems.items()}
    tried: list[Outcome] = []
    for k in range(count):
        asked = acados if k % ASKED == 0 else None
        tried.append(outcome(arm, arm.drawn(k), problems, asked))
        yield tried[-1]
        if len(tried) % TOLD == 0:
            ours, theirs = sum(one.ours for one in tried), sum(one.theirs for one in tried)
            print(f"{arm.robot.name}: {ours} of {len(tried)} solved, by IPOPT {theirs}", file=sys.stderr, flush=True)


def outcome(arm: Arm, reach: Reach, problems: dict[tuple[bool, bool], IpoptProblem], acados: Acados | None) -> Outcome:
    """Solve a reach, by IPOPT too, from more starts where we do not, and by acados, if it is asked."""
    limited = reach.problem.with_limits(reach.limits)
    plan = limited.solve(reach.q, reach.qd, **reach.values)
    (peer,) = (problems[key] for key, problem in arm.problems.items() if problem is reach.problem)
    given = [np.asarray(reach.values[value]) for value in limited.values]
    motions: list[Motion] = []
    for guess in (None, *(() if plan.success else arm.detours(reach))):
        nodes, W = limited.posed(Numbers(reach.q, reach.qd, given), guess=guess)
        motions.append(peer.solve(nodes.x0, W, given, limited))
    is_refuted = bool(plan.success) and arm.violation(plan, reach, limited) > REFUTED
    return Outcome(plan, is_refuted, motions, None if acados is None else acados(reach, limited))


Acados = Callable[[Reach, OptimalControl], bool]


@contextmanager
def asked_acados() -> Iterator[Acados | None]:
    """acados in an environment of its own, as a function that says whether it solved a reach; None without it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            python = environment(Path(folder) / "environment", ("comma-deps-acados", "casadi"))
        except subprocess.CalledProcessError:
            yield None
            return

        def solves(reach: Reach, limited: OptimalControl) -> bool:
            place = Path(tempfile.mkdtemp(dir=folder))
            case = Case("", limited, reach.q, reach.values, qd=reach.qd)
            stages = exported(case)
            write(case, stages, place)
            result = ask(python, PROGRAM, "acados", place)
            return bool(result.get("solved")) and judgement(stages, result)[1] < EXACT

        yield solves


class Arm:
    """An arm with the problems of its reaches, and Pinocchio's model of it."""

    def __init__(self, name: str, nodes: int) -> None:
        robot, self.nodes = ch.load(name), nodes
        jumps = any(joint.coulomb_friction for joint in robot.description.joints)
        self.robot = robot = robot.with_friction(coulomb_velocity=0.1) if jumps else robot
        self.frames = (robot.frame_names[-1], robot.frame_names[-3])
        self.lower, self.upper = np.maximum(robot.lower_limits, -3.0), np.minimum(robot.upper_limits, 3.0)
        self.problems = {(exact, ball): self._problem(exact, ball) for exact in (False, True) for ball in (False, True)}
        self.model = model_of(robot)
        self.data = self.model.createData()
        self.carriers = [self._carrier(frame) for frame in self.frames]

    def _problem(self, exact: bool, ball: bool) -> OptimalControl:
        def clear(robot: ch.Robot, q: Any, ball: Any) -> Any:
            places = [robot.forward_kinematics(q, target=frame)[:3, 3] - ball for frame in self.frames]
            return np.array([(p @ p - RADIUS**2) / (2.0 * RADIUS * UNIT) for p in places])

        small = [0.1 * residual for residual in (residuals.position(), residuals.velocity(), residuals.torque())]
        return OptimalControl(
            self.robot,
            duration=1.0,
            nodes=self.nodes,
            running=[residuals.pose("goal"), *small],
            final=small[:2] if exact else [1e3 * residuals.pose("goal")],
            exact_end=[residuals.position("end"), residuals.velocity()] if exact else [],
            keep=[Residual(clear, ball=(3,))] if ball else [],
            limits=(),
        )

    def drawn(self, k: int) -> Reach:
        """Return a reach: limits are 0.7 to 1.5 times the peaks of the motion without limits, a ball is on its way."""
        robot, n, rng = self.robot, self.robot.n, np.random.default_rng([SEED, k])
        exact, states, ball = KINDS[k % len(KINDS)]
        impossible = rng.uniform() < IMPOSSIBLE and states
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        q = middle + 0.6 * half * rng.uniform(-1.0, 1.0, n)
        end = np.clip(q + rng.uniform(0.25, 0.6) * rng.normal(size=n), self.lower + 0.05, self.upper - 0.05)
        values = {"goal": robot.forward_kinematics(end)} | ({"end": end} if exact else {})
        peaks = self.problems[exact, False].solve(q, **values)
        share = rng.uniform(0.7, 1.5, 2)
        if impossible and exact and not ball:
            share[rng.integers(2)] = 0.3
        torque = share[0] * np.abs(peaks.torques).max(axis=0) + 1e-3
        limits: dict[str, Any] = {"torque": np.minimum(torque, robot.effort_limits)}
        qd = np.zeros(n)
        if states:
            velocity = share[1] * np.abs(peaks.states[:, n:]).max(axis=0) + 1e-3
            limits |= {"velocity": np.minimum(velocity, robot.velocity_limits), "position": None}
        if impossible and not exact and not ball:
            qd[0] = 2.0 * limits["velocity"][0]
        if ball:
            near = peaks.states[rng.integers(self.nodes // 3, 9 * self.nodes // 10), :n]
            away = 0.08 * rng.normal(size=3) * (np.array([1.0, 1.0, 0.0]) if n == 2 else 1.0)
            if impossible:
                near, away = end if exact else q, np.full(3, 0.01)
            values["ball"] = robot.forward_kinematics(near)[:3, 3] + away
        return Reach(self.problems[exact, ball], q, qd, end, limits, values)

    def detours(self, reach: Reach) -> Iterator[ch.CubicSpline]:
        """Two more first motions."""
        for seed in (1, 2):
            half_way = 0.5 * (reach.q + reach.end) + 0.3 * np.random.default_rng(seed).normal(size=self.robot.n)
            yield ch.CubicSpline([0.0, 0.5, 1.0], [reach.q, half_way, reach.end])

    def violation(self, plan: Plan, reach: Reach, limited: OptimalControl) -> float:
        """Largest scaled violation of Pinocchio's motion by a plan's regulator: leapfrog steps from the start."""
        n, h = self.robot.n, limited.step.h
        q, qd, states = reach.q, reach.qd, []
        torques = []
        for tau, planned, K in zip(plan.torques, plan.states, plan.gains, strict=False):
            torques.append(tau - K @ (np.concatenate([q, qd]) - planned))
            middle = q + 0.5 * h * qd
            resisted = torques[-1] - np.asarray(self.robot.friction_torque(middle, qd))
            qd = qd + h * pin.aba(self.model, self.data, middle, qd, resisted)
            q = middle + 0.5 * h * qd
            states.append(np.concatenate([q, qd]))
        W = np.concatenate([np.array(torques), np.array(states)], axis=1)  # each state with the torque before it
        scaled = np.maximum(limited.lower - W, W - limited.upper) * limited.scale
        worst = [float(scaled.max())]
        if "end" in reach.values:
            worst += [float(np.abs(q - reach.end).max()), float(np.abs(qd).max())]
        if "ball" in reach.values:
            distances = [np.linalg.norm(p - reach.values["ball"]) for state in states for p in self._places(state[:n])]
            worst.append((RADIUS**2 - min(distances) ** 2) / (2.0 * RADIUS * UNIT))
        return max(worst)

    def _places(self, q: np.ndarray) -> list[np.ndarray]:
        """Origins of the frames by Pinocchio."""
        pin.forwardKinematics(self.model, self.data, q)
        return [(self.data.oMi[joint] * place).translation for joint, place in self.carriers]

    def _carrier(self, frame: str) -> tuple[int, Any]:
        """The joint of Pinocchio's model that carries a frame, and the frame in it."""
        for joint in range(self.robot.n, -1, -1):
            first, second = (self._relative(joint, frame, q) for q in (np.zeros(self.robot.n), self.upper / 3.0))
            if np.allclose(first.homogeneous, second.homogeneous, atol=1e-9):
                return joint, first
        raise ValueError(f"no joint carries '{frame}'")

    def _relative(self, joint: int, frame: str, q: np.ndarray) -> Any:
        pin.forwardKinematics(self.model, self.data, q)
        return self.data.oMi[joint].inverse() * pin.SE3(np.asarray(self.robot.forward_kinematics(q, target=frame)))
