"""Verbs: generic functions whose implementations higher packages register."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base import verbs
from chasles.base.errors import ArgumentTypeError
from chasles.trajectories import JointTrajectory

MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)


def test_verbs_and_methods_give_the_same() -> None:
    arm = ch.load("planar2r")
    assert str(ch.check(MOTION, arm, velocity=1.0)) == str(MOTION.check(arm, velocity=1.0))
    np.testing.assert_array_equal(ch.peaks(MOTION).velocity.largest, MOTION.peaks().velocity.largest)
    assert ch.plot(MOTION, robot=arm).to_json() == MOTION.plot(robot=arm).to_json()
    assert verbs.to_dataset(MOTION, 0.1).identical(MOTION.to_dataset(0.1))


def test_runs_are_plotted_and_reported_even_as_plain_datasets(tmp_path: Path) -> None:
    import xarray

    arm = ch.load("planar2r")
    run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), MOTION, audit=True)
    plain = xarray.Dataset(run.data_vars, run.coords, run.attrs)
    assert ch.plot(plain).to_json() == run.plot().to_json()
    assert ch.plot(run.energy_audit()).layout.annotations[0].text == "<b>Work done on the plant</b> [J]"
    pages = ch.report(plain, tmp_path / "a.html"), run.report(tmp_path / "b.html")
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert ch.report({"one": run, "two": plain}, tmp_path / "c.html").read_text().count("<h2>") == 2


def test_a_users_trajectory_is_known_by_its_base() -> None:
    class Still(JointTrajectory):
        n = 2
        knots = np.array([0.0, 1.0])

        def derivatives(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
            return (np.zeros((*np.shape(t), 2)),) * 4

    assert ch.peaks(Still()).velocity.largest.tolist() == [0.0, 0.0]


def test_an_unknown_type_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ArgumentTypeError, match=r"plot does not know the type list; it takes: .*JointTrajectory"):
        ch.plot([1.0, 2.0])
    with pytest.raises(ArgumentTypeError, match="check does not know the type StraightLine"):
        ch.check(ch.StraightLine(np.eye(4), np.eye(4), duration=1.0), ch.load("panda"))


def test_verbs_pickle_by_name() -> None:
    assert pickle.loads(pickle.dumps(ch.plot)) is ch.plot


def test_plotting_a_trajectory_imports_no_simulation() -> None:
    script = (
        "import sys, json, chasles as ch\n"
        "ch.PointToPoint([0.0], [1.0], duration=1.0).plot()\n"
        "print(json.dumps([name for name in sys.modules if name.startswith(('chasles.simulation', 'xarray'))]))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == []
