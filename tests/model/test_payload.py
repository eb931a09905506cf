"""Payloads at the tool and at any other frame, and malformed parameters of the copies that `with_...` makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.model import (
    Description,
    Frame,
    build_tree,
    inertial_parameters,
    load,
    parameter_shapes,
    parse_toml,
    to_toml,
    with_friction,
    with_payload,
    with_values,
)

MATRIX = np.diag([0.02, 0.03, 0.04])


def arm() -> Description:
    """The PUMA 560 with a frame on its forearm."""
    T = np.eye(4)
    T[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    T[:3, 3] = 0.1, 0.2, 0.3
    description = load("puma560")
    return description.replace(frames=(*description.frames, Frame("camera", "link4", T)))


def parameters(description: Description) -> Any:
    return inertial_parameters(build_tree(description))


@pytest.mark.parametrize("tool", [None, "tool"])
def test_at_the_tool_it_replaces_the_payload(tool: str | None) -> None:
    carried = with_payload(with_payload(arm(), 1.0), 2.0, [0.0, 0.0, 0.1], MATRIX, frame=tool)
    assert carried.payload.mass == 2.0
    assert carried.link_names == arm().link_names


def test_at_another_frame_it_is_a_link() -> None:
    carried = with_payload(arm(), 2.0, [0.0, 0.1, 0.0], MATRIX, frame="camera")
    assert carried.links[-1].name == "camera_payload"
    assert carried.n == arm().n
    assert carried.tool == arm().tool
    T = arm().frames[-1].T_link_frame
    center = T[:3, :3] @ [0.0, 0.1, 0.0] + T[:3, 3]
    change = (parameters(carried) - parameters(arm()))[30:40]
    about_origin = T[:3, :3] @ MATRIX @ T[:3, :3].T + 2.0 * (center @ center * np.eye(3) - np.outer(center, center))
    assert change == pytest.approx([2.0, *(2.0 * center), *about_origin[np.triu_indices(3)]], abs=1e-14)
    assert not (parameters(carried) - parameters(arm()))[:30].any()


def test_many_payloads_each_with_parameters() -> None:
    carried = with_payload(with_payload(with_payload(arm(), 1.0, frame="camera"), 2.0, frame="link2"), 3.0)
    again = with_payload(carried, 5.0, frame="camera")
    assert again.link_names.count("camera_payload") == 1
    assert [again.link(name).inertia.mass for name in ("camera_payload", "link2_payload")] == [5.0, 2.0]
    assert again.payload.mass == 3.0
    assert "links.link2_payload.mass" in parameter_shapes(again)
    varied = build_tree(carried, {"links.link2_payload.mass": 4.0})
    baked = build_tree(with_payload(carried, 4.0, frame="link2"))
    assert varied.bodies[1].mass == baked.bodies[1].mass


def test_a_link_of_the_base_carries_without_effect() -> None:
    assert np.array_equal(parameters(with_payload(arm(), 5.0, frame="link0")), parameters(arm()))


def test_files_keep_it() -> None:
    carried = with_payload(arm(), 2.0, [0.0, 0.1, 0.0], MATRIX, frame="camera")
    assert parse_toml(to_toml(carried), check=False) == carried


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda a: with_payload(a, -1.0, frame="camera"),
            r"payload at frame 'camera': its mass is negative \(-1.0 kg\)",
        ),
        (lambda a: with_payload(a, 1.0, [0.0, 0.1]), r"payload: center_of_mass must have shape \(3,\), not \(2,\)"),
        (lambda a: with_payload(a, 1.0, inertia=-MATRIX), "payload: a principal moment of inertia is negative"),
        (lambda a: with_payload(a, "heavy"), "payload: mass must be a number, not 'heavy'"),
        (lambda a: with_values(a, {"links.link3.mass": -2.0}), r"link 'link3': its mass is negative \(-2.0 kg\)"),
        (lambda a: with_values(a, {"links.link3.mass": np.inf}), "link 'link3': mass must be finite and at most"),
        (
            lambda a: with_values(a, {"links.link3.center_of_mass": [1.0]}),
            r"link 'link3': center_of_mass must have shape",
        ),
        (lambda a: with_values(a, {"links.link3.inertia": np.eye(2)}), r"link 'link3': inertia matrix must have shape"),
        (
            lambda a: with_values(a, {"links.link3.inertia": np.arange(9.0).reshape(3, 3)}),
            "link 'link3': .*not symmetric",
        ),
        (
            lambda a: with_values(a, {"joints.joint2.motor_inertia": -1.0}),
            "motor_inertia of joint 'joint2' must not be neg",
        ),
        (
            lambda a: with_values(a, {"joints.joint2.gear_ratio": [1.0, 2.0]}),
            "gear_ratio of joint 'joint2' must be a number",
        ),
        (
            lambda a: with_friction(a, coulomb={"joint3": -1.0}),
            "coulomb_friction of joint 'joint3' must not be negative",
        ),
    ],
)
def test_malformed_parameters_name_their_owner(change: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        change(arm())


def test_wrong_lengths_and_names() -> None:
    with pytest.raises(ArgumentError, match=r"viscous_friction must be one number or 6 numbers, not shape \(5,\)"):
        with_friction(arm(), viscous=np.ones(5))
    with pytest.raises(UnknownNameError, match=r"no frame 'camra'\. Did you mean 'camera'"):
        with_payload(arm(), 1.0, frame="camra")
