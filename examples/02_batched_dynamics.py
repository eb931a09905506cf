"""Dynamics of 100,000 states in one call, timed and checked.

Inverse dynamics give torques; forward dynamics, fed with them, must give the accelerations back.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import chasles as ch


def main(count: int = 100_000) -> None:
    """Compute the dynamics of a Panda arm at random states."""
    arm = ch.load("panda")
    rng = np.random.default_rng(0)
    q = rng.uniform(arm.lower_limits, arm.upper_limits, (count, arm.n))
    qd, qdd = rng.normal(size=(2, count, arm.n))
    tau, back = np.empty_like(q), np.empty_like(q)
    for function in (arm.inverse_dynamics, arm.forward_dynamics):
        function(q[0], qd[0], qdd[0])  # compiles

    start = perf_counter()
    arm.inverse_dynamics(q, qd, qdd, out=tau)
    middle = perf_counter()
    arm.forward_dynamics(q, qd, tau, out=back)
    end = perf_counter()

    error = np.abs(back - qdd).max(axis=1) / np.abs(qdd).max(axis=1)
    beyond = (np.abs(tau) > arm.effort_limits).any(axis=1).mean()
    print(f"states: {count}")
    print(f"threads: {ch.get_threads()}")
    print(f"inverse dynamics [ms]: {1e3 * (middle - start):.2f}")
    print(f"forward dynamics [ms]: {1e3 * (end - middle):.2f}")
    print(f"largest relative error of there and back: {error.max():.1e}")
    print(f"share of states beyond the motors' torque: {beyond:.3f}")


if __name__ == "__main__":
    main()
