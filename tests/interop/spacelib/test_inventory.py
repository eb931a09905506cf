"""Every routine of the manual is there, and takes the inputs of the C routine in their order."""

from __future__ import annotations

import inspect

import pytest

import chasles.interop.spacelib as sl

SCALAR_MACROS = """
aabs(a)
max(a, b)
min(a, b)
sign(x)
rad(x)
deg(x)
"""

ROUTINES = """
dhtom(jtype, theta, d, b, a, alpha, q)
DHtoMstd(theta, d, a, alpha)
extract(A, dim)
mtoscrew(Q)
screwtom(u, phi, h, P)
rotat(u, phi, dim)
rotat2(a, q, dim)
rotat23(a, q)
rotat24(a, q, O)
rotat34(a, q, O)
traslat(u, h)
traslat2(a, h)
traslat24(a, h, P)

gtom(gx, gy, gz)
Gtomegapto(G)
makeL(jtype, u, pitch, P)
makeL2(jtype, a, pitch, P)
WtoL(W)
Wtovel(W)
velacctoWH(jtype, qp, qpp)
velacctoWH2(jtype, a, qp, qpp)
velacctoWH3(jtype, a, qp, qpp, O)
coriolis(H0, H1, W0, W1)

dyn_eq(J, Wp, F, var)
actom(fx, fy, fz, cx, cy, cz)
jtoJ(mass, jxx, jyy, jzz, jxy, jyz, jxz, xg, yg, zg)
psedot(L, F)

normal(R, n)
normal3(R)
normal4(R)
norm_simm_skew(A, n, dim, sign)
n_simm3(A)
n_simm34(A)
n_simm4(A)
n_skew3(A)
n_skew34(A)
n_skew4(A)

trasf_mami(A1, m)
trasf_miam(A1, m)
trasf_mamt(A1, m, dim)
trasf_miamit(A1, m)
trasf_mamt4(A1, m)

invers(m)
mtov(A, dim)
mtov3(A)
mtov4(A)
vtom(v, dim)
vtom3(v)
vtom4(v)
skew(A, B, dim)
skew4(A, B)
trac_ljlt4(L1, J, L2)

cardantor(q, i, j, k, dim)
cardantor3(q, i, j, k)
cardantor4(q, i, j, k)
rtocardan(R, dim, i, j, k)
rtocardan3(R, i, j, k)
rtocardan4(m, i, j, k)
cardantoM(q, i, j, k, O)
cardtoM(q, O)
eultoM(q, O)
nauttoM(q, O)
Mtocardan(m, i, j, k)
Mtocard(m)
Mtoeul(m)
Mtonaut(m)

cardantoW(q, qp, i, j, k, O)
cardtoW(q, qp, O)
eultoW(q, qp, O)
nauttoW(q, qp, O)
Wtocardan(m, W, i, j, k)
Wtocard(m, W)
Wtoeul(m, W)
Wtonaut(m, W)
cardanto_OMEGA(q, qp, i, j, k)
cardanto_omega(q, qp, i, j, k, dim)
cardanto_omega3(q, qp, i, j, k)
cardanto_omega4(q, qp, i, j, k)
cardantoH(q, qp, qpp, i, j, k, O)
cardtoH(q, qp, qpp, O)
eultoH(q, qp, qpp, O)
nauttoH(q, qp, qpp, O)
Htocardan(m, W, H, i, j, k)
Htocard(m, W, H)
Htoeul(m, W, H)
Htonaut(m, W, H)
cardanto_G(q, qp, qpp, i, j, k, dim)
cardanto_G3(q, qp, qpp, i, j, k)
cardanto_G4(q, qp, qpp, i, j, k)
cardanto_OMEGAPTO(q, qp, qpp, i, j, k)
cardantol(q, i, j, k, dim)
cardantoWPROD(q, i, j, k, dim)
invA(alpha, beta, sig, i, j, k)
WPRODtocardan(alpha, beta, sig, i, j, k)

frameP(P1, P2, P3, a1, a2, dim)
frameP3(P1, P2, P3, a1, a2)
frameP4(P1, P2, P3, a1, a2)
frame4P(P1, P2, P3, a1, a2)
frameV(v1, v2, a1, a2, dim)
frameV3(v1, v2, a1, a2)
frameV4(v1, v2, a1, a2)
frame4V(P1, v1, v2, a1, a2)
axis(n)

angle(P1, P2, P3)
dist(P1, P2)
intermediate(P1, a, P2, b)
middle(P1, P2)
vect(P1, P2)

line2p(P1, P2)
linepvect(P1, v)
intersection(l1, l2)
projponl(P1, l)
distpp(pl, P)
project(P, pl)
plane(P1, P2, P3)
plane2(P1, v)
inters2pl(pl1, pl2)
interslpl(l, pl)

molt(A, B, d1, d2, d3)
molt3(A, B)
molt4(A, B)
moltp(A, P1)
moltmv3(A, v1)
rmolt(A, r, d1, d2)
rmolt3(A, r)
rmolt4(A, r)
rmoltv(v1, r)
sum(A, B, d1, d2)
sum3(A, B)
sum4(A, B)
sumv(a, b)
sub(A, B, d1, d2)
sub3(A, B)
sub4(A, B)
subv(a, b)

crossmtom(a, b, dim)
crossvtom(a, b, dim)
crossMtoM(a, b, dim)
clear(id, jd)
clear3()
clear4()
idmat(ijd)
idmat3()
idmat4()
norm(A, d1, d2)
norm3(A)
norm4(A)
transp(A, d1, d2)
transp3(A)
transp4(A)
pseudo_inv(A, rows, cols)

clearv()
cross(a, b)
dot(a, b)
dot2(a, b, dim)
mod(a)
unitv(v)
vector(u, mdl)

mcopy(A1, d1, d2)
mcopy3(A)
mcopy4(A)
vcopy(v1)
pcopy(P1)
mmcopy(A, B, d1, d2, im, jm)
mcopy34(A, B)
mcopy43(A)
mvcopy(A, rows, cols, val, type)
vmcopy(v, dim, val, type, A, rows, cols)

fprintm3(out, s, A)
fprintm4(out, s, A)
fprintv(out, s, v, n)
printm(str, A)
printm3(str, A)
printm4(str, A)
printv(str, v, dim)
printmat(s, A, idim, jdim, imax, jmax)
iprintmat(s, A, idim, jdim, imax, jmax)
prmat(grpout, str, m)

dzerom()
fzerom()
zerom()

solve(A, b, dim)
minvers(A, dim)
linear(H, idim, jdim, imax, jmax, nsol, vpr)
"""

LOW_LEVEL = """
swabr(H, idim, jdim, j2max, k, im)
swabc(H, idim, jdim, imax, k, jm, vet)
normalr(H, idim, jdim, j2max, k, rm)
elimin(H, idim, jdim, imax, j2max, k)
rmax(H, idim, jdim, imin, imax, jmin, jmax)
"""

SIGNATURES = [line for line in (SCALAR_MACROS + ROUTINES + LOW_LEVEL).splitlines() if line]

CODES = ("OK", "NOTOK", "X", "Y", "Z", "U", "Rev", "Pri", "Tor", "For", "Row", "Col", "SYMM", "SKEW")
ANGLES = ("PIG", "PIG2", "PIG_2")
ARRAYS = ("Xaxis", "Yaxis", "Zaxis", "Xaxis_n", "Yaxis_n", "Zaxis_n", "ORIGIN", "NULL3", "NULL4", "UNIT3", "UNIT4")


def test_the_list_is_that_of_the_manual() -> None:
    """184 routines of chapters 3 to 5, 6 macros for scalars, and 5 low-level helpers."""
    counts = [len(section.split("\n")) - 2 - section.count("\n\n") for section in (SCALAR_MACROS, ROUTINES, LOW_LEVEL)]
    assert counts == [6, 184, 5]
    assert len({signature.partition("(")[0] for signature in SIGNATURES}) == len(SIGNATURES) == 195


@pytest.mark.parametrize("signature", SIGNATURES)
def test_routines(signature: str) -> None:
    name = signature.partition("(")[0]
    routine = getattr(sl, name)
    inputs = [
        parameter.name
        for parameter in inspect.signature(getattr(routine, "formula", routine)).parameters.values()
        if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    assert f"{name}({', '.join(inputs)})" == signature
    assert name in sl.__all__
    assert routine.__doc__
    assert ">>>" in routine.__doc__


@pytest.mark.parametrize("name", CODES + ANGLES + ARRAYS)
def test_constants_are_there(name: str) -> None:
    assert hasattr(sl, name)
    assert name in sl.__all__


def test_codes_have_the_values_of_the_header() -> None:
    assert (sl.OK, sl.NOTOK, sl.SYMM, sl.SKEW) == (1, 0, 1, -1)
    assert (sl.X, sl.Y, sl.Z, sl.U) == (0, 1, 2, 3)
    assert (sl.Rev, sl.Pri, sl.Tor, sl.For, sl.Row, sl.Col) == (0, 1, 0, 1, 0, 1)
    printed = {sl.PIG_2: 1.570796326794897, sl.PIG: 3.141592653589793, sl.PIG2: 6.283185307179586}
    assert all(abs(ours - theirs) < 1e-15 for ours, theirs in printed.items())
    assert sl.Yaxis.tolist() == [0.0, 1.0, 0.0]
    assert sl.Zaxis_n.tolist() == [0.0, 0.0, -1.0]
    assert sl.ORIGIN.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert not sl.NULL4.any()
    assert sl.UNIT3.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("name", ARRAYS)
def test_constants_cannot_be_written_into(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(sl, name)[0] = 2.0
