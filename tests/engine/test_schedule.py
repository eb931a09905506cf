"""Schedules: the same calls and jumps in machine code and in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace, where
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.schedule import Schedule


def halves(x: Any, count: Any) -> tuple[Any, Any, Any]:
    return 0.5 * x, count + 1.0, where(0.5 * x > 1.0, 1.0, 0.0)


def function(shape: tuple[int, ...] = ()) -> Function:
    return Function(trace(lambda x: 2.0 * x + 1.0, {"x": shape}, name="grow", outputs=["y"]))


@pytest.fixture(params=["machine code", "python"])
def where_it_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setenv("CHASLES_JIT", "0")


@pytest.mark.usefixtures("where_it_runs")
def test_empty_arrays_are_left_out() -> None:
    parts = Function(
        trace(lambda x, none: (2.0 * x, none), {"x": (2,), "none": (0,)}, name="parts", outputs=["twice", "same"])
    )
    x, none, twice = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 0)), np.zeros((2, 2))
    schedule = Schedule()
    schedule.label("begin")
    schedule.call(parts, [x, none], [twice, none])
    schedule.call(Function(trace(lambda x: x[:0], {"x": (2,)}, name="none", outputs=["none"])), [x], [none])
    schedule.stop("end")
    assert schedule.run("begin") == "end"
    np.testing.assert_array_equal(twice, 2.0 * x)


@pytest.mark.usefixtures("where_it_runs")
def test_calls_repeat_while_a_number_is_positive() -> None:
    """100 is halved seven times until it is 1 at most; then Python notes it, and a stop ends the run."""
    step = Function(trace(halves, {"x": (), "count": ()}, name="halves", outputs=["half", "steps", "again"]))
    x, count, again, noted = np.array(100.0), np.zeros(()), np.zeros(()), []
    schedule = Schedule()
    schedule.label("halve")
    schedule.call(step, [x, count], [x, count, again])
    schedule.jump("halve", again)
    schedule.python(lambda: noted.append(float(x)))
    schedule.jump("never", np.zeros(()))
    schedule.stop("done")
    schedule.label("never")
    schedule.stop("not here")
    assert schedule.run("halve") == "done"
    assert (noted, count) == ([100.0 / 2**7], 7)
    assert schedule.run("never") == "not here"


@pytest.mark.usefixtures("where_it_runs")
def test_samples_lie_anywhere_in_memory() -> None:
    table = np.arange(40.0).reshape(10, 4)
    column, expected = table[:, 1:3], 2.0 * table[:, 1:3] + 1.0
    untouched = table[:, [0, 3]].copy()
    schedule = Schedule()
    schedule.label("grow")
    schedule.call(function((2,)), [column], [column])
    schedule.stop("grown")
    schedule.run("grow")
    np.testing.assert_array_equal(column, expected)
    np.testing.assert_array_equal(table[:, [0, 3]], untouched)


@pytest.mark.usefixtures("where_it_runs")
def test_a_scan_is_a_call_as_well() -> None:
    added = Function(
        trace(lambda total, x: total + x, {"total": (2,), "x": (2,)}, name="add", outputs=["total"]), shape="scan"
    )
    first, rows, total = np.ones(2), np.arange(8.0).reshape(4, 1, 2), np.zeros(2)
    schedule = Schedule()
    schedule.label("add")
    schedule.call(added, [first, rows], [total])
    schedule.stop("added")
    schedule.run("add")
    np.testing.assert_array_equal(total, [13.0, 17.0])


@pytest.mark.usefixtures("where_it_runs")
def test_a_scan_over_matrices_is_a_call_as_well() -> None:
    """Sums of the first rows, from columns that are apart in memory into others."""

    def added(total: Any, row: Any) -> tuple[Any, dict[str, Any]]:
        return total + row, {"sums": total + row}

    scan = MatrixScan(added, start="first", end="last", state=(2, 1), given={"row": (2, 1)})
    table, last = np.arange(20.0).reshape(4, 5), np.zeros((2, 1))
    call = MatrixCall("add", [scan], ["row", "first"], ["sums", "last"])
    schedule = Schedule()
    schedule.label("add")
    schedule.call(call, [table[:, :2, None], np.ones((2, 1))], [table[:, 2:4, None], last])
    schedule.stop("added")
    schedule.run("add")
    np.testing.assert_array_equal(table[:, 2:], [[1, 2, 4], [6, 8, 9], [16, 19, 14], [31, 35, 19]])
    np.testing.assert_array_equal(last[:, 0], [31.0, 35.0])


@pytest.mark.parametrize(
    ("given", "result"),
    [((3,), (2,)), ((4, 2), (5, 2)), ((2, 2, 2), (2, 2, 2))],
)
def test_arrays_that_do_not_fit_are_refused(given: tuple[int, ...], result: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"grow: . has shape"):
        Schedule().call(function((2,)), [np.zeros(given)], [np.zeros(result)])
    with pytest.raises(ArgumentError, match=r"grow: . has shape"):
        Schedule().call(function((2,)), [np.zeros(2, dtype=np.float32)], [np.zeros(2)])
