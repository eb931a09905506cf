"""A quadruped on a floating base stands and trots in place: whole-body torques on springy ground with friction.

Solo12 comes with the package example-robot-data. The controller solves a quadratic program in each period; the plant,
its four contacts included, is integrated implicitly.
"""

from importlib import metadata

import numpy as np

import chasles as ch
from chasles.control import Contact, Stance, WholeBodyTorque
from chasles.inverse_kinematics import FrameTask, PositionTask, PostureTask

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
STEP, LIFT, BEGIN = 0.16, 0.03, 0.2  # duration of a step, s; height of the feet, m; time of the first step, s


def main(duration: float = 0.84) -> None:
    file = next(path for path in metadata.files("example-robot-data") or [] if path.name == "solo12.urdf")
    robot = ch.load(file.locate(), check=False).with_free_base(world="ground")
    standing = robot.neutral
    standing[7:] = np.tile([0.0, 0.8, -1.6], 4)
    standing[6] = -robot.forward_kinematics(standing, target="FL_FOOT")[2, 3]
    places = {foot: robot.forward_kinematics(standing, target=foot)[:3, 3] for foot in FEET}
    trunk = FrameTask(robot.forward_kinematics(standing, target="base_link"), "base_link", gain=15.0)
    posture = PostureTask(standing, cost=0.05, gain=10.0)

    def plan(t: float, reference: object) -> Stance:
        """Diagonal pairs of feet are lifted in turn, each for a step."""
        number, share = divmod((t - BEGIN) / STEP, 1.0)
        swinging = () if t < BEGIN else (("FL_FOOT", "HR_FOOT"), ("FR_FOOT", "HL_FOOT"))[int(number) % 2]
        height = np.array([0.0, 0.0, LIFT * np.sin(np.pi * share) ** 2])
        lifted = [PositionTask(places[foot] + height, foot, cost=3.0, gain=40.0) for foot in swinging]
        on_ground = [Contact(foot, friction=0.6) for foot in FEET if foot not in swinging]
        return Stance([trunk, posture, *lifted], on_ground)

    ground = [
        ch.ContactPlane(foot, foot, point=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0], stiffness=1e4, damping=50.0,
                        friction_coefficient=0.8, slip_velocity=0.01)
        for foot in FEET
    ]  # fmt: skip
    rest = ch.PointToPoint(standing, standing, duration)
    run = ch.simulate(ch.Plant(robot, contacts=ground), WholeBodyTorque(robot, plan), rest, period=4e-3)
    feet = {foot: robot.forward_kinematics(run.q.values, target=foot)[:, 2, 3] for foot in FEET}
    weight = 9.81 * sum(link.inertia.mass for link in robot.description.links)
    stood = run.sel(time=slice(0.1, BEGIN - 0.01))
    pressed = sum(stood[f"contacts.{foot}"].values[:, 5] for foot in FEET).mean()
    print(f"weight carried while standing, N: {pressed:.2f}")
    print(f"weight, N: {weight:.2f}")
    print(f"highest lift of a foot, mm: {1e3 * max(height.max() for height in feet.values()):.0f}")
    print(f"lowest height of the trunk, share of standing: {(run.q.values[:, 6] / standing[6]).min():.3f}")
    print(f"largest tilt, rad: {2.0 * np.arccos(np.abs(run.q.values[:, 0]).min().clip(0.0, 1.0)):.3f}")


if __name__ == "__main__":
    main()
