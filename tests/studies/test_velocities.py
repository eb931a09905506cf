"""Sources of velocities and faults of timing as factors of a study: the same for all laws and runs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.tiny_studies import stiff_pd, tiny

from chasles import studies
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import DifferencedVelocity, KalmanVelocity, MomentumVelocity, Previewed, loop_margins
from chasles.studies.bench import bench
from chasles.studies.controllers import knobs
from chasles.studies.design import draw
from chasles.studies.experiment import controller_of, parts, plant_values

LAWS = (
    studies.StudyController("CT", "computed-torque"),
    studies.StudyController("LQG", "linear-quadratic-gaussian"),
    studies.StudyController("own", stiff_pd),
    studies.StudyController("exact", "pd-gravity", {"velocity": "measured"}),
)


def test_several_sources_multiply_the_laws_that_read_velocities() -> None:
    study = tiny(controllers=LAWS, velocities=("differenced", "kalman"))
    titles = ["CT, differences", "CT, Kalman filter", "LQG", "own, differences", "own, Kalman filter", "exact"]
    assert [choice.title for choice in study.controllers] == titles
    assert [choice.title for choice in study.replace(runs=4).controllers] == titles
    made = [controller_of(study, part) for part in parts(study) if part.rate == 125.0]
    kinds = [DifferencedVelocity, KalmanVelocity, None, DifferencedVelocity, KalmanVelocity, None]
    for law, kind in zip(made, kinds, strict=True):
        assert isinstance(law, kind) if kind else not isinstance(law, DifferencedVelocity | KalmanVelocity)


@pytest.mark.parametrize(
    ("source", "kind", "name", "value"),
    [
        ("filtered", DifferencedVelocity, "filter_time", 3.0 / 125.0),
        ("kalman", KalmanVelocity, "bandwidth", 125.0 / 3.0),
        ("momentum", MomentumVelocity, "bandwidth", 125.0 / 3.0),
    ],
)
def test_filters_are_stated_in_sample_periods_and_searched(source: str, kind: type, name: str, value: float) -> None:
    settings = {"frequency": 20.0, "velocity": source, "velocity_filter": 3.0}
    study = tiny(controllers=(studies.StudyController("CT", "computed-torque", settings),))
    law = controller_of(study, parts(study)[0])
    assert isinstance(law, kind)
    np.testing.assert_allclose(law.parameters[name], value)
    assert "velocity_filter" in knobs("computed-torque", settings)
    assert "velocity_filter" not in knobs("computed-torque", {"frequency": 20.0})


def test_encoders_give_all_laws_the_same_filtered_differences_unless_told_otherwise() -> None:
    study = tiny(encoder_step=1e-4, controllers=LAWS)
    first = controller_of(study, parts(study)[0])
    assert isinstance(first, DifferencedVelocity)
    np.testing.assert_allclose(first.filter_time, 2.0 / 125.0)
    plain = study.replace(velocities="differenced")
    (law,) = (controller_of(plain, part) for part in parts(plain)[:1])
    assert isinstance(law, DifferencedVelocity)
    assert not law.filter_time.any()


def test_a_preview_is_a_setting_of_laws_that_can_have_it() -> None:
    study = tiny(controllers=(studies.StudyController("CT", "computed-torque", {"preview": True}),))
    assert isinstance(controller_of(study, parts(study)[0]), Previewed)
    for kind in ("pid", "time-varying-regulator", "linear-quadratic-gaussian", "slotine-li"):
        with pytest.raises(UnknownNameError, match="preview"):
            studies.StudyController("law", kind, {"preview": True})


def test_margins_are_of_the_velocities_that_a_law_gets() -> None:
    study = tiny(controllers=LAWS[:1], velocities=("measured", "filtered"), rates=(60.0,), runs=4)
    results = study.run()
    measured, filtered = (results.cells("arm", choice.title)[0].disk_margin for choice in study.controllers)
    assert filtered < 0.7 * measured
    made = bench(study, study.robots[0])
    law = controller_of(study, parts(study)[1])
    expected = loop_margins(made.model, law, made.motion, period=1 / 60, velocity="measured").disk.min()
    assert filtered == pytest.approx(expected)


def test_every_run_has_timing_faults_of_its_own_and_all_laws_the_same() -> None:
    study = tiny(jitter=(0.2, 0.6), lost_samples=(0.0, 0.3), payload=0.0, friction=0.0, model_error=0.0, runs=8)
    runs, made = draw(study), bench(study, study.robots[0])
    chosen = runs.at(250.0, 0.0)
    values = plant_values(study, made, runs, chosen)
    np.testing.assert_allclose(values["timing.jitter"], runs["jitter"][chosen] / 250.0)
    np.testing.assert_array_equal(values["timing.lost"], runs["lost_samples"][chosen])
    twice = tuple(studies.StudyController(title, "computed-torque") for title in ("one", "other"))
    results = study.replace(controllers=twice).run()
    errors = [results.of_pair("arm", title)["rms_error"] for title in ("one", "other")]
    np.testing.assert_array_equal(*errors)
    constant = study.replace(controllers=twice[:1], jitter=0.5, lost_samples=0.2).run().of_pair("arm", "one")
    assert len(set(constant["rms_error"])) == 8  # the faults differ from run to run


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="source of velocities 'kalmann'"):
        tiny(velocities="kalmann")
    with pytest.raises(ArgumentError, match="'velocities' has twice"):
        tiny(velocities=("kalman", "kalman"))
    with pytest.raises(ArgumentError, match="together they must not exceed 1"):
        tiny(jitter=0.6, delays=(0.5,))
    with pytest.raises(ArgumentError, match="no settings but those of its velocity"):
        studies.StudyController("own", stiff_pd, {"kp": 3.0})
    with pytest.raises(ArgumentError, match="velocity_filter"):
        studies.StudyController("CT", "computed-torque", {"velocity": "kalman", "velocity_filter": 0.0})
