"""Parts of robots whose joints followed joints that are left out."""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link, Mimic, sub_tree


def test_joints_that_followed_an_outsider_follow_the_first_of_them() -> None:
    names, mimics = ("base", "a", "b", "c"), (None, Mimic("base-a", 2.0, 0.1), Mimic("base-a", -3.0, 0.2))
    origin = np.eye(4)
    origin[:3, 3] = 0.3, 0.0, 0.1
    joints = tuple(
        Joint(f"{parent}-{child}", "revolute", parent, child, axis=[0.0, 0.6, 0.8], T_parent_joint=origin, mimic=mimic)
        for parent, child, mimic in zip(names[:-1], names[1:], mimics, strict=True)
    )
    whole = ch.Robot(Description("chain", tuple(Link(name, Inertia(1.0)) for name in names), joints))
    part = ch.Robot(sub_tree(whole.description, "a"))
    assert (whole.n, part.n) == (1, 1)

    def between(robot: ch.Robot, q: float) -> np.ndarray:
        poses = dict(zip(robot.frame_names, robot.frame_poses([q]), strict=True))
        return np.linalg.solve(poses["a"], poses["c"])

    for q in (-0.7, 0.0, 1.3):
        np.testing.assert_allclose(between(part, 2.0 * q + 0.1), between(whole, q), atol=1e-14)
