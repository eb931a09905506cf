"""Short examples of SpaceLib's manual, §3.1: position, rotation and rototranslation matrices.

python positions.py [E_DHTOM] [EXTRACT] [MTOSCREW] [SCREWTOM] [ROTAT]
"""

from __future__ import annotations

import numpy as np
from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import PIG_2, Pri, Rev, Zaxis_n

# Examples 3.2 to 3.5: frame (1) goes onto frame (2). The manual's listings have other translations by mistake.
M10 = np.array([[1, 0, 0, 0], [0, 1, 0, -1], [0, 0, 1, -2], [0, 0, 0, 1.0]])
M02 = np.array([[0, 1, 0, 3], [-1, 0, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1.0]])


def stanford_arm() -> None:
    """E_DHTOM, example 3.1, page 22: the Stanford arm's gripper by `dhtom` and by `DHtoMstd`.

    The extended routine adds the joint variable itself, to theta or to d.
    """
    jtype = [Rev, Rev, Pri, Rev, Rev, Rev]
    theta = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    d = [0.0, 0.2, 0.0, 0.0, 0.0, 0.0]
    a = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    alpha = [-PIG_2, PIG_2, 0.0, -PIG_2, PIG_2, 0.0]
    q = [0.11, 0.22, 0.33, 0.44, 0.55, 0.66]

    Ma = sl.idmat4()
    for i in range(6):
        Ma = sl.molt4(Ma, sl.dhtom(jtype[i], theta[i], d[i], 0.0, a[i], alpha[i], q[i]))
    sl.printm4("Ma: result with 'dhtom'", Ma)

    Mb = sl.idmat4()
    for i in range(6):
        if jtype[i] == Rev:
            Mb = sl.molt4(Mb, sl.DHtoMstd(q[i], d[i], a[i], alpha[i]))
        else:
            Mb = sl.molt4(Mb, sl.DHtoMstd(theta[i], q[i], a[i], alpha[i]))
    sl.printm4("Mb: result with 'DHtoMstd'", Mb)
    sl.printm4("the results must be identical and so dM=Ma-Mb=[0]", sl.sub4(Ma, Mb))


def axis_and_angle() -> None:
    """EXTRACT, example 3.2, page 25: axis and angle of the rotation in a rototranslation."""
    Q = sl.molt4(M02, M10)
    u, phi = sl.extract(Q, 4)
    sl.printm4("Q", Q)
    print(f"phi = {phi:.5f}")
    sl.printv("u", u, 3)


def screw_of_a_rototranslation() -> None:
    """MTOSCREW, example 3.3, page 26: axis, angle and slide of the same rototranslation, and a point of the axis."""
    u, phi, h, P, _ = sl.mtoscrew(sl.molt4(M02, M10))
    print(f"phi = {phi:.5f}")
    print(f"h = {h:z.5f}")
    sl.printv("P", P, 4)
    sl.printv("u", u, 3)


def rototranslation_of_a_screw() -> None:
    """SCREWTOM, example 3.4, page 27: the same rototranslation from its screw."""
    Q = sl.screwtom(Zaxis_n, PIG_2, 0.0, [1.0, -1.0, 0.0, 1.0])
    sl.printm4("Q", Q)


def rotation_about_an_axis() -> None:
    """ROTAT, example 3.5, page 27: its rotation, in the upper-left part of a 4×4 matrix."""
    A = sl.rotat(Zaxis_n, PIG_2, 4)
    sl.printm4("A", A)


PROGRAMS = {
    "E_DHTOM": stanford_arm,
    "EXTRACT": axis_and_angle,
    "MTOSCREW": screw_of_a_rototranslation,
    "SCREWTOM": rototranslation_of_a_screw,
    "ROTAT": rotation_about_an_axis,
}

if __name__ == "__main__":
    run(PROGRAMS)
