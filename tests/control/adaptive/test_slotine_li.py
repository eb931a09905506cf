"""Adaptive control of Slotine and Li: its theorem in continuous time, and what is left of it in a sampled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from tests.control.adaptive.continuous_loops import Course, follow, kinetic_part, waves

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import ComputedTorque, Now, SlotineLi
from chasles.engine import Record

ARM = ch.load("planar2r").with_friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.2)
PAYLOAD: dict[str, Any] = {"mass": 2.0, "center_of_mass": [0.05, 0.02, 0.0], "inertia": np.diag([0.01, 0.02, 0.03])}
LOADED = ARM.with_payload(**PAYLOAD)
RATE, DAMPING = 5.0, np.array([10.0, 6.0])
MOTION = waves([[0.5, 0.4], [0.3, 0.2]], [[2.0, 3.0], [5.0, 3.7]])


def controller(model: ch.Robot = ARM, **options: Any) -> SlotineLi:
    return SlotineLi(model, **{"rate": RATE, "damping": DAMPING, "adaptation": 2.0, **options})


def lyapunov(plant: ch.Robot, law: SlotineLi, course: Course, true: np.ndarray) -> np.ndarray:
    """Kinetic part and squared error of the parameters, weighted by the inverse of their gains."""
    error = course.memory - true
    return kinetic_part(plant, course.q, sliding(course)) + 0.5 * (error**2 / law.adaptation).sum(-1)


def sliding(course: Course) -> np.ndarray:
    s: np.ndarray = course.qd - course.wanted.qd - RATE * (course.wanted.q - course.q)
    return s


def unknown_payload() -> np.ndarray:
    mass, centre, inertia = PAYLOAD["mass"], np.array(PAYLOAD["center_of_mass"]), PAYLOAD["inertia"]
    about_origin = inertia + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return np.concatenate([[mass], mass * centre, about_origin[np.triu_indices(3)]])


CASES = {
    "base": (ARM, LOADED, {"unknown": "base"}, lambda: LOADED.inertial.base().values),
    "payload": (ARM, LOADED, {"unknown": "payload"}, unknown_payload),
    "names": (
        ARM,
        LOADED.with_friction(viscous=0.9, coulomb=0.5, coulomb_velocity=0.2),
        {
            "unknown": [
                "joint2.viscous_friction",
                "link2.m",
                "link2.mx",
                "link2.my",
                "link2.Izz",
                "joint1.viscous_friction",
            ]
        },
        None,
    ),
    "bounds": (
        ARM,
        LOADED,
        {"unknown": "payload", "lower": [0.0] + 9 * [-0.2], "upper": [2.1] + 9 * [0.2], "adaptation": 20.0},
        unknown_payload,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lyapunov_function_never_grows(case: str) -> None:
    """V' = -s^T Kd s, so V falls by just the integral of it, and the parameters' error stays below what V allows."""
    model, plant, options, values = CASES[case]
    law = controller(model, **options)
    known = dict(zip(plant.inertial.names, plant.inertial.values, strict=True))
    true = values() if values is not None else np.array([known[name] for name in law.parameter_names])
    course = follow(plant, law, MOTION, 6.0, samples=12001)
    V, s = lyapunov(plant, law, course, true), sliding(course)
    assert V[0] > 0.1
    assert np.diff(V).max() <= 1e-9 * V[0]
    dissipated = simpson((s**2) @ DAMPING, x=course.t)
    if "lower" not in options:
        assert abs(V[0] - V[-1] - dissipated) < 1e-6 * V[0]
    else:  # projection only ever helps
        assert V[0] - V[-1] > dissipated - 1e-6 * V[0]
        assert (course.memory - options["lower"]).min() > -1e-7
        assert (course.memory - options["upper"]).max() < 1e-7


def test_projection_is_at_work_in_the_case_with_bounds() -> None:
    model, plant, options, _ = CASES["bounds"]
    free = {name: value for name, value in options.items() if name not in ("lower", "upper")}
    course = follow(plant, controller(model, **free), MOTION, 6.0)
    assert (course.memory[:, 0] > options["upper"][0] + 0.01).any()


def test_tracking_error_vanishes_though_parameters_need_not() -> None:
    """A planar motion does not excite all parameters of a payload: errors vanish, and estimates remain wrong."""
    course = follow(LOADED, controller(unknown="payload"), waves([0.5, 0.4], [2.0, 2.0]), 60.0, rtol=1e-9)
    error = np.abs(course.wanted.q - course.q).max(axis=1)
    assert error[:40].max() > 0.05
    assert error[-20:].max() < 1e-4
    assert np.abs(course.memory[-1] - unknown_payload()).max() > 0.02


def test_six_joints_and_all_their_parameters() -> None:
    model = ch.load("puma560").with_friction(viscous=1.0, coulomb=1.0, coulomb_velocity=0.2)
    plant = model.inertial.perturbed(0.2, seed=3)
    motion = waves(np.full((1, 6), 0.4), [[2.0, 2.3, 2.7, 3.1, 3.5, 4.1]], model.home)
    law = SlotineLi(model, rate=RATE, damping=[20.0, 20.0, 20.0, 5.0, 5.0, 5.0], adaptation=0.5, unknown="all")
    course = follow(plant, law, motion, 2.0, rtol=1e-9, samples=101)
    known = dict(zip(plant.inertial.names, plant.inertial.values, strict=True))
    V = lyapunov(plant, law, course, np.array([known[name] for name in law.parameter_names]))
    assert V[-1] < 0.999 * V[0]
    assert np.diff(V).max() <= 1e-8 * V[0]


def test_sampled_law_beats_a_fixed_model() -> None:
    motion = ch.CubicSpline(np.linspace(0.0, 4.0, 9), 0.7 * np.random.default_rng(0).normal(size=(9, 2)))
    fixed = ComputedTorque(ARM, kp=400.0, kd=40.0)
    adaptive = SlotineLi(ARM, rate=20.0, damping=40.0, adaptation=2.0)
    errors = [np.sqrt((ch.simulate(LOADED, law, motion).error ** 2).mean().item()) for law in (fixed, adaptive)]
    assert errors[1] < errors[0] / 20.0


def test_sampled_estimates_approach_those_in_continuous_time() -> None:
    """Euler's rule and held torques err in proportion to the period; friction of a model acts elsewhere if sampled."""
    from tests.control.sampled_loop import simulate

    law = controller(ch.load("planar2r"))
    exact = follow(LOADED, law, MOTION, 1.0, samples=2).memory[-1]
    errors = []
    for period in (2e-3, 1e-3):
        run = simulate(LOADED, law, MOTION, duration=1.0, period=period, q0=np.zeros(2))
        errors.append(np.abs(run.memory[-1] - exact).max())
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_sampled_estimates_stay_within_bounds() -> None:
    from tests.control.sampled_loop import simulate

    law = controller(unknown=["link2.m"], lower=4.9, upper=5.3, adaptation=200.0)
    memory = simulate(LOADED, law, MOTION, duration=2.0, period=1e-3, q0=np.zeros(2)).memory
    assert memory.max() == 5.3
    assert memory.min() >= 4.9


def test_gains_vary_over_runs() -> None:
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    law = SlotineLi(ARM, rate=20.0, damping=40.0, adaptation=2.0, unknown=["link2.m"])
    gains = [[0.0], [1.0], [10.0]]
    together = ch.simulate(LOADED, law, motion, duration=1.2, vary={"controller.adaptation": gains})
    alone = ch.simulate(
        LOADED, SlotineLi(ARM, rate=20.0, damping=40.0, adaptation=10.0, unknown=["link2.m"]), motion, duration=1.2
    )
    assert np.array_equal(together.q.isel(run=2).values, alone.q.values)
    errors = np.sqrt((together.error**2).mean(("time", "joint"))).values
    assert (np.diff(errors) < 0.0).all()


def test_a_perfect_model_needs_no_adaptation() -> None:
    course = follow(LOADED, controller(LOADED), MOTION, 2.0)
    assert np.abs(course.q - course.wanted.q).max() < 1e-7
    assert np.abs(course.memory - course.memory[0]).max() < 1e-7


def test_choices_of_unknown_parameters() -> None:
    panda = ch.load("panda")
    base = controller(panda, damping=10.0)
    assert base.parameter_names == panda.inertial.base().names == base.memory_names
    everything = controller(panda, damping=10.0, unknown="all")
    assert len(base.parameter_names) < len(everything.parameter_names) < len(panda.inertial.names)
    assert controller(unknown=["link2.m"], initial=3.0).memory["estimate"].tolist() == [3.0]


def test_parameters_without_effect_are_those_left_out() -> None:
    arm = ch.load("panda")
    states = np.random.default_rng(0).normal(size=(4, 20, 7))
    Y = arm.regressors.passivity(*states)
    effect = np.abs(Y).max(axis=(0, 1)) > 1e-12
    names = [name for name, acts in zip(arm.inertial.names, effect, strict=True) if acts]
    assert controller(arm, damping=10.0, unknown="all").parameter_names == tuple(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unknown": "mass"}, "mass"),
        ({"unknown": ["link7.m"]}, "link7.m"),
        ({"adaptation": [1.0, 2.0]}, r"adaptation has shape \(2,\)"),
        ({"lower": 7.0}, "not between"),
        ({"rate": np.nan}, r"rate\[0\] is nan; it must be finite"),
        ({"upper": np.nan}, "upper"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        controller(**options)


def test_an_infinite_bound_is_none() -> None:
    """A parameter at its bound stops; one whose bound is infinite changes as in a law without bounds."""
    names, start = ["link2.m", "link2.mx"], np.array([2.0, 0.4])
    free = controller(unknown=names, initial=start)
    now = Now(0.0, np.array([0.3, -0.2]), np.array([0.5, 0.1]), MOTION(0.2), Record(estimate=start), 1e-3)
    rate = free.flow(now)[1]["estimate"]
    inward = np.sign(rate)  # a bound that the first parameter's rate would take it over
    bound = "upper" if inward[0] > 0.0 else "lower"
    bounded = controller(unknown=names, initial=start, **{bound: [start[0], inward[0] * np.inf]})
    assert bounded.flow(now)[1]["estimate"].tolist() == [0.0, rate[1]]
    assert rate.all()
