"""How fast can an arm lift a load at the limits of its motors, along a given path and along the best one?

Shows the least time along a straight line of the joints, by `time_optimal` and by optimal control held to the line,
also with drives whose torques change at a limited rate, and the faster lift of optimal control when the path is free.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control.optimal import residuals

START, GOAL = np.array([-1.2, 0.4]), np.array([0.8, 1.0])
TORQUE, VELOCITY = np.array([220.0, 110.0]), 4.0


def main() -> None:
    """Lift 2 kg in three ways, and draw the fastest."""
    arm = ch.load("planar2r").with_payload(2.0)
    line = ch.PointToPoint(START, GOAL, duration=1.0)
    along = ch.time_optimal(arm, line, torque=TORQUE, velocity=VELOCITY, points=200)
    print(f"along the line, time_optimal [s]: {along.duration:.3f}")

    smooth = ch.time_optimal(arm, line, torque=TORQUE, velocity=VELOCITY, torque_rate=4000.0)
    print(f"along the line, with torque rates [s]: {smooth.duration:.3f}")

    direction = GOAL - START
    stays_on_line = residuals.held(lambda qd: qd[1] * direction[0] - qd[0] * direction[1])
    for path, keep in (("along the line, optimal control", [stays_on_line]), ("along the best path", [])):
        lift = ch.OptimalControl(
            arm,
            duration=(0.2, 3.0),
            nodes=40,
            running=[residuals.time()],
            exact_end=[residuals.position("goal"), residuals.velocity()],
            keep=keep,
            limits={"torque": TORQUE, "velocity": VELOCITY},
        )
        plan = lift.solve(START, goal=GOAL, guess=along)
        print(plan)
        print(f"{path} [s]: {plan.duration:.3f}")
    plan.view(arm, path="fastest_lift.html")


if __name__ == "__main__":
    main()
