"""Wrong arguments raise an `ArgumentError` that names the function, the argument and what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import random_robot

import chasles.interop.modern_robotics as mr
from chasles.base.errors import ArgumentError

ROBOT = random_robot(50, 3)
Q, G, F = np.zeros(3), np.array([0.0, 0.0, -9.81]), np.zeros(6)

WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("VecToso3", ([1, 2, 3, 4],), r"VecToso3.*: omg has shape \(4,\); expected \(\.\.\., 3\)"),
    ("VecToso3", (5.0,), r"omg has shape \(\); expected"),
    ("VecToso3", ("abc",), "omg must be an array of real numbers, not 'abc'"),
    ("VecToso3", (None,), "omg must be an array of real numbers, not None"),
    ("VecToso3", ([1, 2j, 3],), "omg must be an array of real numbers"),
    ("VecToso3", ([[1], [2, 3]],), "omg is a ragged list"),
    ("MatrixLog3", (np.eye(4),), r"MatrixLog3.*: R has shape \(4, 4\); expected \(\.\.\., 3, 3\)"),
    ("RpToTrans", (np.eye(3), [1, 2]), r"RpToTrans.*: p has shape \(2,\); expected \(\.\.\., 3\)"),
    (
        "RpToTrans",
        (np.zeros((2, 3, 3)), np.zeros((3, 3))),
        r"batch axes of the arguments do not broadcast: R \(2,\), p",
    ),
    ("Normalize", (3.0,), r"Normalize.*: V has shape \(\); expected \(\.\.\., n\)"),
    ("NearZero", ("x",), "NearZero: z must be an array of real numbers"),
    ("TestIfSE3", (np.eye(3),), r"DistanceToSE3.*: mat has shape \(3, 3\); expected \(\.\.\., 4, 4\)"),
    (
        "FKinSpace",
        (np.eye(4), ROBOT.Slist, [0.1, 0.2]),
        r"FKinSpace.*: thetalist has shape \(2,\); expected \(\.\.\., 3\)",
    ),
    ("FKinBody", (np.eye(4), ROBOT.Slist.T, Q), r"FKinBody.*: Blist has shape \(3, 6\); expected \(\.\.\., 6, n\)"),
    ("FKinBody", (np.eye(3), ROBOT.Slist, Q), r"FKinBody.*: M has shape \(3, 3\); expected \(\.\.\., 4, 4\)"),
    (
        "JacobianSpace",
        (ROBOT.Slist, np.zeros(4)),
        r"JacobianSpace.*: thetalist has shape \(4,\); expected \(\.\.\., 3\)",
    ),
    ("JacobianBody", (ROBOT.Slist[:, 0], Q), r"JacobianBody.*: Blist has shape \(6,\); expected"),
    ("JacobianBody", (ROBOT.Slist[:, :0], []), r"JacobianBody.*: Blist has shape \(6, 0\); expected"),
    ("IKinSpace", (ROBOT.Slist, np.eye(4), np.eye(4), [0, 0], 1e-3, 1e-3), r"IKinSpace.*: thetalist0 has shape \(2,\)"),
    ("IKinBody", (ROBOT.Slist, np.eye(4), np.eye(3), Q, 1e-3, 1e-3), r"IKinBody.*: T has shape \(3, 3\); expected"),
    ("MassMatrix", ([0, 0], *ROBOT), r"MassMatrix.*: thetalist has shape \(2,\); expected \(\.\.\., 3\)"),
    (
        "MassMatrix",
        (Q, ROBOT.Mlist[1:], *ROBOT[1:]),
        r"MassMatrix.*: Mlist has shape \(3, 4, 4\); expected \(4, 4, 4\)",
    ),
    (
        "MassMatrix",
        (Q, ROBOT.Mlist, ROBOT.Glist[1:], ROBOT.Slist),
        r"Glist has shape \(2, 6, 6\); expected \(3, 6, 6\)",
    ),
    ("MassMatrix", (Q, *ROBOT[:2], ROBOT.Slist.T), r"MassMatrix.*: Slist has shape \(3, 6\); expected \(6, n\)"),
    ("GravityForces", (Q, [0, -9.81], *ROBOT), r"GravityForces.*: g has shape \(2,\); expected \(\.\.\., 3\)"),
    (
        "EndEffectorForces",
        (Q, np.zeros(3), *ROBOT),
        r"EndEffectorForces.*: Ftip has shape \(3,\); expected \(\.\.\., 6\)",
    ),
    ("InverseDynamics", (Q, Q, "q", G, F, *ROBOT), r"InverseDynamics.*: ddthetalist must be an array of real numbers"),
    (
        "ForwardDynamics",
        (Q, Q, Q[:2], G, F, *ROBOT),
        r"ForwardDynamics.*: taulist has shape \(2,\); expected \(\.\.\., 3\)",
    ),
    ("EulerStep", ([0, 0], [0, 0, 0], [0, 0], 0.1), "EulerStep: thetalist, dthetalist, ddthetalist have shapes"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), WRONG)
def test_wrong_arguments(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        getattr(mr, name)(*arguments)


def changed(part: str, index: Any, value: Any) -> tuple[np.ndarray, ...]:
    lists = ROBOT._replace(**{part: getattr(ROBOT, part).copy()})
    getattr(lists, part)[index] = value
    return lists


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (changed("Slist", (slice(None), 1), 0.0), "Slist: column 1 is zero, which is no screw axis"),
        (changed("Slist", (0, 2), np.nan), "Slist: column 2 is not finite"),
        (changed("Mlist", (2, 0, 0), 3.0), r"Mlist\[2\] is no rigid motion: its DistanceToSE3 is"),
        (changed("Mlist", (3, slice(3), 0), 0.0), r"Mlist\[3\] is no rigid motion"),
        (changed("Mlist", (1, 0, 3), np.inf), r"Mlist of 3 joints must be finite .* element \[1, 0, 3\] is inf"),
        (ROBOT._replace(Glist=-ROBOT.Glist), r"Glist\[0\]: its mass is negative"),
        (changed("Glist", (0, 0, 1), 5.0), r"Glist\[0\] is the spatial inertia of no rigid body"),
        (changed("Glist", (0, 3, 3), 7.0), r"Glist\[0\] is the spatial inertia of no rigid body"),
        (changed("Glist", (2, 0, 0), -9.0), r"Glist\[2\]: a principal moment of inertia is negative"),
        (changed("Glist", (2, 4, 4), np.nan), r"Glist\[2\] is not finite"),
        (ROBOT._replace(Glist=1e20 * ROBOT.Glist), r"Glist\[0\]: mass must be finite and at most 1e\+09"),
    ],
)
def test_lists_that_are_no_robot(lists: tuple[np.ndarray, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"GravityForces: .*{message}"):
        mr.GravityForces(Q, G, *lists)


def test_too_few_arguments_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        mr.VecToso3()
    with pytest.raises(TypeError):
        mr.InverseDynamics(Q, Q, Q, G, F, *ROBOT[:2])


def test_what_must_be_a_rotation_can_be_checked() -> None:
    with pytest.raises(ArgumentError, match="R is not a rotation matrix"):
        mr.MatrixLog3(2.0 * np.eye(3), check=True)
    with pytest.raises(ArgumentError, match="so3mat is not a skew-symmetric matrix"):
        mr.MatrixExp3(np.eye(3), check=True)
    with pytest.raises(ArgumentError, match=r"se3mat is not a matrix of se\(3\)"):
        mr.MatrixExp6(np.eye(4), check=True)
    mr.MatrixExp6(mr.VecTose3([1, 2, 3, 4, 5, 6]), check=True)


def test_results_can_be_written_into_an_array() -> None:
    out = np.empty((2, 3, 3))
    assert mr.VecToso3(np.ones((2, 3)), out=out) is out
    assert out[1, 2, 1] == 1.0


ROWS = np.zeros((5, 3))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "InverseDynamicsTrajectory",
            (ROWS, ROWS, ROWS, G[:2], np.zeros((5, 6)), *ROBOT),
            "g has shape",
        ),
        (
            "ForwardDynamicsTrajectory",
            (Q, Q, ROWS, G[:2], np.zeros((5, 6)), *ROBOT, 0.1, 2),
            "g has shape",
        ),
        ("JointTrajectory", (0.0, 1.0, 1.0, 5, 3), "thetastart has shape"),
        ("ScrewTrajectory", ([np.eye(4)] * 2, [np.eye(4)] * 3, 1.0, 5, 3), "the batch axes .* do not broadcast"),
        ("CartesianTrajectory", ([np.eye(4)] * 2, [np.eye(4)] * 3, 1.0, 5, 3), "the batch axes .* do not broadcast"),
    ],
)
def test_wrong_arguments_of_trajectories(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"{name}.*: {message}"):
        getattr(mr, name)(*arguments)
