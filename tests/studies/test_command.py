"""`chasles study`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.studies.tiny_studies import TOML
from typer.testing import CliRunner, Result

from chasles import studies
from chasles.cli.application import application


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("chasles.engine.get_threads", lambda: 1)
    Path("mine.toml").write_text(TOML)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(application, ["study", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_help_teaches_with_examples() -> None:
    text = run("--help").stdout
    assert "chasles study mazure --copy my-study.toml" in text.split("For example")[1]


def test_a_study_from_a_file_and_again() -> None:
    result = run("mine.toml")
    assert result.exit_code == 0
    assert "from a file: 8 runs, in" in result.stdout
    assert "CT" in result.stdout
    assert Path("mine-results/report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path("mine-results/study.toml").read_text() == TOML
    again = run("mine.toml", "--json", "--out", "elsewhere.html")
    rows = json.loads(again.stdout)
    assert [(row["robot"], row["controller"], row["runs"]) for row in rows] == [("arm", "CT", 8)]
    assert rows[0]["rms_error"]["low"] <= rows[0]["rms_error"]["median"]
    assert Path("elsewhere.html").exists()
    assert "all from disk" in run("mine.toml").stdout


def test_fewer_runs() -> None:
    assert "4 runs" in run("mine.toml", "--runs", "4", "--folder", "few").stdout
    assert not Path("few/study.toml").exists()  # the file's study it is not


def test_gains_are_searched_first_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    small = studies.Tuning(evaluations=8, iterations=0, draws=4)
    monkeypatch.setattr(studies, "Tuning", lambda: small)
    Path("mine.toml").write_text(TOML.replace("rates = [100, 200]", "rates = [100]"))
    result = run("mine.toml", "--tune", "--runs", "4", "--folder", "tuned")
    assert result.exit_code == 0
    page = Path("tuned/report.html").read_text(encoding="utf-8")
    assert "Each controller at its best" in page
    assert "best of eight candidates on four other draws" in page
    assert "all from disk" in run("mine.toml", "--tune", "--runs", "4", "--folder", "tuned").stdout
    assert "all from disk" not in run("mine.toml", "--runs", "4", "--folder", "tuned").stdout  # the file's own gains


def test_a_copy_to_edit() -> None:
    result = run("mazure", "--copy", "copy.toml")
    assert "chasles study copy.toml" in result.stdout
    assert studies.load("copy.toml") == studies.load("mazure")
    assert "exists already" in run("mazure", "--copy", "copy.toml").stderr
    assert "cannot be written" in run("mazure", "--copy", "none/copy.toml").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mazur"], "there is no study 'mazur'. Did you mean 'mazure'?"),
        (["none.toml"], "none.toml cannot be read"),
        (["mine.toml", "--runs", "0"], "'runs' must be a whole number"),
        (["mine.toml", "--robot", "leg"], "there is no robot 'leg' of the study"),
        (["mine.toml", "--workers", "-1"], "workers must be a whole number"),
        (["mine.toml", "--workers", "0"], "workers must be a whole number"),
        (["mine.toml", "--folder", "mine.toml"], "results cannot be stored in"),
        (["mine.toml", "--out", "none/report.html"], "its folder does not exist"),
        (["mine.toml", "--scheduler", "nowhere"], "the scheduler 'nowhere' cannot be reached"),
        (["mazur", "--copy", "x.toml"], "there is no study 'mazur'"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_an_interrupt_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(studies.Study, "run", interrupted)
    result = run("mine.toml")
    assert result.exit_code == 130
    assert "kept in mine-results; the same command continues" in result.stderr
