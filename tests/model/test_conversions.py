"""Conversions between descriptions: the same poses of every frame and the same dynamics, or a reason why there are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.robots import example
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from chasles import algorithms
from chasles.errors import ModelError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    build_tree,
    from_dh,
    from_screws,
    from_urdf,
    load,
    parse_toml,
    parse_urdf,
    shipped,
    sub_chain,
    to_dh,
    to_modified_dh,
    to_screws,
    to_toml,
    to_urdf,
)

Conversion = Callable[[Description], Description]
CONVERSIONS: dict[str, Conversion] = {
    "dh": lambda robot: from_dh(**to_dh(robot), check=False),
    "modified dh": lambda robot: from_dh(**to_modified_dh(robot), check=False),
    "screws": lambda robot: from_screws(**to_screws(robot), check=False),
    "urdf": lambda robot: parse_urdf(to_urdf(robot), check=False),
    "toml": lambda robot: parse_toml(to_toml(robot), check=False),
    "toml with dh": lambda robot: parse_toml(to_toml(robot, "dh"), check=False),
    "toml with modified dh": lambda robot: parse_toml(to_toml(robot, "modified-dh"), check=False),
    "toml with screws": lambda robot: parse_toml(to_toml(robot, "screws"), check=False),
}
#: Tables are of chains; these take any tree.
OF_TREES = ("urdf", "toml")
#: Serial arms of example-robot-data, and the joints that branch off and are left out.
ARMS = {
    "iiwa_description/urdf/IIWA": "x",
    "ur_description/urdf/ur3_robot.urdf": "ee_link",
    "ur_description/urdf/ur5_robot.urdf": "ee_link",
    "ur_description/urdf/ur10_robot.urdf": "ee_link",
    "xarm_description/urdf/xarm7.urdf": "link7",
    "kinova_description/robots/kinova.urdf": "j2s6s200_link_6",
    "panda_description/urdf/panda.urdf": "panda_hand",
    "talos_data/robots/talos_left_arm.urdf": "arm_left_7_link",
}


def random_chain(seed: int, n: int, kinds: tuple[str, ...] = ("revolute", "continuous", "prismatic")) -> Description:
    """A chain with fixed links between, in which axes are parallel, the same, crossing or in general position."""
    rng = np.random.default_rng(seed)

    def placement() -> np.ndarray:
        T = np.eye(4)
        style = rng.integers(4)
        if style == 0:
            T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        elif style == 1:
            T[:3, :3] = Rotation.from_euler("xyz", rng.integers(-2, 3, 3) * 90, degrees=True).as_matrix().round()
        elif style == 2:
            T[:3, :3] = Rotation.from_rotvec([0, 0, rng.uniform(-3, 3)]).as_matrix()
        T[:3, 3] = rng.normal(size=3) * rng.integers(0, 2, 3)
        return T

    def inertia() -> Inertia:
        points = rng.normal(size=(4, 3)) * 0.2
        moments = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
        return Inertia(rng.uniform(0.5, 3.0), rng.normal(size=3) * 0.3, moments)

    def direction() -> np.ndarray:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]) if rng.integers(2) else rng.normal(size=3)

    links, joints = [Link("base", inertia())], []
    for index in range(n):
        if rng.integers(4) == 0:
            links.append(Link(f"plate {index}", inertia()))
            joints.append(Joint(f"weld {index}", "fixed", links[-2].name, links[-1].name, placement(), placement()))
        kind = str(rng.choice(kinds))
        movers = [joint.name for joint in joints if joint.moves and joint.mimic is None]
        bounded = kind in ("revolute", "prismatic", "helical") and rng.integers(2)
        joints.append(
            Joint(
                f"joint {index}",
                kind,
                links[-1].name,
                f"part {index}",
                placement(),
                placement() if rng.integers(2) else np.eye(4),
                axis=direction(),
                pitch=0.1 if kind == "helical" else 0.0,
                limits=Limits(-1.0, 1.5, 2.0, 30.0) if bounded else Limits(velocity=3.0),
                viscous_friction=rng.uniform(0.0, 1.0),
                coulomb_friction=rng.uniform(0.0, 1.0),
                coulomb_velocity=0.3,
                motor_inertia=rng.uniform(0.0, 0.1),
                gear_ratio=rng.uniform(1.0, 3.0),
                mimic=Mimic(movers[0], -0.7, 0.2) if movers and rng.integers(5) == 0 else None,
            )
        )
        links.append(Link(f"part {index}", inertia()))
    return Description(
        name="chain",
        links=tuple(links),
        joints=tuple(joints),
        frames=(Frame("eye", links[rng.integers(len(links))].name, placement()), Frame("grip", links[-1].name)),
        gravity=rng.normal(size=3) * 5.0,
        T_world_base=placement(),
        tool="eye" if rng.integers(3) == 0 else "grip",
        payload=inertia(),
        source="a test",
    )


def differences(robot: Description, other: Description, states: int = 3) -> dict[str, float]:
    """Largest differences, relative to the size of each quantity, at random states."""
    tree, other_tree = build_tree(robot), build_tree(other)
    rng = np.random.default_rng(11)
    worst = dict.fromkeys(("poses", "tool", "torques", "mass matrix"), 0.0)
    for q, qd, qdd in rng.uniform(-2.0, 2.0, (states, 3, robot.nv)):
        found = {
            "tool": [
                algorithms.forward_kinematics(t, q, t_robot.tool) for t, t_robot in ((tree, robot), (other_tree, other))
            ],
            "torques": [algorithms.inverse_dynamics(t, q, qd, qdd) for t in (tree, other_tree)],
            "mass matrix": [algorithms.mass_matrix(t, q) for t in (tree, other_tree)],
        }
        poses = [[algorithms.forward_kinematics(t, q, name) for name in robot.frame_names] for t in (tree, other_tree)]
        found["poses"] = poses
        for name, (ours, theirs) in found.items():
            size = max(1e-3, float(np.abs(ours).max(initial=0.0)))
            worst[name] = max(worst[name], float(np.abs(np.subtract(ours, theirs)).max(initial=0.0)) / size)
    return worst


def assert_same(robot: Description, other: Description, tolerance: float = 1e-12) -> None:
    assert other.coordinate_names == robot.coordinate_names
    for quantity in ("home", "lower_limits", "upper_limits", "velocity_limits", "effort_limits", "gravity"):
        assert getattr(other, quantity).tolist() == getattr(robot, quantity).tolist(), quantity
    assert (other.name, other.source) == (robot.name, robot.source)
    worst = differences(robot, other)
    assert max(worst.values()) < tolerance, worst


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("name", shipped())
def test_shipped_robots(name: str, conversion: str) -> None:
    robot = load(name)
    assert_same(robot, CONVERSIONS[conversion](robot))


@pytest.mark.parametrize("name", shipped())
def test_shipped_robots_through_all_conversions_one_after_the_other(name: str) -> None:
    robot = other = load(name)
    for conversion in ("urdf", "dh", "modified dh", "screws", "urdf", "toml", "toml with screws", "toml with dh"):
        other = CONVERSIONS[conversion](other)
    assert_same(robot, other)


@pytest.mark.parametrize("path", ARMS)
def test_arms_of_the_example_robots(path: str) -> None:
    whole = from_urdf(example(path), check=False)
    robot = other = sub_chain(whole, whole.root, ARMS[path])
    for conversion in CONVERSIONS.values():
        assert_same(robot, conversion(robot))
        other = conversion(other)
    assert_same(robot, other)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 6))
def test_random_chains(seed: int, n: int) -> None:
    robot = other = random_chain(seed, n)
    for conversion in CONVERSIONS.values():
        assert_same(robot, conversion(robot), 1e-11)
        other = conversion(other)
    assert_same(robot, other, 1e-11)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9))
def test_random_chains_with_helical_joints(seed: int) -> None:
    robot = other = random_chain(seed, 4, ("helical", "prismatic"))
    for name in ("screws", "toml", "toml with screws"):
        assert_same(robot, CONVERSIONS[name](robot))
        other = CONVERSIONS[name](other)
    assert_same(robot, other)
    assert_same(robot, CONVERSIONS["urdf"](robot))


@pytest.mark.parametrize("name", shipped())
def test_a_robot_made_from_a_table_gives_the_table_again(name: str) -> None:
    robot = load(name)
    standard, modified = CONVERSIONS["dh"](robot), CONVERSIONS["modified dh"](robot)
    assert CONVERSIONS["dh"](standard) == standard
    assert to_modified_dh(modified).rows == to_modified_dh(robot).rows
    if name not in ("panda", "iiwa14"):
        assert standard == robot
