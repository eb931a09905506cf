"""How fast can a motion platform go from one pose to another at the limits of its legs' forces and speeds?

Shows the fastest motion of a robot with loops, seen by the platform's own formulas too.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control.optimal import residuals
from chasles.geometry import pose, rotation_from_euler_angles
from chasles.machines import LegBody

FORCE, SPEED = 600.0, 1.0  # of each leg, N and m/s


def main() -> None:
    """Lift, turn and tilt a platform of 50 kg, and draw it."""
    degrees = np.deg2rad([[-10, 10, 110, 130, 230, 250], [-50, 50, 70, 170, 190, 290]])
    base, top = np.array([[1.0], [0.6]])[:, :, None] * np.stack([np.cos(degrees), np.sin(degrees), 0.0 * degrees], -1)
    stewart = ch.machines.StewartPlatform(
        base=base,
        platform=top,
        legs=ch.machines.Leg(lower=LegBody(mass=4.0, center=0.3), upper=LegBody(mass=2.0, center=0.25)),
        mass=50.0,
        inertia=(4.0, 4.0, 8.0),
        leg_limits=(0.8, 1.4),
        joint_limits=np.deg2rad(45.0),
    )
    robot = stewart.robot(independent="legs")
    low = pose(np.eye(3), [-0.1, 0.0, 0.95])
    high = pose(rotation_from_euler_angles([0.0, 0.15, 0.1], "xyz"), [0.1, 0.05, 1.05])
    fastest = ch.OptimalControl(
        robot,
        duration=(0.05, 1.0),
        nodes=20,
        running=[residuals.time()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits={"torque": FORCE, "velocity": SPEED, "position": None},
    )
    start, goal = stewart.robot_configuration(robot, np.stack([low, high]))
    plan = fastest.solve(start, goal=goal)
    print(plan)
    print(f"duration [s]: {plan.duration:.3f}")
    q, qd = np.split(plan.states, [robot.nq], axis=1)
    at_limits = (np.abs(plan.torques) > 0.999 * FORCE) | (np.abs(qd[1:]) > 0.999 * SPEED)
    print(f"legs at a limit, mean of the steps: {at_limits.sum(axis=1).mean():.1f}")
    T = robot.forward_kinematics(q, target="platform")
    lengths = stewart.leg_lengths(T)
    print(f"largest error of the platform at the end: {np.abs(T[-1] - high).max():.1e}")
    print(f"shortest leg [m]: {lengths.min():.3f}")
    print(f"longest leg [m]: {lengths.max():.3f}")
    print(f"limits along the motion: {stewart.check(T)}")
    plan.view(robot, path="fastest_platform.html")


if __name__ == "__main__":
    main()
