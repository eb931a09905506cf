"""What identifications write: pages, robots, tables of the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.identification.synthetic_logs import coloured_noise, fourier_motion, real_planar
from typer.testing import CliRunner

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.cli.application import application
from chasles.cli.commands.identify import write_robot


@pytest.fixture(scope="module")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    motion = fourier_motion(2, 20.0, seed=1)
    tau = np.asarray(real_planar().inverse_dynamics(motion.q, motion.qd, motion.qdd))
    tau += coloured_noise(tau.shape, 0.05, 0.5, 0)
    path = tmp_path_factory.mktemp("log") / "log.csv"
    rows = np.column_stack([motion.t, motion.q, tau])
    np.savetxt(path, rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    return path


def test_command_writes_robot_and_page(log_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chasles.cli.commands.identify.is_watched", lambda: True)
    out, page = tmp_path / "identified.toml", tmp_path / "page.html"
    words = ["identify", str(log_file), "--robot", "planar2r", "--out", str(out), "--report", str(page)]
    answer = CliRunner().invoke(application, words)
    assert answer.exit_code == 0, answer.output
    assert "identifying" in answer.stderr
    assert "joint1" in answer.stdout
    text = page.read_text(encoding="utf-8")
    for part in ("Prediction of unseen data", "95 % interval", "link2.mx", "Friction", "Recommendations"):
        assert part in text
    figures = [json.loads(found) for found in re.findall(r'<script type="application/json">(.*?)</script>', text)]
    assert len(figures) == 4
    assert all(figure["data"] and figure["layout"] for figure in figures)
    identified = ch.load(out)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 50, 2))
    truth = np.asarray(real_planar().inverse_dynamics(q, qd, qdd))
    before, after = (
        np.std(np.asarray(r.inverse_dynamics(q, qd, qdd)) - truth) for r in (ch.load("planar2r"), identified)
    )
    assert after < 0.1 * before


def test_the_errors_of_each_file_are_printed_as_it_is_read_back(log_file: Path, tmp_path: Path) -> None:
    errors: dict[str, list[float]] = {}
    for suffix in ("toml", "urdf"):
        out = tmp_path / f"identified.{suffix}"
        words = ["identify", str(log_file), "--robot", "planar2r", "--out", str(out)]
        answer = CliRunner().invoke(application, words)
        assert answer.exit_code == 0, answer.output
        said = " ".join(answer.output.split())
        assert f"identified.{suffix}, read back, predicts the whole log" in said
        errors[suffix] = [float(share) for share in re.findall(r"joint\d ([\d.]+) %", said.split("read back")[1])]
        assert len(errors[suffix]) == 2
    # The real arm has viscous and Coulomb friction with one transition: both files can hold it.
    assert all(0.0 < error < 5.0 for own in errors.values() for error in own)


def test_an_identification_is_saved_whole(log_file: Path, tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    found = ch.identify(arm, log_file)
    path = found.save(tmp_path / "found.npz")
    again = ch.identification.load(path)
    assert again.model == found.model
    assert str(again.parameters) == str(found.parameters)  # some priors are NaN
    assert (again.names, again.band) == (found.names, found.band)
    assert str([one.record for one in again.findings]) == str([one.record for one in found.findings])
    np.testing.assert_array_equal(again.covariance, found.covariance)
    assert again.summary() == found.summary()
    assert again.score(log_file) == found.score(log_file)
    assert again.report(tmp_path / "again.html").read_text() == found.report(tmp_path / "found.html").read_text()
    assert str(ch.identify(arm, again.log).parameters) == str(found.parameters)


def test_files_that_hold_no_identification_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, names=np.array('{"Popen": {"items": []}}'))
    with pytest.raises(ArgumentError, match="cannot be read: 'Popen'"):
        ch.identification.load(path)
    np.savez(path, names=np.array("3.0"))
    with pytest.raises(ArgumentError, match="holds no identification"):
        ch.identification.load(path)
    with pytest.raises(ArgumentError, match="does not exist"):
        ch.identification.load(tmp_path / "none.npz")


def test_several_files_are_several_logs_or_parts_of_one(log_file: Path, tmp_path: Path) -> None:
    rows = np.loadtxt(log_file, delimiter=",", skiprows=1)
    names = ["t", "q1", "q2", "tau1", "tau2"]

    def written(name: str, part: np.ndarray, columns: list[int]) -> str:
        path = tmp_path / f"{name}.csv"
        np.savetxt(path, part[:, columns], delimiter=",", header=",".join(names[k] for k in columns), comments="")
        return str(path)

    halves = [written(f"half{k}", part, [0, 1, 2, 3, 4]) for k, part in enumerate(np.split(rows, 2))]
    beside = [written("motion", rows, [0, 1, 2]), written("torques", rows, [3, 4])]
    masses = []
    for paths in ([str(log_file)], halves, beside):
        answer = CliRunner().invoke(application, ["identify", *paths, "-r", "planar2r", "--json"])
        masses.append(json.loads(answer.stdout)["masses"])
    assert masses[0] == masses[2]
    for link, (before, now) in masses[0].items():
        assert masses[1][link][0] == before
        assert abs(masses[1][link][1] - now) < 0.1 * now


def test_json(log_file: Path) -> None:
    answer = CliRunner().invoke(application, ["identify", str(log_file), "-r", "planar2r", "--json"])
    assert answer.stderr == ""
    facts = json.loads(answer.output)
    assert facts["columns"]["q"] == ["q1", "q2"]
    assert all(p["interval"][0] < p["value"] < p["interval"][1] for p in facts["parameters"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "effort=tau1,tau9"], "no column 'tau9'"),
        (["--unit", "q=furlong"], "furlong"),
        (["--columns", "q"], "expected NAME=VALUE"),
        (["--out", "model.xml"], "must end in .toml or .urdf, not 'model.xml'"),
        (["--unit", "effort=-1"], "friction of joint1 would drive the motion"),
    ],
)
def test_wrong_options_are_one_line(log_file: Path, words: list[str], message: str) -> None:
    answer = CliRunner().invoke(application, ["identify", str(log_file), "-r", "planar2r", *words])
    assert answer.exit_code == 2
    assert re.search(message, " ".join(answer.stderr.split()))


def test_rotor_inertias_that_other_readers_of_urdf_lose_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joints = [joint.replace(motor_inertia=2e-3, gear_ratio=10.0) for joint in ch.load("planar2r").description.joints]
    robot = ch.Robot(ch.load("planar2r").description.replace(joints=tuple(joints)))
    write_robot(robot, tmp_path / "a.urdf")
    assert "joint1 0.2, joint2 0.2" in " ".join(capsys.readouterr().out.split())
    write_robot(robot, tmp_path / "a.toml")
    assert not capsys.readouterr().out
