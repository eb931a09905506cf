"""Dynamics of 100,000 states in one call, timed and checked.

Inverse dynamics give torques; forward dynamics, fed with them, must give the accelerations back.
"""

from __future__ import annotations

from timeit import repeat

import numpy as np

import chasles as ch


def main(count: int = 100_000) -> None:
    """Compute the dynamics of a Panda arm at random states."""
    arm = ch.load("panda")
    rng = np.random.default_rng(0)
    q = rng.uniform(arm.lower_limits, arm.upper_limits, (count, arm.n))
    qd, qdd = rng.normal(size=(count, arm.n)), 10.0 * rng.normal(size=(count, arm.n))
    tau = arm.inverse_dynamics(q, qd, qdd)  # the first call compiles
    back = arm.forward_dynamics(q, qd, tau)

    inverse = min(repeat(lambda: arm.inverse_dynamics(q, qd, qdd, out=tau), number=1, repeat=5))
    forward = min(repeat(lambda: arm.forward_dynamics(q, qd, tau, out=back), number=1, repeat=5))

    error = np.abs(back - qdd).max(axis=1) / np.abs(qdd).max(axis=1)
    beyond = (np.abs(tau) > arm.effort_limits).any(axis=1).mean()
    print(f"states: {count}")
    print(f"threads: {ch.get_threads()}")
    print(f"inverse dynamics [ms]: {1e3 * inverse:.2f}")
    print(f"forward dynamics [ms]: {1e3 * forward:.2f}")
    print(f"largest relative error of there and back: {error.max():.1e}")
    print(f"share of states beyond the motors' torque: {beyond:.3f}")


if __name__ == "__main__":
    main()
