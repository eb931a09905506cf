"""Independent, slow and obvious mechanics to compare a kinematic tree with: poses, mass matrix and gravity torque."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from chasles.model import Tree


def body_poses(tree: Tree, q: np.ndarray) -> list[np.ndarray]:
    poses: list[np.ndarray] = []
    for body in tree.bodies:
        s = body.ratio * q[body.coordinate] + body.offset
        T = np.eye(4)
        T[:3, :3] = body.R_parent_body @ Rotation.from_rotvec([0, 0, body.angular * s]).as_matrix()
        T[:3, 3] = body.p_parent_body + body.R_parent_body @ [0, 0, body.pitch * s]
        poses.append(T if body.parent < 0 else poses[body.parent] @ T)
    return poses


def frame_pose(tree: Tree, q: np.ndarray, name: str) -> np.ndarray:
    place = tree.frames[name]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = place.R_body_frame, place.p_body_frame
    return T if place.body < 0 else body_poses(tree, q)[place.body] @ T


def mass_matrix_and_gravity(tree: Tree, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum over the bodies of Jᵀ I J, with Jacobians of body origins in world axes; and minus the power of gravity."""
    poses = body_poses(tree, q)
    M, g = np.zeros((tree.n, tree.n)), np.zeros(tree.n)
    for index, body in enumerate(tree.bodies):
        J = np.zeros((6, tree.n))
        T, moving = poses[index], index
        while moving >= 0:
            mover = tree.bodies[moving]
            axis = poses[moving][:3, 2]
            omega = mover.angular * axis
            J[:3, mover.coordinate] += mover.ratio * omega
            J[3:, mover.coordinate] += mover.ratio * (
                mover.pitch * axis + np.cross(omega, T[:3, 3] - poses[moving][:3, 3])
            )
            moving = mover.parent
        R = T[:3, :3]
        h = R @ body.first_moment
        h_cross = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
        spatial = np.block([[R @ body.inertia @ R.T, h_cross], [h_cross.T, body.mass * np.eye(3)]])
        M += J.T @ spatial @ J
        M[body.coordinate, body.coordinate] += body.ratio**2 * body.armature
        g -= J.T @ np.concatenate([h_cross @ tree.gravity, body.mass * tree.gravity])
    return M, g


@pytest.fixture(scope="session")
def reference() -> SimpleNamespace:
    return SimpleNamespace(frame_pose=frame_pose, mass_matrix_and_gravity=mass_matrix_and_gravity)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
