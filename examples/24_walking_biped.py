"""How does a planar biped walk with the least effort, and what do its feet feel?

Shows a walk of two steps whose phases of contact are known: the right foot steps, then the left one, with both on the
ground before and after. Feet keep to their footholds within the cone of friction, and the motion between is free.
"""

from pathlib import Path

import numpy as np

import chasles as ch
from chasles.control.optimal import PhasedContact, Residual, residuals

STEP, NODES, HEIGHT, FRICTION = 0.3, 40, 0.74, 0.6  # length of a step, m; nodes; hips above ground, m
MOTORS = ["left_hip", "left_knee", "right_hip", "right_knee"]


def main() -> None:
    """Plan two steps, and draw them."""
    robot = ch.load(Path(__file__).with_name("biped.urdf"), tool="left_foot")
    bend = np.arccos(HEIGHT / 0.8)
    start = np.array([0.0, HEIGHT, 0.0, -bend, 2.0 * bend, -bend, 2.0 * bend])  # feet below the hips, knees forward
    knees = [robot.velocity_names.index(name) for name in MOTORS if name.endswith("knee")]
    phases = {"left_foot": [(0, 22), (35, NODES)], "right_foot": [(0, 5), (18, NODES)]}
    places = {"left_foot": [2.0 * STEP, 0.0, 0.0], "right_foot": [STEP, 0.0, 0.0]}
    feet = [
        PhasedContact(foot, phases=phases[foot], friction=FRICTION, footholds=[None, places[foot]]) for foot in phases
    ]
    walk = ch.OptimalControl(
        robot,
        duration=1.4,
        nodes=NODES,
        running=[residuals.torque(), 10.0 * residuals.velocity(), 0.01 * Residual(lambda forces: forces.ravel())],
        exact_end=[lambda q: q[:3] - np.array([1.5 * STEP, HEIGHT, 0.0]), lambda qd: qd[:3]],  # both feet stand
        keep=[*feet, lambda q: np.concatenate([q[knees] - 0.02, 1.2 - q[knees]])],
        limits={"torque": 100.0},
        motors=MOTORS,
    )
    plan = walk.solve(start)
    print(plan)
    weight = 9.81 * sum(link.inertia.mass for link in robot.description.links)
    along, normal = plan.forces[..., 0], plan.forces[..., 2]
    slope = np.abs(along) / np.maximum(normal, 1e-3 * weight)
    print(f"largest force on a foot, weights: {normal.max() / weight:.2f}")
    print(f"largest slope of a force, coefficients of friction: {slope.max() / FRICTION:.3f}")
    print(f"mean force on the ground, weights: {normal.sum(axis=1).mean() / weight:.3f}")
    heights = [robot.forward_kinematics(plan.states[:, : robot.n], target=foot)[:, 2, 3] for foot in phases]
    print(f"highest lift of a foot, mm: {1e3 * np.max(heights):.0f}")
    plan.view(robot, path="walking_biped.html")


if __name__ == "__main__":
    main()
