"""Wrong arguments: clear errors that name the function, and nothing is overwritten."""

from __future__ import annotations

import copy
import functools
import inspect
import pydoc
import sys
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import algorithms
from chasles.base.errors import ArgumentError, ArgumentTypeError, ModelError, UnknownNameError


@pytest.fixture
def fresh() -> ch.Robot:
    """A robot none of whose functions has been called."""
    return ch.load("planar2r")


@pytest.mark.parametrize("shape", [(), (6,), (8,), (7, 1), (3, 6), (7, 3)])
def test_wrong_shapes(panda: ch.Robot, computation: str, helpers: SimpleNamespace, shape: tuple[int, ...]) -> None:
    names, keywords = helpers.calls[computation]
    function = attrgetter(computation)(panda)
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


def test_out_of_a_wrong_shape(panda: ch.Robot) -> None:
    with pytest.raises(ArgumentError, match=r"out has shape \(6,\); expected \(7,\)"):
        panda.gravity_torque(panda.home, out=np.zeros(6))
    with pytest.raises(ArgumentError, match=r"out has shape \(4, 7\); expected \(5, 7\)"):
        panda.gravity_torque(np.zeros((5, 7)), out=np.zeros((4, 7)))
    with pytest.raises(ArgumentError, match=r"out, for J, has shape \(7, 6\); expected \(6, 7\)"):
        panda.pose_and_jacobian(panda.home, frame="body", out=(np.zeros((4, 4)), np.zeros((7, 6))))


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


def test_jacobians_of_several_frames_are_those_of_each(panda: ch.Robot) -> None:
    q = panda.home + np.linspace(-0.3, 0.3, 14).reshape(2, 7)
    names = ["tool", "panda_link4"]
    for frame in ("space", "body", "world-aligned"):
        several = panda.frame_jacobians(q, frame=frame, targets=names)
        assert several.shape == (2, 2, 6, 7)
        each = [panda.jacobian(q, frame=frame, target=name) for name in names]
        np.testing.assert_array_equal(several, np.stack(each, axis=1))
    every = panda.frame_jacobians(q[0], frame="body")
    np.testing.assert_array_equal(
        every[panda.frame_names.index(panda.description.tool)], panda.jacobian(q[0], frame="body")
    )
    for wrong in ("tool", [], [3]):
        with pytest.raises(ArgumentTypeError, match="targets must be names of frames"):
            panda.frame_jacobians(q, frame="body", targets=wrong)
    with pytest.raises(UnknownNameError, match="hand"):
        panda.frame_jacobians(q, frame="body", targets=["hand"])


def test_a_robot_without_moving_mass_has_no_centre_of_mass() -> None:
    from chasles.model import Description, Inertia, Link

    fixed = ch.Robot(Description("fixed", links=(Link("base", Inertia(2.0, [1.0, 0.0, 0.0])),), joints=()))
    with np.errstate(all="raise"):
        assert np.isnan(fixed.center_of_mass([])).all()


def test_a_robot_without_masses_has_no_forward_dynamics() -> None:
    from chasles.model import Description, Inertia, Joint, Link

    links = (Link("base"), Link("rod"))
    bare = ch.Robot(Description("bare", links=links, joints=(Joint("j", "revolute", "base", "rod"),)))
    for dynamics in (bare.forward_dynamics, bare.inverse_dynamics):
        with pytest.raises(ModelError, match=rf"'bare' has no masses: .* so {dynamics.__name__} has no answer\. Give"):
            dynamics([0.0], [0.0], [1.0])
    for alone in (bare.mass_matrix, bare.gravity_torque, bare.center_of_mass):
        with pytest.raises(ModelError, match="kinematics works without them"):
            alone([0.0])
    assert bare.forward_kinematics([0.5]).shape == (4, 4)
    assert bare.inverse_dynamics([0.0], [0.0], [2.0], vary={"links.rod.inertia": np.diag([0.0, 0.0, 3.0])}) == [6.0]
    assert bare.with_payload(2.0, [1.0, 0.0, 0.0]).forward_dynamics([0.0], [0.0], [4.0]) == [2.0]
    half = Description(
        "half",
        links=(Link("base"), Link("rod"), Link("end", Inertia(1.0))),
        joints=(Joint("j", "revolute", "base", "rod"), Joint("k", "revolute", "rod", "end", axis=[1.0, 0.0, 0.0])),
    )
    with pytest.raises(ArgumentError, match="mass matrix is singular: joint 'k' moves no mass"):
        ch.Robot(half).forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 1.0])


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


def test_arguments_by_place_and_by_name_are_the_same(panda: ch.Robot) -> None:
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 7))
    tau = panda.inverse_dynamics(q, qd, qdd)
    for _ in range(2):
        for found in (
            panda.inverse_dynamics(q=q, qd=qd, qdd=qdd),
            panda.inverse_dynamics(q, qdd=qdd, qd=qd),
            panda.inverse_dynamics(q, qd, qdd=list(qdd)),
            panda.inverse_dynamics(qdd=qdd, q=np.tile(q, (3, 1)), qd=qd)[2],
        ):
            np.testing.assert_array_equal(found, tau)
        varied = panda.inverse_dynamics(q, qd=qd, qdd=qdd, vary={"payload.mass": 0.0})
        np.testing.assert_allclose(varied, tau, rtol=1e-13)
        J = panda.jacobian(q=q, frame="body")
        np.testing.assert_array_equal(J, panda.jacobian(q, frame="body"))


def test_wrong_names_and_shapes_are_answered_in_the_callers_words(panda: ch.Robot) -> None:
    q = np.zeros(7)
    for call, error, message in (
        (lambda: panda.inverse_dynamics(q, q, qddot=q), TypeError, "'qddot'.*q, qd, qdd, out, vary, wrenches"),
        (lambda: panda.inverse_dynamics(q, q), TypeError, r"inverse_dynamics\(q, qd, qdd\) misses qdd"),
        (lambda: panda.inverse_dynamics(q, q, q, q=q), TypeError, "is given q twice"),
        (
            lambda: panda.gravity_torque(np.zeros((7, 1000))),
            ValueError,
            r"\(7, 1000\); expected \(..., 7\); is it tran",
        ),
        (lambda: panda.jacobian(q, frame="bdy"), LookupError, "Did you mean 'body'"),
    ):
        for _ in range(2):
            with pytest.raises(error, match=message):
                call()


def test_tools_see_arguments_and_results(panda: ch.Robot) -> None:
    signature = inspect.signature(panda.inverse_dynamics)
    assert list(signature.parameters) == ["q", "qd", "qdd", "wrenches", "vary", "out"]
    assert signature.return_annotation == "Array"
    assert "frame" in inspect.signature(panda.jacobian).parameters
    assert list(inspect.signature(panda.mass_matrix.specialize(vary=["gravity"])).parameters) == ["q", "gravity", "out"]
    assert inspect.signature(ch.Function).parameters["dtype"].default == "float64"
    assert "M" in panda.mass_matrix.program.outputs[0].name
    assert panda.mass_matrix.reference is algorithms.mass_matrix
    assert isinstance(panda.mass_matrix, ch.Function)
    assert "joint torques of a motion" in pydoc.render_doc(panda.inverse_dynamics)

    @functools.wraps(panda.inverse_dynamics)
    def wrapped(*arguments: Any) -> Any:
        return panda.inverse_dynamics(*arguments)

    assert inspect.signature(wrapped) == signature
    copied = copy.copy(panda.inverse_dynamics)
    np.testing.assert_array_equal(copied(*np.ones((3, 7))), wrapped(*np.ones((3, 7))))


def test_several_results_come_as_a_named_tuple(panda: ch.Robot) -> None:
    q = np.ones((4, 7))
    for _ in range(2):
        for arguments in ((q[0], q[0], q[0]), (q, q, q)):
            linear = panda.linearize(*arguments)
            assert linear._fields == ("A", "B")
            assert linear.A.shape == (*q.shape[: arguments[0].ndim - 1], 14, 14)
            A, B = linear
            assert A is linear.A
            assert B is linear.B
    assert panda.pose_and_jacobian(q[0], frame="body").J.shape == (6, 7)
    assert sys.getrefcount(type(linear)) < 200


def test_tables_masked_arrays_and_other_kinds_of_arrays(panda: ch.Robot) -> None:
    pandas = pytest.importorskip("pandas")
    Q = np.random.default_rng(6).normal(size=(5, 7))
    g = panda.gravity_torque(Q)
    for given in (
        pandas.DataFrame(Q, index=list("abcde"), columns=[f"joint{k}" for k in range(7)]),
        np.ma.masked_array(Q),
        Q.astype(object),
        Q.tolist(),
        tuple(map(tuple, Q)),
    ):
        np.testing.assert_array_equal(panda.gravity_torque(given), g)
    np.testing.assert_array_equal(
        panda.bias(pandas.DataFrame(Q), pandas.DataFrame(Q, index=range(5, 0, -1))), panda.bias(Q, Q)
    )
    with pytest.raises(ArgumentError, match="q has masked elements; fill them first"):
        panda.gravity_torque(np.ma.masked_greater(Q, 0.0))
    for wrong in (Q + 1j, Q.astype(str), np.array([object()] * 7)):
        with pytest.raises(TypeError, match="q must be an array of real numbers"):
            panda.gravity_torque(wrong)


def test_arrays_with_labels_keep_them(panda: ch.Robot) -> None:
    xarray = pytest.importorskip("xarray")
    Q = np.random.default_rng(8).normal(size=(5, 7))
    q = xarray.DataArray(Q, dims=("time", "joint"), coords={"time": np.arange(5.0)})
    masses = xarray.DataArray([0.0, 1.0], dims="mass")
    g = panda.gravity_torque(q)
    assert g.dims == ("time", "joint")
    np.testing.assert_array_equal(g.time, np.arange(5.0))
    np.testing.assert_array_equal(g, panda.gravity_torque(Q))
    assert panda.gravity_torque(q, vary={"payload.mass": masses}).dims == ("time", "mass", "joint")
    assert panda.mass_matrix(q).dims == ("time", "M_0", "M_1")
    assert panda.linearize(q, q, np.zeros(7)).B.dims == ("time", "B_0", "B_1")
    with pytest.raises(ArgumentError, match="expected"):
        panda.gravity_torque(q.T)


def test_arrays_in_chunks_are_computed_later(panda: ch.Robot) -> None:
    array = pytest.importorskip("dask.array")
    Q = np.random.default_rng(9).normal(size=(10, 7))
    q = array.from_array(Q, chunks=(4, 3))
    g = panda.gravity_torque(q)
    assert isinstance(g, array.Array)
    np.testing.assert_array_equal(g.compute(), panda.gravity_torque(Q))
    np.testing.assert_array_equal(panda.linearize(q, q, q).A.compute(), panda.linearize(Q, Q, Q).A)


@pytest.mark.parametrize("disguise", [lambda x: np.asarray(x) * (1 + 1j), lambda x: np.asarray(x).astype(str).tolist()])
@pytest.mark.parametrize(
    ("take", "values"),
    [
        (lambda x: ch.load("planar2r").with_friction(viscous=x), np.ones(2)),
        (lambda x: ch.load("planar2r").inertial.with_values(x, check=False), np.ones(26)),
        (lambda x: ch.load("planar2r").inertial.with_base(x), np.ones(11)),
        (lambda x: ch.load("planar2r").inertial.base().columns(x), np.ones((2, 26))),
        (lambda x: ch.geometry.mean_rotation(x), np.ones((2, 1, 1)) * np.eye(3)),
        (lambda x: ch.geometry.QuaternionSpline(x, [[1.0, 0.0, 0.0, 0.0]] * 2), np.arange(2.0)),
        (lambda x: ch.geometry.QuaternionSpline([0.0, 1.0], x), [[1.0, 0.0, 0.0, 0.0]] * 2),
        (lambda x: ch.geometry.QuaternionSpline([0.0, 1.0], [[1.0, 0.0, 0.0, 0.0]] * 2)(x), np.ones(1)),
    ],
)
def test_what_holds_no_real_numbers_is_not_made_real(take: Any, values: Any, disguise: Any) -> None:
    take(values)
    with pytest.raises(ArgumentTypeError, match="real numbers"):
        take(disguise(values))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda arm: arm.save("arm.urdf", mesh=1), r"^Robot\.save\(\) got"),
        (lambda arm: arm.random_configuration(sed=1), r"^Robot\.random_configuration\(\) got"),
        (lambda arm: arm.with_payload(ms=1.0), r"^Robot\.with_payload\(\) got"),
        (lambda arm: ch.control.PD(arm, Kp=1.0), r"no argument of PD 'Kp'\. Did you mean 'kp'\? Existing: robot, kp"),
        (lambda arm: ch.PDGravity(arm, kp=1.0, damping=2.0), r"no argument of PDGravity 'damping'\. Existing: robot"),
        (lambda arm: ch.PointToPoint([0.0], [1.0], durration=1.0), r"of PointToPoint 'durration'.* mean 'duration'\?"),
        (lambda arm: ch.control.PD(), r"^PD\(robot, .*\): missing a required argument: 'robot'"),
    ],
)
def test_arguments_that_do_not_exist_are_named_as_the_user_typed_the_call(call: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call(ch.load("planar2r"))


def test_frames_that_are_meant_are_named() -> None:
    arm = ch.load("planar2r")
    with pytest.raises(LookupError, match=r"no value of frame 'world'\. Did you mean 'world-aligned'\?"):
        arm.jacobian(arm.home, frame="world")
    for several in (["link0", "tool"], ("link0", "tool")):
        with pytest.raises(TypeError, match=r"target must be the name of one frame.*frame_poses\(q\)"):
            arm.forward_kinematics(arm.home, target=several)
        with pytest.raises(TypeError, match=r"target must be the name of one frame.*frame_jacobians"):
            arm.jacobian(arm.home, frame="body", target=several)


def test_completion_of_functions_shows_what_users_call() -> None:
    arm = ch.load("planar2r")
    functions = (arm.forward_kinematics, ch.geometry.rotation_x, arm.forward_kinematics.jacobian())
    for function in functions:
        shown = {name for name in dir(function) if not name.startswith("_")}
        assert {"program", "specialize", "jacobian", "to_c"} - shown <= {"specialize"}
        assert not shown & {"call_directly", "general_of", "general_call", "completed", "make", "direct_call", "usage"}
        assert all(hasattr(function, name) for name in shown)


def test_joints_that_move_no_mass_have_no_forward_dynamics() -> None:
    """A massless base of a floating arm turns one way while the arm turns the other: no body moves, M is singular."""
    from chasles.model import Description, Inertia, Joint, Link

    tip = Link("tip", Inertia(1.0, [0.2, 0.0, 0.0], np.diag([0.01, 0.02, 0.02])))
    fixed = ch.Robot(Description("arm", links=(Link("base"), tip), joints=(Joint("hinge", "revolute", "base", "tip"),)))
    floating = fixed.with_free_base(joint="float")
    at_home = floating.home, np.zeros(7), np.ones(7)
    assert np.linalg.eigvalsh(floating.mass_matrix(floating.home))[0] < 1e-15
    with pytest.raises(ModelError, match=r"joints 'float.wz', 'hinge' can move without .* Give link 'base' mass"):
        floating.forward_dynamics(*at_home)
    with pytest.raises(ModelError, match="so linearize has no answer"):
        floating.linearize(*at_home)
    heavy = {"links.base.mass": 1.0, "links.base.inertia": np.eye(3)}
    assert np.isfinite(floating.with_motor_inertia({"hinge": 0.01}).forward_dynamics(*at_home)).all()
    assert np.isfinite(floating.forward_dynamics(*at_home, vary=heavy)).all()
    assert np.isfinite(fixed.forward_dynamics([0.0], [0.0], [1.0])).all()
