"""Where is the tool, how does it move, and where is it hard to move?

Shows forward kinematics, the three frames of a Jacobian, and the manipulability of 2,000 configurations in one call.
"""

from __future__ import annotations

import numpy as np

import chasles as ch


def main(count: int = 2_000) -> None:
    """Look at a Panda arm."""
    arm = ch.load("panda")
    T_world_tool = arm.forward_kinematics(arm.home)
    print(f"tool at home, in the world [m]: {T_world_tool[:3, 3].round(4)}")

    qd = np.zeros(arm.n)
    qd[0] = 1.0
    print("twist of the tool (angular, linear) while joint 1 turns at 1 rad/s:")
    for frame in ("space", "body", "world-aligned"):
        twist = arm.jacobian(arm.home, frame=frame) @ qd
        print(f"    {frame:14} {twist.round(3) + 0.0}")

    # Yoshikawa's manipulability, sqrt(det J Jᵀ), is zero where the tool cannot move or turn in some direction.
    rng = np.random.default_rng(0)
    q = rng.uniform(arm.lower_limits, arm.upper_limits, (count, arm.n))
    T, J = arm.pose_and_jacobian(q, frame="body")
    manipulability = np.sqrt(np.linalg.det(J @ J.swapaxes(-1, -2)))
    best = np.argmax(manipulability)
    print(f"configurations: {count}")
    print(f"manipulability, mean: {manipulability.mean():.4f}")
    print(f"manipulability, best: {manipulability[best]:.4f}")
    print(f"its tool is at [m]: {T[best, :3, 3].round(3)}")


if __name__ == "__main__":
    main()
