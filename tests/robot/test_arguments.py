"""Wrong arguments: clear errors that name the function, and nothing is overwritten."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.errors import ArgumentError, UnknownNameError


@pytest.fixture
def fresh() -> ch.Robot:
    """A robot none of whose functions has been called."""
    return ch.load("planar2r")


@pytest.mark.parametrize("shape", [(), (6,), (8,), (7, 1), (3, 6), (7, 3)])
def test_wrong_shapes(panda: ch.Robot, computation: str, helpers: SimpleNamespace, shape: tuple[int, ...]) -> None:
    names, keywords = helpers.calls[computation]
    function = getattr(panda, computation)
    for position in range(len(names)):
        arguments: list[Any] = [np.zeros(7)] * len(names)
        arguments[position] = np.zeros(shape)
        with pytest.raises(ValueError, match=computation):
            function(*arguments, **keywords)


def test_batches_that_do_not_broadcast(panda: ch.Robot) -> None:
    for first, second in ((3, 4), (5000, 4999)):
        with pytest.raises(ValueError, match="broadcast"):
            panda.bias(np.zeros((first, 7)), np.zeros((second, 7)))


@pytest.mark.parametrize("bad", [np.zeros(7, complex), np.array(["a"] * 7), "home", None, np.zeros(7, "M8[s]"), {}])
def test_wrong_types(panda: ch.Robot, bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="gravity_torque"):
        panda.gravity_torque(bad)


def test_ragged_list(panda: ch.Robot) -> None:
    with pytest.raises(ValueError, match=r"."):
        panda.gravity_torque([[0.0] * 7, [0.0] * 6])


@pytest.mark.parametrize("warm", [False, True])
def test_wrong_numbers_of_arguments(fresh: ch.Robot, warm: bool) -> None:
    q = np.array([0.1, 0.2])
    if warm:
        fresh.mass_matrix(q)
    place = np.full((2, 2), 7.0)
    for arguments in ((), (q, place), (q, q, place)):
        with pytest.raises(TypeError, match="mass_matrix"):
            fresh.mass_matrix(*arguments)
        with pytest.raises(TypeError, match="mass_matrix"):
            fresh.mass_matrix(*arguments, vary={"payload.mass": 1.0})
        with pytest.raises(TypeError, match="mass_matrix"):
            fresh.mass_matrix(*arguments, out=np.empty((2, 2)))
    assert np.all(place == 7.0)  # NumPy would have taken it for an output


def test_out_of_a_wrong_kind(panda: ch.Robot) -> None:
    q = np.zeros((3, 7))
    for out in (np.empty((2, 7, 7)), np.empty((3, 7)), np.empty((3, 7, 7), np.int64), [[0.0]]):
        with pytest.raises((TypeError, ValueError)):
            panda.mass_matrix(q, out=out)
    frozen = np.zeros((3, 7, 7))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        panda.mass_matrix(q, out=frozen)
    assert np.all(frozen == 0.0)


def test_large_batch_into_an_out_of_a_wrong_kind(panda: ch.Robot) -> None:
    q = np.zeros((50_000, 7))
    with ch.threads(2):
        for out in (np.empty((49_999, 7, 7)), np.empty((50_001, 7, 7)), np.empty((50_000, 7)), np.empty((1, 7, 7))):
            with pytest.raises((TypeError, ValueError)):
                panda.mass_matrix(q, out=out)


def test_unknown_names_list_what_exists(panda: ch.Robot) -> None:
    q = np.zeros(7)
    with pytest.raises(UnknownNameError, match=r"'palm'.*panda_hand_tcp"):
        panda.forward_kinematics(q, target="palm")
    with pytest.raises(UnknownNameError, match=r"'local'.*space, body, world-aligned"):
        panda.jacobian(q, frame="local")
    with pytest.raises(UnknownNameError, match=r"'link'.*target, out, vary, wrenches"):
        panda.forward_kinematics(q, link="panda_hand")
    with pytest.raises(UnknownNameError, match=r"'payload.weight'.*payload.mass"):
        panda.gravity_torque(q, vary={"payload.weight": 1.0})
    with pytest.raises(UnknownNameError, match=r"'palm'.*panda_hand_tcp"):
        panda.bias(q, q, wrenches={"palm": np.zeros(6)})
    with pytest.raises(UnknownNameError, match=r"'payload.weight'.*payload.mass"):
        panda.with_values({"payload.weight": 1.0})
    with pytest.raises(UnknownNameError, match=r"Did you mean 'panda'"):
        ch.load("pandas")


def test_misused_keywords_say_so(panda: ch.Robot) -> None:
    q = np.zeros(7)
    with pytest.raises(UnknownNameError, match=r"'wrench'.*wrenches"):
        panda.mass_matrix(q, wrench={"tool": np.zeros(6)})
    with pytest.raises(TypeError, match=r"inverse_dynamics\(q, qd, qdd\) are given by place"):
        panda.inverse_dynamics(q=q, qd=q, qdd=q)
    with pytest.raises(TypeError, match=r"chasles.load"):
        ch.Robot("panda")


def test_every_robot_has_a_tool(panda: ch.Robot) -> None:
    q, wrench = np.linspace(-1, 1, 7), np.arange(6.0)
    tool = panda.description.tool
    np.testing.assert_array_equal(panda.forward_kinematics(q, target="tool"), panda.forward_kinematics(q, target=tool))
    np.testing.assert_array_equal(
        panda.bias(q, q, wrenches={"tool": wrench}), panda.bias(q, q, wrenches={tool: wrench})
    )


def test_a_frame_takes_one_wrench(panda: ch.Robot) -> None:
    q, wrench = np.zeros(7), np.ones(6)
    with pytest.raises(ArgumentError, match="name the frame 'panda_hand_tcp' twice"):
        panda.bias(q, q, wrenches={"tool": wrench, panda.description.tool: wrench})


def test_a_robot_without_masses_has_no_forward_dynamics() -> None:
    from chasles.model import Description, Joint, Link

    links = (Link("base"), Link("rod"))
    bare = ch.Robot(Description("bare", links=links, joints=(Joint("j", "revolute", "base", "rod"),)))
    with pytest.raises(ArgumentError, match="mass matrix is singular"):
        bare.forward_dynamics([0.0], [0.0], [1.0])


def test_the_reference_frame_must_be_chosen(panda: ch.Robot) -> None:
    with pytest.raises(TypeError, match=r"jacobian needs a keyword: frame=….*'space', 'body', 'world-aligned'"):
        panda.jacobian(np.zeros(7))


def test_wrenches_where_no_forces_take_part(panda: ch.Robot) -> None:
    with pytest.raises(ArgumentError, match="mass_matrix takes no wrenches"):
        panda.mass_matrix(np.zeros(7), wrenches={"panda_hand": np.zeros(6)})


def test_wrong_shapes_of_parameters_and_wrenches(panda: ch.Robot) -> None:
    q = np.zeros(7)
    for vary in ({"payload.center_of_mass": np.zeros(2)}, {"gravity": 9.81}, {"payload.inertia": np.zeros((2, 2))}):
        with pytest.raises(ValueError, match="gravity_torque"):
            panda.gravity_torque(q, vary=vary)
    with pytest.raises(ValueError, match="bias"):
        panda.bias(q, q, wrenches={"panda_hand": np.zeros(3)})


def test_errors_do_not_spoil_later_calls(fresh: ch.Robot) -> None:
    for bad in (np.zeros(3), "x", None):
        with pytest.raises((TypeError, ValueError)):
            fresh.gravity_torque(bad)
    assert fresh.gravity_torque([0.0, 0.0]).shape == (2,)
