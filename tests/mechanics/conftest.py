"""Robots that every facade test shares, so that each computation is compiled once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.model import Description, Frame, Inertia, Joint, Link, Mimic

#: Every computation with its arguments and the keywords of a call.
CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "forward_kinematics": (("q",), {}),
    "frame_poses": (("q",), {}),
    "jacobian": (("q",), {"frame": "body"}),
    "frame_jacobians": (("q",), {"frame": "body"}),
    "jacobian_derivative": (("q", "qd"), {"frame": "world-aligned"}),
    "pose_and_jacobian": (("q",), {"frame": "space"}),
    "center_of_mass": (("q",), {}),
    "inverse_dynamics": (("q", "qd", "qdd"), {}),
    "forward_dynamics": (("q", "qd", "tau"), {}),
    "mass_matrix": (("q",), {}),
    "inverse_mass_matrix": (("q",), {}),
    "bias": (("q", "qd"), {}),
    "gravity_torque": (("q",), {}),
    "coriolis_vector": (("q", "qd"), {}),
    "coriolis_matrix": (("q", "qd"), {}),
    "friction_torque": (("q", "qd"), {}),
    "kinetic_energy": (("q", "qd"), {}),
    "potential_energy": (("q",), {}),
    "inverse_dynamics_derivatives": (("q", "qd", "qdd"), {}),
    "inverse_dynamics_hessian": (("q", "qd", "qdd", "weights"), {}),
    "linearize": (("q", "qd", "tau"), {}),
    "quadratic_model": (("q", "qd", "tau", "weights"), {}),
    "regressors.torque": (("q", "qd", "qdd"), {}),
    "regressors.momentum": (("q", "qd"), {}),
    "regressors.energy": (("q", "qd"), {}),
}


def body(seed: int, mass: float = 1.0) -> Inertia:
    """A body of mass points: always physically possible."""
    points = np.random.default_rng(seed).normal(size=(6, 3)) * 0.2
    center = points.mean(axis=0)
    around = points - center
    matrix = sum(mass / 6 * (p @ p * np.eye(3) - np.outer(p, p)) for p in around)
    return Inertia(mass, center, matrix)


def placed(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def mixed_description() -> Description:
    """A branched robot with a revolute, a prismatic, a helical and a mimic joint, friction and motors."""
    links = (Link("base"), *(Link(f"link{k}", body(k, 0.5 + k)) for k in range(5)))
    common = {"viscous_friction": 0.3, "coulomb_friction": 0.2, "coulomb_velocity": 0.1}
    joints = (
        Joint("turn", "revolute", "base", "link0", T_parent_joint=placed(0, 0, 0.3), axis=[0.0, 0.0, 1.0], **common),
        Joint("slide", "prismatic", "link0", "link1", T_parent_joint=placed(0.2, 0, 0), axis=[1.0, 0.0, 0.0], **common),
        Joint(
            "screw",
            "helical",
            "link1",
            "link2",
            T_parent_joint=placed(0, 0.1, 0),
            axis=[0.0, 0.6, 0.8],
            pitch=0.05,
            motor_inertia=2e-4,
            gear_ratio=50.0,
        ),
        Joint("branch", "continuous", "link0", "link3", T_parent_joint=placed(0, 0.3, 0.1), axis=[0.0, 1.0, 0.0]),
        Joint(
            "follower",
            "revolute",
            "link3",
            "link4",
            T_parent_joint=placed(0, 0, 0.2),
            axis=[1.0, 0.0, 0.0],
            mimic=Mimic("branch", -0.5, 0.2),
            viscous_friction=0.1,
        ),
    )
    return Description("mixed", links=links, joints=joints, tool="link2")


def random_placement(rng: np.random.Generator) -> np.ndarray:
    T = placed(*rng.uniform(-0.5, 0.5, 3))
    T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    return T


def every_kind_description(seed: int = 0) -> Description:
    """A branched robot with a joint of every kind, two of them followed by others, anywhere in their links."""
    rng = np.random.default_rng(seed)
    tree = [
        ("hinge", "revolute", "base"),
        ("slide", "prismatic", "hinge_link"),
        ("ball", "spherical", "slide_link"),
        ("bracket", "fixed", "ball_link"),
        ("cardan", "universal", "bracket_link"),
        ("wheel", "continuous", "cardan_link"),
        ("sleeve", "cylindrical", "hinge_link"),
        ("table", "planar", "sleeve_link"),
        ("pin", "revolute", "table_link"),
        ("screw", "helical", "pin_link"),
        ("flight", "free", "base"),
        ("arm", "revolute", "flight_link"),
    ]
    followed = {"pin": Mimic("hinge", -0.7, 0.2), "screw": Mimic("pin", 1.5, -0.1)}
    joints = []
    for name, kind, parent in tree:
        axis = rng.normal(size=3)
        joints.append(
            Joint(
                name,
                kind,  # type: ignore[arg-type]
                parent,
                f"{name}_link",
                T_parent_joint=random_placement(rng),
                T_joint_child=random_placement(rng),
                axis=axis,
                second_axis=np.cross(axis, rng.normal(size=3)),
                pitch=0.1 if kind == "helical" else 0.0,
                motor_inertia=0.0 if kind == "fixed" else rng.uniform(0.0, 0.2),
                mimic=followed.get(name),
            )
        )
    links = (Link("base", body(99)), *(Link(joint.child, body(k)) for k, joint in enumerate(joints)))
    frames = (
        Frame("tip", "wheel_link", random_placement(rng)),
        Frame("tail", "screw_link", random_placement(rng)),
        Frame("mark", "base", random_placement(rng)),
    )
    plain = Description("every kind", links, tuple(joints), frames, T_world_base=random_placement(rng), tool="tip")
    home = rng.uniform(-1.0, 1.0, plain.nq)
    return plain.replace(home=home, payload=body(50), gravity=rng.normal(size=3) * 5.0)


class Ordered(dict[str, Any]):
    """Arguments of each computation by name."""

    def of(self, name: str) -> tuple[Any, ...]:
        return tuple(self[argument] for argument in CALLS[name][0])


def random_states(n: int, *batch: int, seed: int = 0) -> Ordered:
    rng = np.random.default_rng(seed)
    return Ordered({name: rng.normal(size=(*batch, n)) for name in ("q", "qd", "qdd", "tau", "weights")})


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.fixture(scope="session")
def panda() -> ch.Robot:
    return ch.load("panda")


@pytest.fixture(scope="session")
def mixed() -> ch.Robot:
    return ch.Robot(mixed_description())


@pytest.fixture(scope="session")
def every_kind() -> Description:
    return every_kind_description()


@pytest.fixture(scope="session")
def helpers() -> SimpleNamespace:
    return SimpleNamespace(calls=CALLS, states=random_states, as_tuple=as_tuple, body=body, placed=placed)


@pytest.fixture(params=sorted(CALLS))
def computation(request: pytest.FixtureRequest) -> str:
    return str(request.param)
