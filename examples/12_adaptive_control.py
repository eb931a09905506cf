"""A Panda picks up what it was not told of: adaptive control learns the payload while it follows its motion.

The payload's mass and centre are unknown to both controllers. Computed torque errs for as long as it moves; composite
adaptation finds mass and centre from torques and tracking errors, and then follows as if it had known them.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles import control


def main(masses: int = 4, duration: float = 6.0) -> None:
    """Follow a lively motion with payloads from 0 to 3 kg, off the tool's axis."""
    arm = ch.load("panda")
    rng = np.random.default_rng(1)
    waypoints = arm.home + 0.4 * rng.normal(size=(9, 7))
    motion = ch.CubicSpline(np.linspace(0.0, duration, 9), waypoints)
    centre = [0.05, 0.0, 0.1]
    payloads = {"payload.mass": np.linspace(0.0, 3.0, masses), "payload.center_of_mass": np.array([centre])}

    fixed = control.ComputedTorque(arm, kp=400.0, kd=40.0)
    damping = np.array([20.0, 20.0, 20.0, 20.0, 5.0, 5.0, 2.0])  # N m s/rad
    adaptive = control.CompositeAdaptive(
        arm, rate=20.0, damping=damping, adaptation=0.5, bandwidth=50.0, forgetting=2.0, unknown="payload"
    )
    runs = {
        law.name: ch.simulate(arm, law, motion, vary=payloads, record=ch.Recording(memory=True))
        for law in (fixed, adaptive)
    }
    for name, run in runs.items():
        rms = 1000.0 * np.sqrt((run.error**2).mean(("time", "joint")))
        print(f"{name}, RMS error with 3 kg [mrad]: {float(rms.isel(run=-1)):.3f}")

    learnt = runs[adaptive.name].memory
    true = learnt["payload.mass"]
    mass = learnt.sel(element="payload.m")
    moment = learnt.sel(element="payload.mx")
    print(f"largest error of the masses in the end [kg]: {float(np.abs(mass.isel(time=-1) - true).max()):.1e}")
    print(f"of the first moments [kg m]: {float(np.abs(moment.isel(time=-1) - centre[0] * true).max()):.1e}")
    settled = (np.abs(mass - true) < 0.05 * float(true.max())).isel(run=-1)
    late = learnt.time.where(~settled, drop=True)
    print(f"the 3 kg are known to 5 % after [s]: {float(late[-1]) if late.size else 0.0:.2f}")


if __name__ == "__main__":
    main()
