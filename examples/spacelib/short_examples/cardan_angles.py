"""Short examples of SpaceLib's manual, §3.5: Cardan angles, velocities and accelerations.

python cardan_angles.py [RTOCARDA] [CARDAM] [CARDAW] [CARDA-OM] [CARDA_OM] [CARDAH] [CARDG] [CARDOPTO]
"""

from __future__ import annotations

from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import X, Y, Z


def angles_of_a_rotation() -> None:
    """RTOCARDA, example 3.16, page 51: both sets of Cardan angles, about y, x and z, of a rotation."""
    R = [[0.840, -0.395, -0.371], [-0.415, -0.029, -0.909], [0.348, 0.918, -0.189]]
    q1, q2 = sl.rtocardan(R, 3, Y, X, Z)
    sl.printv("q1", q1, 3)
    sl.printv("q2", q2, 3)


def position() -> None:
    """CARDAM, example 3.17, page 52: position matrix from angles about x, z and y and from the origin."""
    m = sl.cardantoM([1.0, 2.0, 1.5], X, Z, Y, [100.0, 200.0, 300.0, 1.0])
    sl.printm4("m", m)


def velocity() -> None:
    """CARDAW, example 3.18, page 54: velocity matrix from angles about x, z and y and from their rates.

    The manual shows W[2][1] = 0.0152 for 0.152, and other angles and rates in its text than in its listing.
    """
    W = sl.cardantoW([0.1, 0.5, 0.9], [0.2, 0.4, 0.1], X, Z, Y, [50.0, 10.0, 100.0, 1.0])
    sl.printm4("W", W)


def angular_velocity() -> None:
    """CARDA-OM, example 3.19, page 57: angular velocity, a vector, from angles about z, y and x and their rates."""
    omega = sl.cardanto_OMEGA([10.0, 5.0, 12.0], [0.0, 2.0, 1.0], Z, Y, X)
    sl.printv("omega", omega, 3)


def angular_velocity_matrix() -> None:
    """CARDA_OM, example 3.20, page 57: the same angular velocity as a skew-symmetric part of a 4×4 matrix."""
    A = sl.cardanto_omega([10.0, 5.0, 12.0], [0.0, 2.0, 1.0], Z, Y, X, 4)
    sl.printm4("A", A)


def acceleration() -> None:
    """CARDAH, example 3.21, page 58: acceleration matrix from angles about x, z and y and their derivatives."""
    q, qp, qpp = [0.1, 0.5, 0.9], [0.2, 0.4, 0.1], [0.5, 1.2, 0.3]
    H = sl.cardantoH(q, qp, qpp, X, Z, Y, [50.0, 10.0, 100.0, 1.0])
    sl.printm4("H", H)


def angular_part_of_an_acceleration() -> None:
    """CARDG, example 3.22, page 61: angular part of the acceleration matrix, for angles about y, x and z."""
    q, qp, qpp = [0.1, 0.5, 0.9], [0.2, 0.4, 0.1], [0.5, 1.2, 0.3]
    A = sl.cardanto_G(q, qp, qpp, Y, X, Z, 4)
    sl.printm4("A", A)


def angular_acceleration() -> None:
    """CARDOPTO, example 3.23, page 62: angular acceleration, a vector, for angles about y, x and z."""
    q, qp, qpp = [1.0, 1.2, 3.0], [0.0, 1.0, 0.0], [3.0, 2.5, 4.01]
    omegapto = sl.cardanto_OMEGAPTO(q, qp, qpp, Y, X, Z)
    sl.printv("omegapto", omegapto, 3)


PROGRAMS = {
    "RTOCARDA": angles_of_a_rotation,
    "CARDAM": position,
    "CARDAW": velocity,
    "CARDA-OM": angular_velocity,
    "CARDA_OM": angular_velocity_matrix,
    "CARDAH": acceleration,
    "CARDG": angular_part_of_an_acceleration,
    "CARDOPTO": angular_acceleration,
}

if __name__ == "__main__":
    run(PROGRAMS)
