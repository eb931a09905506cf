"""What notebooks show of objects."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.model import Description, Joint, Link
from chasles.visual.picture import svg_picture


def _shown(subject: Any) -> str:
    """Return what a notebook shows, which must be well formed."""
    text: str = subject._repr_html_()
    ElementTree.fromstring(f"<div>{text.replace('<br>', '<br/>')}</div>")
    return text


def test_a_robot_shows_its_picture_and_limits(panda: ch.Robot) -> None:
    text = _shown(panda)
    assert "<svg" in text
    assert "<td>panda_joint4</td><td>revolute</td><td>-176 °</td><td>-3.999 °</td>" in text  # -0.0698 rad
    assert text.count("<tr>") == 1 + 7
    assert "7 degrees of freedom" in _shown(panda.description)


def test_a_dh_table_shows_degrees() -> None:
    text = _shown(ch.load("puma560").table("dh"))
    assert "<td>joint1</td><td>revolute</td><td>0</td><td>0</td><td>0</td><td>90</td>" in text


def test_a_solution_shows_what_was_reached(panda: ch.Robot) -> None:
    T = panda.forward_kinematics(panda.home)
    far = T.copy()
    far[0, 3] += 5.0
    text = _shown(panda.inverse_kinematics([T, far]))
    assert "1 of 2 targets solved" in text
    assert (text.count("✓"), text.count("✗")) == (1, 1)
    many = panda.inverse_kinematics(np.broadcast_to(T, (50, 4, 4)))
    assert "… 10 more" in _shown(many)


def test_a_motion_shows_its_ends() -> None:
    text = _shown(ch.PointToPoint([0.0, 1.0], [0.25, -1.0], duration=2.0))
    assert "2 joints, 0 s to 2 s" in text
    assert "<td>2</td><td>1</td><td>-1</td>" in text


@pytest.mark.parametrize("kind", ["free", "spherical", "planar", "universal", "cylindrical", "prismatic", "helical"])
def test_robots_of_any_joint_are_shown(kind: Any) -> None:
    pitch = {"pitch": 0.1} if kind == "helical" else {}
    joint = Joint("<j>", kind, "base", "body", **pitch)
    assert "&lt;j&gt;" in _shown(ch.Robot(Description("a & b", links=(Link("base"), Link("body")), joints=(joint,))))


def test_a_picture_shows_the_bodies_where_they_are() -> None:
    """Turned by π about the vertical, a planar arm is shown on the other side of its base."""
    arm = ch.load("planar2r")

    def side(q: float) -> float:
        lines = ElementTree.fromstring(svg_picture(arm, np.array([q, 0.0]))).findall("{*}line")
        x = np.array([[float(line.get(name, "nan")) for name in ("x1", "x2")] for line in lines])
        radius = np.array([float(line.get("stroke-width", "nan")) for line in lines])
        return float(x[radius.argmax()].mean() - x.mean())

    assert side(0.6) * side(0.6 + np.pi) < 0.0
