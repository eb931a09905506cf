"""A user's program against the types of Robot's computations, as mypy sees them."""

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
reveal_type(arm.torque_regressor(q, qd, qdd))
reveal_type(arm.centroidal_momentum(q, qd))
reveal_type(arm.integrate(q, qd))
reveal_type(arm.pose_and_jacobian(q, frame="world-aligned"))
reveal_type(arm.linearize(q, qd, tau).A)
reveal_type(arm.inverse_dynamics_derivatives(q, qd, qdd))
reveal_type(arm.power_balance(q, qd, tau))
reveal_type(arm.mass_matrix.program)

from chasles.model import Description, Frame, Inertia, Joint, Link

rod = Link("rod", Inertia(2.0, [0.0, 0.0, 0.1], [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]]))
hinge = Joint("hinge", "revolute", "wall", "rod", axis=[0, 1, 0])
door = ch.Robot(Description("door", [Link("wall"), rod], [hinge], [Frame("tip", "rod", np.eye(4))], home=[0.5]))
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
    files = {"right.py": PROGRAM, "wrong.py": WRONG}
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
    for kind, name in zip(
        revealed[18:], ("PoseAndJacobian", "ndarray", "TorqueDerivatives", "PowerBalance", "Program"), strict=True
    ):
        assert name in kind, kind
    assert {int(line.split(":")[1]) for line in said["wrong.py"] if ": error:" in line} == {5, 6, 7, 8, 9}
