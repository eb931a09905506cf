"""The equations of a planar arm as formulas.

The same programs that run compiled are written with SymPy: the terms of the textbook's equation of motion appear.
"""

from __future__ import annotations

import numpy as np
import sympy

import chasles as ch


def main() -> None:
    """Derive mass matrix, Coriolis vector and gravity torque of two slender rods with a payload m at the end."""
    arm = ch.load("planar2r")
    M = arm.mass_matrix.specialize(vary=["payload.mass"])
    g = arm.gravity_torque.specialize(vary=["payload.mass", "gravity"])
    formulas = {
        "M": M.to_sympy(),
        "c": arm.coriolis_vector.to_sympy(),
        "g": g.to_sympy(),
    }
    m, gravity = sympy.symbols("m g", positive=True)
    known = {"payload.mass": m, "gravity0": 0, "gravity1": -gravity, "gravity2": 0}  # gravity pulls along -y
    for name, formula in formulas.items():
        symbols = {symbol: known.get(symbol.name, symbol) for symbol in formula.free_symbols}
        print(f"{name}:")
        for index, entry in np.ndenumerate(np.squeeze(np.array(formula))):
            simple = sympy.simplify(sympy.nsimplify(entry, rational=True).subs(symbols))
            print(f"    {name}{list(index)} = {simple}")

    q, mass = [0.3, 0.7], 2.0
    values = dict(zip(("q0", "q1", "payload.mass"), (*q, mass), strict=True))
    symbolic = formulas["M"].subs({s: values[s.name] for s in formulas["M"].free_symbols})
    difference = np.abs(np.array(symbolic, dtype=float) - M(q, mass)).max()
    print(f"largest difference between formula and compiled function: {difference:.1e}")


if __name__ == "__main__":
    main()
