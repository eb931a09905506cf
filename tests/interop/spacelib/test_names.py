"""The tables of docs/spacelib-names.md: every name is importable, and every general call does what the routine does."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray

import chasles.interop.spacelib as sl
from chasles import geometry as geo
from chasles.interop import matrix_mechanics as mm
from chasles.interop.spacelib import maple, matlab

PAGE = Path(__file__).parents[3] / "docs" / "spacelib-names.md"


class Row(NamedTuple):
    """Names in the three columns, and the general call; None for a dash."""

    c: list[str]
    matlab: list[str]
    maple: list[str]
    call: str | None


def rows() -> Iterator[Row]:
    table = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]]
        table = len(cells) == 4 and (table or "| general call |" in line)
        if table and any(cells):
            yield Row(*cells[:3], cells[3][0] if cells[3] else None)


ROWS = list(rows())
IN_ALL_THREE, IN_C = (
    re.findall(r"`(\w+)`", line) for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| in ")
)
#: A point among the names that only Maple has.
POINT = {"Origin"}
#: The layouts of print differ, and one routine of MATLAB takes vectors and matrices.
OWN = {"fprintm", "printm", "prmat", "crosstom"}


def routines(module: ModuleType) -> set[str]:
    """Names of a module's routines, without those for files and laws of motion."""
    public = getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
    others = re.compile(r"(read|write)_|(thirds|modified_trapezoid)_law|counted_from_1")
    return {name for name in public if is_routine(getattr(module, name)) and not others.match(name)}


def is_routine(value: Any) -> bool:
    """Functions, and what has a formula, compiled or not; no types."""
    return inspect.isroutine(value) or hasattr(value, "formula")


def test_the_tables_have_every_routine_once() -> None:
    names = [name for row in ROWS for name in row.c]
    assert len(names) == len(set(names)) > 195
    assert set(names) - POINT == routines(sl)


def test_the_constants_are_those_of_the_modules() -> None:
    values = {name for name in sl.__all__ if not callable(getattr(sl, name))}
    assert values - POINT == {*IN_ALL_THREE, *IN_C, "NOTYPE"} - {"Line"}
    for module in (matlab, maple):
        axes = {"X", "Y", "Z", "U"}
        assert [getattr(module, axis) for axis in "XYZU"] == [1, 2, 3, 4]
        assert all(getattr(module, name) is getattr(sl, name) for name in {*IN_ALL_THREE} - axes)


@pytest.mark.parametrize(("module", "column"), [(matlab, 1), (maple, 2)], ids=["matlab", "maple"])
def test_every_name_of_another_version_is_the_routine_of_its_row(module: Any, column: int) -> None:
    for row in ROWS:
        for name in row[column]:
            routine = getattr(module, name)
            if name in OWN or not row.c:
                continue
            originals = [getattr(sl, original) for original in row.c]
            assert any(
                routine is original or inspect.unwrap(routine, stop=lambda f, o=original: f is o) is original
                for original in originals
            ), name
    names = [name for row in ROWS for name in row[column]]
    assert set(names) - POINT == routines(module)
    assert len(names) - len(set(names)) == (module is matlab)  # crosstom takes vectors and matrices


# The general calls

rng = np.random.default_rng(0)
X, Y, Z = sl.X, sl.Y, sl.Z


def named(**values: Any) -> dict[str, Any]:
    return values


def random_point() -> NDArray[np.float64]:
    return np.append(rng.normal(size=3), 1.0)


CENTER, P1 = random_point(), random_point()
POSE = sl.cardantoM([0.3, -0.5, 0.7], X, Y, Z, CENTER)
FIRST = sl.Line(P1, np.array([1.0, 2.0, -2.0]) / 3.0)
#: A line that meets the first one.
SECOND = sl.Line(np.append((P1[:3] + 2.0 * FIRST.dir) - [0.0, 0.6, 0.8], 1.0), np.array([0.0, 0.6, 0.8]))

#: What the arguments of most routines are, by the manual's names.
ARGUMENTS: dict[str, Any] = {
    **named(a=-0.4, b=1.5, x=-0.3, y=0.7, h=0.2, r=2.5, mdl=1.7),
    **named(jtype=sl.Rev, theta=0.3, d=0.2, alpha=-0.4, beta=0.6, q=0.7, qp=1.5, qpp=0.9, phi=0.8, pitch=0.1),
    **named(gx=0.1, gy=0.2, gz=-9.8, fx=1.0, fy=2.0, fz=3.0, cx=4.0, cy=5.0, cz=6.0),
    **named(mass=2.0, jxx=3.0, jyy=4.0, jzz=5.0, jxy=0.1, jyz=0.2, jxz=0.3, xg=0.1, yg=0.2, zg=0.3),
    **named(u=FIRST.dir, v=rng.normal(size=3), v1=rng.normal(size=3), v2=rng.normal(size=3)),
    **named(O=CENTER, P=random_point(), P1=P1, P2=random_point(), P3=random_point()),
    **{name: rng.normal(size=(4, 4)) for name in ("A", "A1", "B", "F", "H0", "H1", "L", "L1", "L2", "W0", "W1", "Wp")},
    **named(m=POSE, Q=POSE, R=POSE[:3, :3] + 0.01 * rng.normal(size=(3, 3)), G=rng.normal(size=(3, 3))),
    **named(J=sl.jtoJ(2.0, 3.0, 4.0, 5.0, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3), W=geo.velocity_matrix(rng.normal(size=6))),
    **named(l=FIRST, l1=FIRST, l2=SECOND),
    **named(pl=[0.6, 0.0, 0.8, -5.0], pl1=[0.6, 0.0, 0.8, -5.0], pl2=[0.0, 1.0, 0.0, 2.0]),
    **named(var=[[1, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 1]], a1=X, a2=Y, id=2, jd=3, ijd=3, im=2, jm=3, imax=2, jmax=3),
}
AXIS_Z = {"a": Z}
VECTORS = {"a": rng.normal(size=3), "b": rng.normal(size=3)}
#: Other arguments of some routines.
SPECIAL: dict[str, dict[str, Any]] = {
    **dict.fromkeys(["rotat2", "rotat24", "rotat34", "traslat2", "traslat24", "makeL2"], AXIS_Z),
    **dict.fromkeys(["velacctoWH2", "velacctoWH3"], AXIS_Z),
    **dict.fromkeys(["crossvtom", "cross", "dot", "dot2", "mod", "sumv", "subv"], VECTORS),
    "extract": {"A": POSE},
    "norm_simm_skew": {"n": 4, "dim": 4, "sign": sl.SYMM},
    "axis": {"n": Y},
    "crossMtoM": {name: sl.vtom3(vector) for name, vector in VECTORS.items()},
    "moltmv3": {"A": rng.normal(size=(3, 3))},
    "mcopy34": {"A": rng.normal(size=(3, 3))},
    "mvcopy": {"val": 2, "type": sl.Col},
    "vmcopy": {"v": rng.normal(size=4), "dim": 3, "val": 2, "type": sl.Col},
    "solve": {"b": rng.normal(size=4)},
    "dyn_eq": {"Wp": geo.velocity_matrix(rng.normal(size=6)), "F": mm.action_matrix(rng.normal(size=6))},
    "pseudo_inv": {"A": rng.normal(size=(3, 4))},
    "invA": {"sig": 1},
    "Mcheck2": {"m": POSE + 0.01},
    "vect3": {"v": P1},
    "jrand": {"min": -1.0, "max": 1.0},
}
#: They print, draw at random, or give one of the arguments anew.
NOT_COMPARED = {"printm3", "fprintm3", "printmat", "jrand", "Origin"}
#: Fields of results that say how it went, or count.
REMARKS = {"rv", "rank", "inttype", "kind", "singular", "solved", "physical", "problem", "pitch"}


def arguments(name: str) -> dict[str, Any]:
    chosen = {**ARGUMENTS, **SPECIAL.get(name, {})}
    if re.search("card|eul|naut", name) or name == "invA":
        chosen |= cardan_arguments((Z, X, Z) if "eul" in name else (Z, Y, X) if "naut" in name else (X, Y, Z))
    return chosen


def cardan_arguments(axes: tuple[int, int, int]) -> dict[str, Any]:
    """Angles, their derivatives, and the matrices and vectors that belong to them."""
    q, qp, qpp = [0.3, -0.5, 0.7], [1.0, 2.0, -3.0], [-4.0, 0.5, 6.0]
    m, W, H = (
        sl.cardantoM(q, *axes, CENTER),
        sl.cardantoW(q, qp, *axes, CENTER),
        sl.cardantoH(q, qp, qpp, *axes, CENTER),
    )
    found = sl.Htocardan(m, W, H, *axes)
    vectors = {"omega": sl.cardanto_OMEGA(q, qp, *axes), "omegapto": sl.cardanto_OMEGAPTO(q, qp, qpp, *axes)}
    matrices = {"m": m, "R": m[:3, :3], "W": W, "H": H, "T_O": geo.pose(np.eye(3), CENTER[:3])}
    codes = dict(zip("ijk", axes, strict=True))
    return {"q": q, "qp": qp, "qpp": qpp, "q1": found.q1, "qp1": found.qp1, "dim": 3} | vectors | matrices | codes


def result_of_routine(routine: Any, given: dict[str, Any]) -> Any:
    parameters = inspect.signature(getattr(routine, "formula", routine)).parameters.values()
    named = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY and (p.name in given or p.default is p.empty)]
    return routine(**{name: given[name] for name in named})


def result_of_call(call: str, given: dict[str, Any]) -> Any:
    """Value of an expression; of an assignment, the array that is written into."""
    names = {"np": np, "geo": geo, "mm": mm, "scipy": scipy, "out": io.StringIO(), **copy.deepcopy(given)}
    (statement,) = ast.parse(call).body
    if isinstance(statement, ast.Expr):
        return eval(call, names)
    exec(call, names)
    return names[call.partition("[")[0]]


def values(result: Any) -> list[NDArray[np.float64]]:
    """Arrays of a result, without remarks."""
    if not (isinstance(result, tuple) or dataclasses.is_dataclass(result)):
        return [np.asarray(result, dtype=float)]
    parts = dataclasses.asdict(result) if dataclasses.is_dataclass(result) else result._asdict()
    return [value for name, part in parts.items() if name not in REMARKS for value in values(part)]


def same(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Whether arrays agree where both have elements: points may have a fourth coordinate."""
    if first.ndim != second.ndim:
        return False
    common = tuple(slice(min(sizes)) for sizes in zip(first.shape, second.shape, strict=True))
    return np.allclose(first[common], second[common], rtol=1e-12, atol=1e-12)


def test_every_function_of_the_general_calls_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"\bgeo\.(\w+)", text)) <= {*geo.__all__}
    assert set(re.findall(r"\bmm\.(\w+)", text)) <= {*mm.__all__}


CALLS = [(row.c[0] if row.c else f"maple.{row.maple[0]}", row.call) for row in ROWS if row.call]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_the_general_call_computes_the_same(name: str, call: str) -> None:
    """Whichever has fewer results: each of them is among those of the other."""
    module, _, routine = name.rpartition(".")
    given = arguments(routine)
    with redirect_stdout(io.StringIO()):
        general = result_of_call(call, given)
    if routine in NOT_COMPARED:
        return
    if module == "maple":
        given |= dict(zip("ijk", (maple.X, maple.Y, maple.Z), strict=True))
    ours = values(result_of_routine(getattr(maple if module else sl, routine), given))
    fewer, more = sorted([ours, values(general)], key=len)
    assert fewer
    for value in fewer:
        assert np.isfinite(value).all()
        assert any(same(value, other) for other in more)
