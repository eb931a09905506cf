"""Coefficients of the elementary functions that targets write themselves.

Sine, cosine and logarithm: fdlibm (Sun Microsystems, 1993). Arc tangent, cosine in single precision: Cephes (Moshier,
1989). Sine in single precision: FreeBSD's `k_sinf.c`.
"""

from __future__ import annotations

#: ln 2 in two parts; the product of the first with a whole number below 2²⁰ is exact.
LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
#: π/2 in three parts; the product of the second with a whole number below 2²⁰ is exact.
PI_2 = (1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27)
#: π/2 in three parts of single precision; the product of the second with a whole number below 2¹⁴ is exact.
SINGLE_PI_2 = (1.5707963705062866, -4.371395334601402e-08, 2.5633440682570896e-12)
#: (sin r - r) / r³ as a polynomial in r², for |r| ≤ π/4.
SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
#: (cos r - 1 + r²/2) / r⁴ as a polynomial in r².
COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
#: The same for single precision.
SINGLE_SIN = (-1.6666666641626523e-1, 8.333329385889463e-3, -1.9839334836096632e-4, 2.718311493989822e-6)
SINGLE_COS = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
#: (log((1 + s) / (1 - s)) / s - 2) / s² as a polynomial in s².
LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip
#: (atan u - u) / u³ as a quotient of polynomials in u², for |u| ≤ 0.66: numerator.
ATAN_P = (
    -6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
    -1.615753718733365076637e1, -8.750608600031904122785e-1,
)  # fmt: skip
#: Its denominator.
ATAN_Q = (
    1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
    1.650270098316988542046e2, 2.485846490142306297962e1, 1.0,
)  # fmt: skip
