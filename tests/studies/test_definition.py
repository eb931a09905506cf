"""What a study may be made of, and what is said where it may not."""

from __future__ import annotations

import dataclasses
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.tiny_studies import TOML, own, tiny

import chasles as ch
from chasles import studies
from chasles.base.errors import ArgumentError, ChaslesError, UnknownNameError
from chasles.studies.controllers import given_to, make_controller
from chasles.studies.design import draw


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"payload": (-1.0, 2.0)}, "'payload'[0] is -1.0; it must be at least 0"),
        ({"payload": (3.0, 2.0)}, "from the lower to the higher"),
        ({"payload": (0.0, float("nan"))}, "'payload'[1] is nan; it must be finite"),
        ({"payload": "heavy"}, "'payload' must be an array of real numbers, not 'heavy'"),
        ({"payload": [1.0, 2.0, 3.0]}, "'payload' must be a number or a range"),
        ({"model_error": 1.5}, "'model_error'[0] is 1.5; it must be at most 0.9"),
        ({"friction": float("inf")}, "'friction'[0] is inf; it must be finite"),
        ({"rates": []}, "'rates' must be a list"),
        ({"rates": [0.0]}, "'rates'[0] is 0.0; it must be at least 1"),
        ({"rates": [100, 100]}, "'rates' has twice 100.0"),
        ({"payload_center": [0.0, 1.0]}, "'payload_center' has shape (2,); expected (3,)"),
        ({"viscous_share": 1.1}, "'viscous_share' is 1.1; it must be at most 1"),
        ({"coulomb_velocity": 0.0}, "'coulomb_velocity' is 0.0; it must be positive"),
        ({"runs": 0}, "'runs' must be a whole number from 1"),
        ({"runs": 10.5}, "'runs' must be a whole number"),
        ({"runs": True}, "'runs' must be a whole number"),
        ({"runs": 1}, "1 runs are too few for 2 pairs of sample rate and delay"),
        ({"seed": -1}, "'seed' must be"),
        ({"method": "sobol", "runs": 12}, "power of two for each of the 2 pairs of rate and delay, such as 16, not 12"),
        ({"chunk": 0}, "'chunk' must be"),
        ({"step": 0.0}, "'step' is 0.0; it must be at least 1e-06"),
        ({"lost_beyond": 0.0}, "'lost_beyond' is 0.0; it must be positive"),
        ({"torque_limits": 0.0}, "'torque_limits' is 0.0; it must be positive"),
        ({"robots": ()}, "at least one robot"),
        ({"controllers": ()}, "at least one controller"),
        ({"title": ""}, "'title' must be a line of text"),
        ({"title": "a\nb"}, "'title' must be a line of text"),
        ({"plant": 3.0}, "'plant' must be a table of parameters and ranges, not 3.0"),
        ({"carried": (0.5, 0.5)}, "'carried' must be two different shares of the motion"),
        ({"tip_direction": [0.0, 0.0, 0.0]}, "'tip_direction' must not be zero"),
    ],
)
def test_wrong_values_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        tiny(**changes)


def test_unknown_names_list_what_exists() -> None:
    with pytest.raises(UnknownNameError, match=r"controller kind 'pd-gravty'.*Did you mean 'pd-gravity'"):
        studies.StudyController("x", "pd-gravty")
    with pytest.raises(UnknownNameError, match=r"setting 'kq' of controller 'pd-gravity'.*kp, kd"):
        studies.StudyController("x", "pd-gravity", {"kq": 1.0})
    with pytest.raises(UnknownNameError, match="method of design 'sobul'"):
        tiny(method="sobul")
    with pytest.raises(UnknownNameError, match="attribute of a study 'rnus'"):
        tiny(rnus=3)
    with pytest.raises(UnknownNameError, match=r"robot of controller 'x' 'leg'.*arm"):
        tiny(controllers=(studies.StudyController("x", "pd-gravity", robots=("leg",)),))


def test_titles_must_differ() -> None:
    robot = tiny().robots[0]
    with pytest.raises(ArgumentError, match="two robots have the title 'arm'"):
        tiny(robots=(robot, robot))
    with pytest.raises(ArgumentError, match="two controllers have the title 'own'"):
        tiny(controllers=(own(1.0), own(2.0)))


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        ({}, "a motion needs 'goal' and 'duration'"),
        ({"goal": [0.0, 1.0]}, "needs 'goal' and 'duration'"),
        ({"goal": [0.0], "duration": 1.0}, r"'goal' has shape \(1,\); expected \(2,\)"),
        ({"goal": ["a", "b"], "duration": 1.0}, "'goal' must be an array of real numbers"),
        ({"goal": [0.0, float("inf")], "duration": 1.0}, r"'goal'\[1\] is inf; it must be finite"),
        ({"goal": [0.0, 1.0], "duration": 0.0}, "'duration' is 0.0; it must be positive"),
        ({"goal": [0.0, 1.0], "duration": 1.0, "times": [0.0, 1.0]}, "'times' belong to 'waypoints', not to 'goal'"),
        ({"goal": [0.0, 1.0], "duration": 1.0, "waypoints": [[0, 0], [1, 1]]}, "not both"),
        ({"waypoints": [[0, 0], [1, 1]]}, "'waypoints' need 'times'"),
        ({"waypoints": [[0, 0], [1, 1]], "times": [0.0, 0.0]}, "begin with 0 and increase"),
        ({"waypoints": [[0, 0], [1, 1]], "times": [1.0, 2.0]}, "begin with 0 and increase"),
        ({"waypoints": [[0, 0]], "times": [0.0]}, "two or more"),
        ({"waypoints": [[0, 0], [1]], "times": [0.0, 1.0]}, "'waypoints' is a ragged list"),
    ],
)
def test_wrong_motions_are_named(motion: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        studies.StudyRobot.of("planar2r", **motion)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("pd-gravity", 5.0, "settings must be names and values, not 5.0"),
        ("pd-gravity", {"kp": [[[1.0]]]}, "'kp' must be one or more numbers or rows of numbers"),
        ("pd-gravity", {"kp": []}, "'kp' must be one or more numbers or rows of numbers"),
        (own(1.0).kind, {"kp": 3.0}, "takes no settings but those of its velocity: bind them with partial"),
    ],
)
def test_wrong_settings_are_named(kind: Any, settings: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        studies.StudyController("x", kind, settings)


def test_what_a_controller_needs_and_what_needs_a_controller_is_named() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.6, -0.4], 0.3)
    with pytest.raises(ArgumentError, match=r"kind 'pid' knows of no frames that stand.*use .*computed-torque"):
        make_controller("pid", {"kp": 1.0, "ki": 1.0, "kd": 1.0}, arm, motion, 1e-3, supports=["link2"])
    with pytest.raises(ArgumentError, match="kind 'impedance' needs a value for "):
        make_controller("impedance", {"components": ("x", "y")}, arm, motion, 1e-3)
    other = studies.StudyRobot.of("planar2r", goal=[0.1, 0.0], duration=0.3, title="spare")
    with pytest.raises(ArgumentError, match="no controller drives robot 'spare'"):
        tiny(
            robots=(*tiny().robots, other),
            controllers=(studies.StudyController("x", "computed-torque", robots=("arm",)),),
        )


def test_motions_stay_within_the_limits_and_the_motors_torque() -> None:
    panda = ch.load("panda")
    with pytest.raises(ArgumentError, match=r"joint 'panda_joint4' can go from -3\.07.* to -0\.0698, not to 1"):
        studies.StudyRobot.of(panda, goal=panda.home * [1, 1, 1, 0, 1, 1, 1] + [0, 0, 0, 1, 0, 0, 0], duration=1.0)
    hasty = studies.StudyRobot.of("puma560", start=np.zeros(6), goal=[1.0, 1.0, 0, 0, 0, 0], duration=0.1)
    with pytest.raises(ArgumentError, match=r"robot 'puma560': the motion takes .* more than its motor's"):
        tiny(robots=(hasty,), controllers=(studies.StudyController("CT", "computed-torque"),)).run()


def test_gains_that_do_not_fit_a_robot_are_refused_before_the_work() -> None:
    wrong = studies.StudyController("PD", "pd-gravity", {"kp": [1.0, 2.0, 3.0]})
    with pytest.raises(ArgumentError, match="controller 'PD' on robot 'arm' at 125 Hz: kp"):
        tiny(controllers=(wrong,)).run()


def test_a_study_pickles_and_can_be_cut_down() -> None:
    study = studies.load("mazure")
    assert pickle.loads(pickle.dumps(study)) == study
    panda = study.only(["Panda"])
    assert [robot.title for robot in panda.robots] == ["Panda"]
    assert panda.source is None  # it is not the file's study any more
    with pytest.raises(UnknownNameError, match="Existing: Mazure's arm, SCARA, PUMA 560, Panda"):
        study.only(["Pnda"])


def test_the_shipped_study_is_what_the_report_asked_for() -> None:
    study = studies.load("mazure")
    factors = study.factors
    assert (factors.payload, factors.friction, factors.model_error) == ((0.0, 1.0), (0.0, 0.5), (0.0, 0.2))
    assert (min(factors.rates), factors.delays) == (10.0, (0.0, 1.0))
    assert study.robots[0].rated_payload == 5.0
    assert draw(study).distinct == study.design.runs
    poles = {(c.settings["frequency"], c.settings["damping"]) for c in study.controllers if c.settings}
    assert poles == {(20.0, 1.0)}
    arm = ch.Robot(ch.load("planar2r").description)
    assert study.robots[0].toml == ch.model.write(arm.description, "toml")
    assert [link.inertia.mass for link in arm.description.links if link.inertia.mass] == [10.0, 5.0]


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TOML)
    study = studies.load(path)
    assert (study.title, study.design.runs, study.factors.rates) == ("from a file", 8, (100.0, 200.0))
    assert study.controllers == (studies.StudyController("CT", "computed-torque"),)
    assert study.source == TOML
    ch.load("planar2r").save(tmp_path / "mine.toml")
    path.write_text(TOML.replace('"planar2r"', '"mine.toml"'))
    assert studies.load(str(path)).robots == study.robots  # robots' files are found beside the study
    text = (tmp_path / "mine.toml").read_text()
    path.write_text(TOML.replace('"planar2r"', f"'''\n{text}'''\nrated_payload = 2"))
    (robot,) = studies.load(path).robots  # or their text in it
    assert robot == dataclasses.replace(study.robots[0], rated_payload=2.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("runs = 8", "runs = 0", r"\[design\]: 'runs' must be a whole number from 1"),
        ("runs = 8", "runs = ", "not a TOML file"),
        ("runs = 8", "rnus = 8", r"\[design\]: there is no key 'rnus'. Did you mean 'runs'"),
        ("runs = 8", "levels = 3", r"\[design\]: 'levels': 'levels' are for the method 'grid'"),
        ("runs = 8", 'method = "grid"\nruns = 8', r"\[design\]: 'runs': a grid has 'levels'"),
        ("[design]", "[dezign]", "there is no table 'dezign'. Did you mean 'design'"),
        ("runs = 8", "runs = 8\nx = 1", r"\[design\]: there is no key 'x'"),
        ("rates = [100, 200]", "rates = [100, -2]", r"\[factors\]: 'rates'\[1\] is -2.0; it must be at least 1"),
        ("rates = [100, 200]", "payload = [0.0, -5.0]", r"\[factors\]: 'payload'"),
        ("rates = [100, 200]", "payload = nan", r"\[factors\]: 'payload'"),
        ('robot = "planar2r"', 'robot = "planr2r"', r"\[\[robots\]\] number 1: there is no robot 'planr2r'"),
        ('robot = "planar2r"', 'robot = "none.urdf"', r"\[\[robots\]\] number 1: the robot file 'none.urdf' does not"),
        ('robot = "planar2r"', "robot = 5", r"\[\[robots\]\] number 1: 'robot' must be the name"),
        ('robot = "planar2r"', 'robot = "a\\u0000b"', r"\[\[robots\]\] number 1"),
        ("goal = [0.6, -0.4]", "gaol = [0.6, -0.4]", r"\[\[robots\]\] number 1: there is no key 'gaol'"),
        ("goal = [0.6, -0.4]", "goal = [[0.6], -0.4]", r"\[\[robots\]\] number 1: 'goal' is a ragged list"),
        ("duration = 0.3", "duration = 1e400", r"\[\[robots\]\] number 1: 'duration'"),
        ("[[robots]]", "[robots]", r"'robots' must be tables headed \[\[robots\]\]"),
        ("[[controllers]]", "[[controlers]]", "no table 'controlers'"),
        ('kind = "computed-torque"', 'kind = "magic"', r"\[\[controllers\]\] number 1: there is no controller kind"),
        ('kind = "computed-torque"', "kind = 3", r"\[\[controllers\]\] number 1: 'kind'"),
        ('title = "CT"', "gain = 3", r"\[\[controllers\]\] number 1: .*setting 'gain'.*frequency, damping"),
        ('title = "CT"', "frequency = -3", r"\[\[controllers\]\] number 1: 'frequency' is -3.0; it must be positive"),
        ('title = "CT"', "kp = {a = 1}", r"\[\[controllers\]\] number 1: 'kp' must be an array of real numbers"),
        ('title = "CT"', "robots = 'arm'", r"\[\[controllers\]\] number 1: 'robots' must be a list"),
        ('title = "from a file"', "title = 5", "'title' must be a line of text"),
        ('title = "from a file"', "description = 5", r"\[study\]: 'description' must be text"),
        ("[study]", "study = 3\n[other]", "no table 'other'|must be a table"),
    ],
)
def test_errors_in_a_file_name_the_place(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TOML.replace(old, new))
    with pytest.raises((ArgumentError, UnknownNameError), match=message) as caught:
        studies.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"x",
        b"a = " + b"[" * 5000,
        b"[[robots]]\n" * 300,
        b"#" * 600_000,
        b"[design]\nruns=" + b"9" * 400,
    ],
)
def test_hostile_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(ChaslesError):
        studies.load(path)


def test_missing_files_and_names(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot be read"):
        studies.load(tmp_path / "none.toml")
    with pytest.raises(ArgumentError, match="cannot be read"):
        studies.load(tmp_path)
    with pytest.raises(UnknownNameError, match=r"no study 'mazur'. Did you mean 'mazure'"):
        studies.load("mazur")


def test_the_manual_shows_the_defaults(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    path = tmp_path / "study.toml"
    path.write_text(page.split("```toml\n")[1].split("```")[0])
    study = studies.load(path)
    assert (study.factors, study.design) == (studies.Factors(), studies.Design())
    assert study.execution == studies.Execution()
    section = page.split("### Controllers and their gains")[1].split("### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    known = {kind for line in rows for kind in line.split("|")[1].split("`")[1::2]}
    assert known == set(studies.kinds())


@pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")
def test_a_device_is_not_read_for_ever() -> None:
    with pytest.raises(ArgumentError, match="more than"):
        studies.load(Path("/dev/zero"))


def test_the_manual_shows_what_each_law_is_given() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    table = page.split("### What each law is given")[1].split("\n\n")[1].splitlines()[2:]
    assert table == [f"| `{kind}` | {' | '.join(given_to(kind))} |" for kind in studies.kinds()]
