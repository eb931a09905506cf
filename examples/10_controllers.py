"""Wiping a table that stands higher than the plan says: five controllers, and the force with which each presses.

The plan has the tool of a Panda slide on the table. The table is 1 cm higher, has friction, and the arm carries a
sponge of 0.2 kg that its controllers do not know of.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles import control


def main(stiffness: float = 20_000.0) -> None:
    """Compare position control, impedance, admittance and force control in contact."""
    arm = ch.load("panda")
    start = arm.forward_kinematics(arm.home)
    end = start.copy()
    end[1, 3] += 0.25
    wipe = ch.StraightLine(start, end, duration=2.0)
    table = ch.ContactPlane(
        "table",
        "tool",
        point=start[:3, 3] + [0.0, 0.0, 0.01],
        normal=[0.0, 0.0, 1.0],
        stiffness=stiffness,
        damping=100.0,
        friction_coefficient=0.3,
    )
    plant = ch.Plant(arm.with_payload(0.2), contacts=[table])
    soft = {"stiffness": 600.0, "damping": 120.0, "rotational_stiffness": 40.0, "rotational_damping": 8.0}
    hand = {"inertia": 4.0, "rotational_inertia": 0.3}
    above = start.copy()
    above[2, 3] += 0.01
    q0 = arm.inverse_kinematics(above, q0=arm.home).q
    controllers = [
        control.ResolvedAcceleration(arm, kp=400.0, kd=40.0),
        control.ClosedLoopKinematics(arm, control.ComputedTorque(arm, kp=400.0, kd=40.0), gain=20.0),
        control.Impedance(arm, **soft),
        control.Admittance(arm, **soft, **hand, kp=400.0, kd=40.0),
        control.HybridForceMotion(arm, {"z": -10.0}, kp=400.0, kd=40.0, kf=1.0, kfi=5.0, force_damping=300.0),
    ]
    for controller in controllers:
        run = ch.simulate(plant, controller, wipe, duration=3.0, start=q0)
        tool = arm.forward_kinematics(run.q.values)[:, :3, 3]
        force = stiffness * np.maximum(start[2, 3] + 0.01 - tool[:, 2], 0.0)
        along = np.abs(tool[:, 1] - wipe(run.time.values).pose[:, 1, 3])
        print(f"{controller.name}")
        print(f"    largest force [N]: {force.max():.1f}")
        print(f"    force at the end [N]: {force[-1]:.1f}")
        print(f"    largest error along the way [mm]: {1000 * along.max():.1f}")


if __name__ == "__main__":
    main()
