"""Evaluating and planning trajectories, beside SciPy, the Robotics Toolbox and ruckig; and simulating along them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from scipy import interpolate

import chasles as ch
from benchmarks import panda
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_most, ratio, seconds
from benchmarks.timing import interleaved
from chasles.trajectories import PiecewisePolynomial

JOINTS, KNOTS, TIMES, BATCH = 7, 50, 100_000, 10_000
BAR = 10e-3
RUNS, DURATION, PERIOD, REPEATS = 1024, 0.2, 1e-3, 7
LIMITS = {"velocity": 2.0, "acceleration": 10.0, "jerk": 100.0}


def tables() -> Iterator[Table]:
    """All tables of this section."""
    yield evaluation()
    yield batches()
    yield simulation()


def evaluation() -> Table:
    """One trajectory at many times."""
    rng = np.random.default_rng(0)
    knots, waypoints = np.linspace(0.0, 10.0, KNOTS), rng.normal(size=(KNOTS, JOINTS))
    spline = ch.CubicSpline(knots, waypoints)
    peer = interpolate.CubicSpline(knots, waypoints, bc_type="clamped")
    rates = [peer.derivative(order) for order in (1, 2)]
    start, goal = waypoints[:2]
    line = ch.PointToPoint(start, goal, 10.0)
    ordered = np.linspace(0.0, 10.0, TIMES)
    mixed = rng.permutation(ordered)
    toolbox = _toolbox()
    cases: list[tuple[str, Callable[[], Any], str, Callable[[], Any], float | None]] = [
        (
            f"cubic spline, {KNOTS} knots",
            lambda: spline(ordered),
            "SciPy's CubicSpline and two derivatives",
            lambda: (peer(ordered), *(rate(ordered) for rate in rates)),
            BAR,
        ),
        (
            "the same, times in no order",
            lambda: spline(mixed),
            "the same",
            lambda: (peer(mixed), *(rate(mixed) for rate in rates)),
            BAR,
        ),
        (
            "quintic point to point",
            lambda: line(ordered),
            "jtraj of the Robotics Toolbox",
            lambda: toolbox.jtraj(start, goal, ordered),
            None,
        ),
    ]
    table = Table(
        f"Positions, velocities and accelerations of {JOINTS} joints at {TIMES:,} times, one thread",
        ("", "Chasles", "peer", "", "largest difference", "ratio", "allowed"),
        notes=[
            "Chasles computes the jerk in the same call. Largest difference: of q, qd and qdd, over the largest value."
        ],
    )
    for name, ours, peer_name, theirs, bar in cases:
        difference = max(_difference(*pair) for pair in zip(ours(), _parts(theirs()), strict=True))
        times = interleaved({"ours": ours, "peer": theirs}, repeats=15)
        table.add(
            name,
            seconds(times["ours"]),
            seconds(times["peer"]),
            peer_name,
            f"{difference:.0e}",
            ratio(times["peer"] / times["ours"]),
            "" if bar is None else at_most(bar, times["ours"]),
        )
    return table


def batches() -> Table:
    """Many trajectories at once."""
    rng = np.random.default_rng(1)
    starts, goals = rng.normal(size=(2, BATCH, JOINTS))
    lines = ch.PointToPoint(starts, goals, 1.0)
    plans = ch.PointToPoint.within_limits(starts, goals, **LIMITS, synchronized=False)
    knots, waypoints = np.linspace(0.0, 1.0, 10), rng.normal(size=(BATCH, 10, JOINTS))
    splines = ch.CubicSpline(knots, waypoints)
    peer = interpolate.CubicSpline(knots, waypoints, axis=1, bc_type="clamped")
    toolbox, hundred = _toolbox(), slice(0, BATCH // 100)  # slow peers do a hundredth of the work
    ruckig_plans = _ruckig_plans(starts[hundred], goals[hundred])
    np.testing.assert_allclose(ruckig_plans(), plans.duration[hundred], rtol=1e-9)
    cases: list[tuple[str, Callable[[], Any], str, Callable[[], Any], int]] = [
        (
            "quintics, planned and evaluated half way",
            lambda: ch.PointToPoint(starts, goals, 1.0)(0.5),
            "jtraj of the Robotics Toolbox, one after another",
            lambda: [
                toolbox.jtraj(*ends, [0.0, 0.5, 1.0]) for ends in zip(starts[hundred], goals[hundred], strict=True)
            ],
            100,
        ),
        ("quintics, evaluated at one time", lambda: lines(0.5), "", lambda: None, 0),
        (
            "fastest jerk-limited motions, planned",
            lambda: ch.PointToPoint.within_limits(starts, goals, **LIMITS, synchronized=False),
            "ruckig, one after another",
            ruckig_plans,
            100,
        ),
        (
            "cubic splines through 10 waypoints, evaluated at one time",
            lambda: splines(0.5),
            "SciPy's CubicSpline and two derivatives",
            lambda: [peer(0.5, order) for order in range(3)],
            1,
        ),
    ]
    table = Table(
        f"{BATCH:,} trajectories of {JOINTS} joints at once, one thread: time for all",
        ("", "Chasles", "peer", "", "ratio"),
        notes=["ruckig also plans from and to states that move; here both do the same, with durations equal to 1e-9."],
    )
    for name, ours, peer_name, theirs, share in cases:
        if not share:
            table.add(name, seconds(interleaved({"ours": ours}, repeats=15)["ours"]), "", "", "")
            continue
        times = interleaved({"ours": ours, "peer": theirs}, repeats=15)
        whole = share * times["peer"]
        table.add(name, seconds(times["ours"]), seconds(whole), peer_name, ratio(whole / times["ours"]))
    return table


def simulation() -> Table:
    """Closed loops along traced and along sampled references."""
    arm = panda.chasles_arm()
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    start = arm.home + np.linspace(-0.05, 0.05, RUNS)[:, None]
    traced = ch.PointToPoint(arm.home, arm.home + 0.2, duration=DURATION)
    spline = _as_polynomial(traced)
    many = PiecewisePolynomial(spline.knots, np.broadcast_to(spline.coefficients, (RUNS, *spline.coefficients.shape)))
    references = {
        "one motion, traced": traced,
        "the same, sampled beforehand": spline,
        f"{RUNS:,} motions, sampled beforehand": many,
    }

    def run(reference: Any) -> Any:
        return ch.simulate(
            arm, controller, reference, period=PERIOD, start=start, record=ch.Recording(every=10), progress=False
        )

    expected = run(traced)
    times: dict[str, list[float]] = {name: [] for name in references}
    for _ in range(REPEATS):
        for name, reference in references.items():
            begin = perf_counter()
            run(reference)
            times[name].append(perf_counter() - begin)
    table = Table(
        f"Panda, computed torque at 1 kHz, RK4, {RUNS:,} runs of {DURATION:g} s, one thread: the reference's part",
        ("", "a step", "of the traced", "largest difference of q"),
        notes=["The whole call of chasles.simulate is timed, with every tenth period recorded."],
    )
    steps = RUNS * (round(DURATION / PERIOD) + 10)
    for name, reference in references.items():
        own = median(times[name]) / steps
        difference = float(np.abs(run(reference).q - expected.q).max())
        relative = own * steps / median(times["one motion, traced"])
        table.add(name, seconds(own), f"{100.0 * relative:.0f} %", f"{difference:.0e}")
    return table


def _as_polynomial(line: ch.PointToPoint) -> PiecewisePolynomial:
    """The quintic motion as a polynomial of time."""
    way, duration = line.goal - line.start, float(line.duration)
    coefficients = np.zeros((1, 6, line.n))
    coefficients[0, 0] = line.start
    for power, factor in ((3, 10.0), (4, -15.0), (5, 6.0)):
        coefficients[0, power] = factor * way / duration**power
    return PiecewisePolynomial([0.0, duration], coefficients)


def _parts(result: Any) -> tuple[np.ndarray, ...]:
    return result if isinstance(result, tuple) and not hasattr(result, "qdd") else (result.q, result.qd, result.qdd)


def _difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _toolbox() -> Any:
    try:
        import roboticstoolbox
    except ImportError:
        raise MissingPeerError("roboticstoolbox-python") from None
    return roboticstoolbox


def _ruckig_plans(starts: np.ndarray, goals: np.ndarray) -> Callable[[], list[float]]:
    """A call that plans each motion by ruckig and gives the durations."""
    try:
        import ruckig
    except ImportError:
        raise MissingPeerError("ruckig") from None
    planner, problem, solution = ruckig.Ruckig(JOINTS), ruckig.InputParameter(JOINTS), ruckig.Trajectory(JOINTS)
    for name, limit in LIMITS.items():
        setattr(problem, f"max_{name}", [limit] * JOINTS)
    pairs = list(zip(starts.tolist(), goals.tolist(), strict=True))

    def plan() -> list[float]:
        durations = []
        for problem.current_position, problem.target_position in pairs:
            planner.calculate(problem, solution)
            durations.append(solution.duration)
        return durations

    return plan
