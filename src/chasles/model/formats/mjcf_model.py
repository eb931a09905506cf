"""A compiled MuJoCo model as a description."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.model.description import Description, Frame, Link
from chasles.model.formats.mjcf_shapes import shapes
from chasles.model.formats.single_freedoms import unused_name
from chasles.model.freedoms import JointKind
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint, Limits, Mimic
from chasles.model.joint_positions import motion
from chasles.model.loop import Loop, LoopKind
from chasles.model.placement import FloatArray, compose, from_position_and_quaternion, homogeneous
from chasles.model.record import naming, shortened
from chasles.model.shapes import Mesh

if TYPE_CHECKING:
    from mujoco import MjModel

WORLD = 0
#: mjtJoint
FREE, BALL, SLIDE = range(3)
#: mjtEq and mjtTrn
CONNECT, WELD, EQUALITY_OF_JOINTS = range(3)
ACTS_ON_JOINT = (0, 1)


def describe(
    model: MjModel, name: str, tool: str, meshes: Mapping[str, Mesh]
) -> tuple[Description, set[int], list[str]]:
    """Return the description of a compiled model.

    Parameters
    ----------
    model
        A `mujoco.MjModel`.
    name
        Name of the robot.
    tool
        Name of the default frame, or empty.
    meshes
        The meshes that are files, by name.

    Returns
    -------
    description
        The robot.
    taken
        Numbers of the equality constraints that became mimics or loops.
    complaints
        Sentences about geoms that are left out.
    """
    complaints: list[str] = []
    names = _Names(model)
    rules, followers = _mimics(model, names.joints)
    loops = _loops(model, names)
    links = [Link(names.bodies[WORLD], Inertia(), *shapes(model, WORLD, meshes, complaints))]
    joints: list[Joint] = []
    for body in range(1, model.nbody):
        parent = names.bodies[int(model.body_parentid[body])]
        child = names.bodies[body]
        T = from_position_and_quaternion(model.body_pos[body], model.body_quat[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if count == 0:
            joints.append(Joint(unused_name(f"{child}_fixed", names.taken_joints), "fixed", parent, child, T))
        for number in range(first, first + count):
            last = number == first + count - 1
            end = child if last else unused_name(names.joints[number], names.taken_frames)
            joints.append(_joint(model, number, names.joints[number], parent, end, T, rules.get(number)))
            if not last:
                links.append(Link(end))
            parent, T = end, np.eye(4)
        links.append(Link(child, _inertia(model, body), *shapes(model, body, meshes, complaints)))
    frames = tuple(
        Frame(
            names.sites[site],
            names.bodies[int(model.site_bodyid[site])],
            from_position_and_quaternion(model.site_pos[site], model.site_quat[site]),
        )
        for site in range(model.nsite)
    )
    description = Description(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        frames=frames,
        gravity=np.zeros(3) if disabled(model, "GRAVITY") else np.array(model.opt.gravity),
        tool=tool,
        home=_home(model, [number for number in range(model.njnt) if number not in rules]),
        loops=tuple(loops.values()),
        actuated=tuple(names.joints[number] for number in _motors(model) if number not in rules) if loops else (),
    )
    return description, {*followers.values(), *loops}, complaints


class _Names:
    """Names of bodies, sites and joints: MuJoCo's, made different where they are empty or the same."""

    def __init__(self, model: MjModel) -> None:
        self.taken_frames: set[str] = set()
        self.taken_joints: set[str] = set()
        self.bodies = [
            unused_name(model.body(index).name or f"body{index}", self.taken_frames) for index in range(model.nbody)
        ]
        self.joints = [
            unused_name(model.joint(index).name or f"joint{index + 1}", self.taken_joints)
            for index in range(model.njnt)
        ]
        self.sites = []
        for index in range(model.nsite):
            name = model.site(index).name or f"site{index + 1}"
            self.sites.append(unused_name(f"{name}_site" if name in self.taken_frames else name, self.taken_frames))


def _joint(
    model: MjModel, number: int, name: str, parent: str, child: str, T: FloatArray, mimic: Mimic | None
) -> Joint:
    kind = int(model.jnt_type[number])
    dof = int(model.jnt_dofadr[number])
    parameters: dict[str, Any] = {
        "viscous_friction": 0.0 if disabled(model, "DAMPER") else float(model.dof_damping[dof]),
        "coulomb_friction": 0.0 if disabled(model, "FRICTIONLOSS") else float(model.dof_frictionloss[dof]),
        "motor_inertia": float(model.dof_armature[dof]),
    }
    if kind == FREE:
        # The coordinates are the pose in the world itself.
        return Joint(name, "free", parent, child, **parameters)
    position = model.jnt_pos[number]
    placed = compose(T, homogeneous(p=position))
    back = homogeneous(p=-position)
    if kind == BALL:
        return Joint(name, "spherical", parent, child, placed, back, **parameters)
    axis = np.array(model.jnt_axis[number])
    limits = _limits(model, number)
    bounded = (limits.lower, limits.upper) != (-math.inf, math.inf)
    described: JointKind = "prismatic" if kind == SLIDE else "revolute" if bounded else "continuous"
    joint = Joint(name, described, parent, child, placed, back, axis, limits=limits, mimic=mimic, **parameters)
    reference = float(model.qpos0[model.jnt_qposadr[number]])
    if reference == 0.0:
        return joint
    return joint.replace(T_parent_joint=compose(placed, motion(joint, np.array([-reference]))))


def _limits(model: MjModel, number: int) -> Limits:
    lower, upper = -math.inf, math.inf
    if model.jnt_limited[number] and not disabled(model, "LIMIT"):
        lower, upper = (float(bound) for bound in model.jnt_range[number])
    efforts = [math.inf]
    if model.jnt_actfrclimited[number]:
        efforts.append(_symmetric(model.jnt_actfrcrange[number]))
    actuators = [
        index
        for index in range(len(model.actuator_trntype))
        if int(model.actuator_trntype[index]) in ACTS_ON_JOINT and int(model.actuator_trnid[index, 0]) == number
    ]
    if len(actuators) == 1:
        efforts.append(_largest_force(model, actuators[0]))
    return Limits(lower, upper, effort=min(efforts))


def _largest_force(model: MjModel, actuator: int) -> float:
    """Torque or force at the joint that an actuator can give in both directions; infinite if that is not said."""
    gear = abs(float(model.actuator_gear[actuator, 0]))
    largest = math.inf
    if model.actuator_forcelimited[actuator]:
        largest = _symmetric(model.actuator_forcerange[actuator])
    direct = not np.any(model.actuator_biasprm[actuator]) and not model.actuator_dyntype[actuator]
    if direct and model.actuator_gaintype[actuator] == 0 and model.actuator_ctrllimited[actuator]:
        gain = abs(float(model.actuator_gainprm[actuator, 0]))
        largest = min(largest, gain * _symmetric(model.actuator_ctrlrange[actuator]))
    return largest * gear if gear else math.inf


def _symmetric(bounds: NDArray[np.float64]) -> float:
    lower, upper = (float(bound) for bound in bounds)
    return upper if lower == -upper else math.inf


def _inertia(model: MjModel, body: int) -> Inertia:
    R = from_position_and_quaternion(None, model.body_iquat[body])[:3, :3]
    matrix = R @ np.diag(model.body_inertia[body]) @ R.T
    with naming(f"body {shortened(model.body(body).name or f'number {body}')}"):
        return Inertia(float(model.body_mass[body]), model.body_ipos[body], (matrix + matrix.T) / 2.0)


def _mimics(model: MjModel, names: list[str]) -> tuple[dict[int, Mimic], dict[int, int]]:
    """Mimics by the numbers of the joints that follow, and the constraints that they come from."""
    rules: dict[int, Mimic] = {}
    leaders: dict[int, int] = {}
    sources: dict[int, int] = {}
    for constraint in range(model.neq):
        follower, leader = int(model.eq_obj1id[constraint]), int(model.eq_obj2id[constraint])
        constant, ratio, *higher = (float(value) for value in model.eq_data[constraint, :5])
        if (
            int(model.eq_type[constraint]) != EQUALITY_OF_JOINTS
            or not model.eq_active0[constraint]
            or disabled(model, "EQUALITY")
            or leader < 0
            or any(higher)
            or follower in rules
            or _leads_to(leader, follower, leaders)
        ):
            continue
        at_rest, leader_at_rest = (float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (follower, leader))
        rules[follower] = Mimic(names[leader], ratio, at_rest + constant - ratio * leader_at_rest)
        leaders[follower] = leader
        sources[follower] = constraint
    return rules, sources


def _loops(model: MjModel, names: _Names) -> dict[int, Loop]:
    """Loops of the constraints that connect or weld two bodies or sites, by the constraints' numbers."""
    import mujoco

    loops: dict[int, Loop] = {}
    for constraint in range(model.neq):
        kind = int(model.eq_type[constraint])
        if kind not in (CONNECT, WELD) or not model.eq_active0[constraint] or disabled(model, "EQUALITY"):
            continue
        between = [int(model.eq_obj1id[constraint]), int(model.eq_obj2id[constraint])]
        first = second = np.eye(4)
        if int(model.eq_objtype[constraint]) == int(mujoco.mjtObj.mjOBJ_SITE):
            frames = [names.sites[number] for number in between]
        else:
            frames = [names.bodies[max(number, WORLD)] for number in between]
            data = model.eq_data[constraint]
            if kind == CONNECT:
                first, second = homogeneous(p=data[0:3]), homogeneous(p=data[3:6])
            else:  # the anchor in the second body comes first
                first, second = from_position_and_quaternion(data[3:6], data[6:10]), homogeneous(p=data[0:3])
        name = unused_name(model.equality(constraint).name or f"loop{constraint + 1}", names.taken_joints)
        joint: LoopKind = "spherical" if kind == CONNECT else "fixed"
        loops[constraint] = Loop(name, joint, frames[0], frames[1], first, second)
    return loops


def _motors(model: MjModel) -> list[int]:
    """Numbers of the joints on which an actuator acts."""
    on_joint = [kind in ACTS_ON_JOINT for kind in np.asarray(model.actuator_trntype).tolist()]
    return sorted({int(model.actuator_trnid[index, 0]) for index in np.flatnonzero(on_joint)})


def _leads_to(joint: int, other: int, leaders: dict[int, int]) -> bool:
    while joint != other and joint in leaders:
        joint = leaders[joint]
    return joint == other


def _home(model: MjModel, independent: list[int]) -> FloatArray:
    qpos = np.array(model.qpos0)
    for key in range(model.nkey):
        if model.key(key).name == "home":
            qpos = np.array(model.key_qpos[key])
    parts = []
    for number in independent:
        start = int(model.jnt_qposadr[number])
        if int(model.jnt_type[number]) == FREE:
            parts += [qpos[start + 3 : start + 7], qpos[start : start + 3]]
        else:
            parts.append(qpos[start : start + (4 if int(model.jnt_type[number]) == BALL else 1)])
    return np.concatenate([*parts, np.zeros(0)])


def disabled(model: MjModel, what: str) -> bool:
    """Whether a part of the physics is switched off in the model, such as "GRAVITY"."""
    import mujoco

    flag = getattr(mujoco.mjtDisableBit, f"mjDSBL_{what}", None)
    return flag is not None and bool(int(model.opt.disableflags) & int(flag))
