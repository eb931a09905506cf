"""`chasles robots` and `chasles info`: the shipped robots; joints, links, frames and programs of one."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from chasles.base.errors import ArgumentError, ModelError
from chasles.cli.options import JsonOption, RobotArgument, ToolOption, UncheckedOption, shipped_robots
from chasles.cli.output import add_row, number, results, say, say_wrapped, show_json, table

if TYPE_CHECKING:
    from rich.table import Table

    from chasles.model import Description, Joint
    from chasles.robot.robot import Robot

NameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="Robot to tell more about.", show_default=False, autocompletion=shipped_robots
    ),
]
_PROGRAMS: dict[str, dict[str, str]] = {
    "forward_kinematics": {},
    "jacobian": {"frame": "body"},
    "inverse_dynamics": {},
    "mass_matrix": {},
    "forward_dynamics": {},
    "inverse_dynamics_derivatives": {},
}


def info(
    robot: RobotArgument,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show joints, links, frames and masses of a robot, and the size of its programs.

    For example:

        chasles info puma560

        chasles info my_robot.urdf --json
    """
    from chasles.cli.values import loaded

    facts = describe(loaded(robot, tool=tool, unchecked=unchecked))
    if as_json:
        show_json(facts)
    else:
        _show(facts, results())


def describe(robot: Robot) -> dict[str, Any]:
    """Return facts about a robot as plain data."""
    description = robot.description
    operations = {}
    for name, options in _PROGRAMS.items():
        with contextlib.suppress(ArgumentError, ModelError):  # a robot without masses has no forward dynamics
            operations[name] = getattr(robot, name).specialize(**options).program.operation_count
    T_world_tool = np.asarray(robot.forward_kinematics(robot.home))
    return {
        "name": robot.name,
        "source": " ".join(description.source.split()),
        "coordinates": robot.nq,
        "velocities": robot.n,
        "joints": [_joint(joint) for joint in description.ordered_joints],
        "links": [
            {"name": link.name, "mass": link.inertia.mass, "center_of_mass": link.inertia.center_of_mass}
            for link in description.links
        ],
        "shapes": _shapes(description),
        "frames": {frame.name: frame.link for frame in description.frames},
        "tool": description.tool,
        "gravity": description.gravity,
        "mass": description.mass,
        "home": dict(zip(robot.coordinate_names, robot.home, strict=True)),
        "tool_at_home": {
            "position": T_world_tool[:3, 3],
            "roll_pitch_yaw": _roll_pitch_yaw(T_world_tool[:3, :3]),
        },
        "operations": operations,
    }


#: What resists the motion of a joint: titles of columns by names in the facts.
_RESISTANCES = {"viscous_friction": "viscous", "coulomb_friction": "Coulomb", "armature": "armature"}
_FURTHER_RESISTANCES = {
    "load_friction": "load",
    "torque_offset": "offset",
    "torque_sine": "sine",
    "torque_cosine": "cosine",
}
"""Those that few robots have; each has a column if any joint has it."""


def _shapes(description: Description) -> dict[str, Any]:
    """Return the number of shapes of each kind, and the missing mesh files, with reasons."""
    from chasles.model import Mesh, missing_meshes

    drawn = [shape for link in description.links for shape in link.visuals]
    solid = [shape for link in description.links for shape in link.collisions]
    meshes = {shape.geometry.file for shape in drawn + solid if isinstance(shape.geometry, Mesh)}
    missing = missing_meshes(description)
    return {"visuals": len(drawn), "collisions": len(solid), "meshes": len(meshes), "missing_meshes": missing}


def _roll_pitch_yaw(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return angles about the fixed axes x, y, z; the yaw is zero where the pitch is ±90°."""
    from scipy.spatial.transform import Rotation

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Gimbal lock")
        return np.asarray(Rotation.from_matrix(R).as_euler("xyz"))


def _joint(joint: Joint) -> dict[str, Any]:
    return {
        "name": joint.name,
        "kind": joint.kind,
        "parent": joint.parent,
        "child": joint.child,
        "lower": joint.limits.lower,
        "upper": joint.limits.upper,
        "velocity": joint.limits.velocity,
        "effort": joint.limits.effort,
        "viscous_friction": joint.viscous_friction,
        "coulomb_friction": joint.coulomb_friction,
        "armature": joint.gear_ratio**2 * joint.motor_inertia,
        **{name: getattr(joint, name) for name in _FURTHER_RESISTANCES},
        "drive_coupling": dict(joint.drive_coupling),
        "mimic": joint.mimic.joint if joint.mimic else None,
        "freedoms": _freedoms(joint),
    }


def _freedoms(joint: Joint) -> list[dict[str, Any]]:
    """Return name, unit, coordinate and limits per degree of freedom; those of a quaternion have no coordinate."""
    count = len(joint.velocity_names)
    coordinates = [None] * count if joint.has_quaternion else list(joint.coordinate_names)
    names = ("lower", "upper", "velocity", "effort")
    limits = zip(*(joint.limits.each(name, count) for name in names), strict=True)
    return [
        {"name": name, "unit": unit, "coordinate": coordinate, **dict(zip(names, bounds, strict=True))}
        for name, unit, coordinate, bounds in zip(
            joint.velocity_names, joint.displacement_units, coordinates, limits, strict=True
        )
    ]


def _show(facts: dict[str, Any], console: Console) -> None:
    count = sum(joint["kind"] != "fixed" and not joint["mimic"] for joint in facts["joints"])
    freedom = "" if facts["velocities"] == count else f" with {facts['velocities']} degrees of freedom"
    say(f"{facts['name']}: {count} joints{freedom}, {len(facts['links'])} links, {number(facts['mass'])} kg")
    if facts["source"]:
        say_wrapped(facts["source"])
    say("")
    _show_joints(facts, console)
    say("")
    _show_links(facts["links"], console)
    say("")
    _show_shapes(facts["shapes"])
    if _lacks_rotors(facts):
        say_wrapped(
            "Rotor inertia: none in the file; simulate takes it by --set motor_inertia, "
            "Python by robot.with_motor_inertia"
        )
    _show_frames(facts)
    say("")
    programs = table("Programs", "computation", ">scalar operations")
    for name, count in facts["operations"].items():
        add_row(programs, name.replace("_", " "), f"{count:,}")
    console.print(programs)


def _show_links(links: list[dict[str, Any]], console: Console) -> None:
    link_table = table("Links", "link", ">mass [kg]", ">centre of mass in the link's frame [m]")
    for link in links:
        center = ", ".join(f"{x:.4g}" for x in link["center_of_mass"]) if link["mass"] else "–"
        add_row(link_table, link["name"], number(link["mass"]) if link["mass"] else "–", center)
    console.print(link_table)


def _show_shapes(shapes: dict[str, Any]) -> None:
    """Say how many shapes there are, and which meshes are missing."""
    if shapes["visuals"] or shapes["collisions"]:
        counts = ", ".join(f"{shapes[kind]} {kind}" for kind in ("visuals", "collisions"))
        say(f"Shapes: {counts}, {shapes['meshes']} files of meshes")
    if shapes["missing_meshes"]:
        first = next(iter(shapes["missing_meshes"].values()))
        say_wrapped(f"{len(shapes['missing_meshes'])} meshes are missing, the first: {first}")


def _lacks_rotors(facts: dict[str, Any]) -> bool:
    """Whether a robot with masses and effort limits has no rotor inertia at all."""
    driven = [joint for joint in facts["joints"] if joint["kind"] != "fixed" and np.min(joint["effort"]) < np.inf]
    return bool(driven and facts["mass"]) and not any(joint["armature"] for joint in driven)


def _show_frames(facts: dict[str, Any]) -> None:
    """Say which frames there are, and where the tool is at home."""
    if facts["frames"]:
        say_wrapped("Frames: " + ", ".join(f"{frame} (on {link})" for frame, link in facts["frames"].items()))
    position = ", ".join(f"{x:.4f}" for x in facts["tool_at_home"]["position"])
    angles = ", ".join(f"{x:.2f}" for x in np.degrees(facts["tool_at_home"]["roll_pitch_yaw"]))
    say_wrapped(f"Tool at home: frame {facts['tool']} at ({position}) m, roll, pitch, yaw ({angles})°")


def _pose(joint: str, home: dict[str, float]) -> str:
    """Return the pose of the link of a spherical or free joint as text."""
    from scipy.spatial.transform import Rotation

    quaternion = [home[f"{joint}.{label}"] for label in ("qw", "qx", "qy", "qz")]
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    angles = f"roll, pitch, yaw ({', '.join(f'{x:.2f}' for x in np.degrees(_roll_pitch_yaw(R)))})°"
    position = [home[name] for name in (f"{joint}.{axis}" for axis in "xyz") if name in home]
    return f"({', '.join(f'{x:.4f}' for x in position)}) m, {angles}" if position else angles


def _show_joints(facts: dict[str, Any], console: Console) -> None:
    moving = [joint for joint in facts["joints"] if joint["kind"] != "fixed"]
    console.print(_limits(moving, facts["home"]))
    if any(joint[name] for joint in moving for name in _RESISTANCES | _FURTHER_RESISTANCES):
        say("")
        console.print(_resistances(moving))
    for joint in moving:
        if joint["drive_coupling"]:
            shares = ", ".join(f"{number(share)} {other}" for other, share in joint["drive_coupling"].items())
            say(f"The motor of {joint['name']} also turns with: {shares}")
    for joint in moving:
        if joint["kind"] in ("spherical", "free"):
            say(f"{joint['name']} at home: {_pose(joint['name'], facts['home'])}")
    fixed = [joint["name"] for joint in facts["joints"] if joint["kind"] == "fixed"]
    if fixed:
        say_wrapped("Fixed joints: " + ", ".join(fixed))


def _limits(moving: list[dict[str, Any]], home: dict[str, float]) -> Table:
    """Return the limits of joints and their positions at home, a row for each degree of freedom."""
    limits = table(
        "Moving joints (°, °/s, N·m or m, m/s, N)",
        *("joint", "type", ">from", ">to", ">home", ">speed", ">effort"),
    )
    for joint in moving:
        kind = f"follows {joint['mimic']}" if joint["mimic"] else joint["kind"]
        for freedom in joint["freedoms"]:
            scale = 1.0 if freedom["unit"] == "m" else 180.0 / np.pi
            lower, upper, speed = (scale * freedom[bound] for bound in ("lower", "upper", "velocity"))
            at_home = scale * home.get(freedom["coordinate"], np.nan)
            values = (number(value) for value in (lower, upper, at_home, speed, freedom["effort"]))
            add_row(limits, freedom["name"], kind, *values)
    return limits


def _resistances(moving: list[dict[str, Any]]) -> Table:
    """Return the friction and rotor inertia of joints; further terms have a column where a joint has them."""
    further = {name: title for name, title in _FURTHER_RESISTANCES.items() if any(joint[name] for joint in moving)}
    columns = _RESISTANCES | further
    resistances = table("Friction, rotor inertia (SI units)", "joint", *(f">{title}" for title in columns.values()))
    for joint in moving:
        add_row(resistances, joint["name"], *(number(joint[name]) for name in columns))
    return resistances


def robots(name: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the shipped robots, or show what one of them is and where its numbers come from.

    A ROBOT argument is one of these names, or the path of a URDF, xacro, SDF, MJCF, TOML, ROBOOP or SpaceLib file.

    For example:

        chasles robots

        chasles robots panda
    """
    from chasles import model
    from chasles.model.robots import title

    chosen = model.shipped() if name is None else (model.shipped_path(name).stem,)
    listed = [_shipped(key, title(key), model.load(key)) for key in chosen]
    if as_json:
        show_json(listed)
    elif name is not None:
        (robot,) = listed
        say(f"{name}: {robot['robot']}, {robot['joints']} joints, {number(robot['mass'])} kg")
        say_wrapped(robot["source"])
        say(f"Joints, links and frames: chasles info {name}")
    else:
        listing = table("Robots", "name", "robot", ">joints", ">mass [kg]")
        for robot in listed:
            mass = number(robot["mass"]) if robot["mass"] else "–"
            add_row(listing, robot["name"], robot["robot"], str(robot["joints"]), mass)
        results().print(listing)


def _shipped(name: str, title: str, description: Description) -> dict[str, Any]:
    joints = (
        len(description.actuated) or description.n
    )  # loops leave the joints with motors free, and take long to close
    facts = {"name": name, "robot": title, "joints": joints, "mass": description.mass}
    return facts | {"source": " ".join(description.source.split())}
