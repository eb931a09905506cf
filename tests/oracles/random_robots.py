"""Random arms, each with one target within its reach, and one program that solves for all of them.

Denavit–Hartenberg parameters are arguments of the program, so that it need not be compiled for each arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import chasles as ch
from chasles.engine import Function, cos, sin
from chasles.geometry.elementary import cross
from chasles.inverse_kinematics.iteration import ConfigurationSteps, SearchState, search
from chasles.inverse_kinematics.task import PoseWeights

LONGEST = 0.5
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Arms:
    """Arms of n turning joints in the standard notation, and for each a target that it reaches at a configuration.

    The targets are poses (count, 4, 4), all else are arrays (count, n).
    """

    alpha: np.ndarray
    a: np.ndarray
    d: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    configurations: np.ndarray
    targets: np.ndarray

    @classmethod
    def drawn(cls, rng: np.random.Generator, count: int, n: int) -> Arms:
        """Any twists, lengths and offsets, limits between a quarter and half a turn, configurations within them."""
        shape = (count, n)
        alpha = rng.uniform(-np.pi, np.pi, shape)
        a, d = rng.uniform(-LONGEST, LONGEST, (2, *shape))
        lower, upper = rng.uniform(-np.pi, -0.5 * np.pi, shape), rng.uniform(0.5 * np.pi, np.pi, shape)
        q = rng.uniform(lower, upper)
        return cls(alpha, a, d, lower, upper, q, tool_pose(q, alpha, a, d))

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.alpha.shape[1])

    def robot(self, index: int) -> ch.Robot:
        """One of the arms as a robot of its own."""
        own = (x[index] for x in (self.alpha, self.a, self.d, self.lower, self.upper))
        rows = [
            {"alpha": alpha, "a": a, "d": d, "limits": (lower, upper)}
            for alpha, a, d, lower, upper in zip(*own, strict=True)
        ]
        return ch.Robot.from_dh(rows)

    def reached(self, q: np.ndarray) -> np.ndarray:
        """Whether configurations (count, n) reach the targets within the limits."""
        T = tool_pose(q, self.alpha, self.a, self.d)
        distance = np.linalg.norm(T[:, :3, 3] - self.targets[:, :3, 3], axis=-1)
        # Rotations that differ by an angle differ by sqrt(8) sin(angle / 2) in the Frobenius norm.
        chord = np.linalg.norm(T[:, :3, :3] - self.targets[:, :3, :3], axis=(-2, -1)) / np.sqrt(2.0)
        inside = ((q >= self.lower) & (q <= self.upper)).all(axis=-1)
        return (distance <= TOLERANCE) & (chord <= TOLERANCE) & inside

    def solver(self) -> Function:
        """The solve kernel for arms of this many joints."""
        parameters = dict.fromkeys(("cos_alpha", "sin_alpha", "a", "d"), (self.n,))
        return search(
            tool_motion,
            PoseWeights.of("pose"),
            ConfigurationSteps(self.n, self.n),
            0.5 * LONGEST * self.n,
            parameters=parameters,
        )

    def solved_by(self, solver: Function, max_iterations: int) -> tuple[np.ndarray, np.ndarray]:
        """Configurations (count, n), and whether the solver claims that they reach the targets."""
        span = self.upper - self.lower
        start = SearchState.at(self.lower + 0.5 * span)
        shift, posture = np.full(self.n, 0.5), np.zeros(self.n)
        packed, _, done = solver(
            start, self.targets, np.full(2, TOLERANCE), self.lower, self.upper, self.lower, span, shift, posture,
            np.cos(self.alpha), np.sin(self.alpha), self.a, self.d, float(max_iterations),
        )  # fmt: skip
        return SearchState.layout(self.n).split(packed).q, done > 0.0


def tool_motion(q: Any, cos_alpha: Any, sin_alpha: Any, a: Any, d: Any) -> tuple[Any, Any]:
    """Pose and world-aligned Jacobian of the tool, for one sample."""
    R, p = np.eye(3), np.zeros(3)
    axes, points = [], []
    for angle, ca, sa, length, offset in zip(q, cos_alpha, sin_alpha, a, d, strict=True):
        axes.append(R[:, 2])
        points.append(p)
        c, s = cos(angle), sin(angle)
        p = p + R @ np.array([length * c, length * s, offset])
        R = R @ np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0.0, sa, ca]])
    T = np.concatenate([np.concatenate([R, p[:, None]], axis=1), np.eye(4)[3:]])
    columns = [np.concatenate([z, cross(z, p - point)]) for z, point in zip(axes, points, strict=True)]
    return T, np.array(columns).T


def tool_pose(q: np.ndarray, alpha: np.ndarray, a: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Poses (count, 4, 4) in plain NumPy: the textbook's product of the joints' matrices."""
    T = np.broadcast_to(np.eye(4), (len(q), 4, 4))
    for k in range(q.shape[1]):
        c, s, ca, sa = np.cos(q[:, k]), np.sin(q[:, k]), np.cos(alpha[:, k]), np.sin(alpha[:, k])
        zero = np.zeros(len(q))
        rows = [
            [c, -s * ca, s * sa, a[:, k] * c],
            [s, c * ca, -c * sa, a[:, k] * s],
            [zero, sa, ca, d[:, k]],
            [zero, zero, zero, zero + 1.0],
        ]
        T = T @ np.moveaxis(np.array(rows), -1, 0)
    return T
