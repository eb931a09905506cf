"""How does a planar biped walk on and on, and at which speed, with the least effort?

Shows one step of a gait: its start and its duration are free, and at its end the robot is as at its beginning, moved
on, with left and right exchanged.
"""

from pathlib import Path

import numpy as np

import chasles as ch
from chasles.control.optimal import PhasedContact, residuals

STEP, NODES, HEIGHT, FRICTION = 0.3, 20, 0.74, 0.6  # length of a step, m; nodes; hips above ground at first, m
MOTORS = ["left_hip", "left_knee", "right_hip", "right_knee"]
OTHER_SIDE = [0, 1, 2, 5, 6, 3, 4]


def main() -> None:
    """Plan a step of the gait, and draw it."""
    robot = ch.load(Path(__file__).with_name("biped.urdf"), tool="left_foot")
    bend = np.arccos(HEIGHT / 0.8)
    guess = np.array([-0.5 * STEP, HEIGHT, 0.0, -bend, 2.0 * bend, -bend, 2.0 * bend])
    ahead = np.array([STEP, 0.0, 0.0])
    trunk = np.tile(np.arange(7) < 3, 2).astype(float)  # where both feet stand, the legs follow from it
    knees, pitch = [4, 6], slice(2, 3)
    gait = ch.OptimalControl(
        robot,
        duration=(0.3, 1.5),
        nodes=NODES,
        running=[residuals.torque(), 10.0 * residuals.velocity()],
        exact_end=[
            trunk * residuals.periodic(lambda q, qd: (q[OTHER_SIDE] + STEP * np.eye(7)[0], qd[OTHER_SIDE])),
        ],
        keep=[
            PhasedContact("left_foot", phases=[(0, NODES)], friction=FRICTION, footholds=[0.0 * ahead]),
            PhasedContact("right_foot", phases=[(0, 3), (17, NODES)], friction=FRICTION, footholds=[-ahead, ahead]),
            lambda q: np.concatenate([q[knees] - 0.02, 1.2 - q[knees], 0.2 - q[pitch], 0.2 + q[pitch]]),
        ],
        limits={"torque": 100.0},
        motors=MOTORS,
    )
    plan = gait.solve(guess)
    print(plan)
    weight = 9.81 * sum(link.inertia.mass for link in robot.description.links)
    work = plan.duration / NODES * np.abs(plan.torques * plan.states[:-1, robot.n :]).sum()
    print(f"step [s]: {plan.duration:.3f}")
    print(f"speed [m/s]: {STEP / plan.duration:.3f}")
    print(f"cost of transport: {work / (weight * STEP):.3f}")
    first, last = np.split(plan.states[[0, -1]], [robot.n], axis=1)[1]
    print(f"largest change of a velocity from step to step [rad/s]: {np.abs(last - first[OTHER_SIDE]).max():.3f}")
    plan.view(robot, path="periodic_gait.html")


if __name__ == "__main__":
    main()
