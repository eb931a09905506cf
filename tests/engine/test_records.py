"""Records of named parts: to vectors and back, as arguments and results of compiled functions, and their abuse."""

import copy
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chasles as ch
from chasles.base.errors import ArgumentError, TraceError, UnknownNameError
from chasles.engine import Function, Layout, Record, sin, trace, where


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Body:
    mass: Any
    inertia: Any


NESTED = {"t": (), "body": Body((), (2, 2)), "pair": Pair((3,), {"inner": (0,), "last": (1,)})}


@st.composite
def shapes(draw: Any, depth: int = 2) -> Any:
    leaf = st.lists(st.integers(0, 3), max_size=3).map(tuple)
    if depth == 0:
        return draw(leaf)
    names = st.sampled_from(["a", "b", "estimate", "filter", "q"])
    return draw(st.dictionaries(names, st.one_of(leaf, shapes(depth - 1)), min_size=1, max_size=3))


@given(shapes(), st.lists(st.integers(1, 3), max_size=2))
def test_a_vector_comes_back_from_its_record_bit_by_bit(spec: Any, batch: list[int]) -> None:
    layout = Layout(spec)
    vector = np.random.default_rng(0).normal(size=(*batch, layout.size))
    np.testing.assert_array_equal(layout.join(layout.split(vector)), vector)
    assert len(layout.names) == len(set(layout.names)) == layout.size


def test_parts_keep_their_kinds_order_and_names() -> None:
    layout = Layout(NESTED)
    record = layout.split(np.arange(layout.size, dtype=float))
    assert layout.size == 1 + 1 + 4 + 3 + 0 + 1
    assert isinstance(record, Record)
    assert isinstance(record.body, Body)
    assert isinstance(record.pair, Pair)
    assert record.body.mass == 1.0
    np.testing.assert_array_equal(record.body.inertia, [[2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_array_equal(record.pair.left, [6.0, 7.0, 8.0])
    assert record.pair.right.inner.shape == (0,)
    assert layout.names == (
        "t",
        "body.mass",
        *(f"body.inertia[{i}, {j}]" for i in range(2) for j in range(2)),
        *(f"pair.left[{k}]" for k in range(3)),
        "pair.right.last[0]",
    )
    assert layout.slices == {"t": slice(0, 1), "body": slice(1, 6), "pair": slice(6, 10)}
    assert Layout.of(record).leaves == layout.leaves


def test_batch_axes_of_parts_broadcast() -> None:
    layout = Layout({"q": (2,), "t": ()})
    joined = layout.join({"q": np.ones((4, 1, 2)), "t": np.arange(3.0)})
    assert joined.shape == (4, 3, 3)
    np.testing.assert_array_equal(joined[2, :, 2], [0.0, 1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"do not broadcast: q \(4,\), t \(3,\)"):
        layout.join({"q": np.ones((4, 2)), "t": np.zeros(3)})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"q": [1.0, 2.0]}, "part 't' is missing"),
        ({"q": [1.0, 2.0, 3.0], "t": 0.0}, r"part 'q' has shape \(3,\); expected \(2,\)"),
        ({"q": [1.0, 2.0], "t": 0.0, "tt": 1.0}, "no part 'tt'. Did you mean 't'"),
        ([1.0, 2.0, 0.0], "must be a mapping with the parts q, t"),
    ],
)
def test_what_does_not_fit_is_named(record: Any, message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        Layout({"q": (2,), "t": ()}).join(record)


def test_a_single_shape_is_the_layout_of_one_array() -> None:
    layout = Layout((2, 2))
    np.testing.assert_array_equal(layout.split(np.arange(8.0).reshape(2, 4))[1], [[4.0, 5.0], [6.0, 7.0]])
    np.testing.assert_array_equal(layout.join([[1.0, 2.0], [3.0, 4.0]]), [1.0, 2.0, 3.0, 4.0])
    assert layout.names == ("[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]")


@pytest.mark.parametrize(
    "spec", [{"q": 3}, {"q": (-1,)}, {"q": (1.5,)}, 3, (3, -1), {"q": {"values": (2,)}}, {"get": ()}]
)
def test_impossible_layouts_are_refused(spec: Any) -> None:
    with pytest.raises(ArgumentError):
        _ = Layout(spec).size


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"q \(2,\), t \(\) has shape \(..., 3\), not \(4,\)"):
        Layout({"q": (2,), "t": ()}).split(np.zeros(4))


def test_a_misspelt_part_is_answered_with_the_near_miss() -> None:
    memory = Record(integral=np.zeros(2))
    with pytest.raises(AttributeError, match="Did you mean 'integral'"):
        _ = memory.integrall
    with pytest.raises(UnknownNameError, match="Did you mean 'integral'"):
        memory.intergal = 1.0
    assert not hasattr(memory, "other")
    for twin in (copy.copy(memory), pickle.loads(pickle.dumps(memory))):
        np.testing.assert_array_equal(twin.integral, memory.integral)


def oscillator(state: Any, frequency: Any) -> Any:
    return {"q": state.qd, "qd": -(frequency**2) * sin(state.q)}


SHAPES = {"state": {"q": (2,), "qd": (2,)}, "frequency": ()}


def test_functions_take_and_give_records_as_they_take_and_give_vectors() -> None:
    function = Function(trace(oscillator, SHAPES))
    state = {"q": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), "qd": np.array([1.0, 2.0])}
    for _ in range(2):  # the second call is compiled
        rates = function(state, 2.0)
        np.testing.assert_array_equal(rates.q, np.broadcast_to(state["qd"], (3, 2)))
        np.testing.assert_allclose(rates.qd, -4.0 * np.sin(state["q"]), rtol=1e-15)
        flat = function(np.array([0.1, 0.2, 1.0, 2.0]), frequency=2.0)
        np.testing.assert_array_equal(np.concatenate([flat.q, flat.qd]), np.r_[rates.q[0], rates.qd[0]])
    again = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(again(state, 2.0).qd, rates.qd)
    with pytest.raises(UnknownNameError, match="Did you mean 'qd'"):
        function({"q": [0.0, 0.0], "qdd": [0.0, 0.0], "qd": [0.0, 0.0]}, 1.0)


def test_numbers_of_a_traced_record_compare() -> None:
    def step(state: Any) -> Any:
        return {"steps": where(state.steps >= 3.0, 0.0, state.steps + 1.0)}

    count = Function(trace(step, {"state": {"steps": ()}}))
    np.testing.assert_array_equal(count({"steps": np.arange(5.0)}).steps, [1.0, 2.0, 3.0, 0.0, 0.0])


def test_records_inside_a_trace_and_in_derivatives() -> None:
    rates = Function(trace(oscillator, SHAPES))

    def twice(state: Any, frequency: Any) -> Any:
        once = rates(state, frequency)
        return rates(once, frequency)

    second = Function(trace(twice, SHAPES))({"q": [0.1, 0.2], "qd": [0.3, 0.4]}, 1.5)
    np.testing.assert_allclose(second.q, -2.25 * np.sin([0.1, 0.2]), rtol=1e-15)
    moved = rates.jvp("state")({"q": [0.1, 0.2], "qd": [0.0, 0.0]}, 2.0, {"q": [1.0, 0.0], "qd": [0.0, 1.0]})
    np.testing.assert_allclose(moved.q, [0.0, 1.0])
    np.testing.assert_allclose(moved.qd, [-4.0 * np.cos(0.1), 0.0], rtol=1e-15)


def test_scans_and_solves_carry_records() -> None:
    def step(state: Any, t: Any) -> Any:
        return {"count": state.count + 1.0, "sum": state.sum + t}, state.sum

    scan = Function(
        trace(step, {"state": {"count": (), "sum": ()}, "t": ()}, outputs=["state_next", "sum"]), shape="scan"
    )
    final, sums = scan({"count": 0.0, "sum": [0.0, 10.0]}, np.arange(4.0)[:, None])
    np.testing.assert_array_equal(final.count, [4.0, 4.0])
    np.testing.assert_array_equal(final.sum, [6.0, 16.0])
    np.testing.assert_array_equal(sums, [[0.0, 0.0, 1.0, 3.0], [10.0, 10.0, 11.0, 13.0]])

    def newton(state: Any, a: Any) -> Any:
        x = 0.5 * (state.x + a / state.x)
        return {"x": x}, where((x - state.x) ** 2 < 1e-24, 1.0, 0.0)

    solve = Function(trace(newton, {"state": {"x": ()}, "a": ()}, outputs=["state_next", "done"]), shape="solve")
    found, _, done = solve({"x": 1.0}, [2.0, 9.0], 50)
    np.testing.assert_allclose(found.x, [np.sqrt(2.0), 3.0], rtol=1e-15)
    assert done.all()


def test_a_state_that_comes_back_in_another_order_is_refused() -> None:
    def step(state: Any, t: Any) -> Any:
        return {"speed": state.speed, "place": state.place + t * state.speed}

    program = trace(step, {"state": {"place": (), "speed": ()}, "t": ()})
    with pytest.raises(ArgumentError, match="in their order, place, speed; it has speed, place"):
        Function(program, shape="scan")({"place": 0.0, "speed": 1.0}, np.ones((2, 1)))


def test_the_decorator_takes_records_too() -> None:
    @ch.function(body={"mass": (), "v": (3,)})
    def energy(body: Any) -> Any:
        return 0.5 * body.mass * (body.v @ body.v)

    assert energy({"mass": 2.0, "v": [0.0, 3.0, 4.0]}) == 25.0
    assert energy([2.0, 0.0, 3.0, 4.0]) == 25.0


def test_a_record_of_comparisons_is_no_result() -> None:
    with pytest.raises(TraceError, match="comparison"):
        trace(lambda x: {"positive": x > 0.0}, {"x": ()})
