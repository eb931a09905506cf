"""A robot's computations as C files that compile together and compute the same."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC")


def compiled(folder: Path, name: str) -> ctypes.CDLL:
    """One library of all sources, compiled with a file that includes the common header."""
    (folder / "all.c").write_text(f'#include "{name}.h"\n')
    sources = sorted(path.name for path in folder.glob("*.c"))
    subprocess.run(["cc", *FLAGS, *sources, "-o", "all.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def called(function: object, inputs: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(shape)
    arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in (*inputs, out)]
    function(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))  # type: ignore[operator]
    return arrays[-1]


def test_the_files_of_an_arm_compile_together_and_agree(tmp_path: Path) -> None:
    arm = ch.load("ur5")
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, 1.0)
    files = arm.to_c(tmp_path / "generated")
    assert {path.name for path in files} >= {"ur5.h", "inverse_kinematics.c", "forward_dynamics.h", "jacobian.c"}
    library = compiled(tmp_path / "generated", "ur5")
    q, qd, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6))
    np.testing.assert_allclose(called(library.mass_matrix, [q], (6, 6)), arm.mass_matrix(q), rtol=1e-13, atol=1e-13)
    acceleration = called(library.forward_dynamics, [q, qd, tau], (6,))
    np.testing.assert_allclose(acceleration, arm.forward_dynamics(q, qd, tau), rtol=1e-10)
    T = arm.forward_kinematics(q)
    row = called(library.inverse_kinematics, [T, q, np.full(2, 1e-6)], (14,))
    np.testing.assert_allclose(row[:6], q, atol=1e-7)
    own = arm.to_c(tmp_path / "own", {"arm ik": arm.inverse_kinematics.specialize(), "move": motion.program})
    assert [path.name for path in own] == ["ur5.h", "arm_ik.c", "arm_ik.h", "move.c", "move.h"]
    compiled(tmp_path / "own", "ur5")


@pytest.mark.parametrize("name", ["four-bar", pytest.param("palletiser", marks=pytest.mark.slow)])
def test_the_files_of_a_closed_chain_compile_and_agree(tmp_path: Path, name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    names = ["forward_dynamics", "inverse_dynamics", "loops.velocity_map", "normalize", "loops.actuator_forces"]
    robot.to_c(tmp_path, names)
    files = {name.replace(".", "_") for name in names}
    (header,) = (path for path in tmp_path.glob("*.h") if path.stem not in files)
    library = compiled(tmp_path, header.stem)
    rng = np.random.default_rng(0)
    q = robot.integrate(robot.home, 0.05 * rng.normal(size=robot.n))
    qd, tau = rng.normal(size=(2, robot.n))
    qdd = robot.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(called(library.forward_dynamics, [q, qd, tau], (robot.n,)), qdd, rtol=1e-9)
    np.testing.assert_allclose(called(library.inverse_dynamics, [q, qd, qdd], (robot.n,)), tau, rtol=1e-8, atol=1e-8)
    G = called(library.loops_velocity_map, [q], (len(robot.description.joint_velocity_names), robot.n))
    np.testing.assert_allclose(G, robot.loops.velocity_map(q), rtol=1e-10, atol=1e-12)
    forces = called(library.loops_actuator_forces, [q, tau], (len(robot.description.actuated_indices),))
    np.testing.assert_allclose(forces, robot.loops.actuator_forces(q, tau), rtol=1e-9)
    near = q + 1e-3 * rng.normal(size=robot.nq)
    np.testing.assert_allclose(called(library.normalize, [near], (robot.nq,)), robot.normalize(near), rtol=1e-11)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    with pytest.raises(UnknownNameError, match="computation 'masses'"):
        arm.to_c(tmp_path, ["masses"])
    with pytest.raises(ArgumentError, match=r"both|two files would be called planar2r\.h"):
        arm.to_c(tmp_path, {"planar2r": arm.mass_matrix})
    search = ch.load("panda").inverse_kinematics.specialize()
    with pytest.raises(ArgumentError, match="'ik' is no function of one sample that can be written in C"):
        arm.to_c(tmp_path, {"ik": search})
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="cannot be written"):
        arm.to_c(tmp_path / "file" / "in", ["mass_matrix"])
    assert not list(tmp_path.glob("*.c"))
