"""The arm that Crocoddyl ships as an example, solved by its own file: ``python shipped_arm.py [MOTION]``.

The file is imported as it is. Printed as JSON are the robot, the start and what its solver finds; or, of a motion in a
file, what that costs there, by how much it misses a step, and what the solver finds from there.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

REPEATS, MOST_ITERATIONS = 5, 500


def main() -> None:
    """Solve from where the file begins, or from a motion."""
    with contextlib.redirect_stdout(io.StringIO()):
        from crocoddyl.examples import arm_manipulation_fwddyn as example
    print("\n" + json.dumps(judged(example, Path(sys.argv[1])) if len(sys.argv) > 1 else shipped(example)))


def shipped(example: Any) -> dict[str, Any]:
    """Solve from the first motion of the file."""
    start = {"urdf": example.kinova.urdf, "start": angles(example.robot_model, example.q0)}
    return start | solved(example.solver, [], [])


def solved(solver: Any, xs: list[np.ndarray], us: list[np.ndarray]) -> dict[str, Any]:
    """Solve from a motion, without printed progress."""
    times = []
    solver.setCallbacks([])
    for _ in range(REPEATS):
        begin = process_time()
        done = solver.solve(xs, us, MOST_ITERATIONS, False, 1e-9)
        times.append(process_time() - begin)
    return {"solved": bool(done), "ends_at": solver.cost, "iterations": solver.iter, "seconds": median(times)}


def angles(model: Any, q: np.ndarray) -> list[float]:
    """Return positions with one number a joint: joints without limits have a cosine and a sine there."""
    parts = [q[joint.idx_q : joint.idx_q + joint.nq] for joint in list(model.joints)[1:]]
    return [float(part[0] if len(part) == 1 else np.arctan2(part[1], part[0])) for part in parts]


def judged(example: Any, path: Path) -> dict[str, Any]:
    """Judge a motion by the file's problem, and solve from it."""
    given = json.loads(path.read_text(encoding="utf-8"))
    model, n = example.robot_model, example.robot_model.nv

    def positions(q: np.ndarray) -> np.ndarray:
        joints = zip(list(model.joints)[1:], q, strict=True)
        return np.concatenate([[x] if joint.nq == 1 else [np.cos(x), np.sin(x)] for joint, x in joints])

    xs = [np.concatenate([positions(x[:n]), x[n:]]) for x in np.array(given["states"])]
    us = list(np.array(given["torques"]))
    cost = example.problem.calc(xs, us)
    steps = zip(example.problem.runningDatas, xs[1:], strict=True)
    gap = max(float(np.abs(example.state.diff(data.xnext, x)).max()) for data, x in steps)
    return {"cost": cost, "gap": gap} | solved(example.solver, xs, us)


if __name__ == "__main__":
    main()
