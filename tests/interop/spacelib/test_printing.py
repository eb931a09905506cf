"""Printing: the layouts of the original programs, character by character."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import chasles.interop.spacelib as sl
from chasles.base.errors import ArgumentError
from chasles.interop.spacelib import matlab_printing, printing

M3 = np.array([[1.0, -2.5, 0.0], [1e-4, 0.12345, 1234.5678], [0.0, 0.0, -0.0]])
M4 = np.array([[1, 0, 0, 0.33], [0, 0, -1, 0], [0, 1, 0, -98.0005], [0, 0, 0, 1]])

# fmt: off
TEXT_3 = (
    "\n\n Rotation \n"
    "                1.000    -2.500     0.000\n"
    "                0.000     0.123  1234.568\n"
    "                0.000     0.000    -0.000\n"
    "\n"
)
TEXT_4 = (
    "\n\n Position \n"
    "               1.000     0.000     0.000     0.330\n"
    "               0.000     0.000    -1.000     0.000\n"
    "               0.000     1.000     0.000   -98.001\n"
    "               0.000     0.000     0.000     1.000\n"
    "\n"
)
TEXT_GRP = (
    "\nLink 1\n"
    "   1.000    0.000    0.000 \n"
    "   0.000    0.000    1.000 \n"
    "\n"
    "   0.330    0.000  -98.001 \n"
    "\n\n"
)
# fmt: on


def test_matrices_to_a_file() -> None:
    file = io.StringIO()
    printing.fprintm3(file, "Rotation", M3)
    printing.fprintm4(file, "Position", M4)
    assert file.getvalue() == TEXT_3 + TEXT_4


def test_matrices_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    printing.printm3("Rotation", M3)
    printing.printm("Rotation", M3)
    printing.printm4("Position", M4)
    assert capsys.readouterr().out == TEXT_3 + TEXT_3 + TEXT_4


def test_vectors(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n The joint angles q are \n      0.000   1.571 -10.000\n"
    file = io.StringIO()
    printing.fprintv(file, "The joint angles q are", [0.0, math.pi / 2, -10.0, 5.0], 3)
    assert file.getvalue() == text
    printing.printv("The joint angles q are", [0.0, math.pi / 2, -10.0])
    assert capsys.readouterr().out == text


def test_position_matrix_for_the_graphics_post_processor() -> None:
    file = io.StringIO()
    printing.prmat(file, "Link 1", M4)
    assert file.getvalue() == TEXT_GRP


def test_parts_of_matrices(capsys: pytest.CaptureFixture[str]) -> None:
    printing.printmat("Part", M3, 3, 3, 2, 2)
    assert capsys.readouterr().out == "Part\n   1.000   -2.500 \n   0.000    0.123 \n"
    printing.iprintmat("Whole", [[1, -20], [300, 4]], 2, 2, 2, 1)
    assert capsys.readouterr().out == "Whole\n       1 \n     300 \n"
    printing.iprintmat("All", np.array([[3, 0, 2, 1, 4]]))
    assert capsys.readouterr().out == "All\n       3        0        2        1        4 \n"
    printing.printmat("None", M3, 3, 3, 0, 0)
    assert capsys.readouterr().out == "None\n"


def test_numbers_that_are_none() -> None:
    file = io.StringIO()
    printing.fprintv(file, "v", [math.nan, math.inf, -math.inf])
    assert file.getvalue() == "\n v \n        nan     inf    -inf\n"


def test_only_a_number_that_fills_its_column_changes_the_layout_of_a_vector() -> None:
    """The original prints 999.999-100.0001000.000."""
    file = io.StringIO()
    printing.fprintv(file, "v", [-99.999, 999.999, -100.0, 1000.0, -1234567.891, 1.0])
    assert file.getvalue() == "\n v \n    -99.999 999.999 -100.000 1000.000 -1234567.891   1.000\n"


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
MATRICES = [
    (printing.fprintm3, (3, 3)),
    (printing.fprintm4, (4, 4)),
    (matlab_printing.fprintm, (2, 5)),
]


@pytest.mark.parametrize(("routine", "shape"), MATRICES)
@settings(max_examples=40)
@given(data=st.data())
def test_columns_of_matrices_are_apart_for_any_number(
    routine: Callable[..., None], shape: tuple[int, int], data: st.DataObject
) -> None:
    A = data.draw(arrays(np.float64, shape, elements=NUMBERS))
    file = io.StringIO()
    routine(file, "", A)
    found = np.array([line.split() for line in file.getvalue().splitlines() if line.strip()], dtype=float)
    decimals = 4 if routine is matlab_printing.fprintm else 3
    np.testing.assert_array_equal(found, [[float(f"{x:.{decimals}f}") for x in row] for row in A])


@settings(max_examples=40)
@given(A=arrays(np.float64, (3, 4), elements=NUMBERS))
def test_columns_of_other_layouts_are_apart_for_any_number(A: NDArray[np.float64]) -> None:
    m = np.vstack([A, [0.0, 0.0, 0.0, 1.0]])
    for_grp_man, of_matlab, part = io.StringIO(), io.StringIO(), io.StringIO()
    printing.prmat(for_grp_man, "", m)
    matlab_printing.prmat(of_matlab, "", m)
    with redirect_stdout(part):
        printing.printmat("", A)
        printing.iprintmat("", np.round(A))
    lines = (for_grp_man.getvalue() + of_matlab.getvalue() + part.getvalue()).splitlines()
    rows = [[float(word) for word in line.split()] for line in lines if line.strip()]
    origin_and_axes = [A[:, 0], A[:, 1], A[:, 3]]
    expected = [
        *([float(f"{x:.3f}") for x in row] for row in origin_and_axes),
        *([float(f"{x:.4f}") for x in row] for row in origin_and_axes),
        *([float(f"{x:.3f}") for x in row] for row in A),
        *([float(x) for x in row] for row in np.round(A)),
    ]
    assert rows == expected


def test_a_printed_vector_is_a_first_guess_that_can_be_read(tmp_path: Path) -> None:
    q = [1000.0, -100.0, 1234.5678, -98765.4321, 999999999.25, -0.0004]
    path = tmp_path / "GUESS.1ST"
    with path.open("w", encoding="ascii") as file:
        printing.fprintv(file, "", q)
    assert np.abs(sl.read_guess(path) - q).max() <= 0.5e-3


def test_printed_matrices_are_the_start_of_two_bodies_that_can_be_read(tmp_path: Path) -> None:
    """The 4×4 matrices of TEST.DAT, far away and fast, as a program prints them."""
    W1 = np.array([[0, -1234.5678, 0, -98765.4321], [1234.5678, 0, 0, 1e6], [0, 0, 0, -100.0], [0, 0, 0, 0]])
    m1 = np.array([[0, -1, 0, -1e7], [1, 0, 0, 54321.0626], [0, 0, 1, 0], [0, 0, 0, 1]])
    path = tmp_path / "TEST.DAT"
    with path.open("w", encoding="ascii") as file:
        file.write("10 1 1 1  0 0 0  1 0 0\n" * 2)
        printing.fprintm4(file, "", W1)
        printing.fprintm4(file, "", m1)
    read = sl.read_bodies(path)
    assert np.abs(read.W1 - W1).max() <= 0.5e-3
    assert np.abs(read.m1 - m1).max() <= 0.5e-3


def test_symbols_are_printed() -> None:
    x = sympy.Symbol("x")
    file = io.StringIO()
    printing.fprintm3(file, "S", [[sympy.sin(x), 0, 1], [0, x, 0], [0, 0, sympy.Rational(1, 2)]])
    lines = file.getvalue().splitlines()
    assert lines[3:6] == [
        "               sin(x)     0.000     1.000",
        "                0.000         x     0.000",
        "                0.000     0.000       1/2",
    ]


def test_what_cannot_be_printed_is_told() -> None:
    file = io.StringIO()
    with pytest.raises(ArgumentError, match="fprintm3: A has shape"):
        printing.fprintm3(file, "", M4)
    with pytest.raises(ArgumentError, match="batch"):
        printing.fprintm4(file, "", np.zeros((2, 4, 4)))
    with pytest.raises(ArgumentError, match="fprintv: n must be from 0 to 3, the size of v, not 4"):
        printing.fprintv(file, "", [1, 2, 3], 4)
    with pytest.raises(ArgumentError, match="no upper-left part of 4×4"):
        printing.printmat("", M3, 3, 3, 4, 4)
    with pytest.raises(ArgumentError, match="printmat: A has shape"):
        printing.printmat("", M3, 2, 2, 3, 3)
    for values in ([[0.5]], [[math.nan]], [[sympy.Symbol("x")]]):
        with pytest.raises(ArgumentError, match="whole numbers"):
            printing.iprintmat("", values)
    assert file.getvalue() == ""


def test_messages_name_the_routine_that_was_called() -> None:
    with pytest.raises(ArgumentError, match=r"^printm3: A has shape"):
        printing.printm("", M4)
    with pytest.raises(ArgumentError, match=r"^printm4: it prints one matrix"):
        printing.printm4("", np.zeros((2, 4, 4)))
    with pytest.raises(ArgumentError, match=r"^printv: it prints one vector, not an array of shape \(3, 3\)"):
        printing.printv("", M3)
    with pytest.raises(ArgumentError, match=r"^printv: dim must be from 0 to 3, the size of v, not 4"):
        printing.printv("", [1, 2, 3], 4)
    with pytest.raises(ArgumentError, match=r"^printm: it prints one matrix or vector"):
        matlab_printing.printm("", np.zeros((2, 2, 2)))


def test_numbers_among_symbols_have_decimals() -> None:
    """A matrix of SymPy holds its own zeros and ones, and floats with 15 digits."""
    x = sympy.Symbol("x")
    file = io.StringIO()
    matlab_printing.fprintm(file, "S", np.array(sympy.Matrix([[0, 1.0, x], [2, sympy.Float(1) / 3, x / 3]])))
    assert file.getvalue().splitlines()[3:] == [
        "  0.0000\t  1.0000\t       x\t",
        "  2.0000\t  0.3333\t     x/3\t",
    ]


def test_layout_of_the_matlab_version(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n W \n\n  0.0000\t -1.1000\t\n 10.0000\t -184.6000\t\n"
    file = io.StringIO()
    matlab_printing.fprintm(file, "W", [[0, -1.1], [10, -184.6]])
    assert file.getvalue() == text
    matlab_printing.printm("W", [[0, -1.1], [10, -184.6]])
    assert capsys.readouterr().out == text
    matlab_printing.printm("v", [1, 2, 3])
    assert capsys.readouterr().out == "\n v \n\n  1.0000\t  2.0000\t  3.0000\t\n"
    file = io.StringIO()
    matlab_printing.prmat(file, "Link", M4)
    assert file.getvalue() == (
        "\n Link \n\n  1.0000\t  0.0000\t  0.0000\t\n  0.0000\t  0.0000\t  1.0000\t\n  0.3300\t  0.0000\t -98.0005\t\n"
    )
    with pytest.raises(ArgumentError, match="fprintm"):
        matlab_printing.fprintm(file, "", np.zeros((2, 2, 2)))
    with pytest.raises(ArgumentError, match="prmat"):
        matlab_printing.prmat(file, "", np.zeros((2, 4, 4)))
