"""TEST and TEST_NEW: two bodies in space and the motor between them (SpaceLib User's Manual, §7.2).

    python two_bodies.py [DATA_FILE MOTION_FILE PLOT_FILE]

Nothing acts on the bodies from outside, so their momentum should stay as it is. TEST integrates the accelerations and
lets it drift. TEST_NEW corrects the velocities at each step.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NOTOK, NULL4, ORIGIN, SKEW, SYMM, UNIT4, Rev, X, Y, Z, Zaxis

DATA = Path(__file__).parent / "data"
ALL_ACCELERATIONS = [[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]  # what dyn_eq looks for


class Run(NamedTuple):
    """Matrices of both bodies in frame (0), and their momentum G, shape (instants, 4, 4)."""

    m1: np.ndarray
    m2: np.ndarray
    W1: np.ndarray
    W2: np.ndarray
    H1: np.ndarray
    H2: np.ndarray
    G: np.ndarray


def delta_m(W: np.ndarray, H: np.ndarray, dt: float) -> np.ndarray:
    """Displacement in a step of time: [1] + W dt + H dt²/2 (7.16)."""
    return sl.normal4(UNIT4 + W * dt + 0.5 * H * dt**2).R


def unknown_motion(Jtot: np.ndarray, F: np.ndarray) -> np.ndarray:
    """The W or Wp that solves F = skew{Wp Jtot} (7.12)."""
    Wp, _, excode = sl.dyn_eq(Jtot, NULL4, F, ALL_ACCELERATIONS)
    if excode == NOTOK:
        raise ArithmeticError("the bodies have no inertia in some direction")
    return Wp


def two_bodies(data: sl.TwoBodyData, motion: sl.MotionData, *, corrected: bool) -> Run:
    """Motion of the bodies: that of TEST, or, corrected, that of TEST_NEW."""
    J1, J2 = (sl.jtoJ(b.mass, b.jxx, b.jyy, b.jzz, b.jxy, b.jyz, b.jxz, b.xg, b.yg, b.zg) for b in data.bodies)
    m1, W1 = data.m1, data.W1
    instants, G0 = [], None
    for q, qp, qpp in zip(motion.q[:, 0], motion.qp[:, 0], motion.qpp[:, 0], strict=True):  # (a)
        m12 = sl.screwtom(Zaxis, q, 0.0, ORIGIN)  # (b)
        m2 = sl.molt4(m1, m12)  # (c)
        W12, H12 = sl.velacctoWH2(Rev, Z, qp, qpp)  # (e)
        W120 = sl.norm_simm_skew(sl.trasf_mami(W12, m1), 3, 4, SKEW)  # (f)
        H120 = sl.trasf_mami(H12, m1)
        W2 = sl.sum4(W1, W120)  # (g)
        J10 = sl.norm_simm_skew(sl.trasf_mamt4(J1, m1), 4, 4, SYMM)  # (h)
        J20 = sl.norm_simm_skew(sl.trasf_mamt4(J2, m2), 4, 4, SYMM)
        Jtot = sl.sum4(J10, J20)  # (i)

        G = sl.sum4(sl.skew4(W1, J10), sl.skew4(W2, J20))
        G0 = G if G0 is None else G0
        if corrected:
            dW = unknown_motion(Jtot, sl.sub4(G, G0))
            W1, W2 = sl.sub4(W1, dW), sl.sub4(W2, dW)
            G = sl.sum4(sl.skew4(W1, J10), sl.skew4(W2, J20))

        H1 = sl.molt4(W1, W1)  # (d)
        H2 = sl.coriolis(H1, H120, W1, W120)
        F = sl.sum4(sl.skew4(H1, J10), sl.skew4(H2, J20))  # (j)
        Wp = sl.rmolt4(unknown_motion(Jtot, F), -1.0)  # (k)
        H1, H2 = sl.sum4(H1, Wp), sl.sum4(H2, Wp)  # (l)
        instants.append((m1, m2, W1, W2, H1, H2, G))

        m1 = sl.molt4(delta_m(W1, H1, motion.dt), m1)  # (m), (n)
        W1 = sl.sum4(W1, sl.rmolt4(Wp, motion.dt))  # (o)
    return Run(*map(np.array, zip(*instants, strict=True)))


def drift(run: Run) -> np.ndarray:
    """How far the angular momentum about z is from that at the beginning, shape (instants,), N m s."""
    return run.G[:, Y, X] - run.G[0, Y, X]


def plot(runs: dict[str, Run], motion: sl.MotionData, path: str | Path) -> None:
    """Write a page with the drift of the momentum and the angle of body 1."""
    from plotly.subplots import make_subplots

    figure = make_subplots(
        2, 1, shared_xaxes=True, subplot_titles=("change of angular momentum [N m s]", "angle of body 1 [rad]")
    )
    for name, run in runs.items():
        angle = np.unwrap(np.arctan2(run.m1[:, Y, X], run.m1[:, X, X]))
        figure.add_scatter(x=motion.t, y=drift(run), name=f"momentum, {name}", row=1, col=1)
        figure.add_scatter(x=motion.t, y=angle, name=f"angle, {name}", row=2, col=1)
    figure.update_xaxes(title="time [s]", row=2, col=1)
    figure.write_html(path)


def main(
    data: str | Path = DATA / "TEST.DAT",
    motion: str | Path = DATA / "TEST.MOT",
    page: str | Path = "two_bodies.html",
) -> None:
    """Print where both programs end, and plot the way there."""
    bodies, moved = sl.read_bodies(data), sl.read_motion(motion, 1)
    runs = {
        "TEST": two_bodies(bodies, moved, corrected=False),
        "TEST_NEW": two_bodies(bodies, moved, corrected=True),
    }
    for name, run in runs.items():
        print(f"\n--- {name} at t = {moved.t[-1]:.3f} ---")
        sl.printm4("Position matrix of link 1", run.m1[-1])
        sl.printm4("Abs. position matrix of link 2", run.m2[-1])
        sl.printm4("Velocity matrix of link 1", run.W1[-1])
        sl.printm4("Abs. velocity matrix of link 2", run.W2[-1])
        sl.printm4("Acceleration matrix of link 1", run.H1[-1])
        sl.printm4("Abs. acceleration matrix of link 2", run.H2[-1])
    for name, run in runs.items():
        print(f"largest drift of the angular momentum, {name} [N m s]: {np.abs(drift(run)).max():.2e}")
    if find_spec("plotly"):
        plot(runs, moved, page)
        print(f"plot: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:])
