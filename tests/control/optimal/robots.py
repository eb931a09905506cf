"""Machines of swing-ups, and one whose dynamics are linear."""

from __future__ import annotations

import chasles as ch
from chasles.model import parse_toml

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
