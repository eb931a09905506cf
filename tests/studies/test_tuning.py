"""Each controller at its best: found on some draws, judged on others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.studies.tiny_studies import TOML, tiny

from chasles import studies
from chasles.base.errors import ArgumentError, ChaslesError, UnknownNameError
from chasles.studies.results import StudyResults
from chasles.studies.settings import KNOBS
from chasles.studies.tuning import COLUMNS, Found, front, ranges_of

COST = COLUMNS.index("cost")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyResults, StudyResults, Path]:
    """Results with and without search, and the folder of the former."""
    study = tiny(runs=20, rates=[125.0], delays=[0.0, 1.0])
    folder = tmp_path_factory.mktemp("tuned")
    search = studies.Tuning(evaluations=8, draws=32)
    return study.replace(tuning=search).run(folder), study.run(), folder


def test_gains_found_on_training_draws_are_better_on_others(
    tuned: tuple[StudyResults, StudyResults, Path],
) -> None:
    found, given, _ = tuned
    table = found.tunings[0, 0, 125.0, 0.0].candidates
    assert table.shape == (8, len(COLUMNS))
    assert np.isnan(table[0, : len(KNOBS)]).all()  # the study's own settings are the first candidate
    assert np.nanmin(table[:, COST]) < table[0, COST]
    pair = "arm", "computed torque"
    assert (found.of_pair(*pair)["rms_error"] < given.of_pair(*pair)["rms_error"]).mean() >= 0.9
    chosen = found.tuned(*pair, 125.0, 0.0)
    low, high = ranges_of(studies.Tuning(), 125.0)["frequency"]
    assert low <= chosen["frequency"] <= high
    assert high == 300.0
    assert ranges_of(studies.Tuning(), 10.0)["frequency"][1] == pytest.approx(np.pi * 10.0)


def test_gradients_lead_further_than_the_search_on_unseen_draws(
    tuned: tuple[StudyResults, StudyResults, Path],
) -> None:
    found, _, _ = tuned
    pair = "arm", "computed torque"
    searched = found.study.replace(tuning=studies.Tuning(evaluations=8, draws=32, iterations=0)).run()
    assert searched.tuned_gains(*pair, 125.0, 0.0) == {}
    same = searched.tunings[0, 0, 125.0, 0.0].candidates
    assert np.array_equal(same, found.tunings[0, 0, 125.0, 0.0].candidates[: len(same)], equal_nan=True)
    assert (found.of_pair(*pair)["rms_error"] < searched.of_pair(*pair)["rms_error"]).mean() >= 0.9
    gains = found.tuned_gains(*pair, 125.0, 0.0)
    assert {name: value.shape for name, value in gains.items()} == {"kp": (2,), "kd": (2,)}
    margins = [results.margins(*pair)[125.0, 0.0].disk.min() for results in (searched, found)]
    assert margins[0] != margins[1]
    assert found.cells(*pair)[0].disk_margin == pytest.approx(margins[1])  # the law of the runs
    poles = [results.cells(*pair)[0].poles for results in (searched, found)]
    assert poles[0] is not None
    assert poles[0].frequency == pytest.approx(searched.tuned(*pair, 125.0, 0.0)["frequency"])
    assert poles[1] is None  # gains of each joint have no common poles


@pytest.mark.slow
def test_weights_of_regulators_are_found_like_gains() -> None:
    regulator = studies.StudyController("regulator", "time-varying-regulator", {"frequency": 20.0})
    study = tiny(runs=20, rates=[125.0], delays=[0.0], controllers=(regulator,))
    searched, found = (
        study.replace(tuning=studies.Tuning(evaluations=8, iterations=count, draws=32)).run() for count in (0, 20)
    )
    pair = "arm", "regulator"
    gains = found.tuned_gains(*pair, 125.0, 0.0)
    assert {name: value.shape for name, value in gains.items()} == {"Q": (4,), "R": (2,)}
    assert (found.of_pair(*pair)["rms_error"] < searched.of_pair(*pair)["rms_error"]).mean() >= 0.9


def test_gains_that_are_given_are_not_searched(tuned: tuple[StudyResults, StudyResults, Path]) -> None:
    found, given, _ = tuned
    assert found.tuned("arm", "PD", 125.0, 1.0) == {}
    assert np.array_equal(found.of_pair("arm", "PD")["rms_error"], given.of_pair("arm", "PD")["rms_error"])


def test_a_searched_study_goes_on_where_it_was(tuned: tuple[StudyResults, StudyResults, Path]) -> None:
    found, _, folder = tuned
    assert found.study.run(folder).computed == 0
    next(folder.glob("arm-computed-torque-*.npz")).unlink()
    again = found.study.run(folder)
    assert again.computed == 1
    for key, each in found.tunings.items():
        for name, array in each._asdict().items():
            assert np.array_equal(getattr(again.tunings[key], name), array, equal_nan=True)
    assert found.study.replace(tuning=studies.Tuning(evaluations=9, draws=32)) != found.study


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "Dask"])
def test_other_processes_find_the_same_gains(
    where: str, tuned: tuple[StudyResults, StudyResults, Path], tmp_path: Path
) -> None:
    found, _, _ = tuned
    if where == "processes":
        again = found.study.run(workers=2)
    else:
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, local_directory=str(tmp_path)
        ) as cluster:
            again = found.study.run(scheduler=cluster.scheduler_address)
    for key, each in found.tunings.items():
        assert np.array_equal(again.tunings[key].candidates, each.candidates, equal_nan=True)
    for pair, values in found.values.items():
        for name, array in values.items():
            assert np.array_equal(again.values[pair][name], array, equal_nan=True), name


def test_no_candidate_beats_one_of_the_front() -> None:
    generator = np.random.default_rng(5)
    table = np.full((60, len(COLUMNS)), np.nan)
    table[:, 0] = generator.uniform(2.0, 300.0, 60)
    table[:, len(KNOBS) :] = generator.uniform(0.1, 1.0, (60, 5))
    table[::7, COLUMNS.index("error")] = np.inf
    x, error, settings = front(table, "torque_rate")
    candidates = table[:, [COLUMNS.index("torque_rate"), COLUMNS.index("error")]]
    for place in zip(x, error, strict=True):
        assert not ((candidates < place).all(axis=1)).any()
    beaten = [((candidates <= own).all(axis=1) & (candidates < own).any(axis=1)).any() for own in candidates]
    assert len(x) == 60 - sum(beaten) - int(np.isinf(candidates[~np.array(beaten), 1]).sum())
    assert len(settings) == len(x)
    assert Found(table, np.empty(0), np.array(7.0)).settings["frequency"] == table[7, 0]


def test_the_report_shows_gains_and_fronts(tuned: tuple[StudyResults, StudyResults, Path], tmp_path: Path) -> None:
    found, given, _ = tuned
    text = found.report(tmp_path / "report.html").read_text()
    assert "Each controller at its best" in text
    assert "Each controller at its best" not in given.report(tmp_path / "given.html").read_text()
    chosen = found.tuned("arm", "computed torque", 125.0, 1.0)
    assert f"frequency {chosen['frequency']:.3g}" in text
    kp = found.tuned_gains("arm", "computed torque", 125.0, 1.0)["kp"]
    assert f"kp {kp[0]:.3g}, {kp[1]:.3g}" in text
    figures = [json.loads(part) for part in re.findall(r'<script type="application/json">(.*?)</script>', text, re.S)]
    assert len(figures) == 2
    assert sum(trace["type"] == "scatter" for trace in figures[0]["data"]) == 2 * 2 * 3
    (tuned,) = (finding for finding in found.findings() if finding.rule.code == "tuned")
    assert tuned.value == 8


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("evaluations = 3", "'evaluations' must be a whole number from 8"),
        ("seed = 1987", "same seed, 1987"),
        ("frequency = [0, 10]", "'frequency' is 0.0; it must be positive"),
        ("frequenzy = 3", "frequenzy"),
    ],
)
def test_mistakes_in_the_table_are_named(tmp_path: Path, table: str, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"{TOML}\n[tuning]\n{table}\n")
    with pytest.raises(ChaslesError, match=re.escape(message)):
        studies.load(path)


def test_an_unknown_score_is_refused(tuned: tuple[StudyResults, StudyResults, Path]) -> None:
    found, given, _ = tuned
    with pytest.raises(UnknownNameError, match="torque_rate"):
        found.front("arm", "computed torque", 125.0, 0.0, "speed")
    with pytest.raises(UnknownNameError, match="search for gains"):
        given.front("arm", "computed torque", 125.0, 0.0)
    with pytest.raises(ArgumentError, match="'draws'"):
        studies.Tuning(draws=0)
