"""ROBOOP's program demo: homogeneous transformations, and kinematics and dynamics of four robots.

The robots are those of the manual (sections 5.13.2.1 to 5.13.2.7), whose print has lost zeros that are here again.
"""

import numpy as np

from chasles.interop import roboop as rb

QUARTER, HALF = np.pi / 4, np.pi / 2
#: Columns of an initialisation matrix with values: joint type, theta, d, a, alpha, m, cx, cy, cz, Ixx, Iyy, Izz.
FILLED = [0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 15, 17]
RR_DATA = [
    [0, 0, 0, 1.0, 0, 2.0, -0.5, 0, 0, 0, 0.1666666, 0.1666666],
    [0, 0, 0, 1.0, 0, 1.0, -0.5, 0, 0, 0, 0.0833333, 0.0833333],
]
RP_DATA = [
    [0, 0, 0, 0, -HALF, 2.0, 0, 0, 0, 1.0, 1.0, 1.0],
    [1, 0, 0, 0, 0, 1.0, 0, 0, -1.0, 0.0833333, 0.0833333, 0.0833333],
]
PUMA560_DATA = [
    [0, 0, 0, 0, HALF, 0, 0, 0, 0, 0, 0.35, 0],
    [0, 0, 0, 0.4318, 0, 17.4, -0.3638, 0.006, 0.2275, 0.13, 0.524, 0.539],
    [0, 0, 0.15005, 0.0203, -HALF, 4.8, -0.0203, -0.0141, 0.07, 0.066, 0.086, 0.0125],
    [0, 0, 0.4318, 0, HALF, 0.82, 0, 0.019, 0, 0.0018, 0.0013, 0.0018],
    [0, 0, 0, 0, -HALF, 0.34, 0, 0, 0, 0.0003, 0.0004, 0.0003],
    [0, 0, 0, 0, 0, 0.09, 0, 0, 0.032, 0.00015, 0.00015, 0.00004],
]
#: Rotor inertia, gear ratio, viscous friction and Coulomb friction, the mean of both directions.
PUMA560_MOTOR = np.array([
    [200e-6, -62.6111, 1.48e-3, (0.395 + 0.435) / 2],
    [200e-6, 107.815, 0.817e-3, (0.126 + 0.071) / 2],
    [200e-6, -53.7063, 1.38e-3, (0.132 + 0.105) / 2],
    [33e-6, 76.0364, 71.2e-6, (11.2e-3 + 16.9e-3) / 2],
    [33e-6, 71.923, 82.6e-6, (9.26e-3 + 14.5e-3) / 2],
    [33e-6, 76.686, 36.7e-6, (3.96e-3 + 10.5e-3) / 2],
])  # fmt: skip
STANFORD_DATA = [
    [0, 0, 0.412, 0, -HALF, 9.29, 0, 0.0175, -0.1105, 0.276, 0.255, 0.071],
    [0, 0, 0.154, 0, HALF, 5.01, 0, -1.054, 0, 0.108, 0.018, 0.1],
    [1, -HALF, 0, 0, 0, 4.25, 0, 0, -6.447, 2.51, 2.51, 0.006],
    [0, 0, 0, 0, -HALF, 1.08, 0, 0.092, -0.054, 0.002, 0.001, 0.001],
    [0, 0, 0, 0, HALF, 0.63, 0, 0, 0.566, 0.003, 0.003, 0.0004],
    [0, 0, 0.263, 0, 0, 0.51, 0, 0, 1.554, 0.013, 0.013, 0.0003],
]


def robot_of(rows: list[list[float]], motors: np.ndarray | None = None) -> rb.Robot:
    """Return the robot of a table, with motors or without."""
    links = np.zeros((len(rows), 23))
    links[:, FILLED] = rows
    if motors is not None:
        links[:, 18:22] = motors
    return rb.Robot(links)


def robots() -> dict[str, rb.Robot]:
    """Return the four robots by name."""
    tables = {"RR": RR_DATA, "RP": RP_DATA, "PUMA 560": PUMA560_DATA, "Stanford": STANFORD_DATA}
    return {name: robot_of(rows) for name, rows in tables.items()}


def show(title: str, values: np.ndarray) -> None:
    print(f"{title}\n{np.round(values, 4) + 0.0}")


def homogen_demo() -> None:
    """Show translations, rotations, their inverse functions, the cross product and quaternions."""
    show("translation by (1, 2, 3)", rb.trans([1.0, 2.0, 3.0]))
    for axis, rotation in (("x", rb.rotx), ("y", rb.roty), ("z", rb.rotz)):
        show(f"rotation by 30° about {axis}", rotation(np.pi / 6))
    roll_pitch_yaw = rb.rpy([0.1, 0.2, 0.3])
    show("roll, pitch and yaw of 0.1, 0.2 and 0.3 rad", roll_pitch_yaw)
    show("and back", rb.irpy(roll_pitch_yaw))
    euler = rb.eulzxz([0.1, 0.2, 0.3])
    show("Euler angles z, x, z of 0.1, 0.2 and 0.3 rad", euler)
    show("and back", rb.ieulzxz(euler))
    about = rb.rotk(HALF, [1.0, 2.0, 3.0])
    show("rotation by 90° about (1, 2, 3)", about)
    show("its axis and angle", rb.irotk(about))
    show(
        "rotation by 45° about the line from (1, 0, 0) to (1, 0, 1)", rb.rotd(QUARTER, [1.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    )
    show("matrix of the cross product with (1, 2, 3)", rb.x_prod_matrix([1.0, 2.0, 3.0]))
    quaternion = rb.Quaternion(about)
    show("quaternion of the rotation about (1, 2, 3)", np.array([quaternion.s(), *quaternion.v()]))
    print(f"error of transformations there and back: {there_and_back():.1e}")


def there_and_back() -> float:
    """Return the largest error of what is taken apart and put together again."""
    about, angles = rb.rotk(HALF, [1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    axis_and_angle = rb.irotk(about)
    pairs = [
        (rb.irpy(rb.rpy(angles)), angles),
        (rb.ieulzxz(rb.eulzxz(angles)), angles),
        (rb.rotk(axis_and_angle[3], axis_and_angle[:3]), about),
        (rb.Quaternion(about).T(), about),
        (rb.x_prod_matrix([1.0, 2.0, 3.0]) @ angles, np.cross([1.0, 2.0, 3.0], angles)),
    ]
    return max(float(np.abs(found - expected).max()) for found, expected in pairs)


def kinematics_demo(name: str, robot: rb.Robot) -> None:
    """Show the table of a robot, its end's pose, Jacobians and derivatives, and find the way back to a pose."""
    n = robot.get_dof()
    print(f"\nRobot {name}")
    show("joint type, theta, d, a, alpha", np.array([_geometry(link) for link in robot.links]))
    robot.set_q(np.zeros(n))
    show("end's pose at q = 0", robot.kine())
    real = np.full(n, QUARTER)
    robot.set_q(real)
    show("end's pose at q = π/4", robot.kine())
    show("Jacobian in base axes", robot.jacobian())
    show("Jacobian in the end's axes", robot.jacobian(n))
    for joint in range(1, n + 1):
        show(f"derivative of the pose by joint {joint}", robot.dTdqi(joint))
    goal, start = robot.kine(), real - 0.1
    robot.set_q(start)
    found, converged = robot.inv_kin(goal, converge=True)
    show("inverse kinematics: start", start)
    show("inverse kinematics: final" if converged else "inverse kinematics: no solution from there", found)
    show("inverse kinematics: real", real)
    robot.set_q(found)
    print(f"{name} inverse kinematics error: {np.abs(robot.kine() - goal).max():.1e}")


def _geometry(link: rb.Link) -> list[float]:
    return [link.get_joint_type(), link.get_theta(), link.get_d(), link.get_a(), link.get_alpha()]


def control_demo(robot: rb.Robot) -> None:
    """Move the RR robot by a linear law to a quarter of pi in each joint, and show its motion."""
    K = np.hstack([25.0 * np.eye(2), 7.071 * np.eye(2)])
    goal = np.array([QUARTER, QUARTER, 0.0, 0.0])

    def xdot(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[2:], robot.acceleration(x[:2], x[2:], -K @ (x - goal))])

    motion = rb.odeint(xdot, np.zeros(4), 0.0, 4.0, 1e-4, 0.1, 1e-12, 0.05)
    print(f"steps: {motion.nok + motion.nbad}")
    print(f"final error: {np.abs(motion.xout[:2, -1] - QUARTER).max():.1e}")
    for title, rows, unit in (
        ("joint positions", slice(0, 2), "q (rad)"),
        ("joint velocities", slice(2, 4), "qp (rad/s)"),
    ):
        labels = [f"joint {k}" for k in (1, 2)]
        rb.set_plot2d(f"RR robot: {title}", "time (s)", unit, labels, rb.LINES, motion.tout, motion.xout[rows])


def dynamics_demo() -> None:
    """Show inertias, the control of the RR robot, and what gravity does to a PUMA 560 without and with its motors."""
    print("\nDynamics")
    found = robots()
    show("RR: inertia at q = π/4", found["RR"].inertia(np.full(2, QUARTER)))
    control_demo(found["RR"])
    show("RP: inertia at q = π/4", found["RP"].inertia(np.full(2, QUARTER)))
    rest = np.zeros(6)
    for name, robot in (
        ("PUMA 560 without motors", found["PUMA 560"]), ("PUMA 560 with motors", robot_of(PUMA560_DATA, PUMA560_MOTOR)),
    ):  # fmt: skip
        robot.set_q(rest)
        show(f"{name}: inertia at q = 0", robot.inertia(rest))
        show(f"{name}: torques against gravity", robot.G())
        show(f"{name}: acceleration when it is let go", robot.acceleration(rest, rest, rest))
    show("Stanford: inertia at q = π/4", found["Stanford"].inertia(np.full(6, QUARTER)))


def main() -> None:
    homogen_demo()
    for name, robot in robots().items():
        kinematics_demo(name, robot)
    dynamics_demo()


if __name__ == "__main__":
    main()
