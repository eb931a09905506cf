"""Forward dynamics of closed chains against Pinocchio's constrained dynamics and MuJoCo's soft constraints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles import algorithms as alg
from chasles.geometry import rotation_from_quaternion
from chasles.model import Description, build_tree, parse_mjcf
from chasles.model.formats.to_mjcf import to_mjcf

QUICK = ("four-bar", "3-RRR")
POINTS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MACHINES if name != "leg"
]  # Pinocchio has no constraint for its rod


@pytest.mark.parametrize("name", POINTS)
def test_accelerations_agree_with_pinocchios_constraint_dynamics(name: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.oracles.pinocchio_models import ClosedModel

    robot = ch.Robot(MACHINES[name]())
    tree, peer = build_tree(robot.description), ClosedModel(robot.description)
    rng = np.random.default_rng(1)
    free = list(tree.independent)
    for q in robot.integrate(robot.home, 0.05 * rng.normal(size=(5, robot.n))):
        qd, tau = rng.normal(size=(2, robot.n))
        torques = np.zeros(tree.n)
        torques[free] = tau
        velocities = robot.loops.velocity_map(q) @ qd
        torques -= alg.friction_torque(tree, q, velocities)  # of which Pinocchio does not know
        theirs = peer.accelerations(q, velocities, torques)
        ours = robot.forward_dynamics(q, qd, tau)
        assert np.abs(ours - theirs[free]).max() <= 1e-9 * (1.0 + np.abs(theirs).max())


class SoftModel:
    """A robot with loops as MuJoCo reads it from our MJCF, with velocities in the order of Chasles."""

    def __init__(self, description: Description, impedance: float) -> None:
        self.mujoco = pytest.importorskip("mujoco")
        self.description = description
        self.model = self.mujoco.MjModel.from_xml_string(to_mjcf(description))
        self.model.eq_solref[:] = [0.002, 1.0]
        self.model.eq_solimp[:] = [impedance, impedance, 1e-3, 0.5, 2.0]
        self.model.opt.iterations, self.model.opt.tolerance = 500, 0.0
        self.data = self.mujoco.MjData(self.model)

    def accelerations(self, q: np.ndarray, v: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Accelerations of all joints, (joint velocities,)."""
        description, data = self.description, self.data
        result, R = np.empty(len(v)), np.eye(3)
        places = []
        for joint in range(self.model.njnt):
            name, a, b = (
                self.model.joint(joint).name,
                int(self.model.jnt_qposadr[joint]),
                int(self.model.jnt_dofadr[joint]),
            )
            known = description.starts.get(name)
            start = known or (description.coordinate_names.index(name), description.joint_velocity_names.index(name))
            kind = description.joint(name).kind if known else "revolute"
            size = {"free": 7, "spherical": 4}.get(kind, 1)
            values = q[start[0] : start[0] + size]
            if kind == "free":
                R = rotation_from_quaternion(values[:4])
                values = np.concatenate([values[4:], values[:4]])
            data.qpos[a : a + size] = values
            places.append((kind, b, start[1]))
            for ours, theirs in ((v, data.qvel), (torques, data.qfrc_applied)):
                if kind == "free":
                    theirs[b : b + 6] = np.concatenate([R @ ours[start[1] + 3 : start[1] + 6], ours[start[1] :][:3]])
                else:
                    count = min(size, 3)
                    theirs[b : b + count] = ours[start[1] : start[1] + count]
        self.mujoco.mj_forward(self.model, data)
        for kind, b, start in places:
            if kind == "free":
                spin, travel = v[start : start + 3], v[start + 3 : start + 6]
                result[start : start + 3] = data.qacc[b + 3 : b + 6]
                result[start + 3 : start + 6] = R.T @ data.qacc[b : b + 3] - np.cross(spin, travel)
            else:
                count = 3 if kind == "spherical" else 1
                result[start : start + count] = data.qacc[b : b + count]
        return result


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MACHINES]
)
def test_mujocos_soft_loops_become_ours_as_they_harden(name: str) -> None:
    """An impedance d lets a share 1 - d of the constraints' accelerations pass: the difference falls with it.

    A tendon, by which a rod is written, has no velocity terms in MuJoCo: it is compared at rest.
    """
    robot = ch.Robot(MACHINES[name]()).with_friction(viscous=0.0, coulomb=0.0)
    rng = np.random.default_rng(0)
    (q,) = robot.integrate(robot.home, 0.03 * rng.normal(size=(1, robot.n)))
    qd, tau = rng.normal(size=(2, robot.n)) * [[float(name != "leg")], [1.0]]
    torques = np.zeros(len(robot.description.joint_velocity_names))
    torques[list(robot.description.independent_indices)] = tau
    ours = robot.loops.joint_accelerations(q, qd, robot.forward_dynamics(q, qd, tau))
    apart = []
    for impedance in (0.99, 0.999, 0.9999):
        theirs = SoftModel(robot.description, impedance).accelerations(q, robot.loops.velocity_map(q) @ qd, torques)
        apart.append(np.abs(theirs - ours).max() / np.abs(ours).max())
    assert apart[2] < 1e-3
    assert apart[1] / apart[0] == pytest.approx(0.1, abs=0.06)
    assert apart[2] / apart[1] == pytest.approx(0.1, abs=0.06)


@pytest.mark.parametrize("name", ["four-bar", "leg", pytest.param("Delta", marks=pytest.mark.slow)])
def test_loops_written_as_mjcf_are_closed_at_home_and_come_back(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = ch.Robot(MACHINES[name]()).with_friction(coulomb_velocity=0.0)  # MuJoCo's friction has no transition
    text = to_mjcf(robot.description)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.ne >= robot.loops.mobility.rank
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-12
    if name == "leg":  # its rod is a tendon, which is read as a sentence
        with pytest.warns(UserWarning, match="the equality constraints 'achilles'"):
            parse_mjcf(text)
        return
    back = ch.Robot(parse_mjcf(text))
    assert (back.n, back.loops.mobility.rank) == (robot.n, robot.loops.mobility.rank)
    assert set(back.description.actuated) == set(robot.description.actuated)
    q = robot.integrate(robot.home, 0.03 * np.ones(robot.n))
    assert back.forward_kinematics(q, target=robot.description.links[-1].name) == pytest.approx(
        robot.forward_kinematics(q, target=robot.description.links[-1].name), abs=1e-12
    )
