"""A user's program against the types of what it calls, as mypy sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import chasles as ch

arm = ch.load("panda")
q, qd, qdd, tau = np.zeros((4, 7))
reveal_type(arm.inverse_dynamics(q, qd, qdd))
reveal_type(arm.inverse_dynamics(q=q, qd=qd, qdd=[0.0] * 7, vary={"payload.mass": 2.0}, out=tau))
reveal_type(arm.forward_dynamics(q, qd, tau, wrenches={"tool": np.zeros(6)}))
reveal_type(arm.mass_matrix(q))
reveal_type(arm.inverse_mass_matrix(q))
reveal_type(arm.bias(q, qd))
reveal_type(arm.gravity_torque(q))
reveal_type(arm.coriolis_matrix(q, qd))
reveal_type(arm.coriolis_vector(q, qd))
reveal_type(arm.kinetic_energy(q, qd))
reveal_type(arm.forward_kinematics(q, target="tool"))
reveal_type(arm.frame_poses(q))
reveal_type(arm.jacobian(q, frame="body"))
reveal_type(arm.jacobian_derivative(q, qd, frame="space"))
reveal_type(arm.center_of_mass(q))
reveal_type(arm.regressors.torque(q, qd, qdd))
reveal_type(arm.centroidal.momentum(q, qd))
reveal_type(arm.integrate(q, qd))
reveal_type(arm.pose_and_jacobian(q, frame="world-aligned"))
reveal_type(arm.linearize(q, qd, tau).A)
reveal_type(arm.inverse_dynamics_derivatives(q, qd, qdd))
reveal_type(arm.mass_matrix.program)

from chasles.model import Description, Frame, Inertia, Joint, Link

rod = Link("rod", Inertia(2.0, [0.0, 0.0, 0.1], [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]]))
hinge = Joint("hinge", "revolute", "wall", "rod", axis=[0, 1, 0])
door = ch.Robot(Description("door", [Link("wall"), rod], [hinge], [Frame("tip", "rod", np.eye(4))], home=[0.5]))
"""
#: What each expression is; the names stand in mypy's text, which says `Any` of dtypes and shapes only.
BEYOND_ROBOTS = """
import numpy as np
import chasles as ch
from chasles.interop import modern_robotics as mr
from numpy.typing import NDArray

arm = ch.load("planar2r")
q = np.zeros(2)
motion = ch.PointToPoint(q, [0.5, 1.0], duration=1.0)
law = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
solution = arm.inverse_kinematics(np.eye(4))
run = ch.simulate(arm, law, motion, duration=0.1)
decay = ch.integrate(lambda t, y: -y, [1.0], [0.0, 1.0])

@ch.function(x=(3,), k=())
def spring(x: NDArray[np.float64], k: float) -> NDArray[np.float64]:
    return -k * x

reveal_type(solution)  # Solution
reveal_type(solution.q)  # ndarray
reveal_type(solution.success)  # ndarray
reveal_type(solution.iterations)  # ndarray
reveal_type(solution.residual.angle)  # ndarray
reveal_type(motion(0.5))  # Motion
reveal_type(motion(0.5).q)  # ndarray
reveal_type(motion.duration)  # ndarray
reveal_type(motion.check(arm))  # CheckReport
reveal_type(law.evaluate(q, q, motion))  # Command
reveal_type(law.evaluate(q, q, motion).tau)  # ndarray
reveal_type(run)  # Run
reveal_type(run["q"])  # DataArray
reveal_type(decay.y)  # ndarray
reveal_type(decay.success)  # ndarray
reveal_type(decay.steps)  # ndarray
reveal_type(spring)  # Function
reveal_type(spring([1.0, 2.0, 3.0], 2.0))  # ndarray
reveal_type(spring.program)  # Program
reveal_type(ch.geometry.rotation_z(0.3))  # ndarray
reveal_type(ch.geometry.norm([3.0, 4.0, 0.0]))  # float
reveal_type(ch.geometry.project_point_on_line(np.ones(3), np.zeros(3), np.ones(3)))  # LineProjection
reveal_type(mr.MatrixExp3(np.zeros((3, 3))))  # ndarray
reveal_type(mr.FKinSpace(np.eye(4), np.zeros((6, 2)), [0.0, 0.0]))  # ndarray
reveal_type(mr.IKinSpace(np.zeros((6, 2)), np.eye(4), np.eye(4), [0.0, 0.0], 0.01, 0.01)[1])  # bool
reveal_type(mr.CubicTimeScaling(2.0, 0.6))  # float
reveal_type(ch.identify(arm, "log.csv"))  # Identification
reveal_type(ch.report(run, "run.html"))  # Path
"""
WRONG = """
import chasles as ch

arm = ch.load("panda")
arm.inverse_dynamics([0.0], [0.0])
arm.inverse_dynamics([0.0], [0.0], qddot=[0.0])
arm.jacobian([0.0])
arm.jacobian([0.0], frame="bdy")
arm.mass_matrix([0.0], wrenches={})
"""


@pytest.mark.slow
def test_right_calls_have_types_and_wrong_ones_are_errors(tmp_path: Path) -> None:
    """One run of mypy reads both programs: it takes seconds for the packages that they import."""
    files = {"right.py": PROGRAM, "beyond.py": BEYOND_ROBOTS, "wrong.py": WRONG}
    for name, program in files.items():
        (tmp_path / name).write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *files]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    said = {name: [line for line in ended.stdout.splitlines() if line.startswith(name)] for name in files}
    lines = said["right.py"]
    assert not [line for line in lines if ": error:" in line]
    revealed = [line.split("Revealed type is ")[1] for line in lines if "Revealed type" in line]
    assert len(revealed) == PROGRAM.count("reveal_type")
    assert all("ndarray" in kind and "float64" in kind for kind in revealed[:18])
    for kind, name in zip(revealed[18:], ("PoseAndJacobian", "ndarray", "TorqueDerivatives", "Program"), strict=True):
        assert name in kind, kind
    assert not [line for line in said["beyond.py"] if ": error:" in line]
    beyond = [line.split("Revealed type is ")[1] for line in said["beyond.py"] if "Revealed type" in line]
    expected = [line.partition("  # ")[2] for line in BEYOND_ROBOTS.splitlines() if line.startswith("reveal_type")]
    for kind, name in zip(beyond, expected, strict=True):
        assert name in kind, kind
        assert kind != '"Any"'
    assert {int(line.split(":")[1]) for line in said["wrong.py"] if ": error:" in line} == {5, 6, 7, 8, 9}
