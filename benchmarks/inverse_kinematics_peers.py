"""Arms as other libraries of inverse kinematics take them, and those libraries behind one kind of call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import chasles as ch
from benchmarks.robots import MissingPeerError
from chasles.geometry.elementary import inverse_pose, pose, rotation_taking_z_to

TOLERANCE = 1e-6
Solver = Callable[[np.ndarray], np.ndarray | None]
"""From a target (4, 4) to a configuration (n,), or to None where the library says that it found none."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot and its axes at joint positions zero, from which all peers get it."""

    name: str
    robot: ch.Robot

    @cached_property
    def screws(self) -> np.ndarray:
        """Screw axes in the world as columns, (6, n)."""
        return self.robot.jacobian(np.zeros(self.robot.n), frame="space")

    @cached_property
    def T_world_tool(self) -> np.ndarray:
        """Pose of the tool at joint positions zero."""
        return self.robot.forward_kinematics(np.zeros(self.robot.n))

    @property
    def axes(self) -> np.ndarray:
        """Directions of the axes, (n, 3)."""
        return self.screws[:3].T

    @property
    def points(self) -> np.ndarray:
        """A point on each axis, and the tool's origin, (n + 1, 3)."""
        return np.vstack([np.cross(self.screws[:3].T, self.screws[3:].T), self.T_world_tool[:3, 3]])

    @property
    def middle(self) -> np.ndarray:
        """Middle of the limits, where every search starts."""
        return 0.5 * (self.robot.lower_limits + self.robot.upper_limits)

    def drawn(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Configurations within the limits and their poses, as targets."""
        q = rng.uniform(self.robot.lower_limits, self.robot.upper_limits, (count, self.robot.n))
        return q, self.robot.forward_kinematics(q)

    def errors(self, q: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Largest of distance (m) and angle (rad) between poses at q (..., n) and targets, by SciPy's rotations."""
        flat = q.reshape(-1, self.robot.n)
        R = np.broadcast_to(self.T_world_tool[:3, :3], (len(flat), 3, 3))
        p = np.broadcast_to(self.points[-1], (len(flat), 3))
        for axis, point, angle in zip(self.axes[::-1], self.points[-2::-1], flat.T[::-1], strict=True):
            turn = Rotation.from_rotvec(angle[:, None] * axis).as_matrix()
            p = point + (turn @ (p - point)[..., None])[..., 0]
            R = turn @ R
        goals = np.broadcast_to(targets, (*q.shape[:-1], 4, 4)).reshape(-1, 4, 4)
        distance = np.linalg.norm(p - goals[:, :3, 3], axis=-1)
        chord = np.linalg.norm(R - goals[:, :3, :3], axis=(-2, -1)) / np.sqrt(8.0)
        angle = 2.0 * np.arcsin(np.minimum(chord, 1.0))
        return np.maximum(distance, angle).reshape(q.shape[:-1])

    def reached(self, q: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Whether configurations within the limits reach the targets."""
        inside = ((q >= self.robot.lower_limits) & (q <= self.robot.upper_limits)).all(axis=-1)
        return inside & (self.errors(q, targets) <= TOLERANCE)

    def aligned(self, targets: np.ndarray) -> np.ndarray:
        """The same targets for a tool frame that is parallel to the world at joint positions zero."""
        turned = targets.copy()
        turned[..., :3, :3] = targets[..., :3, :3] @ self.T_world_tool[:3, :3].T
        return turned


def toolbox(arm: Arm) -> Solver:
    """`ik_LM` of the Robotics Toolbox, in C++."""
    try:
        from roboticstoolbox import ET, ETS
        from spatialmath import SE3
    except ImportError:
        raise MissingPeerError("roboticstoolbox-python") from None
    before, elements = np.eye(4), []
    for axis, point, low, high in zip(
        arm.axes, arm.points[:-1], arm.robot.lower_limits, arm.robot.upper_limits, strict=True
    ):
        frame = pose(rotation_taking_z_to(axis), point)
        elements += [ET.SE3(SE3(inverse_pose(before) @ frame, check=False)), ET.Rz(qlim=np.array([low, high]))]
        before = frame
    elements.append(ET.SE3(SE3(inverse_pose(before) @ arm.T_world_tool, check=False)))
    chain = ETS(elements)
    # Its error is half the squared length of the twist that is left.
    tolerance, start = 0.5 * TOLERANCE**2, arm.middle

    def solve(T: np.ndarray) -> np.ndarray | None:
        result = chain.ik_LM(T, q0=start, tol=tolerance)
        return result.q if result.success else None

    return solve


def trac_ik(arm: Arm) -> Solver:
    """TRAC-IK, in C++ with two threads for each target."""
    try:
        from trac_ik import TracIK
    except ImportError:
        raise MissingPeerError("pytracik") from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(_urdf(arm), encoding="utf-8")
        # Its tolerance is one for each of the components.
        chain = TracIK("link0", "tool", str(path), epsilon=TOLERANCE / np.sqrt(3.0))
    start, R_tool = arm.middle, arm.T_world_tool[:3, :3].T
    return lambda T: chain.ik(T[:3, 3], T[:3, :3] @ R_tool, start)


def modern_robotics(arm: Arm) -> Solver:
    """`IKinSpace` of the book's code library, one search without limits."""
    try:
        import modern_robotics as mr
    except ImportError:
        raise MissingPeerError("modern_robotics") from None
    screws, M, start = arm.screws, arm.T_world_tool, arm.middle

    def solve(T: np.ndarray) -> np.ndarray | None:
        q, success = mr.IKinSpace(screws, M, T, start, TOLERANCE, TOLERANCE)
        return q if success else None

    return solve


def eaik(arm: Arm) -> Any:
    """EAIK's robot, for targets of `Arm.aligned`."""
    try:
        from eaik.IK_HP import HPRobot
    except ImportError:
        raise MissingPeerError("EAIK") from None
    return HPRobot(arm.axes, np.diff(arm.points, axis=0, prepend=np.zeros((1, 3))))


def eaik_branches(solutions: list[Any]) -> list[np.ndarray]:
    """Its exact solutions (branches, n) for each target, without the closest ones."""
    return [np.asarray(s.Q)[~np.asarray(s.is_LS, dtype=bool)] for s in solutions]


def _urdf(arm: Arm) -> str:
    joints = []
    steps = np.diff(arm.points, axis=0, prepend=np.zeros((1, 3)))
    # TRAC-IK keeps limits in single precision.
    lower = np.nextafter(arm.robot.lower_limits.astype(np.float32), np.float32(np.inf))
    upper = np.nextafter(arm.robot.upper_limits.astype(np.float32), np.float32(-np.inf))
    limits = zip(lower, upper, strict=True)
    for k, (axis, step, (low, high)) in enumerate(zip(arm.axes, steps[:-1], limits, strict=True)):
        joints.append(
            f'<link name="link{k + 1}"/><joint name="joint{k + 1}" type="revolute"><parent link="link{k}"/>'
            f'<child link="link{k + 1}"/><origin xyz="{_numbers(step)}"/><axis xyz="{_numbers(axis)}"/>'
            f'<limit lower="{_numbers(low)}" upper="{_numbers(high)}" effort="1" velocity="1"/></joint>'
        )
    tool = (
        f'<link name="tool"/><joint name="tool_joint" type="fixed"><parent link="link{len(joints)}"/>'
        f'<child link="tool"/><origin xyz="{_numbers(steps[-1])}"/></joint>'
    )
    return f'<robot name="arm"><link name="link0"/>{"".join(joints)}{tool}</robot>'


def _numbers(values: Any) -> str:
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))
