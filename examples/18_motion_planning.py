"""How does an arm get around a post?

Shows a path planned among obstacles, its proof, the fastest motion along it, and a page with the calmest motion in the
same time, which optimal control finds from the path.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control.optimal import residuals
from chasles.distances import Body, HalfSpace


def main() -> None:
    """Move a Panda arm from one side of a post to the other."""
    arm = ch.load("panda")
    links = [
        Body("panda_link2", [0.0, 0.0, 0.0], [0.0, -0.3, 0.0], radius=0.06),
        Body("panda_link4", [-0.08, 0.0, 0.0], [-0.08, 0.1, 0.0], radius=0.05),
        Body("panda_link5", [0.0, 0.0, -0.25], [0.0, 0.05, -0.1], radius=0.05),
        Body("panda_link7", radius=0.07, name="wrist"),
    ]
    post = Body(None, [0.35, 0.0, 0.0], [0.35, 0.0, 0.65], radius=0.04, name="post")
    apart = ch.clearance(arm, bodies=links, obstacles=[post, HalfSpace(name="floor")])
    start, goal = arm.home.copy(), arm.home.copy()
    start[0], goal[0] = 0.9, -0.9
    straight = ch.PointToPoint(start, goal, duration=2.0)
    q = straight(np.linspace(0.0, 2.0, 201)).q
    print(f"smallest distance on the straight way [mm]: {1e3 * apart(q).min():.1f}")

    path = ch.plan(apart, start, goal, margin=0.02)
    print(path.reason)
    motion = path.to_trajectory(acceleration=5.0)
    q = motion(np.linspace(0.0, motion.duration, 2001)).q
    print(f"smallest distance on the planned way [mm]: {1e3 * apart(q).min():.1f}")
    print(f"proven free: {path.space.free_along(motion).all()}")
    print(ch.check(arm, motion, acceleration=5.001))

    fastest = ch.time_optimal(arm, path, torque_rate=2000.0)
    print(f"fastest within all limits [s]: {fastest.duration:.2f}, from rest to rest [s]: {motion.duration:.2f}")
    calm, ends = [residuals.velocity()], [residuals.position(goal), residuals.velocity()]
    gentle = ch.OptimalControl(arm, duration=motion.duration, nodes=30, running=calm, exact_end=ends, clearance=apart)
    calmest = gentle.solve(start, guess=path)
    print(calmest)
    for name, each in (("planned", motion), ("calmest", calmest)):
        q, qd, _ = each(np.linspace(0.0, motion.duration, 2001))
        print(f"mean speed of the {name} motion [rad/s]: {np.sqrt((qd**2).sum(axis=-1).mean()):.3f}")
    print(f"smallest distance of the calmest motion [mm]: {1e3 * apart(q).min():.1f}")
    print(f"see {calmest.view(arm, path='motion_planning.html', obstacles=[post])}")


if __name__ == "__main__":
    main()
