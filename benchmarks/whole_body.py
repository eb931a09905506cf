"""A step of whole-body inverse kinematics: Talos with a free base, three tasks and limits, against Pink and mink.

A hand follows a circle while a foot stays and the posture is kept. All solve the same quadratic program, in each step
at the configuration that the step before led to: Pink's and Chasles' rates are compared first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np
from tests.oracles.example_robots import example

import chasles as ch
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, seconds
from benchmarks.timing import interleaved
from chasles.inverse_kinematics import FrameTask, PostureTask, solve_rates

try:
    import pinocchio as pin
except ImportError:
    raise MissingPeerError("pin (Pinocchio)") from None

FOOT, HAND = "left_sole_link", "gripper_right_base_link"
PERIOD, STEPS, BAR = 0.005, 200, 5.0
COST = 1e-2


def tables() -> Iterator[Table]:
    """The table of this section."""
    file = example("talos_data/robots/talos_reduced.urdf")
    robot = ch.load(file, check=False).with_free_base(world="the world")
    table = Table(
        "Talos with a free base: a step of inverse kinematics with three tasks, limits of position and velocity",
        ("start", "", "a step", "ratio"),
        notes=[
            "Forward kinematics, tasks, limits, the quadratic program and the next configuration, each called from "
            "Python. Pink and mink solve with DAQP, from nothing and from the solution of the step before (warm); "
            "Chasles with its compiled active-set method, which begins with the active bounds of the step before. From "
            "the bent posture no limit acts; at home many joints are at limits."
        ],
    )
    for posture, start in {"bent knees and elbows": bent(robot), "home, at limits": robot.home.copy()}.items():
        times = step_times(robot, str(file), start)
        for name, time in times.items():
            peer = name != "Chasles"
            table.add(posture, name, seconds(time), at_least(BAR, time / times["Chasles"]) if peer else "")
    yield table


def step_times(robot: ch.Robot, file: str, start: np.ndarray) -> dict[str, float]:
    """Time of a step along the circle from a posture, s, Chasles first; the rates of Pink are compared before."""
    hand = robot.forward_kinematics(start, target=HAND)
    goals = np.tile(hand, (STEPS, 1, 1))
    angle = 2.0 * np.pi * np.arange(STEPS) / STEPS
    goals[:, :3, 3] += 0.05 * np.stack([np.cos(angle) - 1.0, np.sin(angle), np.zeros(STEPS)], axis=-1)
    ours, rates = chasles_step(robot, start, goals)
    candidates = {"Chasles": ours}
    for name, make in {"Pink": pink_step, "mink": mink_step}.items():
        try:
            candidates[name], other = make(robot, file, start, goals, False)
            candidates[f"{name}, warm"], _ = make(robot, file, start, goals, True)
        except ImportError:
            continue
        if other is not None and np.abs(other - rates).max() > 1e-5:
            raise AssertionError(f"{name} and Chasles differ by {np.abs(other - rates).max():.3g} rad/s")
    if len(candidates) == 1:
        raise MissingPeerError("pin-pink or mink")
    return interleaved(candidates, repeats=9, least=0.2)


def bent(robot: ch.Robot) -> np.ndarray:
    """A posture with bent knees and elbows, the other joints at zero or at their limit nearest to it."""
    q = robot.home.copy()
    q[7:] = np.clip(0.0, robot.lower_limits[7:], robot.upper_limits[7:])
    angles = {"leg_{}_3": -0.4, "leg_{}_4": 0.8, "leg_{}_5": -0.4, "arm_{}_2": 0.4, "arm_{}_4": -1.5}
    for name, angle in angles.items():
        for side in ("left", "right"):
            mirrored = -angle if (name, side) == ("arm_{}_2", "right") else angle
            q[robot.coordinate_names.index(f"{name.format(side)}_joint")] = mirrored
    return q


def chasles_step(robot: ch.Robot, start: np.ndarray, goals: np.ndarray) -> tuple[Callable[[], object], np.ndarray]:
    """A step along the circle, and the rates of the first."""
    foot = FrameTask(robot.forward_kinematics(start, target=FOOT), FOOT, gain=1.0 / PERIOD)
    hand = FrameTask(goals[1], HAND, gain=1.0 / PERIOD)
    tasks = [foot, hand, PostureTask(start, cost=COST, gain=1.0 / PERIOD)]
    q, turn = start, cycle(goals)
    rates = first = solve_rates(robot, q, tasks, PERIOD)

    def step() -> None:
        nonlocal q, rates
        hand.T_world_goal = next(turn)
        rates = solve_rates(robot, q, tasks, PERIOD, start=rates)
        q = robot.integrate(q, PERIOD * rates.qd)

    return step, first.qd


def pink_step(
    robot: ch.Robot, file: str, start: np.ndarray, goals: np.ndarray, warm: bool
) -> tuple[Callable[[], object], np.ndarray]:
    """The same with Pink, and its rates in the order of Chasles."""
    import pink
    from pink.tasks import FrameTask as PinkFrame
    from pink.tasks import PostureTask as PinkPosture

    model = pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer())
    names = list(model.names)[2:]
    places = [robot.description.starts[name][1] for name in names]
    theirs = np.concatenate([start[4:7], start[[1, 2, 3, 0]], start[[place + 1 for place in places]]])
    at = pink.Configuration(model, model.createData(), theirs)
    foot, hand = (PinkFrame(name, position_cost=1.0, orientation_cost=1.0) for name in (FOOT, HAND))
    posture = PinkPosture(cost=COST)
    for task in (foot, hand, posture):
        task.set_target_from_configuration(at)
    poses = [pin.SE3(goal) for goal in goals]
    hand.set_target(poses[1])
    v = pink.solve_ik(at, (foot, hand, posture), PERIOD, solver="daqp")
    rates = np.zeros(robot.n)
    rates[:3], rates[3:6] = v[3:6], v[:3]
    rates[places] = v[6:]
    turn = cycle(poses)

    def step() -> None:
        nonlocal v
        hand.set_target(next(turn))
        guess = PERIOD * v if warm else None
        v = pink.solve_ik(at, (foot, hand, posture), PERIOD, solver="daqp", initvals=guess)
        at.integrate_inplace(v, PERIOD)

    return step, rates


def mink_step(
    robot: ch.Robot, file: str, start: np.ndarray, goals: np.ndarray, warm: bool
) -> tuple[Callable[[], object], None]:
    """The same with mink, on MuJoCo's reading of the file; its tasks weigh errors in another way."""
    import mink
    import mujoco

    with open(file) as opened:
        text = re.sub(r"<(visual|collision)[^>]*>.*?</\1>", "", opened.read(), flags=re.DOTALL)
    options = '<mujoco><compiler discardvisual="false" fusestatic="false" balanceinertia="true"/></mujoco></robot>'
    spec = mujoco.MjSpec.from_string(text.replace("</robot>", options))
    spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    at = mink.Configuration(model)
    for name in robot.joint_names[1:]:
        at.data.qpos[model.joint(name).qposadr[0]] = start[robot.description.starts[name][0]]
    at.update(at.data.qpos.copy())
    foot, hand = (mink.FrameTask(name, "body", 1.0, 1.0) for name in (FOOT, HAND))
    tasks = [foot, hand, mink.PostureTask(model, COST)]
    for task in tasks:
        task.set_target_from_configuration(at)
    fastest = {name: float(robot.velocity_limits[robot.description.starts[name][1]]) for name in robot.joint_names[1:]}
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, fastest)]
    turn = cycle([mink.SE3.from_matrix(goal) for goal in goals])
    v = np.zeros(model.nv)

    def step() -> None:
        nonlocal v
        hand.set_target(next(turn))
        v = mink.solve_ik(at, tasks, PERIOD, "daqp", limits=limits, initvals=PERIOD * v if warm else None)
        at.integrate_inplace(v, PERIOD)

    return step, None
