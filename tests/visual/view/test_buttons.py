"""The buttons of shipped robots' pages: each reaches the configuration that Python names, or says why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.model.robots import shipped

#: Robots that the default tests open: a planar arm, and one whose zero is beyond limits.
QUICK = {"planar2r", "panda"}
SAID = "find('.joint-status').textContent"


def _gap(robot: ch.Robot, q: Any) -> float:
    return float(np.abs(robot.loops.constraints(q).residual).max()) if robot.description.loops else 0.0


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in shipped()])
def test_every_button_reaches_what_it_says_or_tells_why_not(opened: Any, name: str) -> None:
    robot = ch.load(name)
    tab = opened(robot)

    def pressed(button: str) -> Any:
        return np.array(tab.ask(f"find('.{button}').click(), [...page.q]"))

    for button in tab.ask("[...document.querySelectorAll('.jog button')].map(b => b.getAttribute('aria-label'))"):
        tab.ask(f"find('.jog button[aria-label=\"{button}\"]').click()")
        assert _gap(robot, tab.ask("[...page.q]")) < 1e-9
    np.testing.assert_array_equal(pressed("go-home"), robot.home)
    for _ in range(3):
        q = pressed("go-random")
        assert np.abs(robot.difference(robot.home, q)).max() > 1e-3, tab.ask(SAID)
        assert (q > robot.lower_limits - 1e-9).all()
        assert (q < robot.upper_limits + 1e-9).all()
        assert _gap(robot, q) < 1e-9
    before, q = q, pressed("go-zero")
    if robot.description.loops:
        if "not reached" in tab.ask(SAID):
            np.testing.assert_array_equal(q, before)
        else:
            assert _gap(robot, q) < 1e-9
            np.testing.assert_allclose(robot.difference(robot.neutral, q), 0.0, atol=1e-9)
    else:
        np.testing.assert_array_equal(q, robot.neutral)
        beyond = (q > robot.upper_limits) | (q < robot.lower_limits)
        expected = [name for name, out in zip(robot.coordinate_names, beyond, strict=True) if out]
        assert tab.ask(SAID) == (f"Beyond the limits of {', '.join(expected)}." if expected else "")
    pressed("go-home")
    if not tab.ask("page.data.passive"):
        pressed("hold")
        np.testing.assert_array_equal(tab.ask("[...page.simulation.loop.reference.q]"), robot.home)
        held = tab.ask("page.simulation.advance(50), [...page.q]")
        limits = np.where(robot.effort_limits > 0.0, robot.effort_limits, np.inf)
        if (np.abs(robot.gravity_torque(robot.home)) < limits).all():  # Baxter's stretched arm is too heavy for it
            np.testing.assert_allclose(held, robot.home, atol=1e-6)
        pressed("go-random"), pressed("go-home")
        np.testing.assert_array_equal(tab.ask("[...page.simulation.loop.reference.q]"), robot.home)
        pressed("hold"), pressed("go-home"), pressed("let-go")
        assert _gap(robot, tab.ask("page.simulation.advance(20), [...page.q]")) < 1e-8
        pressed("let-go")
    tab.ask("document.querySelectorAll('.cameras button:not(.picture)').forEach(button => button.click())")
    for button in (".theme", ".branches", ".record", ".record"):
        tab.ask(f"find('{button}')?.click()")
    assert tab.complaints() == []
