"""Robots that every facade test shares, so that each computation is compiled once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link, Mimic

#: Every computation with its arguments and the keywords of a call.
CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "forward_kinematics": (("q",), {}),
    "frame_poses": (("q",), {}),
    "jacobian": (("q",), {"frame": "body"}),
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
    "friction_torque": (("qd",), {}),
    "kinetic_energy": (("q", "qd"), {}),
    "potential_energy": (("q",), {}),
    "inverse_dynamics_derivatives": (("q", "qd", "qdd"), {}),
    "linearize": (("q", "qd", "tau"), {}),
    "torque_regressor": (("q", "qd", "qdd"), {}),
    "momentum_regressor": (("q", "qd"), {}),
    "energy_regressor": (("q", "qd"), {}),
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


class Ordered(dict[str, Any]):
    """Arguments of each computation by name."""

    def of(self, name: str) -> tuple[Any, ...]:
        return tuple(self[argument] for argument in CALLS[name][0])


def random_states(n: int, *batch: int, seed: int = 0) -> Ordered:
    rng = np.random.default_rng(seed)
    return Ordered({name: rng.normal(size=(*batch, n)) for name in ("q", "qd", "qdd", "tau")})


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.fixture(scope="session")
def panda() -> ch.Robot:
    return ch.load("panda")


@pytest.fixture(scope="session")
def mixed() -> ch.Robot:
    return ch.Robot(mixed_description())


@pytest.fixture(scope="session")
def helpers() -> SimpleNamespace:
    return SimpleNamespace(calls=CALLS, states=random_states, as_tuple=as_tuple, body=body, placed=placed)


@pytest.fixture(params=sorted(CALLS))
def computation(request: pytest.FixtureRequest) -> str:
    return str(request.param)
