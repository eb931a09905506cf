"""Payloads that come and go in mid-run, against two simulations stitched together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError

ARM = ch.load("puma560").with_friction(coulomb=0.0)
MOTION = ch.PointToPoint(ARM.home, ARM.home + 0.3, 0.4)
CONTROL = ch.ComputedTorque(ARM, kp=400.0, kd=40.0)
BODY: dict[str, Any] = {"center_of_mass": [0.01, -0.02, 0.1], "inertia": np.diag([0.01, 0.02, 0.03])}
PICK, PUT = 0.1, 0.25


class Later:
    """The same motion from a later time on."""

    def __init__(self, start_time: float) -> None:
        self.start_time, self.duration, self.parameters = start_time, 0.4 - start_time, MOTION.parameters

    def motion(self, t: Any, parameters: Any) -> Any:
        return MOTION.motion(t, parameters)


def stitched(carrying: ch.Robot, **options: Any) -> dict[str, np.ndarray]:
    """Three simulations, each from the state in which the last ended."""
    pieces: list[Any] = []
    state: dict[str, Any] = {}
    for robot, begin, end in ((ARM, 0.0, PICK), (carrying, PICK, PUT), (ARM, PUT, 0.4)):
        run = ch.simulate(robot, CONTROL, Later(begin), duration=end - begin, **state, **options)
        state = {"start": ch.State(run.q.values[-1], run.qd.values[-1])}
        pieces.append(run)
    return {
        name: np.concatenate([pieces[0][name][:-1], pieces[1][name][:-1], pieces[2][name]])
        for name in ("q", "qd", "tau")
    }


@pytest.mark.parametrize("integrator", thinned(["rk4", "euler", "semi-implicit-euler"]))
def test_a_payload_in_mid_run_is_three_runs_in_one(integrator: str) -> None:
    box = ch.PickedPayload("box", 2.0, **BODY, pick_time=PICK, put_time=PUT)
    expected = stitched(ARM.with_payload(2.0, BODY["center_of_mass"], BODY["inertia"]), integrator=integrator)
    run = ch.simulate(ch.Plant(ARM, payloads=[box]), CONTROL, MOTION, integrator=integrator)
    for name, values in expected.items():
        np.testing.assert_allclose(run[name], values, atol=1e-9, err_msg=name)
    assert float(np.abs(run.error[200]).max()) > 1e-4


def test_on_another_link_too() -> None:
    box = ch.PickedPayload("box", 2.0, **BODY, frame="link3", pick_time=PICK, put_time=PUT)
    carrying = ARM.with_payload(2.0, BODY["center_of_mass"], BODY["inertia"], frame="link3")
    run = ch.simulate(ch.Plant(ARM, payloads=[box]), CONTROL, MOTION)
    np.testing.assert_allclose(run.q, stitched(carrying)["q"], atol=1e-10)


def test_variable_steps_are_restarted_at_the_event_wherever_it_falls() -> None:
    """Between two calls of the controller; fixed steps of 1 ms that meet it tell what is exact."""
    motion = ch.PointToPoint(ARM.home, ARM.home + 0.3, 0.2)
    box = ch.PickedPayload("box", 5.0, **BODY, pick_time=0.053, put_time=0.127)
    plant = ch.Plant(ARM, payloads=[box])
    exact = ch.simulate(
        plant.with_drives(effort_limits=False),
        CONTROL,
        motion,
        period=0.02,
        integrator=ch.integrators.Steps("rk4", 20),
        record=ch.Recording(energies=True),
    )
    fine = ch.integrators.Within("DOP853", rtol=1e-11, atol=1e-12)
    run = ch.simulate(
        plant.with_drives(effort_limits=False),
        CONTROL,
        motion,
        period=0.02,
        integrator=fine,
        record=ch.Recording(energies=True),
    )
    for name in ("q", "qd", "tau", "work.payloads", "work.motors", "energy.kinetic"):
        np.testing.assert_allclose(run[name], exact[name], rtol=1e-7, atol=1e-7, err_msg=name)


def test_several_and_all_their_numbers_vary() -> None:
    boxes = [
        ch.PickedPayload("box", 1.0, pick_time=0.1),
        ch.PickedPayload("can", 0.5, [0.0, 0.1, 0.0], frame="link2", put_time=0.2),
    ]
    vary = {
        "payloads.box.mass": [1.0, 3.0],
        "payloads.box.pick_time": [0.1, 0.05],
        "payloads.can.center_of_mass": [[0.0, 0.1, 0.0], [0.2, 0.0, 0.0]],
        "payloads.can.inertia": [np.zeros((3, 3)), 0.1 * np.eye(3)],
        "payloads.can.put_time": [0.2, 0.3],
    }
    batch = ch.simulate(ch.Plant(ARM, payloads=boxes), CONTROL, MOTION, vary=vary)
    others = [
        boxes,
        [
            ch.PickedPayload("box", 3.0, pick_time=0.05),
            ch.PickedPayload("can", 0.5, [0.2, 0.0, 0.0], 0.1 * np.eye(3), frame="link2", put_time=0.3),
        ],
    ]
    for k, payloads in enumerate(others):
        single = ch.simulate(ch.Plant(ARM, payloads=payloads), CONTROL, MOTION)
        np.testing.assert_allclose(batch.q[k], single.q, atol=1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": -1.0}, "mass is -1.0; it must be at least 0"),
        ({"center_of_mass": [0.0, 1.0]}, r"center_of_mass has shape \(2,\); expected \(3,\)"),
        ({"inertia": np.diag([-1.0, 1.0, 1.0])}, "payload 'box': a principal moment of inertia is negative"),
        ({"pick_time": 0.3}, "put_time must be later than pick_time"),
        ({"pick_time": np.nan}, "pick_time is nan; it must be a number"),
    ],
)
def test_impossible_payloads_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ch.PickedPayload("box", **{"mass": 1.0, "pick_time": PICK, "put_time": PUT, **change})


def test_unknown_frames_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"frame for payloads\.box 'hand'"):
        ch.Plant(ARM, payloads=[ch.PickedPayload("box", 1.0, frame="hand")])
