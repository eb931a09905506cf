"""Loops are kept from one simulation to the next, and never used where anything differs."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
import pytest

import chasles as ch
from chasles.engine import trace
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.native import machine
from chasles.engine.targets.native.kernels import write_kernel
from chasles.simulation import compiled_loops, preparation

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.1], [1.0, -0.5], 0.05)
STIFFNESS = {"value": 10.0}


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The loops that were traced since."""
    compiled_loops._loops.clear()
    loops: list[Any] = []
    original = preparation.scan
    monkeypatch.setattr(preparation, "scan", lambda loop: loops.append(loop) or original(loop))
    return loops


def test_the_same_simulation_is_traced_once(traced: list[Any]) -> None:
    runs = []
    for _ in range(3):
        plant = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=1.0, smoothing_velocity=0.1))
        control = ch.ComputedTorque(ARM, kp=100.0, kd=20.0)
        runs.append(ch.simulate(plant, control, ch.PointToPoint([0.0, 0.1], [1.0, -0.5], 0.05)))
    assert len(traced) == 1
    np.testing.assert_array_equal(runs[0].q, runs[2].q)


@pytest.mark.parametrize(
    "change",
    [
        {"plant": ARM.with_payload(1.0)},
        {"plant": ch.Plant(ARM, friction=ch.Friction(ARM, viscous=1.0))},
        {"plant": ch.Plant(ARM, friction=ch.Friction(ARM, viscous=1.5))},
        {"law": ch.PDGravity(ARM.with_payload(1.0), kp=100.0, kd=20.0)},
        {"law": ch.PDGravity(ARM, kp=101.0, kd=20.0)},
        {"motion": ch.PointToPoint([0.0, 0.1], [1.0, -0.4], 0.05)},
        {"motion": ch.PointToPoint([0.0, 0.1], [1.0, -0.5], 0.05, scaling="cubic")},
        {"period": 2e-3},
        {"integrator": ch.integrators.Steps("rk4", 2)},
        {"integrator": "euler"},
        {"plant": ch.Plant(ARM, delay=1e-3)},
    ],
)
def test_what_differs_differs(change: dict[str, Any]) -> None:
    base: dict[str, Any] = {"plant": ARM, "law": ch.PDGravity(ARM, kp=100.0, kd=20.0), "motion": MOTION}
    first = ch.simulate(**base)
    other = ch.simulate(**(base | change))
    compiled_loops._loops.clear()
    fresh = ch.simulate(**(base | change))
    np.testing.assert_array_equal(other.q, fresh.q)
    assert other.q.shape != first.q.shape or float(np.abs(other.q - first.q).max()) > 0.0


def test_gains_cannot_be_changed_in_place() -> None:
    control = ch.PDGravity(ARM, kp=100.0, kd=20.0)
    with pytest.raises(ValueError, match="read-only"):
        control.kp[:] = 400.0
    with pytest.raises(AttributeError, match="kp"):
        control.kp = 400.0


def stiffness() -> float:
    return STIFFNESS["value"]


def hold(now: ch.control.Now) -> Any:
    return stiffness() * (now.reference.q - now.q)


class Own(ch.Controller):
    varies = ("kd",)
    memory: ClassVar[Any] = {"integral": np.zeros(2)}

    def __init__(self, kd: float = 1.0) -> None:
        self.kd = kd

    def law(self, now: ch.control.Now) -> Any:
        now.memory.integral += now.period * (now.reference.q - now.q)
        return stiffness() * (now.reference.q - now.q) + now.memory.integral - self.kd * now.qd


class Line:
    """A motion of a user's."""

    duration = 0.05
    parameters: ClassVar[Any] = {"goal": np.array([1.0, -0.5])}

    def motion(self, t: Any, parameters: Any) -> Any:
        share = stiffness() * t
        return ch.trajectories.Motion(
            share * parameters["goal"], stiffness() * parameters["goal"], 0.0 * parameters["goal"]
        )


def push(t: Any, parameters: Any) -> Any:
    return np.array([0.0, 0.0, 0.0, stiffness(), 0.0, 0.0])


USERS: dict[str, dict[str, Any]] = {
    "function": {"law": hold},
    "class": {"law": Own()},
    "function in a law of the library": {"law": ch.PythonLaw(hold)},
    "motion": {"motion": Line()},
    "wrench": {"plant": ch.Plant(ARM, wrenches=[ch.ExternalWrench("push", push, axes="world")])},
}


@pytest.mark.parametrize("users", USERS.values(), ids=USERS)
def test_what_a_user_wrote_is_known_by_what_it_does(
    users: dict[str, Any], traced: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = {"plant": ARM, "law": ch.PDGravity(ARM, kp=100.0, kd=20.0), "motion": MOTION, "start": [0.1, 0.1]}

    def last() -> Any:
        return ch.simulate(**(base | users)).q[-1]

    monkeypatch.setitem(STIFFNESS, "value", 10.0)
    first = last()
    np.testing.assert_array_equal(last(), first)
    assert len(traced) == 1
    monkeypatch.setitem(STIFFNESS, "value", 20.0)
    other = last()
    assert len(traced) == 2
    assert abs(other - first).max() > 1e-6
    monkeypatch.setattr(sys.modules[__name__], "stiffness", lambda: 10.0)
    np.testing.assert_array_equal(last(), first)
    assert len(traced) == 2


def test_gains_and_memory_of_a_users_law_need_no_new_loop(traced: list[Any]) -> None:
    runs = [ch.simulate(ARM, Own(kd), MOTION, start=[0.1, 0.1]) for kd in (1.0, 5.0)]
    assert len(traced) == 1
    assert abs(runs[0].q - runs[1].q).max() > 0.0


@pytest.mark.parametrize("kind", [ch.Plant, ch.Friction, ch.Robot])
def test_plants_effects_and_robots_of_a_users_class_are_traced_anew(kind: type, traced: list[Any]) -> None:
    own: Any = type("Own", (kind,), {})
    robot = own(ARM.description) if kind is ch.Robot else ARM
    friction = (own if kind is ch.Friction else ch.Friction)(robot, viscous=1.0)
    plant = (own if kind is ch.Plant else ch.Plant)(robot, friction=friction)
    for _ in range(2):
        ch.simulate(plant, ch.PDGravity(ARM, kp=100.0, kd=20.0), MOTION)
    assert len(traced) == 2


def test_a_law_of_the_library_that_was_patched_is_known_by_what_it_does(
    traced: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    law = ch.PDGravity(ARM, kp=100.0, kd=20.0)
    first = ch.simulate(ARM, law, MOTION, start=[0.1, 0.1])
    monkeypatch.setattr(ch.PDGravity, "law", lambda self, now: 50.0 * (now.reference.q - now.q))
    other = [ch.simulate(ARM, law, MOTION, start=[0.1, 0.1]) for _ in range(2)]
    assert len(traced) == 2
    assert abs(other[0].q - first.q).max() > 0.0
    np.testing.assert_array_equal(other[0].q, other[1].q)


def test_a_law_that_draws_numbers_is_traced_anew(traced: list[Any]) -> None:
    def random(now: ch.control.Now) -> Any:
        return np.random.uniform(10.0, 20.0) * (now.reference.q - now.q)

    torques = [ch.simulate(ARM, random, MOTION, start=[0.2, 0.2]).tau[0, 0] for _ in range(2)]
    assert len(traced) == 2
    assert torques[0] != torques[1]


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_loops._loops, "size", 2)
    for k in range(4):
        ch.simulate(ARM, ch.PDGravity(ARM, kp=1.0 + k, kd=1.0), MOTION)
    assert len(compiled_loops._loops) == 2


def test_runs_share_no_label_that_a_user_changes() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.02)
    first, changed = (ch.simulate(arm, ch.PDGravity(arm, kp=400.0, kd=40.0), motion) for _ in range(2))
    assert changed.identical(first)
    changed["q"].values[:] = 0.0
    changed.attrs["robot"] = "another"
    for name in ("time", "joint", "q", "unit"):
        changed[name].attrs["units"] = "another"
    with pytest.raises(ValueError, match="read-only"):
        changed["unit"].values[0] = "another"
    changed["further"] = 1.0
    assert ch.simulate(arm, ch.PDGravity(arm, kp=400.0, kd=40.0), motion).identical(first)
    longer = ch.simulate(arm, ch.PDGravity(arm, kp=400.0, kd=40.0), motion, duration=0.03)
    assert longer.sizes["time"] == 31
    assert longer.attrs["robot"] == "planar2r"


def test_loops_of_one_plant_have_their_steps_in_common() -> None:
    """Whatever the law and its gains: so the code of the steps is generated once."""
    steps = []
    for law in (ch.PDGravity(ARM, kp=123.0, kd=20.0), ch.ComputedTorque(ARM, kp=123.0, kd=20.0, ki=10.0)):
        setup = preparation.Setup(ARM, law, MOTION, integrator=ch.integrators.Steps("rk4", 8))
        rows = preparation.prepare(setup, {"payload.mass": [0.0, 1.0]}).loop.steps._rows
        steps.append({key: row.program.digest for key, row in rows.items()})
    assert steps[0]
    assert steps[0] == steps[1]


@pytest.mark.slow
def test_machine_code_of_a_module_is_generated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels that call one long program generate its code once."""
    generated: list[str] = []
    original = machine._generated
    monkeypatch.setattr(machine, "_generated", lambda text, level: generated.append(text) or original(text, level))
    panda, written = ch.load("panda"), 0
    for number in (1.0, 2.0):
        dynamics = panda.forward_dynamics

        def twice(q: Any, qd: Any, tau: Any, number: float = number, f: Any = dynamics) -> Any:
            return number * f(q, qd, f(q, qd, tau))

        program = trace(twice, dict.fromkeys(("q", "qd", "tau"), (7,)), name="twice", outputs=["a"])
        modules = write_kernel(Kernel(program), "float64", 4)
        machine.compile_to_objects(modules)
        written += len(modules)
    assert written > len(generated) > 1
    assert len(generated) == len(set(generated))
