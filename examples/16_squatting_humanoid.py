"""A humanoid squats on flat feet: Talos on a floating base, with its arms locked, by whole-body torques.

Talos comes with the package example-robot-data. Its feet touch the ground with four corners each.
"""

from importlib import metadata

import numpy as np

import chasles as ch
from chasles.control import Contact, Stance, WholeBodyTorque
from chasles.geometry.elementary import pose
from chasles.inverse_kinematics import CenterOfMassTask, OrientationTask, PostureTask
from chasles.model import Frame

FEET = ("left_sole_link", "right_sole_link")
CORNERS = [[x, y, 0.0] for x in (-0.08, 0.1) for y in (-0.05, 0.05)]
DEPTH, TIME = 0.1, 0.5  # of the squat, m and s


def main() -> None:
    file = next(path for path in metadata.files("example-robot-data") or [] if path.name == "talos_reduced.urdf")
    talos = ch.load(file.locate(), check=False)
    legs = talos.edit.lock([name for name in talos.joint_names if not name.startswith(("leg", "torso"))])
    corners = [
        Frame(f"{foot} {k}", foot, pose(np.eye(3), np.array(corner)))
        for foot in FEET
        for k, corner in enumerate(CORNERS)
    ]
    description = legs.description.replace(frames=(*legs.description.frames, *corners))
    robot = ch.Robot(description).with_free_base(world="ground")
    q = robot.neutral
    for name, bend in (("3", -0.4), ("4", 0.8), ("5", -0.4)):  # hips, knees and ankles
        for side in ("left", "right"):
            q[robot.coordinate_names.index(f"leg_{side}_{name}_joint")] = bend
    q[6] = -robot.forward_kinematics(q, target=FEET[0])[2, 3]
    centre = robot.center_of_mass(q)
    centre[:2] = np.mean([robot.forward_kinematics(q, target=foot)[:2, 3] for foot in FEET], axis=0)
    trunk, posture = OrientationTask(np.eye(3), "base_link", gain=12.0), PostureTask(q, cost=0.05, gain=5.0)
    feet = [Contact(foot, points=CORNERS, friction=0.6) for foot in FEET]

    def plan(t: float, reference: object) -> Stance:
        down = 0.5 * DEPTH * (1.0 - np.cos(np.pi * min(t / TIME, 1.0)))
        return Stance([CenterOfMassTask(centre - [0.0, 0.0, down], gain=12.0), trunk, posture], feet)

    floor = {"point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0], "stiffness": 5e4, "damping": 500.0}
    ground = [ch.ContactPlane(c.name, c.name, **floor, friction_coefficient=0.8, slip_velocity=0.01) for c in corners]
    plant, rest = ch.Plant(robot, contacts=ground), ch.PointToPoint(q, q, TIME + 0.5)
    run = ch.simulate(plant, WholeBodyTorque(robot, plan), rest, period=8e-3)
    force = sum(run[f"contacts.{corner.name}"].values[-1, 5] for corner in corners)
    sole = robot.forward_kinematics(run.q.values, target=FEET[0])[:, :3, 3]
    print(f"mass, kg: {sum(link.inertia.mass for link in description.links):.2f}")
    print(f"ground force at the end over gravity, kg: {force / 9.81:.2f}")
    print(f"descent of the centre of mass, m: {np.ptp(robot.center_of_mass(run.q.values)[[0, -1], 2]):.3f}")
    print(f"largest slip of a foot, mm: {1e3 * np.linalg.norm(sole[:, :2] - sole[0, :2], axis=1).max():.2f}")


if __name__ == "__main__":
    main()
