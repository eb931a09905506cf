"""Loops are kept from one simulation to the next, and never used where anything differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.simulation import compiled_loops

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.1], [1.0, -0.5], 0.05)
STIFFNESS = {"value": 10.0}


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The loops that were traced since."""
    compiled_loops._loops.clear()
    loops: list[Any] = []
    original = compiled_loops.ClosedLoop.scan.func
    monkeypatch.setattr(compiled_loops.ClosedLoop, "scan", property(lambda self: loops.append(self) or original(self)))
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
        {"controller": ch.PDGravity(ARM.with_payload(1.0), kp=100.0, kd=20.0)},
        {"controller": ch.PDGravity(ARM, kp=101.0, kd=20.0)},
        {"reference": ch.PointToPoint([0.0, 0.1], [1.0, -0.4], 0.05)},
        {"reference": ch.PointToPoint([0.0, 0.1], [1.0, -0.5], 0.05, scaling="cubic")},
        {"period": 2e-3},
        {"substeps": 2},
        {"integrator": "euler"},
        {"delay": 1e-3},
    ],
)
def test_what_differs_differs(change: dict[str, Any]) -> None:
    base: dict[str, Any] = {"plant": ARM, "controller": ch.PDGravity(ARM, kp=100.0, kd=20.0), "reference": MOTION}
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


def test_functions_are_traced_anew_for_what_they_refer_to_may_change() -> None:
    def law(now: ch.control.Now) -> Any:
        return STIFFNESS["value"] * (now.reference.q - now.q)

    class Own(ch.control.Controller):
        name = "own"

        def law(self, now: ch.control.Now) -> Any:
            return STIFFNESS["value"] * (now.reference.q - now.q)

    for controller in (law, Own()):
        torques = []
        for value in (10.0, 20.0):
            STIFFNESS["value"] = value
            torques.append(ch.simulate(ARM, controller, MOTION, q0=[0.1, 0.1]).tau[0])
        np.testing.assert_allclose(torques[1], 2.0 * torques[0])


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_loops, "_KEPT", 2)
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
