"""Balance an arm upright: exact linearisation, then the linear-quadratic regulator of SciPy.

The regulator is designed for the linearised arm and tried on the full one, from a batch of tilted starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_are

import chasles as ch


def main(count: int = 100) -> None:
    """Stabilise the planar arm at its upright position."""
    arm = ch.load("planar2r")
    upright, still = np.array([np.pi / 2, 0.0]), np.zeros(2)
    hold = arm.gravity_torque(upright)
    A, B = arm.linearize(upright, still, hold)
    print(f"fastest growth without control [1/s]: {np.linalg.eigvals(A).real.max():.3f}")

    Q, R = np.diag([100.0, 100.0, 1.0, 1.0]), 0.01 * np.eye(2)
    P = solve_continuous_are(A, B, Q, R)
    K = np.linalg.solve(R, B.T @ P)
    print(f"slowest decay under control [1/s]: {-np.linalg.eigvals(A - B @ K).real.max():.3f}")

    def regulator(now: ch.control.Now) -> Any:
        return hold - K @ np.concatenate([now.q - now.reference.q, now.qd - now.reference.qd])

    rest = ch.PointToPoint(upright, upright, duration=4.0)
    starts = upright + np.random.default_rng(0).uniform(-0.5, 0.5, (count, 2))
    run = ch.simulate(arm, regulator, rest, start=starts)
    print(f"starts: {count}")
    print(f"largest tilt at the start [rad]: {float(np.abs(run.error.isel(time=0)).max()):.3f}")
    print(f"largest tilt at the end [rad]: {float(np.abs(run.error.isel(time=-1)).max()):.1e}")
    print(f"largest torque [N m]: {float(np.abs(run.tau).max()):.1f}")


if __name__ == "__main__":
    main()
