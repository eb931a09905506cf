"""A humanoid that moves freely: Talos with a free base, against Pinocchio with its free-flyer.

Pinocchio takes joints that mimic others for independent ones. Chasles is given the robot without the mimics, so that
both compute the same: 50 velocities.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

import chasles as ch
from benchmarks.robots import MissingPeerError, talos
from benchmarks.startup import measure
from benchmarks.tables import Table, at_least, at_most, ratio, seconds
from benchmarks.timing import interleaved

try:
    import pinocchio as pin
except ImportError:
    raise MissingPeerError("pin (Pinocchio)") from None

BATCH = 1024
REPEATS = 3
BARS = {"inverse dynamics": 8.0, "mass matrix": 10.0, "forward dynamics": 8.0, "inverse dynamics derivatives": 6.0}
COMPILE_BARS = {
    "inverse_dynamics": 4.0,
    "mass_matrix": 4.0,
    "forward_dynamics": 4.0,
    "inverse_dynamics_derivatives": 15.0,
}
LINEARIZE = "linearize"
COMPILE = """
import json, sys
from time import perf_counter
import numpy as np
import chasles
robot = chasles.load(sys.argv[1], check=False).with_free_base(world="the world")
v = np.zeros(robot.n)
q, times = robot.neutral, []
for name in sys.argv[2:]:
    start = perf_counter()
    getattr(robot, name)(*((q,) if name == "mass_matrix" else (q, v, v)))
    times.append(perf_counter() - start)
print(json.dumps(times))
"""


def tables() -> Iterator[Table]:
    """The two tables of this section."""
    text = re.sub(r"<mimic[^>]*/>", "", talos().read_text())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "talos.urdf"
        path.write_text(text)
        robot = ch.load(path, check=False).with_free_base(world="the world")
        yield compilation(path, robot)
    yield batches(robot, pin.buildModelFromXML(text, pin.JointModelFreeFlyer()))


def compilation(path: Path, robot: ch.Robot) -> Table:
    """First calls in a fresh process."""
    times = []
    for repeat in range(REPEATS):
        names = [*COMPILE_BARS, *([LINEARIZE] if repeat == 0 else [])]
        with tempfile.TemporaryDirectory() as fresh:
            times.append(measure(COMPILE, fresh, [str(path), *names]))
    table = Table(
        f"Talos with a free base, {robot.n} velocities: first call, with an empty cache",
        ("", "operations", "traced and compiled"),
        notes=["The linear model is compiled once, the others' times are medians."],
    )
    for k, (name, bar) in enumerate(COMPILE_BARS.items()):
        count = getattr(robot, name).program.operation_count
        table.add(name.replace("_", " "), f"{count:,}", at_most(bar, median(row[k] for row in times)))
    table.add("linear model (A, B)", f"{robot.linearize.program.operation_count:,}", seconds(times[0][-1]))
    return table


def batches(robot: ch.Robot, model: object) -> Table:
    """A batch of states in one call."""
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, (BATCH,))
    qd, x = rng.normal(size=(2, BATCH, robot.n))
    ours: dict[str, Callable[[], object]] = {}
    with_out: dict[str, Callable[[], object]] = {}
    for name, arguments in {
        "inverse dynamics": (q, qd, x),
        "mass matrix": (q,),
        "forward dynamics": (q, qd, x),
        "inverse dynamics derivatives": (q, qd, x),
    }.items():
        function = getattr(robot, name.replace(" ", "_"))
        out = function(*arguments)
        ours[name] = lambda function=function, arguments=arguments: function(*arguments)
        with_out[name] = lambda function=function, arguments=arguments, out=out: function(*arguments, out=out)
    theirs = pinocchio_calls(robot, model, q, qd, x)
    table = Table(
        f"Talos with a free base, batch of {BATCH:,} states, float64, one thread: time for one state",
        ("", "Chasles", "with out=", "Pinocchio", "what of it", "ratio with out=", "ratio"),
        notes=[
            "C++ loop: rneaInParallel or abaInParallel with one thread. Python calls: one for each state, as Pinocchio "
            "has no loop over batches for these.",
        ],
    )
    for name in ours:
        peer, what = theirs[name]
        times = interleaved({"ours": ours[name], "out": with_out[name], "peer": peer}, repeats=9)
        each, out, other = (times[key] / BATCH for key in ("ours", "out", "peer"))
        verdict = at_least(BARS[name], other / each)
        table.add(name, seconds(each), seconds(out), seconds(other), what, ratio(other / out), verdict)
    return table


def pinocchio_calls(
    robot: ch.Robot, model: object, q: np.ndarray, qd: np.ndarray, x: np.ndarray
) -> dict[str, tuple[Callable[[], object], str]]:
    """Pinocchio's computations of the whole batch, on states of its own kind: the same numbers, in its order."""
    data, pool = model.createData(), pin.ModelPool(model, 1)  # type: ignore[attr-defined]
    order = [model.joints[model.getJointId(name)] for name in robot.joint_names[1:]]  # type: ignore[attr-defined]
    p = np.zeros((BATCH, model.nq))  # type: ignore[attr-defined]
    p[:, :7] = q[:, [4, 5, 6, 1, 2, 3, 0]]
    for k, joint in enumerate(order):
        p[:, joint.idx_q] = q[:, 7 + k]
    p, v, a = (np.asfortranarray(array.T) for array in (p, qd, x))
    result = np.zeros_like(v)

    def one_by_one(function: Callable[..., object], *arrays: np.ndarray) -> Callable[[], object]:
        columns = [[column.copy() for column in array.T] for array in arrays]
        return lambda: [function(model, data, *state) for state in zip(*columns, strict=True)]

    return {
        "inverse dynamics": (lambda: pin.rneaInParallel(1, pool, p, v, a, result), "C++ loop"),
        "mass matrix": (one_by_one(pin.crba, p), "Python calls"),
        "forward dynamics": (lambda: pin.abaInParallel(1, pool, p, v, a, result), "C++ loop"),
        "inverse dynamics derivatives": (one_by_one(pin.computeRNEADerivatives, p, v, a), "Python calls"),
    }
