"""The 32 short examples of chapter 3, by what they print: the manual's numbers, and other ways where it has none."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FOLDER = Path(__file__).parents[3] / "examples" / "spacelib" / "short_examples"
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "selection")
EXAMPLES = {
    example["id"]: example
    for example in json.loads(Path(__file__).with_name("worked_examples.json").read_text(encoding="utf-8"))["examples"]
}

#: The worked examples that a program prints: their id, and the names of their results in the order of the print.
#: Where the manual misprints a number, `worked_examples.json` has the right one, and other tests here find it anew.
PRINTED = {
    "EXTRACT": ["ex3.2.rototranslation Q", "ex3.2.extract phi u"],
    "MTOSCREW": ["ex3.3.mtoscrew phi h P u"],
    "SCREWTOM": ["ex3.4.screwtom Q"],
    "ROTAT": ["ex3.5.rotat A"],
    "GTOM": ["ex3.6.gtom Hg"],
    "MAKEL0": ["ex3.7.makeL_frame0 L"],
    "MAKEL": ["ex3.7.makeL_framek L"],
    "MAKEL_P": ["ex3.8.makeL_prismatic L"],
    "WTOL_P": ["ex3.9.WtoL_prismatic L"],
    "WTOL_R": ["ex3.10.WtoL_revolute L"],
    "WTOVEL": ["ex3.11.Wtovel_screw u omega P vel"],
    "WTOVEL_P": ["ex3.11.Wtovel_translation u omega P vel"],
    "VELWH2": ["ex3.12.velacctoWH2 W H"],
    "JTOJ": ["ex3.13.jtoJ_frame0 J", "ex3.13.jtoJ_frame1 J", "ex3.13.trasf_mamt4 J1"],
    "TRASF_MA": ["ex3.14.trasf_mami_W A2"],
    "TRASF_MH": ["ex3.14.trasf_mami_H A2"],
    "TR_MAMT": ["ex3.15.gamma_point_masses GAMMA1", "ex3.15.trasf_mamt A2", "ex3.15.trasf_miamit A2"],
    "RTOCARDA": ["ex3.16.rtocardan q1 q2"],
    "CARDAM": ["ex3.17.cardantoM m"],
    "CARDAW": ["ex3.18.cardantoW W"],
    "CARDA-OM": ["ex3.19.cardanto_OMEGA omega"],
    "CARDA_OM": ["ex3.20.cardanto_omega A"],
    "CARDAH": ["ex3.21.cardantoH H"],
    "CARDG": ["ex3.22.cardanto_G A"],
    "CARDOPTO": ["ex3.23.cardanto_OMEGAPTO omegapto"],
    "FRAMEP": ["ex3.24.frameP R", "ex3.24.frameP R"],
    "FRAME4P": ["ex3.25.frame4P m"],
    "FRAMEV": ["ex3.26.frameV R"],
    "FRAME4V": ["ex3.27.frame4V m"],
    "PROJPONL": ["ex3.28.projponl_line2p m_P m_dir"],
    "INTERSLP": ["ex3.29.interslpl_symmetric_point line_P line_dir P1 inttype d v Ps"],
}

Numbers = list[NDArray[np.float64]]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Numbers that a program prints: matrices, vectors as one row, and scalars."""
    monkeypatch.syspath_prepend(FOLDER)
    programs = {name: program for path in FILES for name, program in runpy.run_path(str(path))["PROGRAMS"].items()}

    def numbers(name: str) -> Numbers:
        programs[name]()
        blocks = re.findall(r"^\w+ = (.*)$|((?:^[-. \d]*\d[-. \d]*\n)+)", capsys.readouterr().out, re.MULTILINE)
        return [np.array([row.split() for row in "".join(block).splitlines()], dtype=float) for block in blocks]

    return numbers


def programs_of(path: Path) -> list[str]:
    """Names in the table at the end of a file."""
    return re.findall(r'"([A-Z0-9_-]+)": \w+', path.read_text(encoding="utf-8").partition("PROGRAMS = ")[2])


def test_all_programs_of_the_manual_are_there() -> None:
    names = [name for path in FILES for name in programs_of(path)]
    assert sorted(names) == sorted([*PRINTED, "E_DHTOM"])
    assert len(names) == 32


@pytest.mark.parametrize("name", PRINTED)
def test_programs_print_the_numbers_of_the_manual(name: str, printed: Any) -> None:
    """A 4×4 matrix of which the manual shows the rotation only is compared there."""
    blocks = printed(name)
    wanted = [(*found.split()[:1], key) for found in PRINTED[name] for key in found.split()[1:]]
    assert len(blocks) == len(wanted)
    for block, (example, key) in zip(blocks, wanted, strict=True):
        for source in ("expected", "recomputed"):
            values = EXAMPLES[example][source]
            if isinstance(values, dict):
                compare(block, values[key], EXAMPLES[example]["tolerance"] if source == "expected" else 1e-9)


def compare(block: NDArray[np.float64], values: Any, tolerance: float) -> None:
    """Compare, except for the elements that the manual shows as '?'; print rounds to three decimals."""
    expected = np.atleast_2d(np.array(values, dtype=float))
    rows, columns = expected.shape
    assert block.shape == (rows, columns) or block.shape == (4, 4)
    shown = ~np.isnan(expected)
    assert shown.any()
    assert np.abs(block[:rows, :columns][shown] - expected[shown]).max() <= tolerance + 0.5e-3


# Where the manual shows no numbers, or wrong ones


def test_stanford_arm_by_rotations_of_scipy(printed: Any) -> None:
    """E_DHTOM: the manual shows no result."""
    quarter = np.pi / 2
    shoulder = Rotation.from_euler("ZX", [0.11, -quarter])
    arm = shoulder * Rotation.from_euler("ZX", [0.22, quarter])
    hand = arm * Rotation.from_euler("ZX", [0.44, -quarter]) * Rotation.from_euler("ZX", [0.55, quarter])
    hand *= Rotation.from_euler("Z", 0.66)
    expected = np.eye(4)
    expected[:3, :3] = hand.as_matrix()
    expected[:3, 3] = shoulder.apply([0.0, 0.0, 0.2]) + arm.apply([0.0, 0.0, 0.33])
    with_dhtom, with_standard, difference = printed("E_DHTOM")
    assert np.abs(with_dhtom - expected).max() <= 0.5e-3
    assert np.array_equal(with_dhtom, with_standard)
    assert not difference.any()


def test_screw_of_a_quarter_turn_by_its_fixed_points(printed: Any) -> None:
    """MTOSCREW, SCREWTOM: the manual's listings give another Q and P than its text. The axis must stay where it is."""
    (Q,) = printed("SCREWTOM")
    _, _, P, u = printed("MTOSCREW")
    assert np.array_equal(Q @ P[0], P[0])
    assert np.array_equal(Q[:3, :3] @ u[0], u[0])
    assert Rotation.from_matrix(Q[:3, :3]).as_rotvec() == pytest.approx(np.pi / 2 * u[0])


def test_accelerations_by_vectors(printed: Any) -> None:
    """VELWH2, TRASF_MH: H is skew(omega') + skew(omega)², and a = omega' x r + omega x (omega x r) at the origin."""
    omega, alpha = np.array([0.0, 0.0, 1.5]), np.array([0.0, 0.0, 0.9])
    _, H1 = printed("VELWH2")
    (H0,) = printed("TRASF_MH")
    for r in np.eye(3):
        acceleration = np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
        assert H1[:3, :3] @ r == pytest.approx(acceleration)
        assert H0[:3, :3] @ r == pytest.approx(acceleration)
    r = -np.array([0.4, 0.1, 0.0])
    assert H0[:3, 3] == pytest.approx(np.cross(alpha, r) + np.cross(omega, np.cross(omega, r)))


def test_momentum_by_vectors(printed: Any) -> None:
    """TR_MAMT: linear momentum m v and angular momentum r x m v, in both frames."""
    masses, r = np.array([5.0, 1.0, 2.5]), np.array([[2, 3, 4], [0, 1, 0], [1, 3, 0.0]])
    v = np.array([[1, 0, 2], [4, 0.5, 1], [0, 0, 1.0]])
    R, t = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]]), np.array([1.2, -0.5, 4.0])
    for GAMMA, positions, velocities in zip(printed("TR_MAMT"), (r, r @ R.T + t, r), (v, v @ R.T, v), strict=True):
        assert GAMMA[:3, 3] == pytest.approx(masses @ velocities)
        assert -GAMMA[3, :3] == pytest.approx(masses @ velocities)
        assert [GAMMA[2, 1], GAMMA[0, 2], GAMMA[1, 0]] == pytest.approx(masses @ np.cross(positions, velocities))
        assert np.array_equal(GAMMA, -GAMMA.T)


def test_velocity_of_cardan_angles_by_differences(printed: Any) -> None:
    """CARDAW: the angular part is R' Rᵗ, and the linear part keeps the origin O of the frame at rest."""
    q, qp, h = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.4, 0.1]), 1e-5
    before, now, after = (Rotation.from_euler("XZY", q + step * qp).as_matrix() for step in (-h, 0.0, h))
    (W,) = printed("CARDAW")
    assert np.abs(W[:3, :3] - (after - before) / (2.0 * h) @ now.T).max() <= 0.5e-3 + 1e-9
    Omega = (after - before) / (2.0 * h) @ now.T
    assert np.abs(W[:3, 3] + Omega @ [50.0, 10.0, 100.0]).max() <= 0.5e-3 + 1e-9


# The command line


def test_a_program_runs_alone_and_in_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, FOLDER / "lines_and_planes.py", "interslp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("\n=== INTERSLP, example 3.29, page 73: ")
    assert "PROJPONL" not in done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_run_all_their_programs(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    titles = re.findall(r"^=== ([\w-]+), example 3\.\d+, page \d+: .*\.$", capsys.readouterr().out, re.MULTILINE)
    assert titles == programs_of(path)
    monkeypatch.setattr(sys, "argv", [str(path), "DHTOM"])
    with pytest.raises(SystemExit, match=f"there is no program DHTOM here; choose from {titles[0]}"):
        runpy.run_path(str(path), run_name="__main__")


def test_the_list_of_examples_names_every_program() -> None:
    text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    for path in FILES:
        row = next(line for line in text.splitlines() if f"`short_examples/{path.name}`" in line)
        assert [name for name in programs_of(path) if not re.search(rf"(?<!\S){name}(?![\w-])", row)] == []
