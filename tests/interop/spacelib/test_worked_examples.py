"""The worked examples of the manual that concern routines: its printed digits, and 1e-12 against values recomputed.

The examples of the sample programs (chapter 7) that need a program are in test_sample_programs.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles.interop.spacelib as sl

EXAMPLES = {
    example["id"]: example
    for example in json.loads(Path(__file__).with_name("worked_examples.json").read_text(encoding="utf-8"))["examples"]
}
PROGRAMS = {name for name, example in EXAMPLES.items() if example["routine"].startswith("program")}
WITHOUT_ROUTINES = {"ch7.5.sat_M3", "ch7.5.sat_M4", "ch7.6.joint_law"}
Inputs = SimpleNamespace
Outputs = dict[str, Any]


def code(name: str) -> int:
    value: int = getattr(sl, name)
    return value


def axes(sequence: str) -> tuple[int, ...]:
    return tuple(map(code, sequence))


def stanford_arm(i: Inputs) -> Outputs:
    links = [
        sl.dhtom(code(jtype), *parameters)
        for jtype, *parameters in zip(i.jtype, i.theta, i.d, i.b, i.a, i.alpha, i.q, strict=True)
    ]
    standard = [
        sl.DHtoMstd(q, d, a, alpha) if jtype == "Rev" else sl.DHtoMstd(theta, q, a, alpha)
        for jtype, theta, d, a, alpha, q in zip(i.jtype, i.theta, i.d, i.a, i.alpha, i.q, strict=True)
    ]
    Ma, Mb = sl.idmat4(), sl.idmat4()
    for link, other in zip(links, standard, strict=True):
        Ma, Mb = sl.molt4(Ma, link), sl.molt4(Mb, other)
    return {"dM": sl.sub4(Ma, Mb), "Ma": Ma, "Mb": Mb, "links": links}


def extract(i: Inputs) -> Outputs:
    return sl.extract(i.A, i.dim)._asdict()


def mtoscrew(i: Inputs) -> Outputs:
    screw = sl.mtoscrew(i.Q)
    assert screw.rv == sl.OK
    return screw._asdict()


def screwtom(i: Inputs) -> Outputs:
    Q = sl.screwtom(i.u, i.phi, i.h, i.P)
    return {"Q": Q, "Q5": Q, "u": sl.extract(Q, 4).u}


def make_l(i: Inputs) -> Outputs:
    pitch = math.nan if i.pitch is None else i.pitch  # whatever it is, a prismatic joint ignores it
    return {"L": sl.makeL(code(i.jtype), i.u, pitch, i.P)}


def velacctoWH_twice(i: Inputs) -> Outputs:
    motion, about_z = sl.velacctoWH(code(i.jtype), i.qp, i.qpp), sl.velacctoWH2(code(i.jtype), sl.Z, i.qp, i.qpp)
    assert np.array_equal(motion, about_z)
    return motion._asdict()


def jtoJ(i: Inputs) -> Outputs:
    return {"J": sl.jtoJ(i.mass, i.jxx, i.jyy, i.jzz, i.jxy, i.jyz, i.jxz, i.xg, i.yg, i.zg)}


def momentum_of_points(i: Inputs) -> Outputs:
    parts = [sl.skew(m * np.outer(v, p), np.eye(4), 4) for m, p, v in zip(i.mass, i.P, i.Pdot, strict=True)]
    return {"GAMMA1": parts[0] + parts[1] + parts[2]}


def trasf_mamt(i: Inputs) -> Outputs:
    general, macro = sl.trasf_mamt(i.A1, i.m, 4), sl.trasf_mamt4(i.A1, i.m)
    assert np.array_equal(general, macro)
    return {"A2": general}


def mtov(i: Inputs) -> Outputs:
    padded = np.array([[math.nan if element is None else element for element in row] for row in i.A])
    found = [sl.mtov(padded, 4), sl.mtov4(padded), sl.mtov(padded[:3, :3], 3), sl.mtov3(padded[:3, :3])]
    assert all(np.array_equal(v, found[0]) for v in found)
    return {"v": found[0]}


def vtom(i: Inputs) -> Outputs:
    A = sl.vtom(i.v)
    assert np.array_equal(A, sl.vtom3(i.v))
    assert np.array_equal(sl.vtom4(i.v), sl.vtom(i.v, 4))
    assert np.array_equal(sl.vtom4(i.v)[:3, :3], A)
    return {"A": A}


def rtocardan(i: Inputs) -> Outputs:
    q1, q2 = sl.rtocardan(i.R, 3, *axes(i.sequence))
    R = sl.cardantor(q1, *axes(i.sequence))
    np.testing.assert_allclose(sl.cardantor3(q2, *axes(i.sequence)), R, rtol=0.0, atol=1e-14)
    return {"q1": q1, "q2": q2, "R_from_q1": R}


def cardanto_omega(i: Inputs) -> Outputs:
    A = sl.cardanto_omega(i.q, i.qp, *axes(i.sequence), i.dim)
    assert np.array_equal(A, sl.cardanto_omega4(i.q, i.qp, *axes(i.sequence)))
    assert np.array_equal(A[:3, :3], sl.cardanto_omega3(i.q, i.qp, *axes(i.sequence)))
    return {"A": A}


def cardanto_G(i: Inputs) -> Outputs:
    A = sl.cardanto_G(i.q, i.qp, i.qpp, *axes(i.sequence), i.dim)
    assert np.array_equal(A, sl.cardanto_G4(i.q, i.qp, i.qpp, *axes(i.sequence)))
    assert np.array_equal(A[:3, :3], sl.cardanto_G3(i.q, i.qp, i.qpp, *axes(i.sequence)))
    return {"A": A}


def frameP(i: Inputs) -> Outputs:
    arguments = (i.P1, i.P2, i.P3, code(i.a1), code(i.a2))
    R = sl.frameP(*arguments, i.dim)
    assert np.array_equal(R, sl.frameP3(*arguments))
    assert np.array_equal(R, sl.frameP4(*arguments)[:3, :3])
    return {"R": R}


def frameV(i: Inputs) -> Outputs:
    arguments = (i.v1, i.v2, code(i.a1), code(i.a2))
    R = sl.frameV(*arguments, i.dim)[:3, :3]
    assert np.array_equal(R, sl.frameV3(*arguments))
    assert np.array_equal(R, sl.frameV4(*arguments)[:3, :3])
    return {"R": R}


def orthogonal_line(i: Inputs) -> Outputs:
    projection = sl.projponl(i.P, sl.Line(i.line_P, i.line_dir))
    m = sl.line2p(i.P, projection.I)
    return {"m_P": m.P, "m_dir": m.dir, "projection": projection.I, "distance": projection.d}


def symmetric_point(i: Inputs) -> Outputs:
    line = sl.Line(sl.pcopy(i.P), sl.vcopy(i.dir))
    P1, inttype = sl.interslpl(line, i.plane)
    d = sl.dist(i.P, P1)
    v = sl.vector(line.dir, d)
    Ps = np.append(sl.subv(P1[:3], v), 1.0)
    return {"line_P": line.P, "line_dir": line.dir, "P1": P1, "inttype": inttype, "d": d, "v": v, "Ps": Ps}


def linear(i: Inputs) -> Outputs:
    H = np.column_stack([i.A, i.b])
    rows, columns = H.shape
    reduced = sl.linear(H, rows, columns, rows, columns - 1, i.nsol, i.vpr)
    return {"irank": reduced.irank, "ivet": reduced.ivet, "H": reduced.H}


def particular_solution(i: Inputs) -> Outputs:
    """Choose the free unknowns and compute the others, as section 4.3.2 explains."""
    found = linear(Inputs(A=i.A, b=i.b, nsol=1, vpr=[-1]))
    H, ivet, rank = found["H"], found["ivet"], found["irank"]
    free = [i.free_unknowns[f"a{unknown}"] for unknown in ivet[rank:]]
    x = np.zeros(len(ivet))
    x[ivet[rank:]] = free
    x[ivet[:rank]] = H[:rank, -1] - H[:rank, rank:-1] @ free
    return {"x": x, "residual": np.array(i.A) @ x - i.b}


def inverse_dynamics(i: Inputs) -> Outputs:
    Wp, F, rv = sl.dyn_eq(i.J, i.Wp, np.full((4, 4), math.nan), i.var)
    assert rv == sl.OK
    assert np.array_equal(Wp, i.Wp)
    np.testing.assert_allclose(F, sl.skew4(i.Wp, i.J), rtol=1e-14, atol=0.0)
    return {"F": F}


def rototranslation(i: Inputs) -> Outputs:
    m01, m02 = (sl.frame4P(*points, code(i.a1), code(i.a2)) for points in ((i.P1, i.P2, i.P3), (i.P4, i.P5, i.P6)))
    m10 = sl.invers(m01)
    Q = sl.molt4(m02, m10)
    return {"m10": m10, "m02": m02, "Q": Q, **sl.mtoscrew(Q)._asdict()}


def robscara(i: Inputs) -> Outputs:
    m01 = sl.vmcopy([0.0, 0.0, i.h, 1.0], 4, 4, sl.Col, sl.idmat4(), 4, 4)
    m02 = sl.molt4(m01, sl.rotat34(sl.Z, i.q[0], [i.l1, 0.0, 0.0, 1.0]))
    m03 = sl.molt4(m02, sl.rotat34(sl.Z, i.q[1], [i.l2, 0.0, 0.0, 1.0]))
    m04 = sl.molt4(m03, sl.traslat2(sl.Z, i.q[2]))
    m0a = sl.vmcopy(sl.mvcopy(m04, 4, 4, 4, sl.Col), 4, 4, sl.Col, sl.idmat4(), 4, 4)
    joints = [(sl.Rev, m01), (sl.Rev, m02), (sl.Pri, m03)]
    L12, L23, L34 = (sl.trasf_mami(sl.makeL2(jtype, sl.Z, 0.0, sl.ORIGIN), m) for jtype, m in joints)
    W04 = sl.clear4()
    for L, qp in zip((L12, L23, L34), i.qp, strict=True):
        W04 = sl.sum4(W04, sl.rmolt4(L, qp))
    return {
        "M0a": m0a,
        "M04": m04,
        "W04": W04,
        "W04a": sl.trasf_miam(W04, m0a),
        "L12_0": L12,
        "L23_0": L23,
        "L34_0": L34,
    }


def satellite_angles(i: Inputs) -> Outputs:
    alpha, beta = math.atan2(i.P2[2] - i.P1[2], i.P2[0] - i.P1[0]), math.atan2(i.P2[1], i.P2[0])
    d = sl.dist(i.P1, i.P2)
    diagonal = sl.linepvect(i.P2, [math.cos(beta), math.sin(beta), 0.0])
    P1_new = np.append(sl.sumv(diagonal.P[:3], sl.vector(diagonal.dir, d)), 1.0)
    degrees = {"alpha_deg": sl.deg(alpha), "beta_deg": sl.deg(beta)}
    return {"alpha": alpha, "beta": beta, **degrees, "d": d, "P1_new": P1_new}


def satellite_screw(i: Inputs) -> Outputs:
    screw = sl.mtoscrew(i.Qtot)
    return {**screw._asdict(), "phi_deg": sl.deg(screw.phi)}


ROUTINES: dict[str, Callable[[Inputs], Outputs]] = {
    "ex3.1.stanford_dh": stanford_arm,
    "ex3.2.rototranslation": lambda i: {"Q": sl.molt4(i.M_0_2, i.M_1_0)},
    "ex3.2.extract": extract,
    "ex3.2.extract_listing": extract,
    "ex3.3.mtoscrew": mtoscrew,
    "ex3.3.mtoscrew_listing": mtoscrew,
    "ex3.4.screwtom": screwtom,
    "ex3.4.screwtom_listing": screwtom,
    "ex3.5.rotat": lambda i: {"A": sl.rotat(i.u, i.phi, i.dim)},
    "ex3.6.gtom": lambda i: {"Hg": sl.gtom(i.gx, i.gy, i.gz)},
    "ex3.7.makeL_frame0": make_l,
    "ex3.7.makeL_framek": make_l,
    "ex3.8.makeL_prismatic": make_l,
    "ex3.9.WtoL_prismatic": lambda i: {"L": sl.WtoL(i.W)},
    "ex3.10.WtoL_revolute": lambda i: {"L": sl.WtoL(i.W)},
    "ex3.11.Wtovel_screw": lambda i: sl.Wtovel(i.W)._asdict(),
    "ex3.11.Wtovel_translation": lambda i: sl.Wtovel(i.W)._asdict(),
    "ex3.12.velacctoWH2": lambda i: sl.velacctoWH2(code(i.jtype), code(i.a), i.qp, i.qpp)._asdict(),
    "sec3.2.velacctoWH3": lambda i: sl.velacctoWH3(code(i.jtype), code(i.a), i.qp, i.qpp, i.O)._asdict(),
    "sec3.2.velacctoWH_equivalence": velacctoWH_twice,
    "sec3.3.actom_layout": lambda i: {"PHI": sl.actom(i.fx, i.fy, i.fz, i.cx, i.cy, i.cz)},
    "sec3.3.psedot_power": lambda i: {"ps": sl.psedot(i.W, i.PHI)},
    "ex3.13.jtoJ_frame0": jtoJ,
    "ex3.13.jtoJ_frame1": jtoJ,
    "ex3.13.trasf_mamt4": lambda i: {"J1": sl.trasf_mamt4(i.J0, i.M_1_0)},
    "ex3.14.trasf_mami_W": lambda i: {"A2": sl.trasf_mami(i.A1, i.m)},
    "ex3.14.trasf_mami_H": lambda i: {"A2": sl.trasf_mami(i.A1, i.m)},
    "ex3.14.trasf_miam_inverse": lambda i: {"A2": sl.trasf_miam(i.A1, i.m)},
    "ex3.15.gamma_point_masses": momentum_of_points,
    "ex3.15.trasf_mamt": trasf_mamt,
    "ex3.15.trasf_miamit": lambda i: {"A2": sl.trasf_miamit(i.A1, i.m)},
    "sec3.4.3.mtov_layout": mtov,
    "sec3.4.3.vtom_layout": vtom,
    "ex3.16.rtocardan": rtocardan,
    "ex3.17.cardantoM": lambda i: {"m": sl.cardantoM(i.q, *axes(i.sequence), i.O)},
    "ex3.18.cardantoW": lambda i: {"W": sl.cardantoW(i.q, i.qp, *axes(i.sequence), i.O)},
    "ex3.19.cardanto_OMEGA": lambda i: {"omega": sl.cardanto_OMEGA(i.q, i.qp, *axes(i.sequence))},
    "ex3.20.cardanto_omega": cardanto_omega,
    "ex3.21.cardantoH": lambda i: {"H": sl.cardantoH(i.q, i.qp, i.qpp, *axes(i.sequence), i.O)},
    "ex3.22.cardanto_G": cardanto_G,
    "ex3.23.cardanto_OMEGAPTO": lambda i: {"omegapto": sl.cardanto_OMEGAPTO(i.q, i.qp, i.qpp, *axes(i.sequence))},
    "ex3.24.frameP": frameP,
    "ex3.25.frame4P": lambda i: {"m": sl.frame4P(i.P1, i.P2, i.P3, code(i.a1), code(i.a2))},
    "ex3.26.frameV": frameV,
    "ex3.27.frame4V": lambda i: {"m": sl.frame4V(i.P1, i.v1, i.v2, code(i.a1), code(i.a2))},
    "sec3.6.axis": lambda i: {"A": sl.axis(code(i.n))},
    "ex3.28.projponl_line2p": orthogonal_line,
    "ex3.29.interslpl_symmetric_point": symmetric_point,
    "sec4.3.linear_rectangular": linear,
    "sec4.3.linear_particular_a": particular_solution,
    "sec4.3.linear_particular_b": particular_solution,
    "sec5.1.dyn_eq_inverse_equals_skew": inverse_dynamics,
    "ch7.3.rototranslation": rototranslation,
    "ch7.4.robscara": robscara,
    "ch7.5.sat_angles": satellite_angles,
    "ch7.5.sat_Q5": screwtom,
    "ch7.5.sat_Mf": lambda i: {"Mf": sl.molt4(i.Q5, i.M4)},
    "ch7.5.sat_Qtot": lambda i: {"Qtot": sl.molt4(i.Mf, sl.invers(i.M_i))},
    "ch7.5.sat_screw": satellite_screw,
}


def test_every_example_is_tested_here_or_with_the_programs() -> None:
    assert len(EXAMPLES) == 72
    assert set(EXAMPLES) == set(ROUTINES) | PROGRAMS | WITHOUT_ROUTINES


@pytest.mark.parametrize("name", ROUTINES)
def test_printed_digits(name: str) -> None:
    example = EXAMPLES[name]
    found = ROUTINES[name](Inputs(**example["inputs"]))
    for key, value in example["expected"].items():
        check(found[key], value, atol=example["tolerance"])


@pytest.mark.parametrize("name", ROUTINES)
def test_recomputed_values(name: str) -> None:
    example = EXAMPLES[name]
    recomputed = example["recomputed"] if isinstance(example["recomputed"], dict) else example["expected"]
    found = ROUTINES[name](Inputs(**example["inputs"]))
    for key, value in recomputed.items():
        check(found[key], value, atol=1e-12, rtol=1e-12)


def check(found: Any, expected: Any, atol: float, rtol: float = 0.0) -> None:
    """Compare, except for the elements that the manual prints as '?'."""
    values = np.array(expected, dtype=float)
    assert np.shape(found) == values.shape
    printed = ~np.isnan(values)
    assert printed.any()
    np.testing.assert_allclose(np.asarray(found)[printed], values[printed], rtol=rtol, atol=atol * (1 + 1e-9))
