"""Machines with loops, each as its textbook draws it, with bodies of full inertia."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.model import Description, Frame, Inertia, Joint, Link, with_free_base, with_loop

Y = (0.0, -1.0, 0.0)
FRICTION = {"viscous_friction": 0.05, "coulomb_friction": 0.1, "coulomb_velocity": 0.2, "motor_inertia": 0.003}


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0, about_z: float = 0.0) -> np.ndarray:
    c, s = np.cos(about_z), np.sin(about_z)
    return np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]])


def bar(name: str, length: float = 0.3, mass: float = 1.0, axis: int = 0) -> Link:
    """A body of six mass points about a rod."""
    rng = np.random.default_rng(sum(map(ord, name)))
    points = 0.03 * rng.normal(size=(6, 3))
    points[:, axis] += np.linspace(0.0, length, 6)
    points -= np.mean(points, axis=0)
    center = np.zeros(3)
    center[axis] = 0.5 * length
    moments = sum(mass / 6.0 * (p @ p * np.eye(3) - np.outer(p, p)) for p in points)
    return Link(name, Inertia(mass, center + 0.01 * rng.normal(size=3), moments))


def pivot(name: str, parent: str, child: str, x: float = 0.0, **fields: Any) -> Joint:
    return Joint(name, "continuous", parent, child, at(x), axis=Y, **{**FRICTION, **fields})


def four_bar(kind: str = "revolute") -> Description:
    tree = Description(
        "four-bar",
        (Link("ground"), bar("crank", 0.2), bar("coupler", 0.5), bar("rocker", 0.4)),
        (
            pivot("motor", "ground", "crank"),
            pivot("knee", "crank", "coupler", 0.2),
            pivot("swing", "ground", "rocker", 0.6),
        ),
        frames=(Frame("tool", "coupler", at(0.3, 0.0, 0.1)),),
        home=[0.8, -0.3, 1.7],
    )
    axis = {"axis": Y} if kind == "revolute" else {}
    return with_loop(
        tree,
        "pin",
        kind,
        "coupler",
        "rocker",
        T_first_joint=at(0.5),
        T_second_joint=at(0.4),
        actuated=["motor"],
        **axis,
    )


def slider_crank(motor: str = "motor") -> Description:
    tree = Description(
        "slider-crank",
        (Link("ground"), bar("crank", 0.1), bar("rod", 0.3), bar("piston", 0.05)),
        (
            pivot("motor", "ground", "crank"),
            pivot("knee", "crank", "rod", 0.1),
            Joint("stroke", "prismatic", "ground", "piston", axis=[1.0, 0.0, 0.0], **FRICTION),
        ),
        home=[0.7, -1.0, 0.35],
    )
    return with_loop(tree, "pin", "revolute", "rod", "piston", T_first_joint=at(0.3), axis=Y, actuated=[motor])


def five_bar() -> Description:
    tree = Description(
        "five-bar",
        (Link("ground"), bar("upper1", 0.3), bar("lower1", 0.4), bar("upper2", 0.3), bar("lower2", 0.4)),
        (
            pivot("motor1", "ground", "upper1"),
            pivot("elbow1", "upper1", "lower1", 0.3),
            pivot("motor2", "ground", "upper2", 0.25),
            pivot("elbow2", "upper2", "lower2", 0.3),
        ),
        frames=(Frame("tool", "lower1", at(0.4)),),
        home=[2.2, -1.3, 0.9, 1.3],
    )
    place = {"T_first_joint": at(0.4), "T_second_joint": at(0.4), "axis": Y}
    return with_loop(tree, "tip", "revolute", "lower1", "lower2", **place, actuated=["motor1", "motor2"])


def three_rrr(motors: int = 3) -> Description:
    """Planar platform on three legs of two bars; with six motors it is redundantly actuated."""
    links, joints = [Link("ground")], []
    for k in range(3):
        angle = 2.0 * np.pi * k / 3.0
        links += [bar(f"upper{k}", 0.3, 0.8), bar(f"lower{k}", 0.3, 0.6)]
        base = at(0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.0, angle)
        joints += [
            Joint(f"motor{k}", "continuous", "ground", f"upper{k}", base, **FRICTION),
            Joint(f"elbow{k}", "continuous", f"upper{k}", f"lower{k}", at(0.3), **FRICTION),
        ]
    links.append(bar("platform", 0.1, 2.0))
    joints.append(Joint("wrist", "continuous", "lower0", "platform", at(0.3), **FRICTION))
    names = [f"{part}{k}" for part in ("motor", "elbow") for k in range(3)][:motors]
    home = [2.3, 1.6] * 3 + [-0.8]
    tree = Description("3-RRR", tuple(links), tuple(joints), tool="platform", home=home)
    # The platform's corners, seen from the first, at the end of leg 0.
    for k in (1, 2):
        corner = 0.12 * np.array([np.cos(2.0 * np.pi * k / 3.0) - 1.0, np.sin(2.0 * np.pi * k / 3.0), 0.0])
        tree = with_loop(
            tree, f"corner{k}", "revolute", "platform", f"lower{k}", T_first_joint=at(*corner), T_second_joint=at(0.3)
        )
    return tree.replace(actuated=tuple(names))


def delta() -> Description:
    """Clavel's robot: three motors, and parallelograms of two rods, each universal above and spherical below."""
    links, joints = [Link("ground")], []
    for k in range(3):
        angle = 2.0 * np.pi * k / 3.0
        base = at(0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0, angle)
        links.append(bar(f"arm{k}", 0.3, 0.5))
        joints.append(Joint(f"motor{k}", "continuous", "ground", f"arm{k}", base, axis=[0.0, 1.0, 0.0], **FRICTION))
        for side in (-1, 1):
            name = f"rod{k}{'+' if side > 0 else '-'}"
            links.append(bar(name, 0.8, 0.1, axis=2))
            elbow = at(0.3, 0.05 * side)
            joints.append(
                Joint(
                    f"elbow_{name}",
                    "universal",
                    f"arm{k}",
                    name,
                    elbow,
                    axis=[0.0, 1.0, 0.0],
                    second_axis=[1.0, 0.0, 0.0],
                )
            )
    links.append(bar("platform", 0.1, 0.7))
    joints.append(Joint("pose", "free", "ground", "platform"))
    tree = Description("Delta", tuple(links), tuple(joints), tool="platform")
    home = np.zeros(tree.nq)
    for name, (start, _) in tree.starts.items():
        home[start] = {"mo": 0.3, "el": 2.6, "po": 1.0}[name[:2]]
    home[-1] = -0.75
    tree = tree.replace(home=home)
    for k in range(3):
        for side in (-1, 1):
            name = f"rod{k}{'+' if side > 0 else '-'}"
            angle = 2.0 * np.pi * k / 3.0
            corner = at(about_z=angle) @ at(0.06, 0.05 * side)
            tree = with_loop(
                tree, f"ball_{name}", "spherical", "platform", name, T_first_joint=corner, T_second_joint=at(z=0.8)
            )
    return tree.replace(actuated=("motor0", "motor1", "motor2"))


def stewart(legs: str = "UPS", motors: bool = True) -> Description:
    """Platform on six legs that change their length; "SPS" legs also spin about themselves."""
    links, joints = [Link("ground"), bar("platform", 0.1, 5.0)], [Joint("pose", "free", "ground", "platform")]
    base = [0.5 * np.array([np.cos(a), np.sin(a)]) for a in np.deg2rad([-10, 10, 110, 130, 230, 250])]
    top = [0.3 * np.array([np.cos(a), np.sin(a)]) for a in np.deg2rad([-50, 50, 70, 170, 190, 290])]
    for k, foot in enumerate(base):
        links += [bar(f"cylinder{k}", 0.3, 1.0, axis=2), bar(f"rod{k}", -0.3, 0.6, axis=2)]
        root = {"axis": [1.0, 0.0, 0.0], "second_axis": [0.0, 1.0, 0.0]} if legs[0] == "U" else {}
        kind: Any = "universal" if legs[0] == "U" else "spherical"
        joints += [
            Joint(f"hip{k}", kind, "ground", f"cylinder{k}", at(*foot), viscous_friction=0.02, **root),
            Joint(f"leg{k}", "prismatic", f"cylinder{k}", f"rod{k}", **FRICTION),
        ]
    tree = Description(f"Stewart 6-{legs}", tuple(links), tuple(joints), tool="platform")
    home = np.zeros(tree.nq)
    for name, (start, _) in tree.starts.items():
        home[start] = 0.7 if name.startswith("leg") else 1.0 if name == "pose" or legs[0] == "S" else 0.0
    home[6] = 0.65
    tree = tree.replace(home=home)
    for k, corner in enumerate(top):
        tree = with_loop(tree, f"ball{k}", "spherical", f"rod{k}", "platform", T_second_joint=at(*corner))
    if not motors:
        return tree.replace(independent=("pose",))
    return tree.replace(actuated=tuple(f"leg{k}" for k in range(6)))


def excavator() -> Description:
    """Boom and stick, each driven by a cylinder beside its joint."""
    tree = Description(
        "excavator",
        (
            *(Link("ground"), bar("boom", 2.0, 30.0), bar("stick", 1.2, 15.0)),
            *(bar("barrel1", 0.5, 3.0), bar("piston1", -0.5, 2.0), bar("barrel2", 0.5, 3.0), bar("piston2", -0.5, 2.0)),
        ),
        (
            pivot("shoulder", "ground", "boom"),
            pivot("elbow", "boom", "stick", 2.0),
            pivot("mount1", "ground", "barrel1", 0.4),
            Joint("cylinder1", "prismatic", "barrel1", "piston1", axis=[1.0, 0.0, 0.0], **FRICTION),
            pivot("mount2", "boom", "barrel2", 0.8),
            Joint("cylinder2", "prismatic", "barrel2", "piston2", axis=[1.0, 0.0, 0.0], **FRICTION),
        ),
        frames=(Frame("tool", "stick", at(1.2)),),
        home=[0.8, -1.0, 1.2, 0.7, 0.3, 1.3],
    )
    tree = with_loop(tree, "eye1", "revolute", "piston1", "boom", T_second_joint=at(0.9, 0.0, 0.1), axis=Y)
    tree = with_loop(tree, "eye2", "revolute", "piston2", "stick", T_second_joint=at(-0.2, 0.0, 0.25), axis=Y)
    return tree.replace(actuated=("cylinder1", "cylinder2"))


def leg_with_rods() -> Description:
    """A leg on a free trunk, whose ankle a rod of fixed length moves, as Cassie's do."""
    tree = Description(
        "leg",
        (
            Link("trunk", bar("trunk", 0.3, 8.0).inertia),
            bar("thigh", -0.4, 2.0, 2),
            bar("shin", -0.4, 1.5, 2),
            bar("foot", 0.2, 0.5),
        ),
        (
            Joint("hip", "continuous", "trunk", "thigh", axis=[0.0, 1.0, 0.0], **FRICTION),
            Joint("knee", "continuous", "thigh", "shin", at(z=-0.4), axis=[0.0, 1.0, 0.0], **FRICTION),
            Joint("ankle", "continuous", "shin", "foot", at(z=-0.4), axis=[0.0, 1.0, 0.0], **FRICTION),
        ),
        home=[0.5, -1.0, 0.6],
    )
    tree = with_loop(
        tree,
        "achilles",
        "rod",
        "thigh",
        "foot",
        T_first_joint=[-0.06, 0.02, 0.0],
        T_second_joint=[-0.08, 0.0, 0.0],
        closed_at_home=True,
    )
    return with_free_base(tree).replace(actuated=("hip", "knee"))


def palletiser() -> Description:
    """An arm on a turning column, whose forearm is driven from the column over a parallelogram."""
    tree = Description(
        "palletiser",
        (
            Link("ground"),
            bar("column", 0.3, 5.0, 2),
            bar("upper", 0.5, 3.0),
            bar("forearm", 0.6, 2.0),
            bar("lever", 0.15, 1.0),
            bar("link", 0.5, 0.8),
        ),
        (
            Joint("turn", "continuous", "ground", "column", **FRICTION),
            Joint("lift", "continuous", "column", "upper", at(z=0.4), axis=Y, **FRICTION),
            pivot("elbow", "upper", "forearm", 0.5),
            Joint("drive", "continuous", "column", "lever", at(z=0.4), axis=Y, **FRICTION),
            pivot("joint", "lever", "link", -0.15),
        ),
        frames=(Frame("tool", "forearm", at(0.6)),),
        home=[0.3, 1.2, -1.3, -0.1, 1.3],
    )
    place = {"T_first_joint": at(0.5), "T_second_joint": at(-0.15), "axis": Y}
    return with_loop(tree, "eye", "revolute", "link", "forearm", **place, actuated=["turn", "lift", "drive"])


def stephenson() -> Description:
    """Stephenson's third six-bar linkage: a four-bar linkage whose coupler drives a bar from another pivot."""
    tree = Description(
        "Stephenson",
        (Link("ground"), bar("crank", 0.2), bar("coupler", 0.5), bar("rocker", 0.4), bar("rod", 0.45), bar("arm", 0.5)),
        (
            pivot("crank", "ground", "crank"),
            pivot("knee", "crank", "coupler", 0.2),
            pivot("rocker", "ground", "rocker", 0.6),
            pivot("joint", "coupler", "rod", 0.25),
            pivot("arm", "ground", "arm", 0.9),
        ),
        home=[0.8, -0.3, 1.7, 0.3, 2.0],
    )
    tree = with_loop(
        tree, "pin", "revolute", "coupler", "rocker", T_first_joint=at(0.5), T_second_joint=at(0.4), axis=Y
    )
    return with_loop(tree, "eye", "revolute", "rod", "arm", T_first_joint=at(0.45), T_second_joint=at(0.5), axis=Y)


def scissor(stages: int = 1, width: float = 0.5) -> Description:
    """Scissor lift: in each stage two crossed bars, of which the lowest one slides on the ground, and a platform."""
    half = 0.4
    start = np.arccos(0.5 * width / half)
    links = [Link("ground"), bar("shoe", 0.05, 0.3)]
    joints = [Joint("slide", "prismatic", "ground", "shoe", axis=[1.0, 0.0, 0.0], **FRICTION)]
    left, right, loops, home = ("ground", 0.0), ("shoe", 0.0), [], [width]
    angles = {"ground": 0.0, "shoe": 0.0}
    for k in range(stages):
        for name, (parent, x), angle in ((f"up{k}", left, start), (f"down{k}", right, np.pi - start)):
            links.append(bar(name, 2.0 * half, 1.0))
            joints.append(pivot(name, parent, name, x))
            angles[name] = angle
            home.append(angle - angles[parent])
        loops.append((f"centre{k}", f"up{k}", f"down{k}", half, half))
        left, right = (f"down{k}", 2.0 * half), (f"up{k}", 2.0 * half)
    links += [bar("platform", width, 2.0), bar("roller", 0.05, 0.1)]
    joints += [
        pivot("top", left[0], "platform", left[1]),
        Joint("slot", "prismatic", "platform", "roller", axis=[1.0, 0.0, 0.0], **FRICTION),
    ]
    home += [-angles[left[0]], width]
    loops.append(("eye", right[0], "roller", right[1], 0.0))
    tree = Description("scissor", tuple(links), tuple(joints), home=home)
    for name, first, second, a, b in loops:
        tree = with_loop(tree, name, "revolute", first, second, T_first_joint=at(a), T_second_joint=at(b), axis=Y)
    return tree


LINKAGES: dict[str, Callable[[], Description]] = {
    "five-bar": five_bar,
    "3-RRR": three_rrr,
    "Stephenson": stephenson,
    "scissor": scissor,
    "slider-crank": slider_crank,
}
"""Linkages with dead centres of their joints."""
MACHINES: dict[str, Callable[[], Description]] = {
    "four-bar": four_bar,
    "slider-crank": slider_crank,
    "five-bar": five_bar,
    "3-RRR": three_rrr,
    "Delta": delta,
    "Stewart 6-UPS": stewart,
    "Stewart 6-SPS": lambda: stewart("SPS"),
    "Stewart by pose": lambda: stewart(motors=False),
    "excavator": excavator,
    "leg": leg_with_rods,
    "palletiser": palletiser,
}
FREEDOMS = {
    "four-bar": (1, 2, 5),
    "slider-crank": (1, 2, 5),
    "five-bar": (2, 2, 5),
    "3-RRR": (3, 4, 10),
    "Delta": (3, 18, 18),
    "Stewart 6-UPS": (6, 18, 18),
    "Stewart 6-SPS": (12, 18, 18),
    "Stewart by pose": (6, 18, 18),
    "excavator": (2, 4, 10),
    "leg": (8, 1, 1),
    "palletiser": (3, 2, 5),
}
"""Degrees of freedom, independent constraints and all constraints: Grübler's count, planar for planar machines."""
