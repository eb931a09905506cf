"""SpaceLib under the names of its MATLAB version, with axes counted from 1 (appendix A of the manual).

Only names and codes of axes differ: arguments stand in the order of the C version, and results are returned as there.

>>> from chasles.interop.spacelib import matlab
>>> matlab.rotat2(matlab.Z, 0.0).shape
(3, 3)
"""

from __future__ import annotations

from chasles.geometry.elementary import Array
from chasles.interop import spacelib as c
from chasles.interop.spacelib import axis_codes, matlab_printing
from chasles.interop.spacelib.axis_codes import counted_from_1

X, Y, Z, U = axis_codes.X, axis_codes.Y, axis_codes.Z, axis_codes.U
Rev, Pri, Tor, For, Row, Col = c.Rev, c.Pri, c.Tor, c.For, c.Row, c.Col
OK, NOTOK, SYMM, SKEW = c.OK, c.NOTOK, c.SYMM, c.SKEW
ORIGIN, PIG_2, PIG, PIG2 = c.ORIGIN, c.PIG_2, c.PIG, c.PIG2

aaxis = counted_from_1(c.axis, "n", name="aaxis")
actom = c.actom
angle = c.angle
cardatog = counted_from_1(c.cardanto_G, "i", "j", "k", name="cardatog")
cardatoh = counted_from_1(c.cardantoH, "i", "j", "k", name="cardatoh")
cardatol = counted_from_1(c.cardantol, "i", "j", "k", name="cardatol")
cardatom = counted_from_1(c.cardantoM, "i", "j", "k", name="cardatom")
cardator = counted_from_1(c.cardantor, "i", "j", "k", name="cardator")
cardatow = counted_from_1(c.cardantoW, "i", "j", "k", name="cardatow")
cardompt = counted_from_1(c.cardanto_OMEGAPTO, "i", "j", "k", name="cardompt")
cardtome = counted_from_1(c.cardanto_omega, "i", "j", "k", name="cardtome")
cardtoom = counted_from_1(c.cardanto_OMEGA, "i", "j", "k", name="cardtoom")
cardtowp = counted_from_1(c.cardantoWPROD, "i", "j", "k", name="cardtowp")
clearmat = c.clear
coriolis = c.coriolis
cross = c.cross
crossmto = c.crossMtoM
deg = c.deg
dhtom = c.dhtom
dhtomstd = c.DHtoMstd
dist = distp = c.dist
distpp = c.distpp
dot = dot3 = c.dot
dot2 = c.dot2
dyn_eq = c.dyn_eq
extract = c.extract
fprintm = matlab_printing.fprintm
frame4p = counted_from_1(c.frame4P, "a1", "a2", name="frame4p")
frame4v = counted_from_1(c.frame4V, "a1", "a2", name="frame4v")
framep = counted_from_1(c.frameP, "a1", "a2", name="framep")
framev = counted_from_1(c.frameV, "a1", "a2", name="framev")
grad = c.grad
gtom = c.gtom
gtomgapt = c.Gtomegapto
htocarda = counted_from_1(c.Htocardan, "i", "j", "k", name="htocarda")
idmat = c.idmat
inter2pl = c.inters2pl
interlpl = c.interslpl
intermed = c.intermediate
intersec = intersect = c.intersection
inva = counted_from_1(c.invA, "i", "j", "k", name="inva")
invers = c.invers
jrand = c.jrand
jtoj = c.jtoJ
line2p = c.line2p
linears = c.linear
linpvect = c.linepvect
makel = c.makeL
makel2 = counted_from_1(c.makeL2, "a", name="makel2")
mami = c.trasf_mami
mamt = c.trasf_mamt
mcopy = c.mcopy
miam = c.trasf_miam
miamit = c.trasf_miamit
middle = c.middle
minvers = c.minvers
mmcopy = c.mmcopy
mod = modulus = c.mod
molt = c.molt
mtocarda = counted_from_1(c.Mtocardan, "i", "j", "k", name="mtocarda")
mtoscrew = c.mtoscrew
mtov = c.mtov
mvcopy = c.mvcopy
normal = c.normal
normal3 = c.normal3
normal_g = c.normal_g
normskew = c.norm_simm_skew
plane = c.plane
plane2 = c.plane2
printm = matlab_printing.printm
prmat = matlab_printing.prmat
project = c.project
projponl = c.projponl
psedot = c.psedot
pseudinv = c.pseudo_inv
rad = c.rad
rmolt = c.rmolt
rotat = c.rotat
rotat2 = counted_from_1(c.rotat2, "a")
rotat24 = counted_from_1(c.rotat24, "a")
rotat34 = counted_from_1(c.rotat34, "a")
rtocarda = counted_from_1(c.rtocardan, "i", "j", "k", name="rtocarda")
screwtom = c.screwtom
skew = c.skew
solve_l = c.solve
ssum = c.sum
sub = c.sub
tracljlt = c.trac_ljlt4
transp = c.transp
traslat = c.traslat
traslat2 = counted_from_1(c.traslat2, "a")
traslat24 = counted_from_1(c.traslat24, "a")
unitv = c.unitv
vactowh2 = counted_from_1(c.velacctoWH2, "a", name="vactowh2")
vactowh3 = counted_from_1(c.velacctoWH3, "a", name="vactowh3")
veactowh = c.velacctoWH
vect = c.vect
vector = c.vector
vmcopy = c.vmcopy
vtom = c.vtom
wtocarda = counted_from_1(c.Wtocardan, "i", "j", "k", name="wtocarda")
wtol = c.WtoL
wtovel = c.Wtovel
zerom = c.zerom


def crosstom(A1: Array, A2: Array) -> Array:
    """Cross-product matrix of a x b from vectors or from cross-product matrices: `crossvtom` or `crossMtoM`.

    Parameters
    ----------
    A1, A2
        Both vectors, shape (..., 3), or both matrices, shape (..., 3, 3). Three vectors in one batch are as (3, 3) a
        matrix; `crossvtom` takes them as vectors.

    Examples
    --------
    >>> crosstom([1, 0, 0], [0, 1, 0])[1, 0]
    np.float64(1.0)
    """
    first, second = c.mcopy(A1), c.mcopy(A2)
    of_matrices = all(array.ndim > 1 and array.shape[-2:] == (3, 3) for array in (first, second))
    product: Array = c.crossMtoM(first, second) if of_matrices else c.crossvtom(first, second)
    return product
