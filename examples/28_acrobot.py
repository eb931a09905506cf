"""How does an acrobot, two rods with one motor at the elbow, swing up with the least torque?

Shows the best swing-ups from several first motions, which end in different optima, and the best one's regulator on an
acrobot that is heavier than planned: it stands up all the same.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control.optimal import PlanFollowing, residuals
from chasles.model import parse_toml

ROD = """
[[dh]]
a = 1.0
mass = 1.0
center_of_mass = [-0.5, 0.0, 0.0]
inertia = [0.0, 0.08333333333333333, 0.08333333333333333]
"""
ACROBOT = f'[robot]\nname = "acrobot"\ngravity = [9.81, 0.0, 0.0]\nactuated = ["joint2"]\n{ROD}{ROD}'
DURATION, UPRIGHT, LIMIT = 4.0, np.array([np.pi, 0.0]), 15.0


def main(guesses: int = 4) -> None:
    """Swing up, and follow the best plan with another mass."""
    robot = ch.Robot(parse_toml(ACROBOT))
    swing_up = ch.OptimalControl(
        robot,
        duration=DURATION,
        nodes=400,
        running=[residuals.torque(), 3.0 * residuals.velocity()],
        final=[1000.0 * residuals.position(UPRIGHT), 100.0 * residuals.velocity()],  # gains of exact ends are too stiff
        limits={"torque": LIMIT},
    )
    rng, times = np.random.default_rng(0), np.linspace(0.0, DURATION, 5)
    plans = []
    for _ in range(guesses):
        ways = np.linspace(0.0, 1.0, 5)[:, None] * UPRIGHT
        ways[1:-1] += 0.3 * rng.normal(size=(3, 2))
        plans.append(swing_up.solve([0.0, 0.0], guess=ch.CubicSpline(times, ways)))
        print(plans[-1])
    best = min(plans, key=lambda plan: plan.cost)
    print(f"swing-ups found: {sum(plan.success for plan in plans)}")
    print(f"largest torque of the best one [N·m]: {np.abs(best.torques).max():.2f}")

    for factor in (1.0, 1.01):
        heavier = robot.with_values({"links.link2.mass": factor})
        run = ch.simulate(heavier, PlanFollowing(robot, best), best, period=0.01)
        end = run["q"].isel(time=-1).values
        angle = np.degrees(np.abs(end - UPRIGHT)).max()
        print(f"angle from upright at the end, second rod of {factor} kg [°]: {angle:.2f}")
    best.view(robot, path="acrobot.html")


if __name__ == "__main__":
    main()
