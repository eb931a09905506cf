"""What controllers have learnt, in the results of simulations."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.control.calls import called

import chasles as ch
from chasles.control import (
    CompositeAdaptive,
    ComputedTorque,
    DisturbanceObserver,
    GainScheduledRegulator,
    LeeChung,
    LinearQuadraticGaussian,
    LinearQuadraticRegulator,
    ModelReferenceAdaptive,
    NaturalAdaptive,
    PDGravity,
    SlidingMode,
    SlotineLi,
    TimeVaryingRegulator,
)
from chasles.simulation.results import Run

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
GAINS = {"rate": 20.0, "damping": 40.0, "adaptation": 2.0}
LAWS = [
    SlotineLi(ARM, **GAINS),
    CompositeAdaptive(ARM, **GAINS, bandwidth=50.0, forgetting=2.0, unknown="payload"),
    NaturalAdaptive(ARM.with_payload(0.5, inertia=0.01 * np.eye(3)), **GAINS, bodies="payload"),
    LeeChung(ARM, rate=20.0, torque_weight=0.3),
    ModelReferenceAdaptive(ARM, frequency=20.0, adaptation=100.0),
    SlidingMode(ARM, rate=20.0, reaching=5.0, layer=0.2),
    DisturbanceObserver(ARM, ComputedTorque(ARM, kp=400.0, kd=40.0), bandwidth=50.0),
    LinearQuadraticRegulator(ARM),
    LinearQuadraticGaussian(ARM),
    GainScheduledRegulator(ARM, update_period=0.1),
    TimeVaryingRegulator(ARM),
]


def test_memory_is_recorded_by_name(tmp_path: Path) -> None:
    law = SlotineLi(ARM, **GAINS, unknown="payload")
    run = ch.simulate(ARM, law, MOTION, vary={"payload.mass": [0.0, 1.0]}, record=ch.Recording(every=10, memory=True))
    assert run["memory"].dims == ("run", "time", "element")
    assert tuple(run["element"].values) == law.memory_names
    assert (run["memory"].isel(time=0).values == law.memory.estimate).all()
    run.to_netcdf(tmp_path / "run.nc")
    assert Run.open(tmp_path / "run.nc")["memory"].equals(run["memory"])


def test_recorded_memory_is_that_of_the_law() -> None:
    """Called again on what was recorded, the law makes each sample's memory from the one before."""
    law = SlotineLi(ARM, **GAINS)
    run = ch.simulate(ARM.with_payload(1.0), law, MOTION, record=ch.Recording(memory=True))
    for k in (3, 200):
        motion = MOTION.motion(float(run.time[k]), MOTION.parameters)
        state = law.memory_layout.split(run["memory"].values[k])
        tau, following = called(law, run.q.values[k], run.qd.values[k], motion, state)
        assert np.allclose(tau, run.tau.values[k], rtol=1e-12)
        assert np.allclose(following.estimate, run["memory"].values[k + 1], rtol=1e-13)


def test_memory_is_left_out_unless_it_is_wanted_and_there_is_one() -> None:
    assert "memory" not in ch.simulate(ARM, LAWS[0], MOTION)
    assert "memory" not in ch.simulate(ARM, PDGravity(ARM, kp=400.0, kd=40.0), MOTION, record=ch.Recording(memory=True))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_laws_travel_to_other_processes(law: SlotineLi) -> None:
    again = pickle.loads(pickle.dumps(law))
    first, second = (ch.simulate(ARM, each, MOTION, duration=0.1) for each in (law, again))
    assert np.array_equal(first.q.values, second.q.values)
    assert repr(again) == repr(law)
    assert type(law).__name__ in repr(law)
