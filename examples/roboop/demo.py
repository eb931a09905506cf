"""ROBOOP's program demo: homogeneous transformations, kinematics and dynamics of four robots."""

import numpy as np

from chasles.interop import roboop as rb

QUARTER = np.pi / 4


def rr() -> rb.Robot:
    """Return two links of 1 m that turn (RR_data)."""
    rods = np.zeros((2, 23))
    rods[:, 3], rods[:, 8], rods[:, 9] = 1.0, [2.0, 1.0], -0.5
    rods[:, 15] = rods[:, 17] = [0.1666666, 0.0833333]
    return rb.Robot(rods)


def rp() -> rb.Robot:
    """Return a link that turns and one that slides (RP_data)."""
    links = np.zeros((2, 23))
    links[:, 0], links[0, 4], links[:, 8], links[1, 11] = [0, 1], -np.pi / 2, [2.0, 1.0], -1.0
    links[0, [12, 15, 17]], links[1, [12, 15, 17]] = 1.0, 0.0833333
    return rb.Robot(links)


def homogeneous() -> None:
    """Show transformations, their inverse functions and quaternions."""
    T = rb.rotd(QUARTER, [1.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    print("rotation about a line\n", T.round(4))
    print("axis and angle", rb.irotk(T).round(4))
    print("roll, pitch, yaw", rb.irpy(rb.rpy([0.1, 0.2, 0.3])).round(4))
    q = rb.Quaternion(T)
    print("quaternion", q, "and back", np.allclose(q.T()[:3, :3], T[:3, :3]))


def kinematics(name: str, robot: rb.Robot) -> None:
    """Show the end's pose, Jacobians and derivatives, and find the way back."""
    robot.set_q(np.full(robot.get_dof(), QUARTER))
    goal = robot.kine()
    print(f"{name}: end at", goal[:3, 3].round(4))
    print("Jacobian in base axes\n", robot.jacobian().round(4))
    print("Jacobian in the end's axes\n", robot.jacobian(robot.get_dof()).round(4))
    print("derivative of the pose by joint 1\n", robot.dTdqi(1).round(4))
    real = robot.get_q()
    robot.set_q(real - 0.05)
    found, converged = robot.inv_kin(goal, converge=True)
    if converged:  # two joints cannot reach a pose that is not their own
        robot.set_q(found)
    print(f"{name} inverse kinematics error: {np.abs(robot.kine() - goal).max():.1e}")


def dynamics(robot: rb.Robot) -> None:
    """Move the RR robot by a linear law to a quarter of pi in each joint, and show its motion."""
    K = np.hstack([25.0 * np.eye(2), 7.071 * np.eye(2)])

    def xdot(t: float, x: np.ndarray) -> np.ndarray:
        tau = -K @ (x - [QUARTER, QUARTER, 0.0, 0.0])
        return np.concatenate([x[2:], robot.acceleration(x[:2], x[2:], tau)])

    motion = rb.odeint(xdot, np.zeros(4), 0.0, 4.0, 1e-4, 0.1, 1e-12, 0.05)
    print(f"steps: {motion.nok + motion.nbad}")
    print(f"final error: {np.abs(motion.xout[:2, -1] - QUARTER).max():.1e}")
    labels = ["q1", "q2"]
    rb.set_plot2d("RR robot", "time (s)", "q (rad)", labels, rb.LINES, motion.tout, motion.xout[:2])


def main() -> None:
    homogeneous()
    for name, robot in (("RR", rr()), ("RP", rp())):
        kinematics(name, robot)
        print("inertia\n", robot.inertia(np.full(2, QUARTER)).round(4))
    dynamics(rr())


if __name__ == "__main__":
    main()
