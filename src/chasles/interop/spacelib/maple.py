"""SpaceLib under the names of its Maple version, with axes counted from 1 (appendix A of the manual).

Only names and codes of axes differ: arguments stand in the order of the C version, and results are returned as there.
All routines take symbols of SymPy, which the Maple version was for.

Capital and small letters change places: `cardanto_omega` and `cardanto_omegapto` are the vectors here and
`cardanto_OMEGA` and `cardanto_OMEGAPTO` the matrices, where C's `cardanto_OMEGA` and `cardanto_OMEGAPTO` are vectors
and its `cardanto_omega` is the matrix.

>>> import sympy
>>> from chasles.interop.spacelib import maple
>>> q = sympy.Symbol("q")
>>> maple.rotat2(maple.Z, q)[0]
array([cos(q), -sin(q), 0.0], dtype=object)
"""

from __future__ import annotations

from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.interop import spacelib as c
from chasles.interop.spacelib import axis_codes, matlab_printing
from chasles.interop.spacelib.axis_codes import counted_from_1

X, Y, Z, U = axis_codes.X, axis_codes.Y, axis_codes.Z, axis_codes.U
Rev, Pri, Tor, For, Row, Col = c.Rev, c.Pri, c.Tor, c.For, c.Row, c.Col
OK, NOTOK, SYMM, SKEW = c.OK, c.NOTOK, c.SYMM, c.SKEW
ORIGIN, PIG_2, PIG, PIG2 = c.ORIGIN, c.PIG_2, c.PIG, c.PIG2

Angle = c.angle
Axis = axis = counted_from_1(c.axis, "n")
DHtoMstd = c.DHtoMstd
Gtomegapto = c.Gtomegapto
Htocard = c.Htocard
Htocardan = counted_from_1(c.Htocardan, "i", "j", "k")
Htoeul = c.Htoeul
Htonaut = c.Htonaut
Mcheck = c.Mcheck
Mcheck2 = c.Mcheck2
Miszero = c.Miszero
Mtocard = c.Mtocard
Mtocardan = counted_from_1(c.Mtocardan, "i", "j", "k")
Mtoeul = c.Mtoeul
Mtonaut = c.Mtonaut
Mtoscrew = c.mtoscrew
Mtov = c.mtov
Origin = c.Origin
Rtocardan = counted_from_1(c.rtocardan, "i", "j", "k", name="Rtocardan")
WtoL = c.WtoL
Wtocard = c.Wtocard
Wtocardan = counted_from_1(c.Wtocardan, "i", "j", "k")
Wtoeul = c.Wtoeul
Wtonaut = c.Wtonaut
Wtovel = c.Wtovel
actoM = c.actom
cardantoG = counted_from_1(c.cardanto_G, "i", "j", "k", name="cardantoG")
cardantoH = counted_from_1(c.cardantoH, "i", "j", "k")
cardantoL = counted_from_1(c.cardantol, "i", "j", "k", name="cardantoL")
cardantoM = counted_from_1(c.cardantoM, "i", "j", "k")
cardantoR = counted_from_1(c.cardantor, "i", "j", "k", name="cardantoR")
cardantoW = counted_from_1(c.cardantoW, "i", "j", "k")
cardantoWPROD = counted_from_1(c.cardantoWPROD, "i", "j", "k")
cardanto_OMEGA = counted_from_1(c.cardanto_omega, "i", "j", "k", name="cardanto_OMEGA")
cardanto_omega = counted_from_1(c.cardanto_OMEGA, "i", "j", "k", name="cardanto_omega")
cardanto_omegapto = counted_from_1(c.cardanto_OMEGAPTO, "i", "j", "k", name="cardanto_omegapto")
cardtoH = c.cardtoH
cardtoM = c.cardtoM
cardtoW = c.cardtoW
clear = c.clear
coriolis = c.coriolis
cross = c.cross
crossMtoM = c.crossMtoM
deg = c.deg
dhtom = c.dhtom
distp = c.dist
distpp = c.distpp
dyn_eq = c.dyn_eq
eultoH = c.eultoH
eultoM = c.eultoM
eultoW = c.eultoW
extract = c.extract
eye = c.eye
fmod = c.fmod
fprintm = matlab_printing.fprintm
frame4P = counted_from_1(c.frame4P, "a1", "a2")
frame4V = counted_from_1(c.frame4V, "a1", "a2")
frameP = counted_from_1(c.frameP, "a1", "a2")
frameV = counted_from_1(c.frameV, "a1", "a2")
gtoM = c.gtom
idmat = c.idmat
intermediate = c.intermediate
inters2pl = c.inters2pl
intersection = c.intersection
interslpl = c.interslpl
invA = counted_from_1(c.invA, "i", "j", "k")
invers = c.invers
jrand = c.jrand
jtoJ = c.jtoJ
line2p = c.line2p
linear = c.linear
linepvect = c.linepvect
makeL = c.makeL
makeL2 = counted_from_1(c.makeL2, "a")
middle = c.middle
minvers = c.minvers
modulus = c.mod
nauttoH = c.nauttoH
nauttoM = c.nauttoM
nauttoW = c.nauttoW
norm_simm_skew = c.norm_simm_skew
normalR = c.normal
normal_g = c.normal_g
nullM = c.nullM
plane3p = c.plane
planepv = c.plane2
printm = matlab_printing.printm
prmat = matlab_printing.prmat
project = c.project
projponl = c.projponl
psedot = c.psedot
pseudo_inv = c.pseudo_inv
rad = c.rad
rotat = c.rotat
rotat2 = counted_from_1(c.rotat2, "a")
rotat24 = counted_from_1(c.rotat24, "a")
rotat34 = counted_from_1(c.rotat34, "a")
screwtoM = c.screwtom
skew = c.skew
solver = c.solve
trac_ljlt = trac_ljlt4 = c.trac_ljlt4
traslat = c.traslat
traslat2 = counted_from_1(c.traslat2, "a")
traslat24 = counted_from_1(c.traslat24, "a")
trasf_mami = c.trasf_mami
trasf_mamt = c.trasf_mamt
trasf_miam = c.trasf_miam
trasf_miamit = c.trasf_miamit
unitv = c.unitv
vdot = c.dot2
vdot3 = c.dot
vect = c.vect
vect3 = c.vect3
velactoWH = c.velacctoWH
velactoWH2 = counted_from_1(c.velacctoWH2, "a", name="velactoWH2")
velactoWH3 = counted_from_1(c.velacctoWH3, "a", name="velactoWH3")
viszero = c.viszero
vtoM = c.vtom


def cardanto_OMEGAPTO(q: Real, qp: Real, qpp: Real, i: int, j: int, k: int, dim: int = 3) -> Array:
    """Angular acceleration as a cross-product matrix, from Cardan or Euler angles and their rates; only Maple has it.

    Parameters
    ----------
    q, qp, qpp
        Angles, rates and accelerations, rad, rad/s and rad/s², shapes (..., 3).
    i, j, k
        Axes: 1 (X), 2 (Y) or 3 (Z).
    dim
        Size of the result, whose elements outside the upper-left 3×3 part are null.

    Examples
    --------
    >>> cardanto_OMEGAPTO([0, 0, 0], [0, 0, 0], [0, 0, 2.0], X, Y, Z)[1, 0]
    np.float64(2.0)
    """
    matrix: Array = c.vtom(cardanto_omegapto(q, qp, qpp, i, j, k), dim)
    return matrix
