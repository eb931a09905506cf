"""What is no array of real numbers of the right shape is refused, in a sentence that names routine and argument."""

from __future__ import annotations

import decimal
import fractions
from typing import Any

import numpy as np
import pytest
import sympy
from tests.engine.direct_calls import needs_direct_calls
from tests.interop.spacelib.test_mechanics_batches import CALLS, RANDOM

import chasles.interop.spacelib as sl
from chasles.base.errors import ArgumentError
from chasles.engine.running.compiling import native_available
from chasles.geometry.batched import Batched
from chasles.interop.spacelib.routines import routine

EYE, VECTOR, POINT = np.eye(4), np.ones(3), np.array([1.0, 2.0, 3.0, 1.0])

#: Routines that `CALLS` does not have, with arguments that they take.
OTHERS: dict[str, tuple[Any, list[Any]]] = {
    **{name: (getattr(sl, name), [EYE, EYE]) for name in ("molt", "molt4", "sum", "sum4", "sub", "sub4", "mmcopy")},
    **{name: (getattr(sl, name), [EYE[:3, :3], EYE[:3, :3]]) for name in ("molt3", "sum3", "sub3", "crossMtoM")},
    **{
        name: (getattr(sl, name), [EYE])
        for name in ("norm", "norm4", "transp", "transp4", "mcopy", "mcopy4", "mcopy43")
    },
    **{name: (getattr(sl, name), [VECTOR, VECTOR]) for name in ("sumv", "subv", "cross", "dot", "dot2", "crossvtom")},
    **{name: (getattr(sl, name), [VECTOR]) for name in ("mod", "unitv", "vcopy", "vect3", "viszero")},
    **{
        name: (getattr(sl, name), [EYE])
        for name in ("minvers", "pseudo_inv", "Mcheck", "Mcheck2", "Miszero", "normal_g")
    },
    **{name: (getattr(sl, name), [0.5]) for name in ("aabs", "sign", "rad", "deg")},
    "max": (sl.max, [0.5, 1.0]),
    "min": (sl.min, [0.5, 1.0]),
    "fmod": (sl.fmod, [0.5, 1.0]),
    "moltp": (sl.moltp, [EYE, POINT]),
    "moltmv3": (sl.moltmv3, [EYE[:3, :3], VECTOR]),
    "rmolt": (sl.rmolt, [EYE, 2.0]),
    "rmolt3": (sl.rmolt3, [EYE[:3, :3], 2.0]),
    "rmolt4": (sl.rmolt4, [EYE, 2.0]),
    "rmoltv": (sl.rmoltv, [VECTOR, 2.0]),
    "vector": (sl.vector, [VECTOR, 2.0]),
    "pcopy": (sl.pcopy, [POINT]),
    "mcopy34": (sl.mcopy34, [EYE[:3, :3], EYE]),
    "mvcopy": (sl.mvcopy, [EYE]),
    "vmcopy": (lambda v, A: sl.vmcopy(v, 3, 1, sl.Row, A), [VECTOR, EYE]),
    "solve": (sl.solve, [EYE, POINT]),
    "linear": (lambda H: sl.linear(H, 4, 4, 3, 3), [EYE]),
    "dyn_eq": (lambda J, Wp, F: sl.dyn_eq(J, Wp, F, [[1] * 6, [0] * 6]), [EYE, sl.NULL4, sl.NULL4]),
    "swabr": (lambda H: sl.swabr(H, 4, 4, 4, 0, 1), [EYE]),
    "normalr": (lambda H, rm: sl.normalr(H, 4, 4, 4, 0, rm), [EYE, 2.0]),
    "elimin": (lambda H: sl.elimin(H, 4, 4, 4, 4, 0), [EYE]),
    "rmax": (lambda H: sl.rmax(H, 4, 4, 0, 4, 0, 4), [EYE]),
    "thirds_law": (sl.thirds_law, [0.1, 1.0, 0.5]),
}


def cases() -> list[tuple[str, Any, list[Any]]]:
    rng = np.random.default_rng(0)
    random = [(name, call, [RANDOM[x](rng, ()) for x in letters]) for name, (call, letters) in CALLS.items()]
    return random + [(name, call, arguments) for name, (call, arguments) in OTHERS.items()]


def spoiled(argument: Any, element: Any) -> Any:
    """The argument with something else in the place of its last element."""
    array = np.array(argument, dtype=object)
    array[(-1,) * array.ndim] = element
    return array.tolist()


@pytest.mark.parametrize(("name", "call", "arguments"), cases(), ids=[name for name, *_ in cases()])
def test_complex_numbers_text_and_objects_are_refused(name: str, call: Any, arguments: list[Any]) -> None:
    """Complex numbers have lost their imaginary part here, and text that looks like numbers was taken for them."""
    call(*arguments)
    speaker = name.split()[0]
    for k, argument in enumerate(arguments):
        for element in (1.0 + 2.0j, "1", None):
            wrong = spoiled(argument, element)
            for given in (wrong, np.array(wrong)):
                with pytest.raises(ArgumentError, match="must be an array of real numbers, not") as error:
                    call(*arguments[:k], given, *arguments[k + 1 :])
                # The routines of fixed sizes speak through the one that does the work.
                assert (
                    speaker in str(error.value)
                    or speaker[:-1] in str(error.value)
                    or "norm_simm_skew" in str(error.value)
                )
                assert len(str(error.value)) < 200


@pytest.mark.parametrize(("name", "call", "arguments"), cases(), ids=[name for name, *_ in cases()])
def test_results_share_nothing_with_arguments(name: str, call: Any, arguments: list[Any]) -> None:
    arrays = [np.array(argument, dtype=float) for argument in arguments]
    before = [array.copy() for array in arrays]
    results = call(*arrays)
    for result in results if isinstance(results, tuple) else (results,):
        if isinstance(result, np.ndarray):
            assert not any(np.shares_memory(result, array) for array in arrays)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_points_of_three_numbers() -> None:
    for P in ([1, 2, 3], (1, 2, 3), np.array([1.0, 2.0, 3.0]), np.ones((5, 3))):
        with pytest.raises(ArgumentError, match=r"dist\(P1, P2\): P1 has three coordinates; a point is \[x, y, z, 1\]"):
            sl.dist(P, [4, 5, 6])
    assert sl.dist(np.ones((3, 4)), POINT).shape == (3,)
    with pytest.raises(ArgumentError, match=r"project\(P, pl\): pl has shape \(3,\); expected \(\.\.\., 4\)"):
        sl.project(POINT, [0, 0, 1])
    with pytest.raises(ArgumentError, match=r"dhtom.*: q must be an array of real numbers, not 'a'"):
        sl.dhtom(sl.Rev, 0.0, 0.0, 0.0, 0.0, 0.0, "a")


def test_other_sentences() -> None:
    with pytest.raises(ArgumentError, match="P2 is a ragged list"):
        sl.dist(POINT, [POINT, [1, 2]])
    with pytest.raises(ArgumentError, match=r"dist.*: the batch axes .* do not broadcast: P1 \(2,\), P2 \(3,\)"):
        sl.dist(np.ones((2, 4)), np.ones((3, 4)))
    with pytest.raises(ArgumentError, match="projponl: l must be a line"):
        sl.projponl(POINT, 5)
    with pytest.raises(TypeError, match="dist"):
        sl.dist(POINT)
    with pytest.raises(TypeError, match="takes 2 arguments, not 3"):
        sl.dist(POINT, POINT, POINT)


def test_numbers_of_any_type_are_numbers() -> None:
    for P in ([1, 2, 3, 1], (1, 2, 3, 1), np.array([1, 2, 3, 1], dtype=np.int8), np.array([1, 2, 3, 1], dtype=object)):
        assert sl.dist(P, sl.ORIGIN) == pytest.approx(14**0.5)
    assert sl.dist([10**30, 0, 0, 1], sl.ORIGIN) == 1e30
    assert sl.dist([sympy.Integer(3), 0, 4, 1], sl.ORIGIN) == 5


@pytest.mark.parametrize("three", [3, 3.0, np.int64(3), np.float32(3.0), decimal.Decimal(3), sympy.Integer(3), 3 + 0j])
def test_a_size_is_the_same_at_the_first_call_and_later(three: Any) -> None:
    """Sizes and codes are looked up by equality: what equals 3 must not be refused before 3 has been used."""
    for whole, first in ((sl.rotat, sl.Zaxis), (sl.rotat2, sl.Z)):
        arrays = {"phi": (), "u": (3,)} if whole is sl.rotat else {"q": ()}
        for call in (lambda new, axis: new(axis, 0.3, dim=three), lambda new, axis: new(axis, 0.3, three)):
            new = routine(**arrays)(whole.formula)  # one that has not been called yet
            for _ in range(3):
                np.testing.assert_array_equal(call(new, first), whole(first, 0.3))
    np.testing.assert_array_equal(sl.extract(np.eye(3), three).u, np.zeros(3))


@pytest.mark.parametrize("jtype", [1, 1.0, True, np.int8(1), sympy.Integer(1), fractions.Fraction(1)])
def test_a_code_is_the_same_at_the_first_call_and_later(jtype: Any) -> None:
    for _ in range(3):
        np.testing.assert_array_equal(sl.makeL2(jtype, sl.X, 0.0, POINT), sl.makeL(sl.Pri, sl.Xaxis, 0.0, POINT))


@needs_direct_calls
@pytest.mark.skipif(not native_available(), reason="there is no machine code")
def test_codes_by_position_and_by_name_go_straight_to_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same choice of codes does not come through Python's general call again."""
    arguments = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    calls = [
        lambda: sl.dhtom(sl.Rev, *arguments),
        lambda: sl.dhtom(sl.Pri, *arguments),
        lambda: sl.rotat24(sl.Z, 0.3, POINT),
        lambda: sl.rotat(sl.Zaxis, 0.3, dim=4),
        lambda: sl.rotat(sl.Zaxis, 0.3, 5),
        lambda: sl.cardantoM(VECTOR, sl.X, sl.Y, sl.Z, POINT),
        lambda: sl.Mtocardan(EYE, sl.X, sl.Y, sl.Z),
        lambda: sl.velacctoWH3(sl.Rev, sl.X, 1.0, 2.0, POINT),
        lambda: sl.mtoscrew(EYE),
        lambda: sl.molt4(EYE, EYE),
    ]
    before = [call() for call in calls]

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("came through the general call")

    monkeypatch.setattr(Batched, "general_call", fail)
    for call, expected in zip(calls, before, strict=True):
        found = call()
        assert type(found) is type(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert type(ours) is type(theirs)
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(AssertionError, match="general call"):
        sl.dhtom(sl.Rev, *arguments, check=True)


def test_results_can_be_compared() -> None:
    H = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert sl.linear(H, 2, 3, 2, 2) == sl.linear(H, 2, 3, 2, 2)
    assert sl.linear(H, 2, 3, 2, 2) != sl.linear([[1, 2, 3], [4, 5, 7]], 2, 3, 2, 2)
    A, b = np.array(H)[:, :2], np.array(H)[:, 2]
    assert sl.LinearEquations(A, b) == sl.LinearEquations(A.copy(), b.copy())
    assert (sl.LinearEquations(A, b) != sl.LinearEquations(A, b)) is False
    assert sl.LinearEquations(A, b) != sl.LinearEquations(A, b + 1.0)
    assert sl.LinearEquations(A, b) != sl.LinearEquations(A[:1], b)
    assert sl.LinearEquations(A, b) != 3
    singular = sl.solve(np.ones((2, 2)), b)
    assert singular == sl.solve(np.ones((2, 2)), b)  # NaN in both
    assert sl.inters2pl([0, 0, 1, 1], [1, 0, 0, 2]) == sl.inters2pl([0, 0, 1, 1], [1, 0, 0, 2])
    assert sl.unitv([3.0, 0.0, 4.0]) == (np.array([0.6, 0.0, 0.8]), 5.0)
