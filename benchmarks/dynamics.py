"""Kinematics and dynamics of the Panda, in batches and in single calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import panda
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, at_most, ratio, seconds
from benchmarks.timing import fastest, interleaved

BATCH = 4096
BARS = {
    panda.INVERSE: 45.0,
    panda.FORWARD: 48.0,
    panda.MASS: 38.0,
    panda.POSE: 30.0,
    panda.DERIVATIVES: 28.0,
    panda.LINEAR: 24.0,
    panda.REGRESSOR: 18.0,
}
SINGLE_BARS = {panda.POSE: 1.7, panda.DERIVATIVES: 2.5}
SHORT, SHORT_BAR = 64, 1.4
SINGLE_PRECISION_BAR = 1.7
#: Places of our inertial parameters of a body among Pinocchio's: xx, xy, xz, yy, yz, zz in place of xx, xy, yy, xz, ….
PINOCCHIO_ORDER = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)
INFORMATION: dict[str, Callable[..., panda.Calls]] = {
    "MuJoCo": panda.mujoco_calls,
    "roboticstoolbox": panda.toolbox_calls,
    "modern_robotics": panda.modern_robotics_calls,
}


def tables() -> Iterator[Table]:
    """All tables of this section."""
    yield batches()
    yield batch_lengths()
    yield precisions()
    yield single_calls()
    yield other_peers()


def batches() -> Table:
    """4,096 states in one call."""
    s = panda.states(BATCH)
    ours, with_out = panda.our_calls(s), panda.our_calls_with_out(s)
    in_parallel, one_call = panda.pinocchio_batches(s), panda.pinocchio_calls(*(array[0].copy() for array in s))
    table = Table(
        f"Panda, batch of {BATCH:,} states, float64, one thread: time for one state",
        ("", "Chasles", "with out=", "Pinocchio", "what of it", "largest difference", "ratio with out=", "ratio"),
        notes=[
            "C++ loop: rneaInParallel or abaInParallel with one thread, into an array that exists already.",
            "Python call: one call of Pinocchio for one state, as it has no loop over batches for these.",
            "Chasles: one call from Python, which makes arrays for the results; with out= it writes into given ones.",
            "Pinocchio's linear model has no rows for the velocities, its regressor no columns for friction and "
            "armature.",
            "Largest difference: over the batch, from Pinocchio's values, relative to the largest of them.",
        ],
    )
    differences = batch_differences(s)
    for name in panda.FUNCTIONS:
        peer = in_parallel.get(name, one_call[name])
        times = interleaved({"ours": ours[name], "out": with_out[name], "peer": peer})
        each, out = times["ours"] / BATCH, times["out"] / BATCH
        theirs = times["peer"] / BATCH if name in in_parallel else times["peer"]
        table.add(
            name,
            seconds(each),
            seconds(out),
            seconds(theirs),
            "C++ loop" if name in in_parallel else "Python call",
            f"{differences[name]:.0e}",
            ratio(theirs / out),
            at_least(BARS[name], theirs / each),
        )
        faults = page_faults(ours[name])
        if faults:
            table.notes.append(
                f"The operating system maps {faults} fresh pages of memory for the results of a plain call of {name}; "
                f"with out= {page_faults(with_out[name])}."
            )
    return table


def batch_lengths() -> Table:
    """A state of a short batch and one of a long batch."""
    arm, s = panda.chasles_arm(), panda.states(BATCH)
    table = Table(
        "Panda, inverse dynamics with out=: time for one state of a batch, and in how many times that of the longest",
        ("states", "a state", "ratio"),
        notes=["Least time of a call."],
    )
    calls = {}
    for count in (8, SHORT, 512, BATCH):
        q, qd, qdd = s.q[:count].copy(), s.qd[:count].copy(), s.qdd[:count].copy()
        out = arm.inverse_dynamics(q, qd, qdd)
        calls[str(count)] = lambda q=q, qd=qd, qdd=qdd, out=out: arm.inverse_dynamics(q, qd, qdd, out=out)
    each = {count: time / int(count) for count, time in fastest(calls, row=20).items()}
    for count, time in each.items():
        measured = time / each[str(BATCH)]
        verdict = at_most(SHORT_BAR, measured, ratio) if int(count) == SHORT else ratio(measured)
        table.add(f"{int(count):,}", seconds(time), verdict)
    return table


def precisions() -> Table:
    """The same batch in doubles and in floats of 32 bits."""
    arm, s = panda.chasles_arm(), panda.states(BATCH)
    single = panda.States(*(array.astype(np.float32) for array in s))
    table = Table(
        f"Panda, batch of {BATCH:,} states, one thread, with out=: time for one state in double and single precision",
        ("", "float64", "float32", "ratio"),
        notes=["Least time of a call."],
    )
    functions = {
        panda.INVERSE: (arm.inverse_dynamics, ("q", "qd", "qdd")),
        panda.FORWARD: (arm.forward_dynamics, ("q", "qd", "tau")),
        panda.MASS: (arm.mass_matrix, ("q",)),
        panda.POSE: (arm.pose_and_jacobian.specialize(frame="body"), ("q",)),
        panda.DERIVATIVES: (arm.inverse_dynamics_derivatives, ("q", "qd", "qdd")),
    }
    for name, (function, given) in functions.items():
        calls = {}
        for dtype, states in (("float64", s), ("float32", single)):
            arguments = [getattr(states, key) for key in given]
            typed = function if dtype == "float64" else function.astype(dtype)
            out = typed(*arguments)
            calls[dtype] = lambda typed=typed, arguments=arguments, out=out: typed(*arguments, out=out)
        times = {dtype: time / BATCH for dtype, time in fastest(calls).items()}
        verdict = at_least(SINGLE_PRECISION_BAR, times["float64"] / times["float32"])
        table.add(name, seconds(times["float64"]), seconds(times["float32"]), verdict)
    return table


def page_faults(call: Callable[[], object], calls: int = 20) -> int:
    """How many pages a call makes the operating system map, on average."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // calls


def batch_differences(s: panda.States) -> dict[str, float]:
    """Largest relative difference from Pinocchio's single calls over the batch."""
    ours = {name: call() for name, call in panda.our_calls(s).items()}
    worst = dict.fromkeys(panda.FUNCTIONS, 0.0)
    largest = dict.fromkeys(panda.FUNCTIONS, 0.0)
    for k in range(len(s.q)):
        for name, call in panda.pinocchio_calls(*(array[k] for array in s)).items():
            actual = ours[name]
            mine = tuple(part[k] for part in actual) if isinstance(actual, tuple) else (actual[k],)
            for a, b in zip(_as_pinocchio_has_it(name, mine), _from_pinocchio(name, call()), strict=True):
                worst[name] = max(worst[name], float(np.abs(a - b).max()))
                largest[name] = max(largest[name], float(np.abs(b).max()))
    for name, call in panda.pinocchio_batches(s).items():
        worst[name] = max(worst[name], float(np.abs(ours[name] - call().T).max()))
    return {name: worst[name] / largest[name] for name in worst}


def single_calls() -> Table:
    """One state in one call."""
    s = panda.States(*(array[0].copy() for array in panda.states(BATCH)))
    ours, theirs = panda.our_calls(s), panda.pinocchio_calls(*s)
    table = Table(
        "Panda, one call from Python",
        ("", "Chasles", "Pinocchio", "ratio", "Chasles, kept", "Pinocchio, kept", "ratio, kept"),
        notes=[
            "A result is dropped before the next call, as in a loop that reads it; Chasles then uses its memory again. "
            "Kept: the last 1,000 results are kept in a deque, whose work is counted on both sides.",
            "Pinocchio's pose and Jacobian: the Jacobian alone, and the pose stays in its data; where results are "
            "kept, the pose is copied from there.",
        ],
    )
    for name in panda.FUNCTIONS:
        calls = {"ours": ours[name], "peer": theirs[name]}
        kept = calls | ({"peer": panda.pinocchio_pose_and_jacobian(s.q)} if name == panda.POSE else {})
        calls |= {f"{side}, kept": _keeping(call) for side, call in kept.items()}
        times = interleaved(calls, least=0.005)
        table.add(
            name,
            *(seconds(times[side]) for side in ("ours", "peer")),
            at_least(SINGLE_BARS.get(name, 1.0), times["peer"] / times["ours"]),
            *(seconds(times[f"{side}, kept"]) for side in ("ours", "peer")),
            at_least(SINGLE_BARS.get(name, 1.0), times["peer, kept"] / times["ours, kept"]),
        )
    return table


def _keeping(call: Callable[[], object]) -> Callable[[], object]:
    """Return a call that keeps its last results."""
    results: deque[object] = deque(maxlen=1000)
    return lambda: results.append(call())


def other_peers() -> Table:
    """One state in one call of the other peers, and how many times as long that takes as Chasles's call."""
    s = panda.States(*(array[0].copy() for array in panda.states(BATCH)))
    ours = panda.our_calls(s)
    table = Table(
        "Panda, one call from Python of other libraries (and how many times as long it takes as Chasles's)",
        ("", *INFORMATION),
        notes=[
            "MuJoCo: mj_inverse, mj_forward and the stages up to mj_fullM or mj_jacBody, without setting the state; "
            "contacts and constraints are switched off. These stages compute more than the quantity alone.",
        ],
    )
    theirs: dict[str, panda.Calls] = {}
    for peer, make in INFORMATION.items():
        try:
            theirs[peer] = make(*s)
        except MissingPeerError as error:
            table.notes.append(str(error))
    for name in panda.FUNCTIONS:
        cells = []
        for peer in INFORMATION:
            call = theirs.get(peer, {}).get(name)
            if call is None:
                cells.append("-")
                continue
            difference = _peer_difference(name, ours[name](), call())
            if difference > 1e-6:
                raise RuntimeError(f"{peer} computes another {name}: they differ by {difference:.1e}")
            times = interleaved({"ours": ours[name], "peer": call}, repeats=9, least=0.005)
            cells.append(f"{seconds(times['peer'])} ({ratio(times['peer'] / times['ours'])})")
        if any(cell != "-" for cell in cells):
            table.add(name, *cells)
    return table


def _as_pinocchio_has_it(name: str, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """What Pinocchio computes of our results: no rows for the velocities, no columns for friction and armature."""
    if name == panda.LINEAR:
        A, B = parts
        n = len(A) // 2
        return A[n:, :n], A[n:, n:], B[n:]
    if name == panda.REGRESSOR:
        (Y,) = parts
        return (Y[:, : len(Y) * len(PINOCCHIO_ORDER)],)
    return parts


def _from_pinocchio(name: str, value: Any) -> tuple[Any, ...]:
    """Pinocchio's result as ours: full symmetric matrices, angular part first, order of outputs."""
    _, _, data = panda.pinocchio()
    if name == panda.MASS:
        return (_mirrored(value),)
    if name == panda.POSE:
        return data.iMf[0].homogeneous, np.roll(value, 3, axis=0)
    if name == panda.DERIVATIVES:
        by_q, by_qd, M = value
        return by_q, by_qd, _mirrored(M)
    if name == panda.LINEAR:
        by_q, by_qd, inverse = value
        return by_q, by_qd, _mirrored(inverse)
    if name == panda.REGRESSOR:
        return (value.reshape(len(value), -1, len(PINOCCHIO_ORDER))[..., PINOCCHIO_ORDER].reshape(value.shape),)
    return (value,)


def _mirrored(M: Any) -> Any:
    return np.triu(M) + np.triu(M, 1).T


def _peer_difference(name: str, ours: Any, theirs: Any) -> float:
    """Relative difference, where the peer's result is the same thing (not for poses: their frames differ)."""
    if name == panda.POSE:
        return 0.0
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())
