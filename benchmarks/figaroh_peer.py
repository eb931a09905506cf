"""FIGAROH on the problems of `benchmarks.identification`: least squares and an exciting motion."""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pinocchio
from figaroh.identification.identification_tools import weigthed_least_squares
from figaroh.optimal.base_optimal_trajectory import BaseOptimalTrajectory, BaseTrajectoryIPOPTProblem
from figaroh.tools.qrdecomposition import build_baseRegressor, get_baseIndex
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate
from numpy.typing import NDArray

import chasles as ch
from chasles.identification import Signals

FloatArray = NDArray[np.float64]

TRAJECTORY = {
    "n_wps": 6, "freq": 20, "t_s": 2.0, "soft_lim": 0.05, "max_attempts": 1000, "max_iterations": 100,
    "segment_attempts": 3, "collision_margin": 0.01, "collision_screen": None, "collision_checks_per_interval": 1,
    "collision_check_frequency": 200.0, "srdf": None,
}  # fmt: skip


def _robot(arm: ch.Robot) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        arm.save(path)
        model = pinocchio.buildModelFromUrdf(str(path))
    robot = pinocchio.RobotWrapper(model)
    robot.data = model.createData()
    return robot


def _settings(n: int) -> dict[str, Any]:
    """Friction and rotor inertia are unknown, as in the base parameters of `ch.Robot`."""
    return {
        "has_friction": True, "has_actuator_inertia": True, "has_joint_offset": False, "is_joint_torques": True,
        "is_external_wrench": False, "force_torque": None, "act_idxv": list(range(n)), "act_idxq": list(range(n)),
        "fv": [0.0] * n, "fs": [0.0] * n, "Ia": [0.0] * n,
    }  # fmt: skip


def predicted(fitted: Signals, unseen: Signals, measured: NDArray[np.bool_]) -> FloatArray:
    """Torques at the kept samples of unseen signals by FIGAROH's weighted least squares of others, shape (k, n).

    It gets what `ch.identify` gets: filtered motion and efforts, columns through the same filter, rotors, friction and
    offsets as unknowns, and no rows of joints that rest or are not measured (these are zero, for its weights take as
    many rows of each joint).
    """
    arm = fitted.robot
    robot, settings = _robot(arm), _settings(arm.n) | {"has_joint_offset": True, "off": [0.0] * arm.n}

    def columns(signals: Signals) -> FloatArray:
        W = build_regressor_basic(robot, signals.q, signals.qd, signals.qdd, settings)
        by_time = np.moveaxis(W.reshape(arm.n, len(signals.time), -1), 0, 1)
        return np.moveaxis(signals.filter(by_time)[signals.kept()], 1, 0).reshape(-1, W.shape[1])

    kept = fitted.kept()
    used = (fitted.moving[kept] & measured).T.ravel()
    W, tau = used[:, None] * columns(fitted), used * fitted.effort[kept].T.ravel()
    without, names = get_index_eliminate(W, {str(k): 0.0 for k in range(W.shape[1])}, 1e-3)
    base = get_baseIndex(build_regressor_reduced(W, without), names)
    W_base = build_baseRegressor(build_regressor_reduced(W, without), base)
    first = np.linalg.lstsq(W_base, tau)[0]
    settings["idx_tau_stop"] = len(kept) * np.arange(1, arm.n + 1)
    found = first
    if measured.all():  # its weights divide by the residuals of each joint
        found = weigthed_least_squares(robot, first, W_base, tau, W_base @ first, settings)
    other = build_baseRegressor(build_regressor_reduced(columns(unseen), without), base)
    return np.asarray((other @ found).reshape(arm.n, -1).T)


class _Plan(BaseOptimalTrajectory):
    def __init__(self, arm: ch.Robot) -> None:
        self.robot = _robot(arm)
        self.model, self.active_joints = self.robot.model, list(arm.joint_names)
        self.logger = logging.getLogger(__name__)
        self.trajectory_config, self.identif_config = dict(TRAJECTORY), _settings(arm.n)
        self.results = {"T_F": [], "P_F": [], "V_F": [], "A_F": [], "iteration_data": [], "final_regressor_shape": None}

    def create_ipopt_problem(self, *arguments: Any) -> BaseTrajectoryIPOPTProblem:
        return BaseTrajectoryIPOPTProblem(self, *arguments)


def planned(arm: ch.Robot, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions, velocities and accelerations of FIGAROH's motion of 10 s, within position, velocity and torque limits.

    Raises
    ------
    RuntimeError
        If it finds none.
    """
    np.random.seed(seed)
    plan = _Plan(arm)
    plan.initialize()
    results = plan.solve(stack_reps=1)
    if not results["P_F"]:
        raise RuntimeError("FIGAROH found no motion")
    q, qd, qdd = (np.asarray(results[name][0]) for name in ("P_F", "V_F", "A_F"))
    return q, qd, qdd
