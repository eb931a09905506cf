"""A control law of your own: PD with gravity, limited torques and a filtered velocity.

The law is plain Python. It is traced once and compiled together with the arm; its gains vary over a batch of runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.engine import maximum, minimum

arm = ch.load("planar2r")
LIMIT = np.array([90.0, 30.0])


def law(now: ch.control.Now, *, kp: float = 100.0, kd: float = 10.0) -> Any:
    """Return the torques; the memory is the filtered velocity."""
    now.memory.velocity += 0.5 * (now.qd - now.memory.velocity)  # halfway from the last value to the measured one
    tau = arm.gravity_torque(now.q)
    tau = tau + kp * (now.reference.q - now.q) + kd * (now.reference.qd - now.memory.velocity)
    return minimum(maximum(tau, -LIMIT), LIMIT)


def main(count: int = 200) -> None:
    """Find the stiffness that a tracking error of 0.01 rad needs."""
    motion = ch.PointToPoint([-1.2, 0.5], [0.8, 1.0], duration=0.8)
    stiffness = np.geomspace(20.0, 5000.0, count)
    controller = ch.PythonLaw(law, memory={"velocity": np.zeros(2)})
    run = ch.simulate(
        arm,
        controller,
        motion,
        duration=2.0,
        vary={"controller.kp": stiffness, "controller.kd": 2.0 * np.sqrt(stiffness)},
    )
    mean = np.sqrt((run.error**2).mean(["time", "joint"])).values
    print(f"runs: {count}")
    print(f"mean error, softest [rad]: {mean[0]:.4f}")
    print(f"mean error, stiffest [rad]: {mean[-1]:.4f}")
    print(f"stiffness for a mean error below 0.01 rad [N m/rad]: {stiffness[mean < 0.01].min(initial=np.inf):.0f}")
    print(f"largest torque of joint 1 in all runs [N m]: {float(np.abs(run.tau.sel(joint='joint1')).max()):.1f}")


if __name__ == "__main__":
    main()
