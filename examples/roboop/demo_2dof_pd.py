"""ROBOOP's program demo_2dof_pd: two joints under a PD controller along a spline, all described by files."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from chasles.interop import roboop as rb

ROBOT = """# Two links of 1 m
[rr_dh]
Name: rr_dh
DH: 1
Fix: 0
MinPara: 0
dof: 2
Motor: 0

[rr_dh_LINK1]
joint_type: 0
a: 1.0
m: 2.0
cx: -0.5
Iyy: 0.1666666
Izz: 0.1666666

[rr_dh_LINK2]
joint_type: 0
a: 1.0
m: 1.0
cx: -0.5
Iyy: 0.0833333
Izz: 0.0833333
"""
CONTROLLER = """[CONTROLLER]
type: PROPORTIONAL_DERIVATIVE
dof: 2

[GAINS]
Kp_1: 25.0
Kp_2: 25.0
Kd_1: 7.0
Kd_2: 7.0
"""
PATH = """# time, then the joint positions
JOINT_SPACE
2
0
0 0
1
1 0.5
2
0.5 1
3
1 0.5
4
0.5 1
5
0 0
"""


def main() -> None:
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("rr_dh.conf", "pd_2dof.conf", "q_2dof.dat")]
        for file, text in zip(files, (ROBOT, CONTROLLER, PATH), strict=True):
            file.write_text(text)
        robot = rb.Robot(files[0], "rr_dh")
        simulation = rb.New_dynamics(robot)
        simulation.set_controller(rb.Control_Select(files[1]))
        trajectory = rb.Trajectory_Select(files[2])
        simulation.set_trajectory(trajectory)
    simulation.set_robot_on_first_point_of_splines()
    simulation.set_time_frame(500)
    simulation.Runge_Kutta4()
    wanted = np.array([trajectory.path.p(t) for t in simulation.tout]).T
    errors = np.abs(simulation.xout[:2] - wanted).max(axis=1)
    print(f"largest error of joint 1: {errors[0]:.3f}")
    print(f"largest error of joint 2: {errors[1]:.3f}")
    rb.set_plot2d("PD control", "time (s)", "q (rad)", ["q1", "q2"], rb.LINES, simulation.tout, simulation.xout[:2])


if __name__ == "__main__":
    main()
