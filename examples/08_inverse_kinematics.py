"""Where must the joints be? A path of the tool, all ways to reach a pose, and an elbow that may choose its place."""

from __future__ import annotations

import numpy as np

import chasles as ch


def circle(T_world_tool: np.ndarray, radius: float, count: int) -> np.ndarray:
    """Poses (count, 4, 4) with the orientation of one, on a horizontal circle through it."""
    angle = np.linspace(0.0, 2.0 * np.pi, count)
    T = np.tile(T_world_tool, (count, 1, 1))
    T[:, 0, 3] += radius * (np.cos(angle) - 1.0)
    T[:, 1, 3] += radius * np.sin(angle)
    return T


def main(count: int = 200) -> None:
    """Solve for the Panda, the PUMA 560 and the iiwa14."""
    panda = ch.load("panda")
    path = circle(panda.forward_kinematics(panda.home), 0.1, count)
    solution = panda.inverse_kinematics(path, panda.home, objective="posture")  # as near to home as the path allows
    print(f"poses on the circle: {count}")
    print(f"solved: {solution.success.sum()}")
    print(f"largest residual [m]: {solution.residual.distance.max():.1e}")
    print(f"largest step of a joint [rad]: {np.abs(np.diff(solution.q, axis=0)).max():.3f}")

    puma = ch.load("puma560")
    ik = puma.inverse_kinematics
    every = ik(puma.forward_kinematics([0.2, 1.0, -1.2, 0.3, 0.8, 0.4]), select="all")
    print(f"\nThe PUMA 560, {ik.family()}, reaches a pose within its limits by")
    for name, q, success in zip(ik.branches(), every.q, every.success, strict=True):
        if success:
            print(f"    {name:42} {np.array2string(q, precision=2, suppress_small=True)}")

    iiwa = ch.load("iiwa14")
    goal = iiwa.forward_kinematics([0.3, 1.2, -0.4, -1.9, 0.5, 1.7, 0.1])
    elbow = np.linspace(-np.pi, np.pi, 360, endpoint=False)
    around = iiwa.inverse_kinematics(goal, elbow_angle=elbow, select="best")
    best = np.argmax(np.where(around.success, around.limit_margin, -np.inf))
    print(f"\nelbow angles within the limits [%]: {100.0 * around.success.mean():.1f}")
    print(f"elbow angle farthest from the limits [rad]: {elbow[best]:.2f}")
    print(f"distance from the limits there [rad]: {around.limit_margin[best]:.2f}")


if __name__ == "__main__":
    main()
