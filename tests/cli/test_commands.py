from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import xarray
from _pytest.mark import ParameterSet
from rich.console import Console
from tests.thinning import thinned
from typer.testing import CliRunner, Result

import chasles as ch
import chasles.cli
from chasles import studies
from chasles.cli.application import application
from chasles.cli.output import add_row, error_text, table
from chasles.cli.settings import parsed_setting
from chasles.model import Description, Inertia, Joint, Link, has_masses, missing_meshes, shipped
from chasles.studies.controllers import KINDS

#: Shipped robots of every kind of joint and file, with masses.
MODELS = ("iiwa14", "panda", "planar2r", "puma560", "scara", "stanford", "ur10", "ur5")


def some(names: Sequence[str], *quick: str) -> list[ParameterSet]:
    """All names, of which the default tests take the quick ones alone."""
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.slow]) for name in names]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(application, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def error_of(*arguments: str) -> str:
    """The one line of an error: exit code 2, nothing on the standard output, no traceback."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_version_and_bare_call():
    assert run("--version").stdout == f"chasles {ch.__version__}\n"
    assert "demo" in run().output


@pytest.mark.parametrize(
    "command", [["convert"], ["demo"], ["robots"], ["info"], ["simulate"], ["cache"], ["cache", "clear"]]
)
def test_every_command_has_help(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_help_names_every_control_law_in_full():
    shown = " ".join(run("simulate", "--help").stdout.replace("│", " ").split())
    for kind in KINDS:
        assert f" {kind}," in shown or f" {kind}." in shown


@pytest.mark.parametrize("command", ["convert", "demo", "info", "simulate", "view"])
def test_help_teaches_with_examples(command):
    assert f"chasles {command} " in run(command, "--help").stdout.split("For example")[1]


@pytest.mark.parametrize("command", ["simulate", "ik", "identify", "study"])
def test_help_fits_80_columns_without_cuts(command):
    assert not re.search(r"…\s*│", run(command, "--help").stdout)


def test_robots():
    data = json.loads(run("robots", "--json").stdout)
    assert [robot["name"] for robot in data] == list(shipped())
    joints = {robot["name"]: robot["joints"] for robot in data}
    assert (joints["panda"], joints["delta"], joints["stewart"]) == (7, 3, 6)
    listing = run("robots").stdout.splitlines()
    assert len(listing) < len(shipped()) + 8  # one line a robot
    assert all(sum(line.split()[:1] == [name] for line in listing) == 1 for name in shipped())
    assert max(map(len, listing)) <= 80
    assert "Universal Robots UR5e" in "".join(listing)


def test_robots_tells_of_one():
    shown = run("robots", "panda").stdout
    assert shown.startswith("panda: Franka Emika Panda with its hand, 7 joints, 1")
    assert "Gaz et al." in shown
    assert json.loads(run("robots", "ur5", "--json").stdout)[0]["source"].startswith("Universal Robots")
    assert "Did you mean 'panda'" in error_of("robots", "pandaa")


@pytest.mark.parametrize("name", thinned([*MODELS, "gen3", "jaco"], keep=3))
def test_info_names_every_joint_and_link(name):
    robot = ch.load(name)
    text = run("info", name).stdout
    for known in (*robot.joint_names, *robot.frame_names):
        assert known in text
    assert "…" not in text  # nothing is cut off where there is no terminal
    data = json.loads(run("info", name, "--json").stdout)
    assert data["mass"] == pytest.approx(sum(link.inertia.mass for link in robot.description.links))
    np.testing.assert_allclose(
        data["tool_at_home"]["position"], robot.forward_kinematics(robot.home)[:3, 3], atol=1e-12
    )
    if has_masses(robot.description):
        assert data["operations"]["inverse_dynamics"] == robot.inverse_dynamics.program.operation_count


def test_info_shows_each_freedom_of_a_joint(tmp_path):
    path = tmp_path / "craft.toml"
    links = "".join(f'[[link]]\nname = "{name}"\nmass = 1.0\ninertia = [1, 1, 1]\n' for name in ("sea", "hull", "mast"))
    path.write_text(
        '[robot]\nname = "craft"\nhome = [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.5, 0.25]\n'
        + links
        + '[[joint]]\nname = "float"\nkind = "free"\nparent = "sea"\nchild = "hull"\n'
        + '[[joint]]\nname = "hoist"\nkind = "cylindrical"\nparent = "hull"\nchild = "mast"\n'
        + "limits = { lower = [-1.0, 0.0], upper = [1.0, 0.3] }\n"
    )
    text = run("info", str(path)).stdout
    assert "craft: 2 joints with 8 degrees of freedom, 3 links" in text
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
    assert rows["hoist.angle"][:4] == ["cylindrical", "-57.3", "57.3", "28.65"]
    assert rows["hoist.distance"][:4] == ["cylindrical", "0", "0.3", "0.25"]
    assert rows["float.wx"][:4] == ["free", "–", "–", "–"]
    assert "float at home: (1.0000, 2.0000, 3.0000) m, roll, pitch, yaw (0.00, 0.00, 180.00)°" in text
    facts = json.loads(run("info", str(path), "--json").stdout)
    assert (facts["coordinates"], facts["velocities"]) == (9, 8)
    assert facts["home"]["float.qz"] == 1.0
    assert facts["joints"][1]["upper"] == [1.0, 0.3]


def satellite(folder: Path) -> tuple[Path, ch.Robot]:
    """File of a body of 50 kg with an arm of two joints, and the robot with a free base."""
    axes, at = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)), np.eye(4)
    at[:3, 3] = 0.3, 0.0, 0.1
    links = [
        Link(f"link{k}", Inertia(m, [0.1, 0.0, 0.0], 0.02 * m * np.eye(3))) for k, m in enumerate((50.0, 3.0, 2.0))
    ]
    joints = [Joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", at, axis=axes[k]) for k in range(2)]
    robot = ch.Robot(Description("satellite", tuple(links), tuple(joints)))
    path = folder / "satellite.toml"
    robot.save(path)
    return path, robot.with_free_base()


@pytest.mark.slow
def test_simulate_lets_a_robot_float(tmp_path):
    """Without gravity nothing acts from outside: the centre of mass rests, and all momenta stay zero."""
    path, free = satellite(tmp_path)
    saved = tmp_path / "run.nc"
    options = ["--free-base", "--set", "gravity=0,0,0", "--goal", "0.4,-0.3", "--duration", "0.3", "--save", str(saved)]
    assert run("simulate", str(path), *options).exit_code == 0
    made = ch.simulation.results.Run.open(saved)
    q, qd = made.q.values[::30], made.qd.values[::30]
    assert np.ptp(free.center_of_mass(q), axis=0).max() < 1e-7
    assert np.abs(free.centroidal.matrix(q) @ qd[..., None]).max() < 1e-6
    assert np.abs(made.error.values[:, 6:]).max() < 1e-3
    np.testing.assert_allclose(made.q_reference.values[-1], [1, 0, 0, 0, 0, 0, 0, 0.4, -0.3], atol=1e-12)


@pytest.mark.slow
def test_simulate_stands_on_feet(tmp_path):
    """The ground carries the weight."""
    path, _ = satellite(tmp_path)
    saved = tmp_path / "run.nc"
    options = ["simulate", str(path), "--free-base", "--contact", "link0=0.8x0.8", "--duration", "0.2"]
    assert run(*options, "--save", str(saved)).exit_code == 0
    made = ch.simulation.results.Run.open(saved)
    force = sum(made[f"contacts.link0 corner {k}"].values[-1, 5] for k in range(1, 5))
    assert abs(force / (9.81 * 55.0) - 1.0) < 1e-3
    assert np.abs(made.error.values[:, :6]).max() < 1e-2


def test_simulate_says_which_laws_stand_and_float(tmp_path):
    path, free = satellite(tmp_path)
    options = ["simulate", str(path), "--free-base", "--contact", "link0=0.8x0.8", "--duration", "0.2"]
    assert "knows of no frames that stand on the ground; use computed-torque" in error_of(
        *options, "--law", "impedance"
    )
    for option, said in (
        (["--contact", "link2"], "m above the lowest foot; give --start"),
        (["--contact", "link0=0.8"], "expected NAME or NAME=LENGTHxWIDTH"),
        (["--contact", "hoof"], "there is no frame 'hoof'"),
        (["--contact", "link0", "--set", "gravity=0,0,1.6"], "gravity does not press robot"),
        (["--set", "gravity=1"], "--set gravity: expected 3 numbers, not 1"),
        (["--law", "slotine-li"], "SlotineLi takes no robots with free joints"),
    ):
        assert said in error_of(*options, *option)
    assert "add --free-base" in error_of("simulate", str(path), "--contact", "link0")
    free.save(path)
    assert "has a free joint already" in error_of("simulate", str(path), "--free-base")


FRAMES = ["simulate", "planar2r", "--goal", "0.2,0.7", "--start", "0,0.5", "--duration", "0.2"]


@pytest.mark.slow
def test_simulate_moves_frames():
    for law in (
        ["operational-space", "--set", "kp=900", "--set", "components=x,y"],
        ["whole-body-torque", "--target", "link2"],
    ):
        said = run(*FRAMES, "--target", "tool", "--law", *law).stdout
        assert "Tool position error: RMS 0." in said
        assert "mm, peak 0." in said


def test_simulate_says_what_laws_of_frames_are():
    several = ["--law", "operational-space", "--target", "tool", "--target", "link1"]
    assert "computed-torque moves joints, not frames; laws of frames: impedance, oper" in error_of(
        *FRAMES, "--target", "tool"
    )
    assert "moves one frame, not 2; whole-body-torque moves several" in error_of(*FRAMES, *several)
    assert "2 numbers for the 3 axes" in error_of(*FRAMES, "--law", "operational-space", "--set", "kp=1,2")


def test_info_says_where_rotors_are_missing(tmp_path):
    path = tmp_path / "arm.urdf"
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<parent link="a"/><child link="b"/><limit lower="-1" upper="1" effort="9" velocity="2"/>'
    links = f'<link name="a"/><link name="b">{mass}</link>'
    path.write_text(f'<robot name="arm">{links}<joint name="j" type="revolute">{joint}</joint></robot>')
    assert "Rotor inertia: none in the file; simulate takes it by --set motor_inertia" in run("info", str(path)).stdout
    assert "Rotor inertia" not in run("info", "puma560").stdout


def test_info_counts_shapes_and_names_missing_meshes(tmp_path):
    path = tmp_path / "shaped.urdf"
    path.write_text(
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="package://r_description/a.stl"/></geometry>'
        '</visual><collision><geometry><sphere radius="1"/></geometry></collision></link></robot>'
    )
    text = run("info", str(path)).stdout
    assert "Shapes: 1 visuals, 1 collisions, 1 files of meshes" in text
    missing = "1 meshes are missing, the first: mesh 'package://r_description/a.stl' is not there; say where"
    assert missing in " ".join(text.split())
    assert json.loads(run("info", str(path), "--json").stdout)["shapes"]["meshes"] == 1
    (tmp_path / "r_description").mkdir()
    (tmp_path / "r_description" / "a.stl").touch()
    assert "missing" not in run("info", str(path)).stdout


@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_what_is_piped_has_eighty_columns(name):
    """Sentences are wrapped, tables are narrow; friction and rotor inertia have a table where there are any."""
    text = run("info", name).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert ("Coulomb" in text) == (name == "puma560")


def test_info_of_a_file_with_names_like_markup(tmp_path):
    path = tmp_path / "bold.urdf"
    path.write_text(
        '<robot name="[bold]r[/bold]"><link name="[red]a"/><link name="[/red]b"/>'
        '<joint name="[link=x]j" type="continuous"><parent link="[red]a"/><child link="[/red]b"/><axis xyz="0 0 1"/>'
        "</joint></robot>"
    )
    result = run("info", str(path))
    assert result.exit_code == 0
    for name in ("[bold]r[/bold]", "[red]a", "[/red]b", "[link=x]j"):
        assert name in result.stdout
    assert json.loads(run("info", str(path), "--json").stdout)["joints"][0]["lower"] is None


def test_unknown_robot_lists_those_that_exist():
    message = error_of("info", "pandda")
    assert "pandda" in message
    assert "Did you mean 'panda'?" in message
    assert all(name in message for name in shipped())


def test_missing_and_broken_files(tmp_path):
    assert "nowhere.urdf" in error_of("info", str(tmp_path / "nowhere.urdf"))
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot name='x'><link")
    assert "broken.urdf" in error_of("info", str(broken))


@pytest.fixture
def unphysical(tmp_path: Path) -> Path:
    """File of a pendulum of negative mass, with two ends."""
    inertial = '<inertial><mass value="-1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = f'<link name="base"/><link name="bob">{inertial}</link><link name="cord"/>'
    ends = "".join(
        f'<joint name="{child}_hinge" type="continuous"><parent link="base"/><child link="{child}"/></joint>'
        for child in ("bob", "cord")
    )
    path = tmp_path / "pendulum.urdf"
    path.write_text(f'<robot name="pendulum">{links}{ends}</robot>')
    return path


def test_commands_accept_what_no_body_has_and_take_a_tool(unphysical, tmp_path):
    assert "link 'bob': its mass is negative (-1.0 kg) (--no-check skips this check)" in error_of(
        "info", str(unphysical)
    )
    facts = json.loads(run("info", str(unphysical), "--no-check", "--tool", "cord", "--json").stdout)
    assert (facts["tool"], facts["mass"]) == ("cord", -1.0)
    out = tmp_path / "pendulum.toml"
    assert run("convert", str(unphysical), str(out), "--no-check", "--tool", "cord").exit_code == 0
    assert ch.load(out, check=False).description.tool == "cord"
    assert "the tool 'hand' is not the name" in error_of("info", str(unphysical), "--no-check", "--tool", "hand")


def test_check_lists_probable_mistakes_and_exits_with_1(tmp_path):
    path = tmp_path / "gate.urdf"
    path.write_text(
        '<robot name="gate"><link name="post"/><link name="door"/><joint name="hinge" type="revolute"><parent '
        'link="post"/>\n<child link="door"/><limit lower="-90" upper="90" effort="9" velocity="1"/></joint></robot>'
    )
    result = run("check", str(path))
    assert result.exit_code == 1
    assert "1 caution\n\ncaution: limit-in-degrees\n" in result.stdout
    data = json.loads(run("check", str(path), "--json").stdout)
    assert (data["ok"], data["robot"]) == (False, str(path))
    (record,) = data["findings"]
    assert (record["code"], record["line"], record["value"]) == ("limit-in-degrees", 1, 90.0)
    assert all(record[name] for name in ("because", "sentence", "limit", "weight"))
    path.write_text(path.read_text().replace("90", "1.5"))
    result = run("check", str(path))
    assert (result.exit_code, result.stdout) == (0, f"{path}: no findings\n")
    path.write_text("<robot")
    result = run("check", str(path))
    assert result.exit_code == 1
    assert "refused" in result.stdout
    assert "cannot be read" in error_of("check", str(tmp_path / "nothere.urdf"))


def test_warnings_name_the_options_of_commands(unphysical):
    sound = unphysical.read_text().replace('"-1"', '"1"')
    inertial = sound[sound.index("<inertial>") : sound.index("</inertial>") + len("</inertial>")]
    unphysical.write_text(sound.replace('<link name="cord"/>', f'<link name="cord">{inertial}</link>'))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = " ".join(run("info", str(unphysical)).stderr.split())
    assert "pass --tool FRAME to change it" in said


def test_every_command_that_loads_a_robot_takes_a_tool_and_no_check():
    for command in ("convert", "excite", "identify", "ik", "info", "optimize", "payload", "simulate", "view"):
        shown = run(command, "--help").stdout
        assert "--tool" in shown, command
        assert "--no-check" in shown, command


def test_debug_shows_where_an_error_arose():
    with pytest.raises(ch.ChaslesError, match="nix"):
        run("--debug", "info", "nix")


def test_simulate_saves_what_it_simulated(tmp_path):
    samples, report = tmp_path / "run.nc", tmp_path / "run.html"
    result = run(
        *("simulate", "planar2r", "--goal", "0.5,-0.3", "--duration", "0.5", "--set", "payload.mass=1"),
        *("--save", str(samples), "--out", str(report)),
    )
    assert result.exit_code == 0
    assert str(report) in result.stdout
    with xarray.open_dataset(samples) as saved:
        arm = ch.load("planar2r")
        motion = ch.PointToPoint(arm.home, [0.5, -0.3], duration=0.5)
        expected = ch.simulate(
            arm.with_payload(1.0), ch.ComputedTorque.tuned(arm, motion, 1e-3, frequency=20.0), motion
        )
        np.testing.assert_array_equal(saved["q"].values, expected["q"].values)
    assert report.stat().st_size > 1e6


def test_simulate_as_json():
    rows = json.loads(run("simulate", "planar2r", "--goal", "random:3", "--duration", "0.5", "--json").stdout)
    assert [row["joint"] for row in rows] == list(ch.load("planar2r").joint_names)
    assert all(0.0 <= row["rms_error"] <= row["peak_error"] < 1e-2 for row in rows)


def test_simulate_varies_parameters(tmp_path):
    path = tmp_path / "runs.nc"
    common = ("simulate", "planar2r", "--duration", "0.2", "--save", str(path))
    assert (
        "5 runs" in run(*common, "--runs", "5", "--vary", "payload.mass=0:2", "--vary", "controller.kp=100:300").stdout
    )
    with xarray.open_dataset(path) as saved:
        np.testing.assert_allclose(saved["payload.mass"], [0.0, 0.5, 1.0, 1.5, 2.0])
        np.testing.assert_allclose(saved["controller.kp"][:, 0], [100.0, 150.0, 200.0, 250.0, 300.0])
        error = np.abs(saved["error"]).max(dim=("time", "joint")).values
    assert error[0] < error[-1]
    run(*common, "--vary", "payload.mass=0,3,7")
    with xarray.open_dataset(path) as saved:
        np.testing.assert_array_equal(saved["payload.mass"], [0.0, 3.0, 7.0])


@pytest.mark.parametrize("robot", some(MODELS, "puma560", "scara", "ur5"))
def test_simulate_holds_shipped_robots(robot):
    """A stiff computed-torque controller with the true model keeps within 1e-2 rad or m."""
    rows = json.loads(run("simulate", robot, "--json", "--duration", "2").stdout)
    friction = any(joint.coulomb_friction for joint in ch.load(robot).description.joints)
    assert max(row["peak_error"] for row in rows) < (5e-2 if friction else 1e-2)


def test_pd_gravity_stays_near_the_goal_with_payload_and_friction():
    options = [
        "--law",
        "pd-gravity",
        "--integrator",
        "rk4:2",
        "--set",
        "friction.viscous=0.01",
        "--set",
        "friction.coulomb=0.005",
        "--set",
        "payload.mass=0.2",
        "--json",
    ]
    rows = json.loads(run("simulate", "ur5", *options).stdout)
    assert max(row["peak_error"] for row in rows) < 0.1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--goal", "1,2"], "2 numbers for 7 joints"),
        (["--goal", "a,b,c,d,e,f,g"], "'a' is not a number"),
        (["--goal", "nan,0,0,0,0,0,0"], "must be finite"),
        (["--goal", ""], "expected numbers"),
        (["--goal", "9,0,0,-1,0,1,0"], "9 is outside the limits of joint 'panda_joint1'"),
        (["--goal", "random:-1"], "expected random:SEED"),
        (["--set", "delay=-1"], "delay"),
        (["--set", "effort_limits=1"], "--set effort_limits: expected true or false, not '1'"),
        (["--set", "friction.viscos=1"], "Did you mean 'friction.viscous'?"),
        (["--set", "links.panda_link7.center_of_mass=1"], "expected 3 numbers, not 1"),
        (["--set", "kp=1", "--set", "controller.kp=2"], "'kp' is given twice"),
        (["--set", "payload.mass=1", "--vary", "payload.mass=0:1"], "--set and --vary both give 'payload.mass'"),
        (["--set", "kp=1", "--vary", "controller.kp=1:2"], "--set and --vary both give 'controller.kp'"),
        (["--integrator", "rk4:0"], "'0' is not a whole number from 1"),
        (["--set", "kp=1,2"], "give 1 or 7"),
        (["--set", "kd=-1"], "negative"),
        (["--set", "payload.mass=-1"], "--set payload.mass is -1.0; it must be at least 0"),
        (["--set", "payload.mass=nan"], "--set payload.mass: 'nan' is not finite"),
        (["--set", "friction.viscous=-0.1"], "negative"),
        (["--law", "pd-gravity", "--set", "ki=1"], "there is no setting 'ki' of law 'pd-gravity'"),
        (["--set", "kp"], "expected NAME=VALUE"),
        (["--set", "kpp=1"], "no setting"),
        (["--duration", "-1"], "duration"),
        (["--duration", "inf"], "duration"),
        (["--period", "0"], "period"),
        (["--integrator", "heun"], "rk4"),
        (["--vary", "payload.mass"], "NAME=FROM:TO"),
        (["--vary", "payload.mass=1:2:3"], "FROM:TO"),
        (["--vary", "payload.mass=0:x"], "'x' is not a number"),
        (["--vary", "payload.mass=0-5"], "'0-5' is not a number; a range is FROM:TO, such as payload.mass=0:5"),
        (["--law", "pdd"], "there is no control law 'pdd'. Did you mean 'pd'?"),
        (["--law", "pid", "--set", "frequncy=3"], "no setting 'frequncy' of law 'pid'. Did you mean"),
        (["--out", "no/such/folder/a.html"], "its folder does not exist; create 'no/such/folder' first"),
        (["--vary", "payload.mas=0:1"], "payload.mass"),
        (["--vary", "controller.kpp=0:1"], "Did you mean 'controller.kp'?"),
        (["--vary", "gravity=0:1"], "shape"),
        (["--vary", "payload.mass=0:1", "--vary", "payload.mass=0:1"], "twice"),
        (["--vary", "payload.mass=0,1", "--runs", "3"], "needs one value per run"),
        (["--runs", "5"], "--vary"),
        (["--runs", "0", "--vary", "payload.mass=0:1"], "--runs"),
        (["--out", "no/such/folder/run.html"], "folder does not exist"),
        (["--save", "no/such/folder/run.nc"], "folder does not exist"),
        (["--out", "."], "it is a folder"),
    ],
)
def test_wrong_options_of_simulate(options, said):
    assert said in error_of("simulate", "panda", *options)


@pytest.mark.parametrize("kind", some(studies.kinds(), "pid", "impedance", "elastic-regulator", "whole-body-torque"))
def test_simulate_knows_every_controller_of_studies(kind):
    needed = {
        "operational-space": ["components=x,y"],
        "resolved-acceleration": ["components=x,y"],
        "impedance": ["stiffness=500", "damping=60", "components=x,y"],
    }
    elastic = ("elastic-regulator", "elastic-computed-torque")
    needed |= {key: ["stiffness=800,100", "rotor_inertia=0.3,0.05"] for key in elastic}
    options = ["planar2r", "--law", kind, "--duration", "0.3", "--period", "0.004", "--json"]
    if kind in needed:
        asked = {"impedance": "needs a value for"} | dict.fromkeys(elastic, "give --set stiffness=…")
        said = asked.get(kind, "cannot move the components")
        assert said in error_of("simulate", *options)
    for setting in needed.get(kind, []):
        options += ["--set", setting]
    assert len(json.loads(run("simulate", *options).stdout)) == 2


def test_a_diverged_simulation_exits_with_1_says_why_and_prints_no_table():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("simulate", "planar2r", "--law", "pd-gravity", "--set", "kd=1e5", "--integrator", "rk4")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "kd·T/M = " in " ".join(result.output.split())


def test_runs_that_diverge_among_others_are_left_out_of_the_table():
    options = ["--law", "pd-gravity", "--vary", "controller.kd=1:1e6", "--runs", "3"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("simulate", "planar2r", "--integrator", "rk4", "--duration", "0.3", *options)
    assert result.exit_code == 1
    assert "2 of 3 runs diverged" in " ".join(result.output.split())
    assert "1 run that did not diverge," in result.stdout
    assert "e+" not in result.stdout


def test_simulate_says_which_joints_stood_at_their_limits():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("simulate", "panda", "--set", "payload.mass=30", "--duration", "1")
    assert "Time at the effort limits: panda_joint" in result.stdout
    assert "panda_joint4 was at its effort limit for" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "panda", "--json", "true"], "--json takes no value: leave 'true' out"),
        (["view", "--no-check", "no", "panda"], "--no-check takes no value: leave 'no' out"),
        (["cache", "info", "--json", "1"], "--json takes no value: leave '1' out"),
        (
            ["ik", "ur5", "--limits", "false", "--position", "1,0,0"],
            "--limits takes no value: type --no-limits instead",
        ),
        (["simulate", "panda", "--duration", "1,5"], "'--duration': '1,5' is not a number"),
        (["excite", "panda", "--out", "a.csv", "--starts", "2.5"], "'--starts': '2.5' is not a whole number"),
        (
            ["ik", "panda", "--position", "1,0,0", "--select", "al"],
            "'al' is none of first, nearest, best, all. Did you",
        ),
        (["convert", "panda", "a.toml", "--to", "modified_dh"], "Did you mean 'modified-dh'?"),
        (["simulate"], "Missing argument 'ROBOT'. For example: chasles simulate panda"),
        (["ik", "panda"], "Missing option '--position'. For example: chasles ik ur5 --position"),
        (["identify", "log.csv"], "Missing option '--robot' / '-r'. For example: chasles identify log.csv --robot"),
        (["plot"], "Missing argument 'RUN'. For example: chasles plot run.nc"),
    ],
)
def test_usage_errors_say_what_to_type(arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("words", [[], ["simulate"], ["view"], ["cache"], ["cache", "info"]])
def test_flags_have_no_type_in_help(words):
    shown = run(*words, "--help").stdout
    assert "bool" not in shown
    assert "Show this message and exit." in shown


def test_examples_stand_close_together():
    shown = "".join(f"{line.strip()}\n" for line in run("simulate", "--help").stdout.splitlines())
    assert "\n\n\n" not in shown.split("For example:")[1].split("╭")[0].strip()


def test_ik_asks_for_metres():
    assert "--position is in m. Is yours in mm?" in run("ik", "ur5", "--position", "400,200,300").stderr
    assert "mm" not in run("ik", "ur5", "--position", "4,2,3").stderr


def test_options_of_the_wrong_kind_are_usage_errors():
    for arguments in (
        ["simulate", "panda", "--law", "magic"],
        ["simulate", "panda", "--duration", "x"],
        ["nix"],
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "Traceback" not in result.output


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(tmp_path / "cache"))
    assert json.loads(run("cache", "info", "--json").stdout)["entries"] == 0
    ch.load("planar2r").mass_matrix([0.1, 0.2])
    held = json.loads(run("cache", "info", "--json").stdout)
    assert held["path"] == str(tmp_path / "cache")
    assert held["entries"] >= 1
    assert f"{held['entries']} kernels" in run("cache", "info").stdout
    assert run("cache", "clear").stdout.startswith(f"{held['entries']} kernels removed")
    assert json.loads(run("cache", "info", "--json").stdout)["entries"] == 0


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_packages_the_command_says_how_to_get_them(missing, monkeypatch, capsys):
    from importlib.util import find_spec

    monkeypatch.setattr(chasles.cli, "find_spec", lambda name: None if name == missing else find_spec(name))
    with pytest.raises(SystemExit) as left:
        chasles.cli.main()
    assert left.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    command = 'pip install ".[cli]"'
    assert output.err == f"Error: the command line needs '{missing}'; type {command} in a checkout of Chasles\n"


def test_as_a_process(tmp_path):
    """Warnings are one plain line, errors leave with code 2, results alone go to the standard output."""
    heavy = tmp_path / "heavy.urdf"
    heavy.write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="9"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    command = [sys.executable, "-c", "from chasles.cli import main; main()", "info", str(heavy), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "r"
    assert done.stderr.startswith("Warning: ")
    assert "triangle" in done.stderr
    failed = subprocess.run([*command[:4], "nix"], capture_output=True, text=True, check=False, timeout=60)
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr.startswith("Error: there is no robot")


def test_reading_values_never_touches_files(tmp_path, monkeypatch):
    """A refused simulation leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    error_of("simulate", "panda", "--goal", "1", "--out", "run.html", "--save", "run.nc")
    assert list(Path().iterdir()) == []


def test_steps_reach_the_simulation(tmp_path):
    """Many steps of order 1 come nearer to the exact motion than one."""
    path, errors = tmp_path / "run.nc", []
    for integrator in ("euler:1", "euler:8", "rk4:4"):
        options = ["--duration", "0.1", "--integrator", integrator, "--period", "0.01", "--save", str(path)]
        assert run("simulate", "planar2r", *options).exit_code == 0
        with xarray.open_dataset(path) as saved:
            errors.append(saved["q"].values)
    one, eight, exact = errors
    assert 5.0 < np.abs(one - exact).max() / np.abs(eight - exact).max() < 12.0


def test_settings_of_the_plant_are_those_of_python(tmp_path):
    """Parameters of links, delay and limits are the plant's; the law knows of gravity alone."""
    path, arm = tmp_path / "run.nc", ch.load("planar2r")
    words = ("links.link2.mass=3", "delay=0.002", "effort_limits=false", "gravity=0,-1,0", "frequency=20")
    sets = [part for word in words for part in ("--set", word)]
    options = ["--goal", "0.5,-0.3", "--duration", "0.3", *sets, "--save", str(path)]
    assert run("simulate", "planar2r", *options).exit_code == 0
    model, motion = arm.with_gravity([0.0, -1.0, 0.0]), ch.PointToPoint(arm.home, [0.5, -0.3], duration=0.3)
    plant = ch.Plant(model, delay=0.002, effort_limits=False)
    law = ch.ComputedTorque.tuned(model, motion, 1e-3, frequency=20.0)
    expected = ch.simulate(plant, law, motion, vary={"links.link2.mass": 3.0})
    with xarray.open_dataset(path) as saved:
        np.testing.assert_array_equal(saved["q"].values, expected["q"].values)


def test_laws_and_parameters_list_what_can_be_set():
    laws = json.loads(run("laws", "--json").stdout)
    assert set(laws) == set(KINDS)
    assert laws["impedance"]["moves_frames"]
    assert "frequency" in laws["pid"]["settings"]
    said = run("laws").stdout
    assert all(kind in said for kind in KINDS)
    known = json.loads(run("parameters", "ur5", "--json").stdout)["parameters"]
    assert list(known) == list(ch.load("ur5").parameters)
    said = run("parameters", "ur5").stdout
    assert all(name in said for name in (*known, "friction.viscous", "motor_inertia", "delay"))


@pytest.mark.parametrize(
    ("options", "name", "same"),
    [
        ([], "arm.urdf", lambda robot: ch.model.write(robot.description, "urdf")),
        ([], "arm.toml", lambda robot: ch.model.write(robot.description, "toml")),
        (["--to", "dh"], "arm.toml", lambda robot: ch.model.write(robot.description, "toml", form="dh")),
        (
            ["--to", "modified-dh"],
            "arm.TOML",
            lambda robot: ch.model.write(robot.description, "toml", form="modified-dh"),
        ),
        (["--to", "screws"], "arm.toml", lambda robot: ch.model.write(robot.description, "toml", form="screws")),
        ([], "arm.conf", lambda robot: ch.model.write(robot.description, "roboop")),
    ],
)
def test_convert_writes_the_same_robot(options, name, same, tmp_path):
    path = tmp_path / name
    assert str(path) in run("convert", "puma560", str(path), *options).stdout
    robot = ch.load("puma560")
    assert path.read_text() == same(robot)
    q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    again = ch.load(path, check=False)
    np.testing.assert_allclose(again.inverse_dynamics(q, q, q), robot.inverse_dynamics(q, q, q), rtol=1e-12)


def test_roboop_files_go_through_toml_and_back_exactly(tmp_path):
    first, between, last = (str(tmp_path / name) for name in ("first.conf", "between.toml", "last.conf"))
    for source, target in (("stanford", first), (first, between), (between, last)):
        assert run("convert", source, target).exit_code == 0
    texts = [(tmp_path / name).read_text().partition("[stanford]")[2] for name in ("first.conf", "last.conf")]
    assert texts[0] == texts[1] != ""


def test_convert_to_mjcf(tmp_path):
    assert run("convert", "panda", str(tmp_path / "panda.xml")).exit_code == 0
    assert (tmp_path / "panda.xml").read_text() == ch.model.write(ch.load("panda").description, "mjcf")


def test_convert_takes_meshes_along_or_says_so(tmp_path):
    folder, other = tmp_path / "arm", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    facets = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 1\nendloop\nendfacet\n"
    (folder / "base.stl").write_text(f"solid base\n{facets * 4}endsolid base\n")
    (folder / "tool.dae").write_text("")
    shape = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    link = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    robot = folder / "arm.urdf"
    robot.write_text(
        f'<robot name="arm"><link name="base">{shape.format("base.stl")}</link><link name="tool">{link}'
        f'{shape.format("tool.dae")}</link><joint name="j" type="continuous"><parent link="base"/><child link="tool"/>'
        "</joint></robot>"
    )
    for name in ("arm.urdf", "arm.toml"):
        assert run("convert", str(robot), str(other / name)).exit_code == 0
        assert missing_meshes(ch.load(other / name).description) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("convert", str(robot), str(other / "arm.xml"))
    assert str(folder / "base.stl") in (other / "arm.xml").read_text()
    assert "1 meshes are left out: MuJoCo reads no mesh of type '.dae'" in " ".join(result.stderr.split())
    result = run("convert", str(robot), str(other / "table.toml"), "--to", "dh")
    assert "2 shapes are left out: the format dh has none." in result.stderr


def test_convert_prints():
    assert "[[modified_dh]]" in run("convert", "panda", "-", "--to", "modified-dh").stdout


def test_convert_says_why_not(tmp_path):
    taken = tmp_path / "taken.toml"
    taken.write_text("precious")
    assert "exists already; --force replaces it" in error_of("convert", "panda", str(taken))
    assert taken.read_text() == "precious"
    assert run("convert", "panda", str(taken), "--force").exit_code == 0
    assert ch.load(taken).n == 7
    assert "give the format with --to" in error_of("convert", "panda", str(tmp_path / "arm.xyz"))
    assert "does not end with .urdf" in error_of("convert", "panda", str(taken), "--to", "urdf")
    assert "cannot be written: No such file" in error_of("convert", "panda", str(tmp_path / "no" / "arm.toml"))
    free = tmp_path / "free.toml"
    ch.load("panda").with_free_base().save(free)
    assert "joint 'base' is free" in error_of("convert", str(free), str(tmp_path / "dh.toml"), "--to", "dh")
    assert not (tmp_path / "dh.toml").exists()


@pytest.mark.filterwarnings("always")
def test_convert_from_mjcf(tmp_path):
    path = tmp_path / "door.xml"
    path.write_text(
        "<mujoco model='door'><worldbody><body name='leaf'><joint name='hinge' stiffness='1'/><geom size='0.1'/></body>"
        "</worldbody></mujoco>"
    )
    result = run("convert", str(path), str(tmp_path / "door.urdf"))
    assert "Warning: robot 'door': ignored (not supported): springs" in result.stderr
    assert ch.load(tmp_path / "door.urdf").joint_names == ("hinge",)


def test_python_runs_the_package_as_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["chasles", "--version"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("chasles", run_name="__main__")
    assert left.value.code == 0
    assert ch.__version__ in capsys.readouterr().out


def test_results_that_cannot_be_saved_are_named(tmp_path, monkeypatch):
    """The folder may vanish while the simulation runs."""
    monkeypatch.setattr("chasles.cli.commands.simulate.require_writable", lambda path, endings: None)
    path = tmp_path / "no" / "run.nc"
    said = error_of("simulate", "planar2r", "--duration", "0.1", "--save", str(path))
    assert "--save: " in said
    assert "run.nc cannot be written: " in said


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["ur5", "--law", "pd-gravity", "--set", "friction.coulomb=1.5"], r"joint6 ends \d+° from its goal"),
        (
            ["panda", "--set", "kp=1e9", "--duration", "1", "--goal", "random:4"],
            r"panda_joint\d ends [\d,]+° from its goal",
        ),
        (
            ["stanford", "--law", "pd-gravity", "--set", "friction.coulomb=0,0,9000,0,0,0"],
            r"joint3 ends \d+ mm from its goal",
        ),
    ],
)
def test_a_motion_that_fails_exits_with_1_and_names_the_joint(options, said):
    result = run("simulate", *options)
    assert result.exit_code == 1
    assert re.search(f"The motion fails: .*{said}", result.stderr)
    assert not re.search(r"\de[+-]?\d+ mrad|\de[+-]?\d+°|\de[+-]?\d+ mm", result.stdout)


def test_a_law_of_frames_is_judged_by_its_frame():
    options = ["planar2r", "--goal", "0.2,0.7", "--start", "0,0.5", "--duration", "0.2", "--set", "components=x,y"]
    good = run("simulate", *options, "--law", "operational-space")
    assert good.exit_code == 0
    assert "Joints, which this law does not lead to the reference" in good.stdout
    poor = run(
        "simulate", *options, "--law", "operational-space", "--set", "kp=0", "--set", "kd=0", "--set", "payload.mass=5"
    )
    assert poor.exit_code == 1
    assert re.search(r"The motion fails: the tool ends \d+ mm from its goal", poor.stderr)


def test_errors_that_are_no_numbers_are_dashes():
    assert error_text(float("nan"), "rad") == error_text(float("inf"), "m") == "–"


def test_tables_keep_names_where_columns_do_not_fit() -> None:
    made = table("Errors", "robot", ">RMS error", ">peak error")
    add_row(made, "[red]panda", "0.418 mrad", "1.2 mrad")
    for width, expected in (
        (60, ["Errors", "robot", "RMS error", "[red]panda  0.418 mrad"]),
        (24, ["Errors\n[red]panda\n  RMS error: 0.418 mrad\n  peak error: 1.2 mrad\n"]),
    ):
        console = Console(width=width, file=StringIO())
        console.print(made)
        text = console.file.getvalue()
        assert all(part in text for part in expected)
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.filterwarnings("ignore::chasles.simulation.SaturationWarning")
def test_simulate_passes_waypoints_and_knows_motor_inertia_and_limits(tmp_path):
    saved = tmp_path / "run.nc"
    goal = ["simulate", "puma560", "--goal", "0.3,0.3,0.3,0,0,0", "--save", str(saved)]
    via = ["--waypoint", "0.2,-0.1,0.5,0,0,0", "--waypoint", "0.4,0.1,0.5,0,0,0", "--duration", "3"]
    assert run(*goal, *via, "--set", "motor_inertia=0.5").exit_code == 0
    made = ch.simulation.results.Run.open(saved)
    assert made.attrs["reference"].startswith("<QuinticSpline")
    reference = made.q_reference.values
    for point in ([0.2, -0.1, 0.5], [0.4, 0.1, 0.5]):
        assert np.abs(reference[:, :3] - point).max(axis=1).min() < 2e-3
    np.testing.assert_allclose(reference[-1], [0.3, 0.3, 0.3, 0.0, 0.0, 0.0], atol=1e-12)
    assert made.time.values[-1] == 3.0
    assert "motor_inertia = 0.5" in made.attrs["robot_toml"]
    assert float(np.abs(made.error).max()) < 1e-3
    fast = ["simulate", "panda", "--duration", "0.3", "--goal", "random:1"]
    assert "Time beyond the velocity limits" in run(*fast).stdout
    assert "Time at the effort" not in run(*fast, "--set", "effort_limits=false").stdout
    assert "--set motor_inertia: -1 is negative" in error_of("simulate", "puma560", "--set", "motor_inertia=-1")
    assert "--waypoint: 2 numbers for 6 joints" in error_of("simulate", "puma560", "--waypoint", "1,2")


def test_ik_lists_confirmed_solutions():
    arm = ch.load("ur5")
    q = np.array([0.3, -1.0, 1.5, -0.8, 0.5, 0.2])
    T = arm.forward_kinematics(q)
    position = ",".join(map(repr, T[:3, 3].tolist()))
    angles = ",".join(map(repr, np.degrees(ch.cli.commands.info._roll_pitch_yaw(T[:3, :3])).tolist()))
    found = json.loads(run("ik", "ur5", "--position", position, "--rpy", angles, "--json").stdout)
    assert len(found) == 8
    assert all(solution["success"] for solution in found)
    nearest = min(np.abs(np.array(list(solution["q"].values())) - q).max() for solution in found)
    assert nearest < 1e-6
    text = run("ik", "panda", "--position", "0.5,0,0.4", "--select", "nearest").stdout
    assert text.startswith("1 solution\n")
    assert "panda_joint7" in text
    far = run("ik", "panda", "--position", "5,0,0.4")
    assert far.exit_code == 1
    assert "farther away than the stretched robot reaches" in far.stdout
    assert "--position: expected 3 numbers, not 2" in error_of("ik", "panda", "--position", "0.5,0.1")
    assert "there is no frame 'hand'" in error_of("ik", "panda", "--position", "0.5,0,0.4", "--target", "hand")


def test_plot_writes_a_page_or_a_table_of_a_saved_run(tmp_path):
    saved = tmp_path / "run.nc"
    assert run("simulate", "planar2r", "--duration", "0.1", "--save", str(saved)).exit_code == 0
    assert run("plot", str(saved)).stdout.startswith("Written: ")
    assert "<html" in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "exists already; --force replaces it" in error_of("plot", str(saved))
    assert run("plot", str(saved), "--force").exit_code == 0
    run("plot", str(saved), "--out", str(tmp_path / "run.csv"))
    assert (tmp_path / "run.csv").read_text().startswith("time,q.joint1,q.joint2,")
    assert "ends with neither .html nor .csv" in error_of("plot", str(saved), "-o", str(tmp_path / "run.png"))
    foreign = tmp_path / "foreign.nc"
    with xarray.open_dataset(saved) as made:
        made.assign_coords(unit=("joint", ["deg", "deg"])).to_netcdf(foreign)
    assert "'unit' of joint 'joint1' is 'deg'; it must be 'rad' or 'm'" in error_of("plot", str(foreign))
    (tmp_path / "no.nc").write_text("nothing")
    assert "no.nc cannot be read" in error_of("plot", str(tmp_path / "no.nc"))
    assert "No such file" in error_of("plot", str(tmp_path / "none.nc"))


def test_names_of_robots_are_completed_in_a_shell():
    environment = {"_CHASLES_COMPLETE": "complete_bash", "COMP_WORDS": "chasles info pu", "COMP_CWORD": "2"}
    result = CliRunner().invoke(application, [], prog_name="chasles", env=environment)
    assert result.stdout.split() == [name for name in shipped() if name.startswith("pu")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("0.5", 0.5),
        ("1, 2", [1.0, 2.0]),
        ("shortest", "shortest"),
        ("x, y", ["x", "y"]),
    ],
)
def test_settings_are_truths_numbers_and_texts(text, value):
    assert parsed_setting(text) == value


def test_critical_damping_follows_a_given_stiffness(tmp_path):
    """Without kd the loop is critically damped; of laws by feedback alone with each joint's own inertia."""
    path, arm = tmp_path / "run.nc", ch.load("planar2r")
    inertia = np.asarray(arm.mass_matrix(arm.home)).diagonal()
    for law, expected in (("computed-torque", 40.0 * np.ones(2)), ("pd-gravity", 40.0 * np.sqrt(inertia))):
        run("simulate", "planar2r", "--duration", "0.1", "--set", "kp=400", "--law", law, "--save", str(path))
        with xarray.open_dataset(path) as saved:
            tau, motion = saved["tau"].values, ch.PointToPoint(arm.home, saved["q_reference"].values[-1], 0.1)
        kind = ch.ComputedTorque if law == "computed-torque" else ch.PDGravity
        same = ch.simulate(arm, kind(arm, kp=400.0, kd=expected), motion)
        np.testing.assert_allclose(tau, same["tau"].values, rtol=1e-9, atol=1e-9)
