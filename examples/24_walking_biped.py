"""How does a planar biped walk with the least effort, and what do its feet feel?

Shows a walk of two steps whose phases of contact are known: the right foot steps, then the left one, each with double
support before and after. Feet keep to their footholds within the cone of friction, and the motion between is free.
"""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.control.optimal import PhasedContact, Residual, residuals
from chasles.geometry import pose
from chasles.model import Capsule, Description, Frame, Inertia, Joint, Link, Shape

STEP, NODES, HEIGHT, FRICTION = 0.3, 40, 0.74, 0.6  # length, m; steps of the integrator; hips above ground, m
LEG = 0.4  # length of thigh and shank, m
Y = [0.0, 1.0, 0.0]


def limb(name: str, mass: float, length: float, direction: float) -> Link:
    """A rod that begins at its joint, upwards or downwards."""
    center = np.array([0.0, 0.0, 0.5 * direction * length])
    rod = Inertia(mass, center, np.diag([mass * length**2 / 12.0] * 2 + [1e-4]))
    return Link(name, rod, visuals=(Shape(Capsule(0.03, length), pose(np.eye(3), center)),))


def biped() -> ch.Robot:
    """A trunk of 7 kg in the plane of x and z, on two legs with points as feet."""
    down = pose(np.eye(3), np.array([0.0, 0.0, -LEG]))
    links = [Link("ground"), Link("slide"), Link("lift"), limb("trunk", 7.0, 0.4, 1.0)]
    joints = [
        Joint("x", "prismatic", "ground", "slide", axis=[1.0, 0.0, 0.0]),
        Joint("z", "prismatic", "slide", "lift"),
        Joint("pitch", "revolute", "lift", "trunk", axis=Y),
    ]
    frames, motors = [], []
    for side in ("left", "right"):
        thigh, shank = f"{side}_thigh", f"{side}_shank"
        links += [limb(thigh, 1.0, LEG, -1.0), limb(shank, 0.5, LEG, -1.0)]
        joints += [
            Joint(f"{side}_hip", "revolute", "trunk", thigh, axis=Y),
            Joint(f"{side}_knee", "revolute", thigh, shank, T_parent_joint=down, axis=Y),
        ]
        frames.append(Frame(f"{side}_foot", shank, down))
        motors += [f"{side}_hip", f"{side}_knee"]
    return ch.Robot(Description("biped", links=links, joints=joints, frames=frames, actuated=motors))


def standing(x: float, left: float, right: float) -> list[float]:
    """Configuration with the hips at x and feet at these places, knees forward."""
    q = [x, HEIGHT, 0.0]
    for foot in (left, right):
        knee = 2.0 * np.arccos(np.hypot(foot - x, HEIGHT) / (2.0 * LEG))
        q += [np.arctan2(x - foot, HEIGHT) - 0.5 * knee, knee]
    return q


def main() -> None:
    """Plan two steps, and draw them."""
    robot = biped()
    walk = ch.OptimalControl(
        robot,
        duration=1.4,
        nodes=NODES,
        running=[residuals.torque(), 10.0 * residuals.velocity(), 0.01 * Residual(lambda forces: forces.ravel())],
        exact_end=[
            lambda q: q[:3] - np.array([1.5 * STEP, HEIGHT, 0.0]),
            lambda qd: qd[:3],
        ],  # the rest follows: both feet stand
        keep=[
            PhasedContact(
                "left_foot", phases=[(0, 22), (35, NODES)], friction=FRICTION, footholds=[None, [2.0 * STEP, 0.0, 0.0]]
            ),
            PhasedContact(
                "right_foot", phases=[(0, 5), (18, NODES)], friction=FRICTION, footholds=[None, [STEP, 0.0, 0.0]]
            ),
            lambda q: np.concatenate([q[[4, 6]] - 0.02, 1.2 - q[[4, 6]]]),
        ],
        limits={"torque": 100.0},
    )
    plan = walk.solve(standing(0.0, 0.0, 0.0))
    print(plan)
    weight = 9.81 * sum(link.inertia.mass for link in robot.description.links if link.inertia is not None)
    along, normal = plan.forces[..., 0], plan.forces[..., 2]
    slope = np.abs(along) / np.maximum(normal, 1e-3 * weight)
    print(f"largest force on a foot, weights: {normal.max() / weight:.2f}")
    print(f"largest slope of a force, coefficients of friction: {slope.max() / FRICTION:.3f}")
    print(f"mean force on the ground, weights: {normal.sum(axis=1).mean() / weight:.3f}")
    feet = [robot.forward_kinematics(plan.states[:, : robot.n], target=f"{side}_foot") for side in ("left", "right")]
    print(f"highest lift of a foot, mm: {1e3 * max(T[:, 2, 3].max() for T in feet):.0f}")
    plan.view(robot, path="walking_biped.html")


if __name__ == "__main__":
    main()
