"""The programs in examples/spacelib against the manual's worked examples, of chapters 4 and 7, and against physics."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles as ch
import chasles.interop.spacelib as sl

PROGRAMS = Path(__file__).parents[3] / "examples" / "spacelib"
DATA = PROGRAMS / "data"
EXAMPLES = {
    example["id"]: example
    for example in json.loads(Path(__file__).with_name("worked_examples.json").read_text(encoding="utf-8"))["examples"]
}
Program = Callable[[str], SimpleNamespace]
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "elbow")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Names of a program, as if imported where it stands; what it writes goes into an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PROGRAMS)
    return lambda name: SimpleNamespace(**runpy.run_path(str(PROGRAMS / f"{name}.py")))


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> bool:
    """Whether arrays agree to a tolerance relative to the largest element."""
    difference = np.abs(np.asarray(found) - np.asarray(expected)).max()
    return bool(difference <= tolerance * max(1.0, np.abs(np.asarray(expected)).max()))


def recomputed(name: str) -> dict[str, Any]:
    example = EXAMPLES[name]
    values: dict[str, Any] = example["expected"] if isinstance(example["recomputed"], str) else example["recomputed"]
    return values


def check_printed_and_recomputed(name: str, found: dict[str, Any]) -> None:
    """Compare with the manual's printed digits and, to 1e-12, with the values recomputed from its data."""
    example = EXAMPLES[name]
    for key, value in found.items():
        if key in example["expected"]:
            assert np.abs(np.asarray(value) - example["expected"][key]).max() <= example["tolerance"], key
        assert close(value, recomputed(name)[key]), key


@pytest.mark.parametrize("name", NAMES)
def test_programs_say_what_they_are_and_are_short(name: str) -> None:
    text = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    assert "(SpaceLib User's Manual, §" in text or name == "make_motions"
    assert len(text.splitlines()) < 140
    assert f"`{name}.py`" in (PROGRAMS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_programs_run_from_the_command_line(
    name: str, program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = [str(tmp_path)] if name == "make_motions" else []
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
    assert name == "make_motions" or len(capsys.readouterr().out) > 100


# ROB-MAT


def robot_of(example: dict[str, Any]) -> sl.RobotData:
    links = []
    for given in example["links"]:
        numbers = {key: value for key, value in given.items() if key not in ("jtype", "m")}
        links.append(sl.LinkData({"Rev": 0, "Pri": 1}[given["jtype"]], mass=given["m"], **numbers))
    return sl.RobotData(tuple(links), example["gravity"], [example["external_force_torque"]])


def motion_of(example: dict[str, Any]) -> sl.MotionData:
    return sl.MotionData(example["dt"], *np.moveaxis(np.array(example["motion"], dtype=float), -1, 0))


def rob_mat_case(name: str) -> tuple[sl.RobotData, sl.MotionData]:
    if name == "ch7.1.robmat_scara_shipped_variant":
        robot, motion = rob_mat_case("ch7.1.robmat_scara_manual")
        last = robot.links[-1].replace(**EXAMPLES[name]["inputs"]["changes"]["link3"])
        return robot.replace(links=(*robot.links[:-1], last)), motion
    return robot_of(EXAMPLES[name]["inputs"]), motion_of(EXAMPLES[name]["inputs"])


@pytest.mark.parametrize(
    "name", ["ch7.1.robmat_scara_manual", "ch7.1.robmat_scara_shipped_variant", "ch7.1.robmat_smart"]
)
def test_rob_mat(name: str, program: Program) -> None:
    robot, motion = rob_mat_case(name)
    links = program("rob_mat").rob_mat(robot, motion)
    for instant, step in enumerate(recomputed(name)["steps"]):
        for link, expected in zip(links, step, strict=True):
            for matrix in ("T", "WA", "HA", "J0", "FI", "ACTO"):
                if matrix in expected:
                    assert close(getattr(link, matrix)[instant], expected[matrix]), matrix
    torques = [[-link["psedot_L_ACTO"] for link in step] for step in recomputed(name)["steps"]]
    described = ch.Robot(ch.model.formats.spacelib.robot_description(robot))
    assert close(described.inverse_dynamics(motion.q, motion.qp, motion.qpp), torques)


@pytest.mark.parametrize(("name", "case"), [("SCARA", "ch7.1.robmat_scara_manual"), ("SMART", "ch7.1.robmat_smart")])
def test_files_of_rob_mat_are_those_of_the_manual(name: str, case: str) -> None:
    robot, motion = rob_mat_case(case)
    assert sl.read_robot(DATA / f"{name}.DAT") == robot
    assert sl.read_motion(DATA / f"{name}.MOT", len(robot.links)) == motion


@pytest.mark.parametrize("name", ["SCARA", "SMART"])
def test_output_of_rob_mat_is_laid_out_like_the_original(
    name: str, program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    """72 matrices, as in SCARA.OUT and SMART.OUT; each after its title, with three decimals."""
    rob_mat = program("rob_mat")
    robot = sl.read_robot(DATA / f"{name}.DAT")
    links = rob_mat.rob_mat(robot, sl.read_motion(DATA / f"{name}.MOT", len(robot.links)))
    rob_mat.main(DATA / f"{name}.DAT", DATA / f"{name}.MOT")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    titles = [line for line in lines if line[0].isalpha() and not line.startswith("Link")]
    assert len(titles) == 72
    assert titles[:12] == [
        "Rel. pos. matrix",
        "Abs. pos. matrix",
        "Rel. vel. matrix in frame (i)",
        "Rel. vel. matrix in frame (0)",
        "Absolute velocity matrix in frame (0)",
        "Rel. acc. matrix in frame (i)",
        "Rel. acc. matrix in frame (0)",
        "Absolute acceleration matrix in frame (0)",
        "Inertia matrix in frame (i)",
        "Inertia matrix in frame (0)",
        "Total actions",
        "Action on joint i",
    ]
    printed = np.array([[float(word) for word in line.split()] for line in lines if not line[0].isalpha()])
    expected = np.array([list(link) for link in links])  # link, matrix, instant
    assert np.abs(printed.reshape(-1, len(links), 12, 4, 4) - np.moveaxis(expected, 2, 0)).max() <= 0.5e-3 + 1e-12


def test_external_actions_go_with_the_instants_and_the_last_one_stays(program: Program) -> None:
    robot, motion = rob_mat_case("ch7.1.robmat_scara_manual")
    actions = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [-7.0, 8.0, 9.0, 0.5, 0.25, 0.125]])
    longer = sl.MotionData(motion.dt, *(np.vstack([table, table[-1:]]) for table in (motion.q, motion.qp, motion.qpp)))
    rob_mat = program("rob_mat").rob_mat
    last = rob_mat(robot.replace(external_actions=actions), longer)[-1]
    without = rob_mat(robot, longer)[-1]
    for instant, (fx, fy, fz, cx, cy, cz) in enumerate([actions[0], actions[1], actions[1]]):
        EXT = np.array([[0, -cz, cy, fx], [cz, 0, -cx, fy], [-cy, cx, 0, fz], [-fx, -fy, -fz, 0]])
        T = last.T[instant]
        assert close(last.ACTO[instant] - without.ACTO[instant], T @ EXT @ T.T)


# TEST and TEST_NEW


def bodies_of(example: dict[str, Any]) -> sl.TwoBodyData:
    first, second = (
        sl.BodyData(mass, *moments, *products, *center)
        for mass, moments, products, center in zip(
            example["mass"], example["jxx_jyy_jzz"], example["jxy_jyz_jxz"], example["G"], strict=True
        )
    )
    return sl.TwoBodyData((first, second), example["W1_0"], example["M1_0"])


@pytest.mark.parametrize(("name", "corrected"), [("test", False), ("test_new", True)])
def test_first_steps_of_two_bodies(name: str, corrected: bool, program: Program) -> None:
    example = EXAMPLES[f"ch7.2.{name}_first_steps"]
    inputs = example["inputs"]
    motion = sl.MotionData(inputs["dt"], *np.array(inputs["q_qp_qpp"], dtype=float).T[..., None])
    run = program("two_bodies").two_bodies(bodies_of(inputs), motion, corrected=corrected)
    for instant, step in enumerate(recomputed(f"ch7.2.{name}_first_steps")["steps"]):
        for matrix in ("M1", "M2", "W1", "W2", "H1", "H2"):
            assert close(getattr(run, matrix.replace("M", "m"))[instant], step[matrix]), (instant, matrix)


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    two_bodies = runpy.run_path(str(PROGRAMS / "two_bodies.py"))["two_bodies"]
    data, motion = sl.read_bodies(DATA / "TEST.DAT"), sl.read_motion(DATA / "TEST.MOT", 1)
    return {name: two_bodies(data, motion, corrected=name == "test_new") for name in ("test", "test_new")}


@pytest.mark.parametrize("name", ["test", "test_new"])
def test_whole_runs_of_two_bodies(name: str, runs: dict[str, Any]) -> None:
    expected = recomputed(f"ch7.2.{name}_full_run")
    assert bodies_of(EXAMPLES[f"ch7.2.{name}_full_run"]["inputs"]) == sl.read_bodies(DATA / "TEST.DAT")
    assert close(runs[name].m1[-1], expected["M1"], 1e-11)
    assert close(runs[name].W1[-1], expected["W1"], 1e-11)
    assert close(runs[name].G[-1], expected["momentum_final"], 1e-11)
    assert close(runs[name].G[0], expected["momentum_initial"])


def test_momentum_drifts_without_correction_and_stays_with_it(runs: dict[str, Any]) -> None:
    change = {name: np.abs(run.G - run.G[0]).max() for name, run in runs.items()}
    assert change["test"] > 0.05
    assert change["test_new"] < 1e-13  # of 20 kg m/s


def test_two_bodies_move_as_physics_wants(runs: dict[str, Any]) -> None:
    """The common centre of mass, at 1 m, keeps its 1 m/s; equal bodies share the motor's half turn."""
    run = runs["test_new"]
    t = 0.002 * np.arange(501)
    center = 0.5 * (run.m1 @ [1.0, 0.0, 0.0, 1.0] + run.m2 @ [1.0, 0.0, 0.0, 1.0])
    assert np.abs(center[:, 0] - (1.0 + t)).max() < 2e-5
    assert np.abs(center[:, 1:3]).max() < 2e-5
    quarter_back = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert np.abs(run.m1[-1, :3, :3] - quarter_back).max() < 2e-5


def test_the_drift_is_of_first_order(program: Program) -> None:
    """With half the step of time half of it is left: it comes from the integration, W ← W + Ẇ dt."""
    names = program("two_bodies")
    data = sl.read_bodies(DATA / "TEST.DAT")
    ends = []
    for steps in (50, 100, 200):
        t = np.linspace(0.0, 1.0, steps + 1)[:, None]
        motion = sl.MotionData(1.0 / steps, *sl.modified_trapezoid_law(t, np.pi, 1.0, 0.25))
        ends.append(names.drift(names.two_bodies(data, motion, corrected=False))[-1])
    assert ends[0] / ends[1] == pytest.approx(2.0, abs=0.25)
    assert ends[1] / ends[2] == pytest.approx(2.0, abs=0.15)


def test_the_plot_of_two_bodies(program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program("two_bodies").main()
    printed = capsys.readouterr().out
    assert "largest drift of the angular momentum, TEST [N m s]: " in printed
    assert (tmp_path / "two_bodies.html").exists() == (find_spec("plotly") is not None)


# Triangle, ROBSCARA, SAT


def test_rototranslation_of_a_triangle(program: Program) -> None:
    check_printed_and_recomputed("ch7.3.rototranslation", program("triangle").displacement()._asdict())


def test_robscara(program: Program) -> None:
    found = program("robscara").gripper()
    check_printed_and_recomputed(
        "ch7.4.robscara", {"M0a": found.m0a, "M04": found.m04, "W04": found.W04, "W04a": found.W04a}
    )


def test_satellite(program: Program) -> None:
    found = program("sat").deployment()
    angles = {"alpha": found.alpha, "beta": found.beta, "d": found.d}
    angles |= {"alpha_deg": np.degrees(found.alpha), "beta_deg": np.degrees(found.beta)}
    check_printed_and_recomputed("ch7.5.sat_angles", angles)
    check_printed_and_recomputed("ch7.5.sat_M3", {"M3": found.m3})
    check_printed_and_recomputed("ch7.5.sat_M4", {"M4": found.m4})
    check_printed_and_recomputed("ch7.5.sat_Q5", {"u": found.u5, "Q5": found.Q5})
    check_printed_and_recomputed("ch7.5.sat_Mf", {"Mf": found.mf})
    check_printed_and_recomputed("ch7.5.sat_Qtot", {"Qtot": found.Qtot})
    screw = {"u": found.u, "P": found.P, "h": found.h, "phi_deg": np.degrees(found.fi)}
    check_printed_and_recomputed("ch7.5.sat_screw", screw)


# Elbow robot


def elbow_motion(name: str) -> sl.MotionData:
    return sl.MotionData(0.01, *np.array(EXAMPLES[name]["inputs"]["joints_q_qp_qpp"]).T[:, None])


@pytest.mark.parametrize("which", ["elb_d_dh", "elb_d_pa"])
@pytest.mark.parametrize("name", ["ch7.6.elbow_direct_t0", "ch7.6.elbow_direct_t1"])
def test_elbow_direct(which: str, name: str, program: Program) -> None:
    names = program(which)
    lengths = sl.read_link_lengths(DATA / "ELBOW.DAT")
    assert lengths.tolist() == EXAMPLES[name]["inputs"]["link_lengths"]
    gripper = vars(names)[which](lengths, elbow_motion(name))
    data = program("elbow").gripper_data(gripper, 0.01)
    found = {"angles": data.q[0], "angles_p": data.qp[0], "angles_pp": data.qpp[0], "pos": data.position[0]}
    found |= {"vel": data.velocity[0], "acc": data.acceleration[0]}
    check_printed_and_recomputed(name, found)
    if "gripper_pose" in recomputed(name):
        assert close(gripper.m[0], recomputed(name)["gripper_pose"])


def test_both_direct_programs_agree_with_each_other_and_with_the_file(program: Program, tmp_path: Path) -> None:
    program("elb_d_dh").main(out="dh.mot")
    program("elb_d_pa").main(out="pa.mot")
    by_dh, by_pa = sl.read_gripper("dh.mot"), sl.read_gripper("pa.mot")
    shipped = sl.read_gripper(DATA / "GRIPPER.MOT")
    assert len(by_dh.t) == 15
    for name in ("q", "qp", "qpp", "position", "velocity", "acceleration"):
        assert close(getattr(by_dh, name), getattr(by_pa, name)), name
        assert close(getattr(by_dh, name), getattr(shipped, name)), name


def test_velocities_and_accelerations_are_derivatives_of_the_position(program: Program) -> None:
    """By central differences along a smooth motion of the joints."""
    rng = np.random.default_rng(0)
    A, w = rng.uniform(0.2, 1.0, 6), rng.uniform(0.5, 2.0, 6)
    h = 1e-4
    t = 0.7 + h * np.arange(-1, 2)[:, None]
    motion = sl.MotionData(h, A * np.sin(w * t), A * w * np.cos(w * t), -A * w**2 * np.sin(w * t))
    lengths = sl.read_link_lengths(DATA / "ELBOW.DAT")
    data = program("elbow").gripper_data(program("elb_d_dh").elb_d_dh(lengths, motion), h)
    for value, rate, acceleration in ((data.q, data.qp, data.qpp), (data.position, data.velocity, data.acceleration)):
        assert np.abs((value[2] - value[0]) / (2.0 * h) - rate[1]).max() < 1e-6
        assert np.abs((rate[2] - rate[0]) / (2.0 * h) - acceleration[1]).max() < 1e-6


def gripper_of(example: dict[str, Any]) -> sl.GripperData:
    given = example["inputs"]["gripper"]
    tables = ([given[name]] for name in ("angles", "angles_p", "angles_pp", "pos", "vel", "acc"))
    return sl.GripperData(0.01, (0, 1, 2), *tables)


def test_elbow_inverse(program: Program) -> None:
    """Where the Newton-Raphson of the listing stops, and where it goes if it may go on."""
    example = EXAMPLES["ch7.6.elbow_inverse_t0"]
    expected = recomputed("ch7.6.elbow_inverse_t0")
    lengths, guess = example["inputs"]["link_lengths"], np.array(example["inputs"]["guess"])
    elb_i_dh = program("elb_i_dh").elb_i_dh
    stopped = elb_i_dh(lengths, gripper_of(example), guess)
    converged = elb_i_dh(lengths, gripper_of(example), guess, toll=1e-12)
    for name in ("q", "qp", "qpp"):
        assert close(getattr(stopped, name)[0], expected[name], 1e-10), name
        # Almost stretched, the arm magnifies what is left of the error: its Jacobian has a condition of 15,000.
        assert close(getattr(converged, name)[0], expected["converged"][name], 1e-6), name
    assert expected["iterations"] == 5
    with pytest.raises(ArithmeticError, match="doesn't converge"):
        elb_i_dh(lengths, gripper_of(example), guess, maxiter=5)
    elb_i_dh(lengths, gripper_of(example), guess, maxiter=6)


def test_inverse_and_direct_programs_read_each_others_files(program: Program) -> None:
    """Figure 7.18: the gripper's motion comes back, to the tolerance of the positions, however the joints move."""
    program("elb_i_dh").main(out="JOINT.MOT")
    program("elb_d_dh").main(motion="JOINT.MOT", out="GRIPPER.MOT")
    there, back = sl.read_gripper(DATA / "GRIPPER.MOT"), sl.read_gripper("GRIPPER.MOT")
    assert np.abs(there.position - back.position).max() <= 0.0005
    assert np.abs(there.q - back.q).max() < 0.001
    assert close(back.velocity, there.velocity, 1e-10)
    assert close(back.acceleration, there.acceleration, 1e-10)


def test_inverse_and_direct_kinematics_are_inverse_to_each_other(program: Program) -> None:
    """As long as Newton and Raphson's method finds the way without a limit of its steps: for five instants."""
    whole = sl.read_gripper(DATA / "GRIPPER.MOT")
    names = ("q", "qp", "qpp", "position", "velocity", "acceleration")
    there = sl.GripperData(whole.dt, whole.axes, *(getattr(whole, name)[:5] for name in names))
    lengths, guess = sl.read_link_lengths(DATA / "ELBOW.DAT"), sl.read_guess(DATA / "GUESS.1ST")
    joints = program("elb_i_dh").elb_i_dh(lengths, there, guess, toll=1e-12, maxiter=20)
    back = program("elbow").gripper_data(program("elb_d_dh").elb_d_dh(lengths, joints), there.dt)
    for name in names:
        assert close(getattr(back, name), getattr(there, name), 1e-10), name


def test_a_singular_elbow_is_an_error(program: Program) -> None:
    """At home the parallel axes of joints 2, 3, 4 and 6 lie in one plane, so two of them say all."""
    home = [[0.0, 0.0, 0.0]]
    still = sl.GripperData(0.01, (0, 1, 2), home, home, home, [[0.2, 1.8, 1.5]], home, home)
    with pytest.raises(ArithmeticError, match="rank is 4: singular position!"):
        program("elb_i_dh").elb_i_dh(sl.read_link_lengths(DATA / "ELBOW.DAT"), still, np.zeros(6))


def test_files_of_laws_of_motion(program: Program, tmp_path: Path) -> None:
    program("make_motions").main(tmp_path)
    for name, joints, instants in (("JOINT.MOT", 6, 15), ("TEST.MOT", 1, 501)):
        made, shipped = sl.read_motion(tmp_path / name, joints), sl.read_motion(DATA / name, joints)
        assert made.dt == shipped.dt
        assert made.q.shape == (instants, joints)
        for table in ("q", "qp", "qpp"):
            assert close(getattr(made, table), getattr(shipped, table), 1e-14)


# TEST-LIN


def test_linear_system(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES["sec4.3.linear_rectangular"]
    system = sl.read_linear_system(DATA / "INP.DAT")
    assert system.A.tolist() == example["inputs"]["A"]
    assert system.b.tolist() == example["inputs"]["b"]
    reduced = program("linear_system").reduce(system)
    assert reduced.irank == example["expected"]["irank"]
    assert reduced.ivet.tolist() == example["expected"]["ivet"]
    assert close(reduced.H, example["expected"]["H"])
    program("linear_system").main()
    assert "The rank of the matrix is 3" in capsys.readouterr().out


def test_a_linear_system_with_one_solution(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "INP.DAT").write_text("2 2   2 1 5   1 3 10", encoding="ascii")
    program("linear_system").main("INP.DAT")
    assert capsys.readouterr().out.endswith("The solution is\n1.000000 3.000000\n")
