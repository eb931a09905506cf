"""How does an arm carry an unknown load along a motion that nearly needs all of its torques, a sample late?

Shows a law that computes the best motion within the limits anew at every call, beside computed torque, and what it says
of its own calls; and the same law with a problem of its own, which goes to a goal without a planned motion.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control import ComputedTorque, PredictiveTracking
from chasles.control.optimal import residuals

PERIOD = 0.02
LIMITS = {"torque": [27.0, 4.5]}  # N·m


def main() -> None:
    """Follow a motion with 0.3 kg at the end of a two-joint arm, and go to a goal."""
    arm = ch.load("planar2r").with_gravity([0.0, 0.0, 0.0])
    motion = ch.PointToPoint([-0.6, 0.4], [0.6, -0.2], duration=0.9)
    needed = np.abs(arm.inverse_dynamics(*motion(np.linspace(0.0, 0.9, 200)))).max(axis=0)
    print(f"torques that the motion needs without load [N·m]: {needed.round(1)}, limits {LIMITS['torque']}")

    plant = ch.Plant(arm.with_payload(0.3).with_friction(coulomb=0.5), delay=PERIOD)
    laws = {
        "computed torque": ComputedTorque.tuned(arm, motion, PERIOD, frequency=15.0, integral=0.3),
        "predictive": PredictiveTracking(arm, limits=LIMITS, delay=1.0, observer=20.0),
    }
    for name, law in laws.items():
        run = ch.simulate(plant, law, motion, period=PERIOD, duration=1.2)
        error, torque = float(abs(run.error).max()), abs(run.tau.values).max(axis=0)
        print(f"{name}: largest error [mrad] {1e3 * error:.1f}, largest torques [N·m] {torque.round(1)}")
        for finding in run.findings:
            print(f"  {finding}")

    goal = np.array([0.6, -0.2])
    problem = ch.OptimalControl(
        arm,
        duration=0.5,
        nodes=25,
        running=[100.0 * residuals.position("goal"), residuals.velocity(), 1e-3 * residuals.torque()],
        limits=LIMITS | {"velocity": 2.0},
    )
    law = ch.ModelPredictive(problem, delay=1.0, observer=20.0, goal=goal)
    run = ch.simulate(plant, law, start=[-0.6, 0.4], duration=2.0, period=PERIOD)
    speeds, torques = abs(run.qd.values).max(axis=0), abs(run.tau.values).max(axis=0)
    print(f"to a goal: left of the way [mrad] {1e3 * np.abs(run.q.values[-1] - goal).max():.1f}")
    print(f"  fastest [rad/s] {speeds.round(2)}, largest torques [N·m] {torques.round(1)}")


if __name__ == "__main__":
    main()
