"""The Newton-Euler recursions of ROBOOP's manual (sections 4.12.2.11 and 4.21.2.11), written anew from the page.

Standard and modified Denavit-Hartenberg parameters, minimal inertial parameters, motors. Rows are those of an
initialisation matrix; gravity is 9.81 m/s² along -z.
"""

from __future__ import annotations

import numpy as np

Z = np.array([0.0, 0.0, 1.0])


def steps(rows: np.ndarray, q: np.ndarray, standard: bool) -> list[np.ndarray]:
    """Pose of each link in the one before, (4, 4)."""
    found = []
    for row, position in zip(rows, q, strict=True):
        kind, theta, d, a, alpha, offset = row[[0, 1, 2, 3, 4, 7]]
        theta = theta if kind == 1 else position + offset
        d = position + offset if kind == 1 else d
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        along_z = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, d], [0, 0, 0, 1]])
        along_x = np.array([[1, 0, 0, a], [0, ca, -sa, 0], [0, sa, ca, 0], [0, 0, 0, 1]])
        found.append(along_z @ along_x if standard else along_x @ along_z)
    return found


def pose(rows: np.ndarray, q: np.ndarray, standard: bool) -> np.ndarray:
    T = np.eye(4)
    for step in steps(rows, q, standard):
        T = T @ step
    return T


def torque(
    rows: np.ndarray,
    q: np.ndarray,
    qp: np.ndarray,
    qpp: np.ndarray,
    standard: bool,
    minimal: bool = False,
    load: tuple[np.ndarray, np.ndarray] = (np.zeros(3), np.zeros(3)),
    gravity: float = 9.81,
) -> np.ndarray:
    """Joint torques, with motors whose Coulomb friction opposes motion."""
    n, T = len(rows), steps(rows, q, standard)
    w, wp, vp = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, gravity])
    forces, moments = [], []
    for i, row in enumerate(rows):
        R, turns = T[i][:3, :3].T, float(row[0] == 0)
        slides = 1.0 - turns
        if standard:
            p = R @ T[i][:3, 3]
            before = w
            wp = R @ (wp + turns * (Z * qpp[i] + np.cross(before, Z * qp[i])))
            vp = R @ (vp + slides * (Z * qpp[i] + 2.0 * np.cross(before, Z * qp[i])))
            w = R @ (before + turns * Z * qp[i])
            vp = vp + np.cross(wp, p) + np.cross(w, np.cross(w, p))
        else:
            p = T[i][:3, 3]
            vp = R @ (vp + np.cross(wp, p) + np.cross(w, np.cross(w, p)))
            wp = R @ wp + turns * (np.cross(R @ w, Z * qp[i]) + Z * qpp[i])
            w = R @ w + turns * Z * qp[i]
            vp = vp + slides * (2.0 * np.cross(w, Z * qp[i]) + Z * qpp[i])
        m, c, I = row[8], row[9:12], inertia(row)
        if minimal:
            force = m * vp + np.cross(wp, c) + np.cross(w, np.cross(w, c))
            moment = I @ wp + np.cross(w, I @ w) + np.cross(c, vp)
        else:
            force = m * (vp + np.cross(wp, c) + np.cross(w, np.cross(w, c)))
            moment = I @ wp + np.cross(w, I @ w) + np.cross(c, force)
        forces.append(force)
        moments.append(moment)
    tau, f, nn = np.zeros(n), load[0], load[1]
    R_next, p_next = np.eye(3), np.zeros(3)
    for i in reversed(range(n)):
        row, R = rows[i], T[i][:3, :3]
        if standard:
            # Forces about the origin of frame i - 1: the lever p leads from there to frame i.
            f = R_next @ f + forces[i]
            nn = R_next @ nn + moments[i] + np.cross(R.T @ T[i][:3, 3], f)
            axis = R.T @ Z
        else:
            f_next = R_next @ f
            nn = moments[i] + R_next @ nn + np.cross(p_next, f_next)
            f = f_next + forces[i]
            axis = Z
        R_next, p_next = R, T[i][:3, 3]
        Im, Gr, B, Cf = row[18:22]
        tau[i] = (nn if row[0] == 0 else f) @ axis
        tau[i] += Im * Gr**2 * qpp[i] + Gr**2 * B * qp[i] + abs(Gr) * Cf * np.sign(qp[i])
    return tau


def inertia(row: np.ndarray) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = row[12:18]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def random_rows(rng: np.random.Generator, kinds: list[int], minimal: bool = False) -> np.ndarray:
    """Rows of a robot with these joint types, with motors, negative gear ratios among them."""
    rows = np.zeros((len(kinds), 23))
    for row, kind in zip(rows, kinds, strict=True):
        root = rng.normal(size=(3, 3))
        I = root @ root.T
        row[0] = kind
        row[1:5] = rng.normal(size=4)
        row[1 if kind == 0 else 2] = 0.0  # the joint's own variable
        row[7:12] = rng.normal(), rng.uniform(1, 3), *rng.normal(size=3)
        row[12:18] = (I + np.trace(I) * np.eye(3))[np.triu_indices(3)]
        row[18:22] = rng.uniform(0, 1e-3), rng.uniform(-90, 90), rng.uniform(0, 1e-3), rng.uniform(0, 0.1)
        if minimal:
            row[8] = 0.0
    return rows
