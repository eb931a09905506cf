"""How does a pole that hangs from a cart swing up with the least effort?

Shows the best swing-up within the limits of motor and track, its independent evaluation, and its regulator on a cart
that weighs more than planned.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control.optimal import PlanFollowing, residuals
from chasles.model import parse_toml

CART_POLE = """
[robot]
name = "cart-pole"
gravity = [9.81, 0.0, 0.0]
actuated = ["joint1"]

[[dh]]
kind = "prismatic"
alpha = 1.5707963267948966
mass = 1.0
limits = [-2.0, 2.0]

[[dh]]
a = 0.5
mass = 0.3
"""


def main() -> None:
    """Swing the pole up, and follow the plan with another mass."""
    robot = ch.Robot(parse_toml(CART_POLE))
    upright = np.array([0.0, np.pi])
    swing_up = ch.OptimalControl(
        robot,
        duration=2.0,
        nodes=100,
        running=[residuals.torque(), residuals.velocity()],
        exact_end=[residuals.position(upright), residuals.velocity()],
        limits={"torque": 20.0, "position": None},
    )
    plan = swing_up.solve([0.0, 0.0], guess=ch.PointToPoint([0.0, 0.0], upright, duration=2.0))
    print(plan)
    print(f"largest force [N]: {np.abs(plan.torques).max():.2f}")
    print(f"track used to each side [m]: {np.abs(plan.states[:, 0]).max():.2f}")

    for mass in (1.0, 1.05):
        run = ch.simulate(robot.with_values({"links.link1.mass": mass}), PlanFollowing(robot, plan), plan, period=0.02)
        end = run["q"].isel(time=-1).values
        print(f"angle from upright at the end, cart of {mass} kg [°]: {np.degrees(abs(end[1] - np.pi)):.2f}")


if __name__ == "__main__":
    main()
