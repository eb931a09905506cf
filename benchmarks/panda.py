"""The Panda arm of our URDF file, loaded by us and by every peer that is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import chasles as ch
from benchmarks.robots import PANDA, PANDA_TOOL, MissingPeerError

Calls = dict[str, Callable[[], Any]]

INVERSE, FORWARD, MASS, POSE, DERIVATIVES, LINEAR, REGRESSOR = (
    "inverse dynamics",
    "forward dynamics",
    "mass matrix",
    "forward kinematics + Jacobian",
    "∂τ/∂(q, q̇) with ∂τ/∂q̈",
    "linear model (A, B)",
    "torque regressor",
)
FUNCTIONS = (INVERSE, FORWARD, MASS, POSE, DERIVATIVES, LINEAR, REGRESSOR)


class States(NamedTuple):
    """States of the arm, arrays (N, 7); Pinocchio's functions on batches take columns."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


@cache
def states(count: int) -> States:
    rng = np.random.default_rng(1)
    arm = ch.load("panda")
    q = rng.uniform(arm.lower_limits, arm.upper_limits, (count, arm.n))
    return States(q, *rng.normal(size=(3, count, arm.n)))


@cache
def chasles_arm() -> ch.Robot:
    return ch.load("panda")


@cache
def pinocchio() -> tuple[Any, Any, Any]:
    """The module, the model and its data."""
    try:
        import pinocchio as pin
    except ImportError:
        raise MissingPeerError("pin (Pinocchio)") from None
    model = pin.buildModelFromUrdf(str(PANDA))
    return pin, model, model.createData()


@cache
def mujoco() -> tuple[Any, Any]:
    """The module and the model, without contacts and constraints."""
    try:
        import mujoco
    except ImportError:
        raise MissingPeerError("mujoco") from None
    specification = mujoco.MjSpec.from_file(str(PANDA))
    for geometry in list(specification.geoms):
        specification.delete(geometry)
    model = specification.compile()
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT | off.mjDSBL_SENSOR
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-3
    if model.nv != 7 or model.nu or np.any(model.dof_damping) or np.any(model.dof_armature):
        raise RuntimeError("MuJoCo reads another arm than the Panda")
    return mujoco, model


def our_calls(s: States) -> Calls:
    """Chasles on all states at once; for single ones pass states of shape (7,)."""
    arm = chasles_arm()
    return {
        INVERSE: lambda: arm.inverse_dynamics(s.q, s.qd, s.qdd),
        FORWARD: lambda: arm.forward_dynamics(s.q, s.qd, s.tau),
        MASS: lambda: arm.mass_matrix(s.q),
        POSE: lambda: arm.pose_and_jacobian(s.q, frame="body"),
        DERIVATIVES: lambda: arm.inverse_dynamics_derivatives(s.q, s.qd, s.qdd),
        LINEAR: lambda: arm.linearize(s.q, s.qd, s.tau),
        REGRESSOR: lambda: arm.regressors.torque(s.q, s.qd, s.qdd),
    }


def our_calls_with_out(s: States) -> Calls:
    """The same into arrays that exist already."""
    arm = chasles_arm()
    results = {name: call() for name, call in our_calls(s).items()}
    return {
        INVERSE: lambda: arm.inverse_dynamics(s.q, s.qd, s.qdd, out=results[INVERSE]),
        FORWARD: lambda: arm.forward_dynamics(s.q, s.qd, s.tau, out=results[FORWARD]),
        MASS: lambda: arm.mass_matrix(s.q, out=results[MASS]),
        POSE: lambda: arm.pose_and_jacobian(s.q, frame="body", out=results[POSE]),
        DERIVATIVES: lambda: arm.inverse_dynamics_derivatives(s.q, s.qd, s.qdd, out=results[DERIVATIVES]),
        LINEAR: lambda: arm.linearize(s.q, s.qd, s.tau, out=results[LINEAR]),
        REGRESSOR: lambda: arm.regressors.torque(s.q, s.qd, s.qdd, out=results[REGRESSOR]),
    }


def pinocchio_calls(q: Any, qd: Any, qdd: Any, tau: Any) -> Calls:
    """Pinocchio on one state.

    For the pose and Jacobian, `computeFrameJacobian` is the cheapest call that there is: it passes over one chain only,
    and leaves the pose of the frame in ``data.iMf[0]``. Reading it from there is not counted.
    """
    pin, model, data = pinocchio()
    tool = model.getFrameId(PANDA_TOOL)
    return {
        INVERSE: lambda: pin.rnea(model, data, q, qd, qdd),
        FORWARD: lambda: pin.aba(model, data, q, qd, tau),
        MASS: lambda: pin.crba(model, data, q),
        POSE: lambda: pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL),
        DERIVATIVES: lambda: pin.computeRNEADerivatives(model, data, q, qd, qdd),
        LINEAR: lambda: pin.computeABADerivatives(model, data, q, qd, tau),
        REGRESSOR: lambda: pin.computeJointTorqueRegressor(model, data, q, qd, qdd),
    }


def pinocchio_pose_and_jacobian(q: Any) -> Callable[[], Any]:
    """Pinocchio's pose and Jacobian of one state, both in arrays of the caller's own."""
    pin, model, data = pinocchio()
    tool = model.getFrameId(PANDA_TOOL)

    def call() -> Any:
        J = pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL)
        return data.iMf[0].homogeneous, J

    return call


def pinocchio_batches(s: States) -> Calls:
    """Pinocchio's C++ loops over batches, with one thread, into arrays that exist already."""
    pin, model, _ = pinocchio()
    pool = pin.ModelPool(model, 1)
    q, qd, qdd, tau = (np.asfortranarray(array.T) for array in s)
    result = np.asfortranarray(np.empty_like(q))
    return {
        INVERSE: lambda: pin.rneaInParallel(1, pool, q, qd, qdd, result) or result,
        FORWARD: lambda: pin.abaInParallel(1, pool, q, qd, tau, result) or result,
    }


def mujoco_calls(q: Any, qd: Any, qdd: Any, tau: Any) -> Calls:
    """MuJoCo on the state that its data holds already. Its stages compute more than these quantities alone."""
    mj, model = mujoco()
    data = mj.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:], data.qfrc_applied[:] = q, qd, qdd, tau
    M, J, body = np.empty((7, 7)), np.empty((2, 3, 7)), model.nbody - 1

    def mass_matrix() -> Any:
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_crb(model, data)
        mj.mj_fullM(model, data, M)
        return M

    def pose_and_jacobian() -> Any:
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_jacBody(model, data, J[1], J[0], body)
        return J

    def inverse_dynamics() -> Any:
        mj.mj_inverse(model, data)
        return data.qfrc_inverse

    forward = mj.MjData(model)
    forward.qpos[:], forward.qvel[:], forward.qfrc_applied[:] = q, qd, tau

    def forward_dynamics() -> Any:
        mj.mj_forward(model, forward)
        return forward.qacc

    return {INVERSE: inverse_dynamics, FORWARD: forward_dynamics, MASS: mass_matrix, POSE: pose_and_jacobian}


def toolbox_calls(q: Any, qd: Any, qdd: Any, tau: Any) -> Calls:
    """Peter Corke's Robotics Toolbox."""
    try:
        import roboticstoolbox as rtb
    except ImportError:
        raise MissingPeerError("roboticstoolbox-python") from None
    robot = rtb.ERobot.URDF(str(PANDA))

    def pose_and_jacobian() -> Any:
        return robot.fkine(q, end=PANDA_TOOL), robot.jacobe(q, end=PANDA_TOOL)

    return {
        INVERSE: lambda: robot.rne(q, qd, qdd),
        FORWARD: lambda: robot.accel(q, qd, tau),
        MASS: lambda: robot.inertia(q),
        POSE: pose_and_jacobian,
    }


def modern_robotics_calls(q: Any, qd: Any, qdd: Any, tau: Any) -> Calls:
    """The code library of Lynch and Park's book."""
    try:
        import modern_robotics as mr
    except ImportError:
        raise MissingPeerError("modern_robotics") from None
    M, M_list, G_list, S_list = screw_description()
    gravity, tip = np.array([0.0, 0.0, -9.81]), np.zeros(6)

    def pose_and_jacobian() -> Any:
        B_list = mr.Adjoint(mr.TransInv(M)) @ S_list
        return mr.FKinBody(M, B_list, q), mr.JacobianBody(B_list, q)

    return {
        INVERSE: lambda: mr.InverseDynamics(q, qd, qdd, gravity, tip, M_list, G_list, S_list),
        FORWARD: lambda: mr.ForwardDynamics(q, qd, tau, gravity, tip, M_list, G_list, S_list),
        MASS: lambda: mr.MassMatrix(q, M_list, G_list, S_list),
        POSE: pose_and_jacobian,
    }


def screw_description() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The arm as the book describes one, from Pinocchio's model: M, Mlist, Glist, Slist."""
    pin, model, data = pinocchio()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    tool = data.oMf[model.getFrameId(PANDA_TOOL)].homogeneous
    screws, inertias, placements, before = [], [], [], np.eye(4)
    for joint in range(1, model.njoints):
        T, inertia = data.oMi[joint].homogeneous, model.inertias[joint]
        axis = T[:3, 2]
        screws.append(np.concatenate([axis, np.cross(T[:3, 3], axis)]))
        center = T @ pin.SE3(np.eye(3), inertia.lever).homogeneous
        inertias.append(np.block([[inertia.inertia, np.zeros((3, 3))], [np.zeros((3, 3)), inertia.mass * np.eye(3)]]))
        placements.append(np.linalg.inv(before) @ center)
        before = center
    placements.append(np.linalg.inv(before) @ tool)
    return tool, np.array(placements), np.array(inertias), np.array(screws).T
