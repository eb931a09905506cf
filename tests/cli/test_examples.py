"""Every example of the help runs, in the order of the help, and every simulated motion ends near its goal."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.identification.synthetic_logs import fourier_motion
from tests.identification.test_identify_from_wrenches import RECORDED
from tests.identification.test_identify_from_wrenches import ROBOT as WALKER
from typer.testing import CliRunner

import chasles as ch
from chasles import studies
from chasles.cli.application import application
from chasles.model import Description, Frame, Inertia, Joint, Link
from chasles.studies.study import Study

NEAR = 0.05
"""Distance of the tool from its goal at the end of a motion, m."""
WRITTEN = ("--out", "--save", "--report", "--copy")
"""Options with the name of a file that a command writes."""
SLOW = ("demo", "study", "identify", "payload", "plot", "excite", "simulate", "optimize")
"""Commands whose examples take seconds, but for the third of `simulate`."""


def examples() -> dict[str, list[str]]:
    """Examples by the command whose help shows them."""
    commands = typer.main.get_command(application).commands
    found = {}
    for name, command in commands.items():
        lines = (command.help or "").splitlines()
        found[name] = [line.strip() for line in lines if line.startswith("chasles ")]
    return {name: lines for name, lines in found.items() if lines}


EXAMPLES = examples()
CASES = [
    pytest.param(line, marks=[pytest.mark.slow] if name in SLOW and (name, k) != ("simulate", 2) else [])
    for name, lines in EXAMPLES.items()
    for k, line in enumerate(lines)
]


def test_the_help_of_every_command_that_takes_arguments_has_examples() -> None:
    assert set(EXAMPLES) >= {
        "convert", "demo", "excite", "identify", "ik", "info", "optimize", "payload", "plot", "simulate", "study",
        "view",
    }  # fmt: skip


@pytest.mark.parametrize("line", CASES)
def test_an_example_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    monkeypatch.setattr("chasles.visual.view.live.LiveView.wait", lambda view: view.close())
    command, name, *words = shlex.split(line)
    assert command == "chasles"
    for before, word in pairwise([name, *words]):
        if word in FILES and before not in WRITTEN:
            FILES[word](Path(word))
    if name == "study" and "--copy" not in words:
        expect_a_study(words, monkeypatch)
        return
    if name == "simulate" and "--save" not in words:
        words += ["--save", "saved.nc"]
    result = CliRunner().invoke(application, [name, *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    for k, word in enumerate(words):
        if word in WRITTEN:
            assert Path(words[k + 1]).stat().st_size > 0
    if name == "simulate":
        near_goal(Path(words[words.index("--save") + 1]), "--free-base" in words)
    if "--json" in words:
        json.loads(result.stdout)


def near_goal(path: Path, floats: bool) -> None:
    """The last link of a robot, or the body of one that floats, is near its goal at the end, in each run."""
    run = ch.simulation.results.Run.open(path)
    q, wanted = (run[name].values[..., -1, :] for name in ("q", "q_reference"))
    if floats:
        assert np.abs(q[..., 4:7] - wanted[..., 4:7]).max() < NEAR
        return
    robot = ch.simulation.metrics.run_robot(run)
    places = [robot.forward_kinematics(each)[..., :3, 3] for each in (q, wanted)]
    assert np.linalg.norm(places[0] - places[1], axis=-1).max() < NEAR


def expect_a_study(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A study takes minutes; here it is asked for with the robots and runs of the example, and not run."""
    asked: list[Study] = []

    def run(study: Study, *_: object, **options: object) -> None:
        asked.append(study)
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", run)
    assert CliRunner().invoke(application, ["study", *words]).exit_code == 130
    assert asked[0].robots


def arm_urdf(path: Path) -> None:
    ch.load("planar2r").save(path)


def log(path: Path, robot: ch.Robot, *, effort: float = 1.0, columns: str = "q tau") -> None:
    """Log of an exciting motion, with a little noise."""
    motion = fourier_motion(robot.n, 20.0, seed=1, size=0.3)
    tau = robot.inverse_dynamics(*(np.asarray(part) for part in motion[1:]))
    tau = effort * tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    parts = {"q": motion.q, "tau": tau}
    chosen = columns.split()
    head = ",".join(["t", *(f"{name}{k + 1}" for name in chosen for k in range(robot.n))])
    rows = np.column_stack([motion.t, *(parts[name] for name in chosen)])
    np.savetxt(path, rows, delimiter=",", header=head, comments="")


def gait(path: Path) -> None:
    """What motion capture, encoders and one plate at the origin measure of the robot with two legs."""
    heads = ["t", *(f"q_{name}" for name in WALKER.description.coordinate_names)]
    heads += [f"plate_{axis}" for axis in ("mx", "my", "mz", "fx", "fy", "fz")]
    noise = 0.003 * np.random.default_rng(0).normal(size=RECORDED.on_robot.shape) * RECORDED.on_robot.std(axis=0)
    rows = np.column_stack([RECORDED.t, RECORDED.q, RECORDED.on_robot + noise])
    np.savetxt(path, rows, delimiter=",", header=",".join(heads), comments="", fmt="%.9g")


def run_of_two_links(path: Path) -> None:
    assert CliRunner().invoke(application, ["simulate", "planar2r", "--save", str(path)]).exit_code == 0


def satellite(path: Path) -> None:
    """A body of 50 kg with an arm of two joints."""
    links = [
        Link(f"link{k}", Inertia(m, [0.1, 0.0, 0.0], 0.02 * m * np.eye(3))) for k, m in enumerate((50.0, 3.0, 2.0))
    ]
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    joints = [Joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", shift(0.3), axis=axes[k]) for k in range(2)]
    ch.Robot(Description("satellite", tuple(links), tuple(joints))).save(path)


def dog(path: Path) -> None:
    """A body of 12 kg on four bent legs, with a foot at the end of each."""
    links, joints, frames = [Link("trunk", Inertia(12.0, np.zeros(3), np.diag([0.1, 0.3, 0.3])))], [], []
    for leg, x, y in (("lf", 0.25, 0.15), ("rf", 0.25, -0.15), ("lh", -0.25, 0.15), ("rh", -0.25, -0.15)):
        parent = "trunk"
        bends = ((x, y, 0.0, 0.0, "hip"), (0.0, 0.0, 0.0, 0.7, "thigh"), (0.0, 0.0, -0.25, -1.4, "shank"))
        for *place, bend, part in bends:
            link = f"{leg}_{part}"
            links.append(Link(link, Inertia(1.0, [0.0, 0.0, -0.1], 0.005 * np.eye(3))))
            axis = (1.0, 0.0, 0.0) if part == "hip" else (0.0, 1.0, 0.0)
            T = shift(*place) @ turn(bend)
            joints.append(Joint(f"{link}_joint", "revolute", parent, link, T, axis=axis))
            parent = link
        frames.append(Frame(f"{leg}_foot", parent, shift(0.0, 0.0, -0.25)))
    ch.Robot(Description("dog", tuple(links), tuple(joints), frames=tuple(frames))).save(path)


def shift(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def turn(angle: float) -> np.ndarray:
    T = np.eye(4)
    T[::2, ::2][:2, :2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return T


#: Makers of the files that examples read.
def optimal_problem(path: Path) -> None:
    """The problem that the help of `chasles optimize` shows."""
    help = typer.main.get_command(application).commands["optimize"].help or ""
    shown = [line.strip() for line in help.splitlines()]
    first = shown.index("[problem]")
    path.write_text("\n".join(shown[first : shown.index("at = [1.0, 0.5]") + 1]))


FILES = {
    "problem.toml": optimal_problem,
    "arm.urdf": arm_urdf,
    "my_robot.urdf": arm_urdf,
    "robot.xml": lambda path: ch.load("planar2r").save(path),
    "satellite.urdf": satellite,
    "dog.urdf": dog,
    "run.nc": run_of_two_links,
    "walker.urdf": lambda path: WALKER.save(path),
    "gait.csv": gait,
    "log.csv": lambda path: log(path, ch.load("panda")),
    "monday.csv": lambda path: log(path, ch.load("panda")),
    "tuesday.csv": lambda path: log(path, ch.load("panda")),
    "positions.csv": lambda path: log(path, ch.load("planar2r"), columns="q"),
    "currents.csv": lambda path: log(path, ch.load("planar2r"), effort=0.5, columns="tau"),
    "identified.toml": lambda path: ch.load("panda").save(path),
    "with_gripper.csv": lambda path: log(path, ch.load("panda").with_payload(1.0, [0.0, 0.0, 0.05])),
    "my-study.toml": lambda path: path.write_bytes(studies.shipped_path("mazure").read_bytes()),
}
