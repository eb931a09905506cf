"""From a path in space to the fastest motion that the robot can do: follow, check, plan, simulate.

The tool of a Panda goes along three edges of a box. The joint motion that follows is held against the robot's limits;
then the fastest motion along the same path is planned within its torques, with a payload, and simulated.
"""

from __future__ import annotations

import numpy as np

import chasles as ch


def main(payload: float = 2.0, report: str = "trajectories.html") -> None:
    """Carry a payload round the corners of a box."""
    arm = ch.load("panda").with_payload(payload)
    corners = np.tile(arm.forward_kinematics(arm.home), (4, 1, 1))
    corners[1:, :3, 3] += [[0.15, 0.0, 0.0], [0.15, 0.2, 0.0], [0.15, 0.2, 0.1]]
    limits = ch.CartesianLimits(linear_velocity=0.25, linear_acceleration=1.0)
    tool = ch.BlendedWaypoints(corners, limits=limits, blend_radius=0.04, blend="quartic")
    print(f"duration with 0.25 m/s in space [s]: {tool.duration:.3f}")

    joints = ch.follow(arm, tool)
    print(f"largest distance from the path [m]: {joints.report.distance:.1e}")
    print(joints.check(arm))

    fast = ch.time_optimal(arm, joints, acceleration=15.0)
    print(f"duration within the robot's limits [s]: {fast.duration:.3f}")
    print(fast.report)

    run = ch.simulate(arm, ch.ComputedTorque(arm, kp=900.0, kd=60.0), fast)
    print(f"largest tracking error [rad]: {float(np.abs(run.error).max()):.1e}")
    print(f"share of the motors' torque used: {float((np.abs(run.tau) / arm.effort_limits).max()):.2f}")
    run.report(report, title="Round the corners of a box, as fast as the motors can")
    fast.plot(robot=arm).write_html("time_optimal.html", include_plotlyjs="directory")


if __name__ == "__main__":
    main()
