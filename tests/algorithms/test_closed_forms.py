"""Mechanisms whose formulas fit on a line: pendulum, cart, screw, two-link arm, crane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles import algorithms as alg
from chasles.model.tree import MovingBody, Placement, Tree

G = 9.81
Y_UP = np.array([0.0, -G, 0.0])
X_TO_Z = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # its third column is x: z of the body is x


def body(index: int = 0, parent: int = -1, **fields: Any) -> MovingBody:
    defaults: dict[str, Any] = {
        "name": f"body{index}",
        "joint": f"joint{index}",
        "parent": parent,
        "R_parent_body": np.eye(3),
        "p_parent_body": np.zeros(3),
        "angular": 1.0,
        "pitch": 0.0,
        "coordinate": index,
        "ratio": 1.0,
        "offset": 0.0,
        "placed": "coordinate",
        "carries": True,
        "mass": 0.0,
        "first_moment": np.zeros(3),
        "inertia": np.zeros((3, 3)),
        "armature": 0.0,
        "viscous_friction": 0.0,
        "coulomb_friction": 0.0,
        "coulomb_velocity": 0.0,
    }
    given = defaults | fields
    return MovingBody(**given, position=given["coordinate"])


def tree(*bodies: MovingBody, gravity: np.ndarray = Y_UP, **frames: Placement) -> Tree:
    n = len({b.coordinate for b in bodies})
    return Tree(bodies, frames, n, n, gravity)


def rod(index: int, parent: int, m: float, length: float, **fields: Any) -> MovingBody:
    """A slender rod along x that turns about z at its end."""
    inertia = m * length**2 / 3 * np.diag([0.0, 1.0, 1.0])
    return body(index, parent, mass=m, first_moment=np.array([m * length / 2, 0, 0]), inertia=inertia, **fields)


def test_pendulum() -> None:
    m, length, J, b, q, qd, qdd = 2.0, 0.7, 0.05, 0.3, 0.4, -1.2, 0.9
    pendulum = tree(rod(0, -1, m, length, armature=J, viscous_friction=b))
    tau = alg.inverse_dynamics(pendulum, np.array([q]), np.array([qd]), np.array([qdd]))
    inertia = m * length**2 / 3 + J
    assert tau == pytest.approx([inertia * qdd + m * G * length / 2 * np.cos(q) + b * qd], rel=1e-14)
    assert alg.kinetic_energy(pendulum, np.array([q]), np.array([qd])) == pytest.approx(inertia * qd**2 / 2, rel=1e-14)
    assert alg.potential_energy(pendulum, np.array([q])) == pytest.approx(m * G * length / 2 * np.sin(q), rel=1e-14)
    by_q, by_qd, M = alg.inverse_dynamics_derivatives(pendulum, np.array([q]), np.array([qd]), np.array([qdd]))
    assert by_q == pytest.approx(-m * G * length / 2 * np.sin(q), rel=1e-14)
    assert by_qd == pytest.approx(b)
    assert pytest.approx(inertia) == M


def test_two_link_arm() -> None:
    m1, m2, l1, l2 = 10.0, 5.0, 0.5, 0.25
    arm = tree(
        rod(0, -1, m1, l1),
        rod(1, 0, m2, l2, p_parent_body=np.array([l1, 0, 0])),
        tip=Placement(1, np.eye(3), np.array([l2, 0, 0])),
    )
    (q1, q2), (d1, d2), _ = q, qd, qdd = np.array([[0.3, -1.1], [0.7, 2.0], [-0.4, 1.5]])
    c2, s2 = np.cos(q2), np.sin(q2)
    M22, coupling = m2 * l2**2 / 3, m2 * l1 * l2 / 2
    M12 = M22 + coupling * c2
    M11 = m1 * l1**2 / 3 + m2 * l1**2 + M22 + 2 * coupling * c2
    M = np.array([[M11, M12], [M12, M22]])
    C = coupling * s2 * np.array([[-d2, -d1 - d2], [d1, 0.0]])
    g2 = m2 * G * l2 / 2 * np.cos(q1 + q2)
    g = np.array([(m1 / 2 + m2) * G * l1 * np.cos(q1) + g2, g2])
    assert alg.mass_matrix(arm, q) == pytest.approx(M, rel=1e-13)
    assert alg.coriolis_matrix(arm, q, qd) == pytest.approx(C, rel=1e-13, abs=1e-14)
    assert alg.coriolis_vector(arm, q, qd) == pytest.approx(C @ qd, rel=1e-13)
    assert alg.gravity_torque(arm, q) == pytest.approx(g, rel=1e-13)
    assert alg.inverse_dynamics(arm, q, qd, qdd) == pytest.approx(M @ qdd + C @ qd + g, rel=1e-13)
    x, y = l1 * np.cos(q1) + l2 * np.cos(q1 + q2), l1 * np.sin(q1) + l2 * np.sin(q1 + q2)
    T = alg.forward_kinematics(arm, q, "tip")
    assert T[:3, 3] == pytest.approx([x, y, 0.0], rel=1e-14)
    J = alg.jacobian(arm, q, "tip", "world-aligned")
    assert J[3:5] == pytest.approx(np.array([[-y, -l2 * np.sin(q1 + q2)], [x, l2 * np.cos(q1 + q2)]]), rel=1e-13)
    assert J[:3] == pytest.approx(np.array([[0, 0], [0, 0], [1, 1]]))


def test_cart_on_a_slope_with_pendulum() -> None:
    """A cart that slides along x and carries a pendulum: Lagrange's equations by hand."""
    M, m, length = 3.0, 0.5, 0.8
    cart = tree(
        body(0, -1, R_parent_body=X_TO_Z, angular=0.0, pitch=1.0, mass=M),
        body(
            1,
            0,
            R_parent_body=X_TO_Z.T,
            mass=m,
            first_moment=np.array([m * length, 0, 0]),
            inertia=np.diag([0.0, m * length**2, m * length**2]),
        ),
    )
    q, qd, qdd = np.array([[0.2, 0.5], [1.0, -2.0], [0.3, 0.7]])
    s, c = np.sin(q[1]), np.cos(q[1])
    force = (M + m) * qdd[0] - m * length * (s * qdd[1] + c * qd[1] ** 2)
    torque = m * length**2 * qdd[1] - m * length * s * qdd[0] + m * G * length * c
    assert alg.inverse_dynamics(cart, q, qd, qdd) == pytest.approx([force, torque], rel=1e-14)
    assert alg.forward_dynamics(cart, q, qd, np.array([force, torque])) == pytest.approx(qdd, rel=1e-13)


def test_vertical_lead_screw() -> None:
    """A nut of mass m and spin inertia s on a screw of pitch p against gravity: (s + m p^2) qdd + m g p."""
    m, spin, p = 4.0, 0.02, 0.01
    nut = body(0, -1, pitch=p, mass=m, inertia=np.diag([1.0, 1.0, spin]))
    screw = tree(nut, gravity=np.array([0, 0, -G]), nut=Placement(0, np.eye(3), np.zeros(3)))
    q, qd, qdd = np.array([2.0]), np.array([5.0]), np.array([3.0])
    assert alg.inverse_dynamics(screw, q, qd, qdd) == pytest.approx((spin + m * p**2) * 3.0 + m * G * p, rel=1e-14)
    T = alg.forward_kinematics(screw, q, "nut")
    assert T[:3, 3] == pytest.approx([0, 0, 2.0 * p])
    assert T[0, 0] == pytest.approx(np.cos(2.0))
    assert alg.jacobian(screw, q, "nut", "body")[:, 0] == pytest.approx([0, 0, 1, 0, 0, p])


def test_cartesian_crane_of_three_slides_is_a_free_mass() -> None:
    """Prismatic joints everywhere, along z, then x, then y: three decoupled masses."""
    crane = tree(
        body(0, -1, angular=0.0, pitch=1.0, mass=1.0),
        body(1, 0, R_parent_body=X_TO_Z, angular=0.0, pitch=1.0, mass=2.0),
        body(2, 1, R_parent_body=X_TO_Z, angular=0.0, pitch=1.0, mass=4.0, inertia=np.eye(3)),
        gravity=np.array([0, 0, -G]),
    )
    q, qd, qdd = np.array([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [0.5, 0.6, 0.7]])
    assert alg.mass_matrix(crane, q) == pytest.approx(np.diag([7.0, 6.0, 4.0]), abs=1e-15)
    assert alg.inverse_dynamics(crane, q, qd, qdd) == pytest.approx([7 * (0.5 + G), 6 * 0.6, 4 * 0.7], rel=1e-14)
    assert alg.center_of_mass(crane, q) == pytest.approx([6 * 0.2 / 7, 4 * 0.3 / 7, 0.1], rel=1e-14)
    assert alg.articulated_body_accelerations(crane, q, qd, np.zeros(3)) == pytest.approx([-G, 0, 0], abs=1e-13)


def test_geared_follower_counts_its_inertia_by_the_square_of_its_ratio() -> None:
    driver = body(0, -1, inertia=np.diag([0, 0, 1.0]), armature=0.1, viscous_friction=0.5)
    follower = body(1, -1, inertia=np.diag([0, 0, 2.0]), armature=0.2, viscous_friction=0.3, ratio=-3.0, coordinate=0)
    geared = tree(driver, follower)
    inertia = 1.0 + 0.1 + 9 * (2.0 + 0.2)
    tau = alg.inverse_dynamics(geared, np.zeros(1), np.array([2.0]), np.array([1.0]))
    assert tau == pytest.approx([inertia + 2.0 * (0.5 + 9 * 0.3)], rel=1e-14)
    assert alg.mass_matrix(geared, np.zeros(1)) == pytest.approx(inertia, rel=1e-14)


@pytest.mark.parametrize(("rate", "expected"), [(2.0, 0.6 + 0.5), (-2.0, -0.6 - 0.5), (0.0, 0.0)])
def test_dry_friction(rate: float, expected: float) -> None:
    rubbing = tree(body(viscous_friction=0.3, coulomb_friction=0.5))
    assert alg.friction_torque(rubbing, np.zeros(1), np.array([rate])) == pytest.approx([expected])
    slope = alg.inverse_dynamics_derivatives(rubbing, np.zeros(1), np.array([rate]), np.zeros(1))[1]
    assert slope == pytest.approx(0.3)


def test_smooth_friction() -> None:
    rubbing = tree(body(viscous_friction=0.3, coulomb_friction=0.5, coulomb_velocity=0.1))
    assert alg.friction_torque(rubbing, np.zeros(1), np.array([0.05])) == pytest.approx(
        [0.015 + 0.5 * np.tanh(0.5)], rel=1e-14
    )


def test_a_robot_without_joints() -> None:
    post = tree(top=Placement(-1, np.eye(3), np.array([0, 0, 2.0])))
    nothing = np.zeros(0)
    assert alg.forward_kinematics(post, nothing, "top")[2, 3] == 2.0
    assert alg.jacobian(post, nothing, "top").shape == (6, 0)
    assert alg.inverse_dynamics(post, nothing, nothing, nothing).shape == (0,)
    assert alg.mass_matrix(post, nothing).shape == (0, 0)
    assert alg.forward_dynamics(post, nothing, nothing, nothing).shape == (0,)
    assert alg.linearize(post, nothing, nothing, nothing)[0].shape == (0, 0)


def test_massless_links_between_joints() -> None:
    """A point mass on a universal joint whose cross has no mass: the mass matrix is still that of the mass."""
    m, length = 2.0, 0.5
    bob = body(
        1,
        0,
        R_parent_body=X_TO_Z,
        mass=m,
        first_moment=np.array([0, m * length, 0.0]),
        inertia=m * length**2 * np.diag([1.0, 0.0, 1.0]),
    )
    joint = tree(body(0, -1), bob)
    q = np.array([0.3, 0.4])
    M = alg.mass_matrix(joint, q)
    assert M[1, 1] == pytest.approx(m * length**2, rel=1e-14)
    assert np.linalg.det(M) > 0
    qdd = np.array([0.5, -0.2])
    tau = alg.inverse_dynamics(joint, q, np.array([1.0, 2.0]), qdd)
    assert alg.forward_dynamics(joint, q, np.array([1.0, 2.0]), tau) == pytest.approx(qdd, rel=1e-12)
