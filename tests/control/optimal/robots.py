"""Machines of swing-ups, and one whose dynamics are linear."""

from __future__ import annotations

import numpy as np
from tests.oracles import closed_machines

import chasles as ch
from chasles.geometry import pose
from chasles.model import Description, Frame, Inertia, Joint, JointKind, Link, parse_toml

_ROD = """
[[dh]]
a = 1.0
mass = 1.0
center_of_mass = [-0.5, 0.0, 0.0]
inertia = [0.0, 0.08333333333333333, 0.08333333333333333]
"""


def acrobot() -> ch.Robot:
    """Two rods of 1 m and 1 kg with a motor at the elbow; they hang at q = 0."""
    head = '[robot]\nname = "acrobot"\ngravity = [9.81, 0.0, 0.0]\nactuated = ["joint2"]\n'
    return ch.Robot(parse_toml(head + 2 * _ROD))


def cart_pole() -> ch.Robot:
    """Pole of 0.5 m with 0.3 kg at its end on a driven cart of 1 kg on a track of 4 m; it hangs at q = 0.

    Kelly, An introduction to trajectory optimization (2017), section 6.
    """
    return ch.Robot(
        parse_toml("""
[robot]
name = "cart-pole"
gravity = [9.81, 0.0, 0.0]
actuated = ["joint1"]
[[dh]]
kind = "prismatic"
alpha = 1.5707963267948966
mass = 1.0
limits = [-2.0, 2.0]
[[dh]]
a = 0.5
mass = 0.3
""")
    )


def gantry() -> ch.Robot:
    """A carriage of 2 kg on a driven bridge of 3 kg, without gravity: M = diag(5, 2)."""
    return ch.Robot(
        parse_toml("""
[robot]
name = "gantry"
gravity = [0.0, 0.0, 0.0]
[[dh]]
kind = "prismatic"
alpha = 1.5707963267948966
mass = 3.0
[[dh]]
kind = "prismatic"
mass = 2.0
""")
    )


def pendulum() -> ch.Robot:
    """Point of 1 kg at 1 m, which hangs at q = 0: q̈ = τ - 9.81 sin q."""
    return ch.Robot(parse_toml('[robot]\nname = "pendulum"\ngravity = [9.81, 0.0, 0.0]\n[[dh]]\na = 1.0\nmass = 1.0\n'))


_BODY = Inertia(mass=2.0, center_of_mass=[0.05, 0.0, -0.3], matrix=np.diag([0.1, 0.12, 0.05]))
_ELBOW = Joint(
    "elbow", "revolute", "upper", "lower", axis=[0.0, 1.0, 0.0], T_parent_joint=pose(np.eye(3), [0, 0, -0.6])
)


def ball() -> ch.Robot:
    """Two bodies that hang from a spherical joint, with an elbow between them."""
    shoulder = Joint("shoulder", "spherical", "ground", "upper")
    links = (Link("ground"), Link("upper", _BODY), Link("lower", _BODY))
    return ch.Robot(Description("ball", links=links, joints=(shoulder, _ELBOW)))


def satellite() -> ch.Robot:
    """Two bodies with a driven elbow between them, free in space."""
    links = (Link("upper", _BODY), Link("lower", _BODY))
    return ch.Robot(Description("satellite", links=links, joints=(_ELBOW,), gravity=[0.0, 0.0, 0.0])).with_free_base()


def hanging_body(kind: JointKind, isotropic: float = 0.0) -> ch.Robot:
    """A body on a hinge or ball; or one with equal moments of inertia about its centre, without gravity."""
    body = Inertia(1.0, matrix=isotropic * np.eye(3)) if isotropic else _BODY
    hinge = Joint("hinge", kind, "ground", "body", **({"axis": [0.0, 1.0, 0.0]} if kind == "revolute" else {}))
    gravity = [0.0, 0.0, 0.0 if isotropic else -9.81]
    return ch.Robot(Description("body", links=(Link("ground"), Link("body", body)), joints=(hinge,), gravity=gravity))


def four_bar() -> ch.Robot:
    """A crank, a coupler and a rocker, without friction."""
    robot = ch.Robot(closed_machines.four_bar()).with_friction(viscous=0.0, coulomb=0.0)
    return ch.Robot(robot.description.replace(home=robot.loops.close(robot.home).q))


def hopper() -> ch.Robot:
    """A foot of 2 kg that moves up and down, and a body of 8 kg on it with a driven leg."""
    links = Link("ground"), Link("foot", Inertia(2.0)), Link("body", Inertia(8.0))
    joints = (
        Joint("height", "prismatic", "ground", "foot", axis=[0.0, 0.0, 1.0]),
        Joint("leg", "prismatic", "foot", "body", axis=[0.0, 0.0, 1.0]),
    )
    return ch.Robot(Description("hopper", links=links, joints=joints, actuated=("leg",)))


def biped() -> ch.Robot:
    """A planar biped, in x and z, of 10 kg with two legs of two links of 0.4 m, and points as feet."""

    def rod(mass: float) -> Inertia:
        return Inertia(mass, [0.0, 0.0, -0.2], np.diag([mass * 0.16 / 12.0] * 2 + [1e-4 * mass]))

    links = [Link("ground"), Link("slide"), Link("lift"), Link("trunk", Inertia(7.0, [0.0, 0.0, 0.1], 0.1 * np.eye(3)))]
    joints = [
        Joint("x", "prismatic", "ground", "slide", axis=[1.0, 0.0, 0.0]),
        Joint("z", "prismatic", "slide", "lift", axis=[0.0, 0.0, 1.0]),
        Joint("pitch", "revolute", "lift", "trunk", axis=[0.0, 1.0, 0.0]),
    ]
    frames, motors = [], []
    below = pose(np.eye(3), np.array([0.0, 0.0, -0.4]))
    for side in ("left", "right"):
        thigh, shank = f"{side}_thigh", f"{side}_shank"
        links += [Link(thigh, rod(1.0)), Link(shank, rod(0.5))]
        joints += [
            Joint(f"{side}_hip", "revolute", "trunk", thigh, axis=[0.0, 1.0, 0.0]),
            Joint(f"{side}_knee", "revolute", thigh, shank, T_parent_joint=below, axis=[0.0, 1.0, 0.0]),
        ]
        frames.append(Frame(f"{side}_foot", shank, below))
        motors += [f"{side}_hip", f"{side}_knee"]
    description = Description("biped", links=links, joints=joints, frames=frames, actuated=motors)
    return ch.Robot(description)
