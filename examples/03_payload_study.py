"""How much payload can a controller bear that does not know of it?

Simulates one motion with many payloads at once and writes the tracking errors into an HTML report.
"""

from __future__ import annotations

import numpy as np

import chasles as ch


def main(count: int = 41, report: str = "payload_study.html") -> None:
    """Simulate a PUMA 560 under computed-torque control with payloads from 0 to 4 kg."""
    arm = ch.load("puma560")
    masses = np.linspace(0.0, 4.0, count)
    motion = ch.PointToPoint([0.0, -0.6, 0.4, 0.0, 0.5, 0.0], [1.0, 0.2, -0.4, 0.8, -0.2, 0.9], duration=1.0)
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run = ch.simulate(
        arm, controller, motion, duration=1.5, vary={"payload.mass": masses}, record=ch.Recording(every=10)
    )

    worst = np.abs(run.error).max(["time", "joint"]).values
    torque = (np.abs(run.tau) / arm.effort_limits).max(["time", "joint"]).values
    print(f"runs: {count}")
    print(f"largest error without payload [rad]: {worst[0]:.5f}")
    print(f"largest error with 4 kg [rad]: {worst[-1]:.5f}")
    allowed = 0.01
    print(f"largest payload for an error below {allowed} rad [kg]: {masses[worst < allowed].max(initial=0.0):.2f}")
    print(f"share of the motors' torque used with 4 kg: {torque[-1]:.2f}")
    run.report(report, title="PUMA 560 with a payload that its controller does not know of")
    print(f"report: {report}")


if __name__ == "__main__":
    main()
