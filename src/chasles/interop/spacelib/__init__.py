"""SpaceLib in C, version 2.2, under its own names and with its own conventions (Legnani, Adamini, Zappa, 2006).

Every routine of the manual takes its inputs in the original's order and returns its outputs: one array, or a named
tuple with the original's names in their order. A return value that says something about the data stands last, as `rv`.
Illegal codes raise `ArgumentError` where the original returns NOTOK. Illegal matrices, axes and origins give NaN, and
`rv` is NOTOK beside them (see `legality`). Arguments that the original overwrites are taken and returned anew. Arrays
may have leading batch axes, and hold traced scalars or symbols of SymPy as well as numbers.

`chasles.interop.spacelib.matlab` and `chasles.interop.spacelib.maple` have the names and codes of the other versions.
"""

from chasles.interop.spacelib.algebra import (
    molt,
    molt3,
    molt4,
    moltmv3,
    moltp,
    rmolt,
    rmolt3,
    rmolt4,
    rmoltv,
    sub,
    sub3,
    sub4,
    subv,
    sum,
    sum3,
    sum4,
    sumv,
)
from chasles.interop.spacelib.cardan_angles import (
    Mtocard,
    Mtocardan,
    Mtoeul,
    Mtonaut,
    cardantoM,
    cardantor,
    cardantor3,
    cardantor4,
    cardtoM,
    eultoM,
    nauttoM,
    rtocardan,
    rtocardan3,
    rtocardan4,
)
from chasles.interop.spacelib.cardan_matrices import (
    Htocard,
    Htocardan,
    Htoeul,
    Htonaut,
    Wtocard,
    Wtocardan,
    Wtoeul,
    Wtonaut,
    cardantoH,
    cardantoW,
    cardtoH,
    cardtoW,
    eultoH,
    eultoW,
    nauttoH,
    nauttoW,
)
from chasles.interop.spacelib.cardan_rates import (
    WPRODtocardan,
    cardanto_G,
    cardanto_G3,
    cardanto_G4,
    cardanto_OMEGA,
    cardanto_omega,
    cardanto_omega3,
    cardanto_omega4,
    cardanto_OMEGAPTO,
    cardantol,
    cardantoWPROD,
    invA,
)
from chasles.interop.spacelib.change_of_reference import (
    trasf_mami,
    trasf_mamt,
    trasf_mamt4,
    trasf_miam,
    trasf_miamit,
)
from chasles.interop.spacelib.checks import Mcheck, Mcheck2, Miszero, viszero
from chasles.interop.spacelib.codes import (
    NOTOK,
    NOTYPE,
    NULL3,
    NULL4,
    OK,
    ORIGIN,
    PIG,
    PIG2,
    PIG_2,
    SKEW,
    SYMM,
    UNIT3,
    UNIT4,
    Col,
    For,
    Line,
    Pri,
    Rev,
    Row,
    Tor,
    U,
    X,
    Xaxis,
    Xaxis_n,
    Y,
    Yaxis,
    Yaxis_n,
    Z,
    Zaxis,
    Zaxis_n,
)
from chasles.interop.spacelib.copies import (
    mcopy,
    mcopy3,
    mcopy4,
    mcopy34,
    mcopy43,
    mmcopy,
    mvcopy,
    pcopy,
    vcopy,
    vmcopy,
)
from chasles.interop.spacelib.dynamic_equilibrium import dyn_eq
from chasles.interop.spacelib.elimination import elimin, normalr, rmax, swabc, swabr
from chasles.interop.spacelib.files import (
    BodyData,
    Equations,
    GripperData,
    LinkData,
    MotionData,
    RobotData,
    TwoBodyData,
    read_bodies,
    read_gripper,
    read_guess,
    read_linear_system,
    read_link_lengths,
    read_motion,
    read_robot,
    write_bodies,
    write_gripper,
    write_guess,
    write_linear_system,
    write_link_lengths,
    write_motion,
    write_robot,
)
from chasles.interop.spacelib.frames import axis, frame4P, frame4V, frameP, frameP3, frameP4, frameV, frameV3, frameV4
from chasles.interop.spacelib.general_matrices import (
    invers,
    mtov,
    mtov3,
    mtov4,
    skew,
    skew4,
    trac_ljlt4,
    vtom,
    vtom3,
    vtom4,
)
from chasles.interop.spacelib.inertia_and_actions import actom, jtoJ, psedot
from chasles.interop.spacelib.linear_systems import linear, minvers, pseudo_inv, solve
from chasles.interop.spacelib.lines_and_planes import (
    distpp,
    inters2pl,
    intersection,
    interslpl,
    line2p,
    linepvect,
    plane,
    plane2,
    project,
    projponl,
)
from chasles.interop.spacelib.matrices import (
    clear,
    clear3,
    clear4,
    crossMtoM,
    crossmtom,
    crossVtoM,
    crossvtom,
    idmat,
    idmat3,
    idmat4,
    norm,
    norm3,
    norm4,
    transp,
    transp3,
    transp4,
)
from chasles.interop.spacelib.motion_laws import LawOfMotion, modified_trapezoid_law, thirds_law
from chasles.interop.spacelib.normalization import (
    n_simm3,
    n_simm4,
    n_simm34,
    n_skew3,
    n_skew4,
    n_skew34,
    norm_simm_skew,
    normal,
    normal3,
    normal4,
)
from chasles.interop.spacelib.other_versions import Origin, eye, fmod, grad, jrand, normal_g, nullM, vect3
from chasles.interop.spacelib.points import angle, dist, intermediate, middle, vect
from chasles.interop.spacelib.positions import (
    DHtoMstd,
    dhtom,
    extract,
    mtoscrew,
    rotat,
    rotat2,
    rotat23,
    rotat24,
    rotat34,
    screwtom,
)
from chasles.interop.spacelib.printing import (
    fprintm3,
    fprintm4,
    fprintv,
    iprintmat,
    printm,
    printm3,
    printm4,
    printmat,
    printv,
    prmat,
)
from chasles.interop.spacelib.scalars import aabs, deg, dzerom, fzerom, max, min, rad, sign, zerom
from chasles.interop.spacelib.translations import traslat, traslat2, traslat24
from chasles.interop.spacelib.vectors import clearv, cross, dot, dot2, mod, unitv, vector
from chasles.interop.spacelib.velocities import (
    Gtomegapto,
    WtoL,
    Wtovel,
    coriolis,
    gtom,
    makeL,
    makeL2,
    velacctoWH,
    velacctoWH2,
    velacctoWH3,
)

# fmt: off
__all__ = [
    "NOTOK", "NOTYPE", "NULL3", "NULL4", "OK", "ORIGIN", "PIG", "PIG2", "PIG_2", "SKEW", "SYMM", "UNIT3", "UNIT4",
    "BodyData", "Col", "DHtoMstd", "Equations", "For", "GripperData", "Gtomegapto", "Htocard", "Htocardan", "Htoeul",
    "Htonaut", "LawOfMotion", "Line", "LinkData", "Mcheck", "Mcheck2", "Miszero", "MotionData", "Mtocard", "Mtocardan",
    "Mtoeul", "Mtonaut", "Origin", "Pri", "Rev", "RobotData", "Row", "Tor", "TwoBodyData", "U", "WPRODtocardan", "WtoL",
    "Wtocard", "Wtocardan", "Wtoeul", "Wtonaut", "Wtovel", "X", "Xaxis", "Xaxis_n", "Y", "Yaxis", "Yaxis_n", "Z",
    "Zaxis", "Zaxis_n", "aabs", "actom", "angle", "axis", "cardantoH", "cardantoM", "cardantoW", "cardantoWPROD",
    "cardanto_G", "cardanto_G3", "cardanto_G4", "cardanto_OMEGA", "cardanto_OMEGAPTO", "cardanto_omega",
    "cardanto_omega3", "cardanto_omega4", "cardantol", "cardantor", "cardantor3", "cardantor4", "cardtoH", "cardtoM",
    "cardtoW", "clear", "clear3", "clear4", "clearv", "coriolis", "cross", "crossMtoM", "crossVtoM", "crossmtom",
    "crossvtom", "deg", "dhtom", "dist", "distpp", "dot", "dot2", "dyn_eq", "dzerom", "elimin", "eultoH", "eultoM",
    "eultoW", "extract", "eye", "fmod", "fprintm3", "fprintm4", "fprintv", "frame4P", "frame4V", "frameP", "frameP3",
    "frameP4", "frameV", "frameV3", "frameV4", "fzerom", "grad", "gtom", "idmat", "idmat3", "idmat4", "intermediate",
    "inters2pl", "intersection", "interslpl", "invA", "invers", "iprintmat", "jrand", "jtoJ", "line2p", "linear",
    "linepvect", "makeL", "makeL2", "max", "mcopy", "mcopy3", "mcopy4", "mcopy34", "mcopy43", "middle", "min",
    "minvers", "mmcopy", "mod", "modified_trapezoid_law", "molt", "molt3", "molt4", "moltmv3", "moltp", "mtoscrew",
    "mtov", "mtov3", "mtov4", "mvcopy", "n_simm3", "n_simm4", "n_simm34", "n_skew3", "n_skew4", "n_skew34", "nauttoH",
    "nauttoM", "nauttoW", "norm", "norm3", "norm4", "norm_simm_skew", "normal", "normal3", "normal4", "normal_g",
    "normalr", "nullM", "pcopy", "plane", "plane2", "printm", "printm3", "printm4", "printmat", "printv", "prmat",
    "project", "projponl", "psedot", "pseudo_inv", "rad", "read_bodies", "read_gripper", "read_guess",
    "read_linear_system", "read_link_lengths", "read_motion", "read_robot", "rmax", "rmolt", "rmolt3", "rmolt4",
    "rmoltv", "rotat", "rotat2", "rotat23", "rotat24", "rotat34", "rtocardan", "rtocardan3", "rtocardan4", "screwtom",
    "sign", "skew", "skew4", "solve", "sub", "sub3", "sub4", "subv", "sum", "sum3", "sum4", "sumv", "swabc", "swabr",
    "thirds_law", "trac_ljlt4", "transp", "transp3", "transp4", "trasf_mami", "trasf_mamt", "trasf_mamt4", "trasf_miam",
    "trasf_miamit", "traslat", "traslat2", "traslat24", "unitv", "vcopy", "vect", "vect3", "vector", "velacctoWH",
    "velacctoWH2", "velacctoWH3", "viszero", "vmcopy", "vtom", "vtom3", "vtom4", "write_bodies", "write_gripper",
    "write_guess", "write_linear_system", "write_link_lengths", "write_motion", "write_robot", "zerom",
]
# fmt: on
