"""ROBOOP's program rtest: 30 comparisons of transformations and of three robots.

The original compares with numbers of P. Corke's MATLAB toolbox that its manual does not print. Here the robots' side is
computed a second time from the definitions: poses as products of elementary matrices, Jacobians from the joints' axes,
and torques by the principle of virtual work, with the rate of the Jacobian by a complex step, which loses no digits.
"""

from collections.abc import Iterator

import numpy as np

from chasles.interop import roboop as rb

QUARTER = np.pi / 4
HALF = np.pi / 2
TOLERANCE = 150 * np.finfo(float).eps  # the original's, here relative to the largest number
FORCE, MOMENT = np.array([10.0, 5.0, 7.0]), np.array([11.0, 22.0, 33.0])
#: Joint type, d, a, alpha, m, cx, cy, cz, Ixx, Iyy, Izz of each link, and at the end theta where the joint slides.
PUMA = [
    [0, 0, 0, HALF, 0, 0, 0, 0, 0, 0.35, 0, 0],
    [0, 0, 0.4318, 0, 17.4, -0.3638, 0.006, 0.2275, 0.13, 0.524, 0.539, 0],
    [0, 0.15005, 0.0203, -HALF, 4.8, -0.0203, -0.0141, 0.07, 0.066, 0.086, 0.0125, 0],
    [0, 0.4318, 0, HALF, 0.82, 0, 0.019, 0, 0.0018, 0.0013, 0.0018, 0],
    [0, 0, 0, -HALF, 0.34, 0, 0, 0, 0.0003, 0.0004, 0.0003, 0],
    [0, 0, 0, 0, 0.09, 0, 0, 0.032, 0.00015, 0.00015, 4e-05, 0],
]
PUMA_MODIFIED = [
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.35, 0],
    [0, 0, 0, -HALF, 17.4, 0.068, 0.006, -0.016, 0.13, 0.524, 0.539, 0],
    [0, -0.15005, 0.4318, 0, 4.8, 0, -0.07, 0.014, 0.066, 0.0125, 0.066, 0],
    [0, -0.4318, 0.0203, -HALF, 0.82, 0, 0, -0.019, 0.0018, 0.0018, 0.0013, 0],
    [0, 0, 0, HALF, 0.34, 0, 0, 0, 0.0003, 0.0003, 0.0004, 0],
    [0, 0, 0, -HALF, 0.09, 0, 0, 0.032, 0.00015, 0.00015, 4e-05, 0],
]
STANFORD = [
    [0, 0.412, 0, -HALF, 9.29, 0, 0.0175, -0.1105, 0.276, 0.255, 0.071, 0],
    [0, 0.154, 0, HALF, 5.01, 0, -1.054, 0, 0.108, 0.018, 0.1, 0],
    [1, 0, 0, 0, 4.25, 0, 0, -6.447, 2.51, 2.51, 0.006, -HALF],
    [0, 0, 0, -HALF, 1.08, 0, 0.092, -0.054, 0.002, 0.001, 0.001, 0],
    [0, 0, 0, HALF, 0.63, 0, 0, 0.566, 0.003, 0.003, 0.0004, 0],
    [0, 0.263, 0, 0, 0.51, 0, 0, 1.554, 0.013, 0.013, 0.0003, 0],
]
#: Rotor inertia, gear ratio, viscous and Coulomb friction of each motor.
MOTORS = np.array([
    [200e-6, -62.6111, 1.48e-3, 0.0],
    [200e-6, 107.815, 0.817e-3, 0.0],
    [200e-6, -53.7063, 1.38e-3, 0.0],
    [33e-6, 76.0364, 71.2e-6, 0.0],
    [33e-6, 71.923, 82.6e-6, 0.0],
    [33e-6, 76.686, 36.7e-6, 0.0],
])  # fmt: skip


def links(rows: list[list[float]]) -> np.ndarray:
    """Return the initialisation matrix (n, 19) without motors."""
    matrix = np.zeros((len(rows), 19))
    matrix[:, [0, 2, 3, 4, 8, 9, 10, 11, 12, 15, 17, 1]] = rows
    return matrix


def turn(axis: int, angle: complex) -> np.ndarray:
    """Return the rotation (4, 4) about axis 0, 1 or 2."""
    T, (i, j) = np.eye(4, dtype=complex), [(1, 2), (2, 0), (0, 1)][axis]
    T[i, i] = T[j, j] = np.cos(angle)
    T[j, i], T[i, j] = np.sin(angle), -np.sin(angle)
    return T


class Definitions:
    """A robot by its table and the definitions of mechanics, at complex joint positions q too."""

    def __init__(self, table: np.ndarray, standard: bool) -> None:
        self.table, self.standard = table, standard

    def frames(self, q: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the links' frames, and the frames about or along whose z axis the joints move."""
        T, ends, joints = np.eye(4, dtype=complex), [], []
        for (kind, theta, d, a, alpha), position in zip(self.table[:, :5], q, strict=True):
            along_x = turn(0, alpha)
            along_x[0, 3] = a
            along_z = turn(2, theta if kind == 1 else position)
            along_z[2, 3] = position if kind == 1 else d
            joints.append(T if self.standard else T @ along_x @ along_z)
            T = T @ (along_z @ along_x if self.standard else along_x @ along_z)
            ends.append(T)
        return ends, joints

    def jacobian(self, q: np.ndarray, link: int, place: np.ndarray) -> np.ndarray:
        """Return the Jacobian (6, n), linear part first, of a place on a link in base axes."""
        ends, joints = self.frames(q)
        point, J = (ends[link] @ [*place, 1.0])[:3], np.zeros((6, len(q)), dtype=complex)
        for k in range(link + 1):
            axis = joints[k][:3, 2]
            slides = self.table[k, 0] == 1
            J[:3, k] = axis if slides else np.cross(axis, point - joints[k][:3, 3])
            J[3:, k] = 0.0 if slides else axis
        return J

    def torque(self, q: np.ndarray, qp: np.ndarray, qpp: np.ndarray, gravity: float = 9.81) -> np.ndarray:
        """Return the joint torques: the power of all inertial forces less that of gravity, per joint velocity."""
        tau, step = np.zeros(len(q)), 1e-30
        ends, _ = self.frames(q)
        for link, row in enumerate(self.table):
            J = self.jacobian(q, link, row[9:12]).real
            J_rate = self.jacobian(q + 1j * step * qp, link, row[9:12]).imag / step
            a, alpha = np.split(J @ qpp + J_rate @ qp, 2)
            w, R = J[3:] @ qp, ends[link][:3, :3].real
            inertia = R @ np.diag(row[[12, 15, 17]]) @ R.T
            force, moment = row[8] * (a + np.array([0.0, 0.0, gravity])), inertia @ alpha + np.cross(w, inertia @ w)
            tau += J.T @ np.concatenate([force, moment])
        return tau


def transformations() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of each function, its result, and the same from elementary rotations."""
    moved = np.eye(4)
    moved[:3, 3] = 1.0, 2.0, 3.0
    yield "trans", rb.trans([1.0, 2.0, 3.0]), moved
    for axis, function in enumerate((rb.rotx, rb.roty, rb.rotz)):
        yield function.__name__, function(np.pi / 6), turn(axis, np.pi / 6).real
    yield "rpy", rb.rpy([1.0, 2.0, 3.0]), (turn(2, 3.0) @ turn(1, 2.0) @ turn(0, 1.0)).real
    k = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    about = np.eye(4)
    about[:3, :3] = np.outer(k, k) + np.cross(np.eye(3), k)
    yield "rotk", rb.rotk(HALF, [1.0, 2.0, 3.0]), about
    half = np.array([np.cos(HALF / 2), *(np.sin(HALF / 2) * k)])
    yield "quaternion to matrix", rb.Quaternion(*half).T(), about
    found = rb.Quaternion(about)
    yield "matrix to quaternion", np.array([found.s(), *found.v()]), half
    yield "angle and axis to matrix", rb.Quaternion(HALF, k).R(), about[:3, :3]


def comparisons(
    table: np.ndarray, kind: type[rb.Robot] | type[rb.mRobot]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of each quantity, what the robot says of it, and what the definitions say."""
    robot, exact, n = kind(table, 0.0 * MOTORS), Definitions(table, kind is rb.Robot), len(table)
    with_motors, q = kind(table, MOTORS), np.full(n, QUARTER)
    robot.set_q(q)
    T, J = exact.frames(q)[0][-1].real, exact.jacobian(q, n - 1, np.zeros(3)).real
    J_tool, tau = np.vstack([T[:3, :3].T @ J[:3], T[:3, :3].T @ J[3:]]), exact.torque(q, q, q)
    motors = MOTORS[:, 1] ** 2 * (MOTORS[:, 0] * q + MOTORS[:, 2] * q)
    yield "kine", robot.kine(), T
    yield "jacobian in base axes", robot.jacobian(), J
    yield "jacobian in tool axes", robot.jacobian(n), J_tool
    yield "torque", robot.torque(q, q, q), tau
    yield "torque with load", robot.torque(q, q, q, FORCE, MOMENT), tau + J_tool.T @ np.concatenate([FORCE, MOMENT])
    yield "torque with motors", with_motors.torque(q, q, q), tau + motors
    yield "inertia", robot.inertia(q), np.array([exact.torque(q, 0.0 * q, unit, 0.0) for unit in np.eye(n)])


def main() -> None:
    parts = [(name, found, expected) for name, found, expected in transformations()]
    for name, rows, kind in (
        ("PUMA 560", PUMA, rb.Robot), ("PUMA 560 modified", PUMA_MODIFIED, rb.mRobot), ("Stanford", STANFORD, rb.Robot),
    ):  # fmt: skip
        parts += [(f"{name} {what}", found, expected) for what, found, expected in comparisons(links(rows), kind)]
    passed = 0
    for name, found, expected in parts:
        error = float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))
        passed += error <= TOLERANCE
        print(f"{name}: {error:.1e}" + ("" if error <= TOLERANCE else " FAILED"))
    print(f"comparisons: {len(parts)}")
    print(f"passed: {passed}")


if __name__ == "__main__":
    main()
