"""What a calibration measures: poses, positions or distances of a marker on the robot, and their first explanation.

The measuring device stands at an unknown place, the marker is mounted at an unknown place of the frame. Both follow in
closed form from the nominal robot: for poses by M. Shah, "Solving the robot-world/hand-eye calibration problem using
the Kronecker product" (J. Mechanisms and Robotics 5(3), 2013); for positions by alternating a rigid fit (B. Horn) with
linear least squares; for distances by linear trilateration and least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from chasles.geometry import compose_poses, exp_pose, inverse_pose, log_pose, pose, project_rotation
from chasles.identification.geometric_errors import COMPONENTS, error_columns
from chasles.model.placement import FloatArray

Kind = Literal["pose", "position", "distance"]

ALTERNATIONS = 200


class Residuals(NamedTuple):
    """Measured minus predicted, (N, rows); turns (rad) come before lengths (m)."""

    values: FloatArray
    columns: FloatArray
    """Derivatives of the prediction with respect to the errors, (N, rows, errors)."""


@dataclass(frozen=True, eq=False)
class MeasuringSetup:
    """Measuring device, marker and what was measured.

    Attributes
    ----------
    kind
        ``"pose"`` (N, 4, 4), ``"position"`` (N, 3) or ``"distance"`` (N,) from the device's origin.
    measured
        Measurements of the marker in the device's axes.
    T_device_world
        The robot's world in the device's axes, (4, 4). For distances only its position counts.
    T_frame_marker
        The marker in the robot's frame, (4, 4). For positions and distances only its position counts.
    device_known, marker_known
        Whether these are given.
    """

    kind: Kind
    measured: FloatArray
    T_device_world: FloatArray
    T_frame_marker: FloatArray
    device_known: bool
    marker_known: bool

    @property
    def free_of_device(self) -> tuple[int, ...]:
        """Components of the device's placement that the measurements depend on and that are unknown."""
        return () if self.device_known else (3, 4, 5) if self.kind == "distance" else (0, 1, 2, 3, 4, 5)

    @property
    def free_of_marker(self) -> tuple[int, ...]:
        """Components of the marker's placement that the measurements depend on and that are unknown."""
        return () if self.marker_known else (0, 1, 2, 3, 4, 5) if self.kind == "pose" else (3, 4, 5)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the unknowns of the device and of the marker."""
        device = tuple(f"device.{COMPONENTS[k]}" for k in self.free_of_device)
        return device, tuple(f"marker.{COMPONENTS[k]}" for k in self.free_of_marker)

    @property
    def turns(self) -> int:
        """Number of angles in each measurement."""
        return 3 if self.kind == "pose" else 0

    @property
    def rows(self) -> int:
        """Numbers in each measurement."""
        return {"pose": 6, "position": 3, "distance": 1}[self.kind]

    def moved(self, of_device: FloatArray, of_marker: FloatArray) -> MeasuringSetup:
        """Setup after error twists of the device's and the marker's unknown components."""
        T_device, T_marker = (
            np.asarray(compose_poses(T, _twist_motion(step, free)))
            for T, step, free in (
                (self.T_device_world, of_device, self.free_of_device),
                (self.T_frame_marker, of_marker, self.free_of_marker),
            )
        )
        return replace(self, T_device_world=T_device, T_frame_marker=T_marker)

    def residuals(self, T_world_frame: FloatArray, T_frame_joint: FloatArray, deflections: FloatArray) -> Residuals:
        """Residuals, and their columns for the device, the joints, their coefficients and the marker, in this order."""
        T_marker_frame = inverse_pose(self.T_frame_marker)
        T_world_marker = np.asarray(compose_poses(T_world_frame, self.T_frame_marker))
        T_device_marker = np.asarray(compose_poses(self.T_device_world, T_world_marker))
        of_joints = error_columns(np.asarray(compose_poses(T_marker_frame, T_frame_joint)))
        columns = np.concatenate(
            [
                error_columns(np.asarray(inverse_pose(T_world_marker))[:, None])[:, :, self.free_of_device],
                of_joints,
                of_joints @ deflections,
                np.broadcast_to(np.eye(6), (len(T_world_frame), 6, 6))[:, :, self.free_of_marker],
            ],
            axis=2,
        )
        if self.kind == "pose":
            return Residuals(np.asarray(log_pose(inverse_pose(T_device_marker) @ self.measured)), columns)
        R, p = T_device_marker[:, :3, :3], T_device_marker[:, :3, 3]
        if self.kind == "position":
            return Residuals(np.einsum("nji,nj->ni", R, self.measured - p), columns[:, 3:])
        length = np.linalg.norm(p, axis=1)
        along = np.einsum("nji,nj->ni", R, p / length[:, None])
        return Residuals((self.measured - length)[:, None], np.einsum("ni,nij->nj", along, columns[:, 3:])[:, None])

    def explained(self, T_world_frame: FloatArray) -> MeasuringSetup:
        """Setup with the unknown placements that explain the measurements best if the robot is as its model says."""
        start: Callable[[MeasuringSetup, FloatArray], tuple[FloatArray, FloatArray]] = {
            "pose": _from_poses,
            "position": _from_positions,
            "distance": _from_distances,
        }[self.kind]
        if self.device_known and self.marker_known:
            return self
        T_device_world, T_frame_marker = start(self, T_world_frame)
        return replace(self, T_device_world=T_device_world, T_frame_marker=T_frame_marker)


def _twist_motion(step: FloatArray, free: tuple[int, ...]) -> FloatArray:
    twist = np.zeros(6)
    twist[list(free)] = step
    return np.asarray(exp_pose(twist))


def _from_poses(setup: MeasuringSetup, T_world_frame: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Device X and marker Z with ``measured = X T_world_frame Z``."""
    F, M = T_world_frame[:, :3, :3], setup.measured[:, :3, :3]
    if setup.device_known:
        starts = [setup.T_device_world[:3, :3]]
    elif setup.marker_known:
        starts = [np.asarray(project_rotation(np.einsum("nij,kj,nlk->il", M, setup.T_frame_marker[:3, :3], F)))]
    else:
        # M Zᵀ = X F in all samples: vec X and vec Zᵀ are the leading singular vectors of the sum of F ⊗ M.
        K = np.einsum("nij,nkl->ikjl", F, M).reshape(9, 9)
        x = np.linalg.svd(K)[0][:, 0].reshape(3, 3).T
        # They are not unique where all rotations have one axis (SCARA robots); there the positions tell X.
        by_position = replace(setup, kind="position", measured=setup.measured[:, :3, 3])
        starts = [
            np.asarray(project_rotation(np.sign(np.linalg.det(x)) * x)),
            _from_positions(by_position, T_world_frame)[0][:3, :3],
        ]
    found = []
    for X in starts:
        Z = setup.T_frame_marker[:3, :3]
        if not setup.marker_known:
            Z = np.asarray(project_rotation(np.einsum("nji,kj,nkl->il", F, X, M)))
        found.append((float(np.linalg.norm(X @ F @ Z - M)), X, Z))
    _, X, Z = min(found, key=lambda one: one[0])
    return _positions(setup, X, Z, T_world_frame, setup.measured[:, :3, 3])


def _from_positions(setup: MeasuringSetup, T_world_frame: FloatArray) -> tuple[FloatArray, FloatArray]:
    T_device_world, T_frame_marker = setup.T_device_world, setup.T_frame_marker
    for _ in range(ALTERNATIONS):
        before = T_device_world
        if not setup.device_known:
            p = T_world_frame[:, :3, :3] @ T_frame_marker[:3, 3] + T_world_frame[:, :3, 3]
            R = _rigid_fit(p, setup.measured)
        else:
            R = T_device_world[:3, :3]
        T_device_world, T_frame_marker = _positions(setup, R, T_frame_marker[:3, :3], T_world_frame, setup.measured)
        if np.abs(T_device_world - before).max() < 1e-9:
            break
    return T_device_world, T_frame_marker


def _from_distances(setup: MeasuringSetup, T_world_frame: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Device's position c from d² = |p|² - 2 p · c + |c|², with the marker at its first place, then both together."""
    from scipy.optimize import least_squares

    F, p = T_world_frame[:, :3, :3], T_world_frame[:, :3, 3]
    marker = setup.T_frame_marker[:3, 3]
    points = F @ marker + p
    A = np.column_stack([-2.0 * points, np.ones(len(p))])
    center = np.linalg.lstsq(A, setup.measured**2 - np.sum(points**2, axis=1))[0][:3]
    if setup.device_known:
        center = -setup.T_device_world[:3, :3].T @ setup.T_device_world[:3, 3]

    def places(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return center if setup.device_known else x[:3], marker if setup.marker_known else x[-3:]

    def residuals(x: FloatArray) -> FloatArray:
        c, m = places(x)
        return np.asarray(np.linalg.norm(F @ m + p - c, axis=1) - setup.measured)

    start = np.concatenate([[] if setup.device_known else center, [] if setup.marker_known else marker])
    c, m = places(least_squares(residuals, start, method="lm", x_scale="jac").x)
    R = setup.T_device_world[:3, :3]
    return np.asarray(pose(R, -R @ c)), np.asarray(pose(setup.T_frame_marker[:3, :3], m))


def _rigid_fit(points: FloatArray, images: FloatArray) -> FloatArray:
    """Rotation that takes points about their mean nearest to their images about theirs."""
    return np.asarray(project_rotation((images - images.mean(0)).T @ (points - points.mean(0))))


def _positions(
    setup: MeasuringSetup, X: FloatArray, Z: FloatArray, T_world_frame: FloatArray, measured: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Placements with these rotations and the positions that fit: measured = X (F p_marker + p) + p_device."""
    F, p = T_world_frame[:, :3, :3], T_world_frame[:, :3, 3]
    known = measured - p @ X.T
    blocks = []
    if setup.device_known:
        known = known - setup.T_device_world[:3, 3]
    else:
        blocks.append(np.broadcast_to(np.eye(3), F.shape))
    if setup.marker_known:
        known = known - F @ setup.T_frame_marker[:3, 3] @ X.T
    else:
        blocks.append(X @ F)
    solution = np.linalg.lstsq(np.concatenate(blocks, axis=2).reshape(3 * len(F), -1), known.ravel())[0]
    p_device = setup.T_device_world[:3, 3] if setup.device_known else solution[:3]
    p_marker = setup.T_frame_marker[:3, 3] if setup.marker_known else solution[-3:]
    return np.asarray(pose(X, p_device)), np.asarray(pose(Z, p_marker))
