from __future__ import annotations

import numpy as np
import pytest
from tests.visual.stand_in_run import stand_in

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.visual.encoding import typed_array
from chasles.visual.panels import shown_runs
from chasles.visual.summary import require_run, run_labels, tracking_summary


def test_errors_of_a_known_motion(panda):
    """The error of joint k is (k + 1) mrad sin(pi t): peak k + 1 mrad; RMS 1/sqrt(2) of it (200 equal steps)."""
    rows = tracking_summary(stand_in(panda))
    assert [row.joint for row in rows] == list(panda.joint_names)
    np.testing.assert_allclose([row.peak_error for row in rows], 1e-3 * np.arange(1, 8), rtol=1e-12)
    np.testing.assert_allclose([row.rms_error for row in rows], np.sqrt(100 / 201) * 1e-3 * np.arange(1, 8), rtol=1e-12)


def test_samples_that_are_not_finite_do_not_count(panda):
    run = stand_in(panda)
    clean = tracking_summary(run.isel(time=slice(0, 100)))
    run["error"].values[100:] = np.nan
    run["tau"].values[100:] = np.inf
    assert tracking_summary(run) == clean


def test_sliding_joints_in_metres():
    assert [row.effort_unit for row in tracking_summary(stand_in(ch.load("scara")))] == ["N m", "N m", "N", "N m"]


def test_labels_name_what_varies(panda):
    assert run_labels(stand_in(panda)) == ["run"]
    assert run_labels(stand_in(panda, runs=2)) == ["payload.mass = 0", "payload.mass = 5"]
    assert run_labels(stand_in(panda, runs=2).drop_vars("payload.mass")) == ["run 0", "run 1"]


def test_labels_name_what_is_the_same_for_all_joints(panda):
    run = stand_in(panda, runs=2)
    run["controller.kp"] = ("run", "controller.kp.0"), np.repeat([[100.0], [400.0]], 7, axis=1)
    run["controller.kd"] = ("run", "controller.kd.0"), np.arange(14.0).reshape(2, 7)
    run = run.set_coords(["controller.kp", "controller.kd"])
    assert run_labels(run)[1] == "payload.mass = 5, controller.kp = 400"


@pytest.mark.parametrize("count", [1, 2, 20, 21, 1000])
def test_shown_runs_have_the_first_and_the_last(count):
    shown = shown_runs(count)
    assert len(shown) == min(count, 20)
    assert (shown[0], shown[-1]) == (0, count - 1)


def test_numbers_beyond_single_precision_become_infinite_quietly():
    with np.errstate(all="raise"):
        assert typed_array([1e300]) == typed_array([np.inf])
        assert typed_array([1e-300]) == typed_array([0.0])


def text(values: np.ndarray) -> np.ndarray:
    return np.asarray(values).astype(str)


@pytest.mark.parametrize("runs", [None, 3])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.assign_coords(unit=("joint", ["deg"] * 7)), "'unit' of joint 'panda_joint1' is 'deg'"),
        (lambda run: run.assign_coords(unit=("joint", [np.nan] * 7)), "'unit' of joint 'panda_joint1' is 'nan'"),
        (lambda run: run.assign_coords(effort_unit=("joint", ["lb"] * 7)), "'effort_unit' of joint .* is 'lb'"),
        (lambda run: run.assign_attrs(period="1 ms"), "attribute 'period' is '1 ms'; it must be a number, in s"),
        (lambda run: run.assign_attrs(period=np.nan), "attribute 'period' is nan"),
        (lambda run: run.assign_attrs(delay=[1.0, 2.0]), "attribute 'delay' is "),
        (lambda run: run.assign_coords(time=run["time"].values * np.nan), "'time' must hold finite numbers"),
        (lambda run: run.assign_coords(time=run["time"].values[::-1]), "'time' must hold finite numbers that increase"),
        (lambda run: run.assign_coords(time=text(run["time"].values)), "'time' must hold finite numbers"),
        (lambda run: run.assign(tau=(run["tau"].dims, text(run["tau"].values))), "'tau' holds <U.*, not real numbers"),
        (lambda run: run.assign(q=run["q"] + 1j), "'q' holds complex128"),
        (lambda run: run.drop_vars("q").assign(q=run["q"].isel(joint=0)), "'q' has the dimensions .*time, which lack"),
        (lambda run: run.isel(time=slice(0, 0)), "is empty"),
    ],
)
def test_foreign_and_damaged_runs_are_refused(change, said, runs):
    run = stand_in(ch.load("panda"), runs, samples=5)
    require_run(run)
    with pytest.raises(ArgumentError, match=said):
        require_run(change(run))
