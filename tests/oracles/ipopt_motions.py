"""Problems of optimal control solved by IPOPT, with derivatives by CasADi: the same nodes, nothing of our solver.

Values of costs, distances and dynamics are Chasles' own, as functions of CasADi, unless other dynamics are given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi
import numpy as np

from chasles.control.optimal import OptimalControl


class Motion(NamedTuple):
    """What IPOPT found: whether it converged, its cost, iterations and torques (N, m)."""

    solved: bool
    cost: float
    iterations: int
    torques: np.ndarray


class IpoptProblem:
    """A problem as a nonlinear program of torques and states at the nodes."""

    def __init__(
        self,
        problem: OptimalControl,
        dynamics: casadi.Function | None = None,
        tolerance: float = 1e-9,
        seconds: float = 1e6,
    ) -> None:
        self.problem, robot = problem, problem.robot
        n, N, h, drift = robot.n, problem.nodes, problem.step.h, problem.step.method.drift
        self.m = m = int(problem.motors.sum())
        F = robot.forward_dynamics.to_casadi() if dynamics is None else dynamics
        x, u = casadi.SX.sym("x", 2 * n), casadi.SX.sym("u", m)
        tau = casadi.DM(np.eye(n)[:, problem.motors]) @ u
        q = x[:n] + drift * h * x[n:]
        qd = x[n:] + h * F(q, x[n:], tau)
        step = casadi.Function("step", [x, u], [casadi.vertcat(q + (1.0 - drift) * h * qd, qd)])
        X, U = casadi.MX.sym("X", 2 * n, N + 1), casadi.MX.sym("U", m, N)
        sizes = [(), (n,), *problem.values.values()]
        given = [casadi.MX.sym(f"p{k}", *size) for k, size in enumerate(sizes)]
        times = np.zeros((1 + 3 * n, N + 1))  # without a motion to follow
        times[0] = np.linspace(0.0, problem.duration, N + 1)
        parts = [given[0], *given[1:]]

        def mapped(function: Any, W: Any, t: Any) -> Any:
            repeated = [casadi.repmat(p, 1, t.shape[1]) for p in parts]
            return function.to_casadi().map(t.shape[1])(W, t, *repeated)

        W = casadi.vertcat(U, X[:, :-1])
        cost = casadi.sum2(mapped(problem.terms.stage.values, W, times[:, :-1])[0])
        final, ends = problem.terms.last.values.to_casadi()(X[:, -1], times[:, -1], *parts)
        rows = [casadi.vec(step.map(N)(X[:, :-1], U) - X[:, 1:]), casadi.vec(ends)]
        self.equalities = rows[0].numel() + rows[1].numel()
        if problem.terms.distances.count:
            rows.append(casadi.vec(mapped(problem.terms.distances.values, X[:, 1:], times[:, 1:])[1]))
        g = casadi.vertcat(*rows)
        self.inequalities = g.numel() - self.equalities
        z = casadi.vertcat(casadi.vec(U), casadi.vec(X))
        options = {
            "print_time": False,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "tol": tolerance,
                "bound_relax_factor": 0.0,
                "max_iter": 1000,
                "max_cpu_time": seconds,
            },
        }
        p = casadi.vertcat(*(casadi.vec(each) for each in given))
        self.solver = casadi.nlpsol("solver", "ipopt", {"x": z, "p": p, "f": cost + final, "g": g}, options)

    def solve(
        self, x0: np.ndarray, W: np.ndarray, values: list[np.ndarray], limited: OptimalControl | None = None
    ) -> Motion:
        """Solve from a first motion W (N + 1, m + 2n), with the limits of another problem if given."""
        m, N = self.m, self.problem.nodes
        limits = limited or self.problem
        lower, upper = (np.tile(bound, (N + 1, 1)) for bound in (limits.lower, limits.upper))
        lower[0, m:] = upper[0, m:] = x0
        first, low, high = (np.concatenate([v[:-1, :m].ravel(), v[:, m:].ravel()]) for v in (W, lower, upper))
        p = np.concatenate([[1.0], x0[: self.problem.robot.n], *(np.asarray(v).ravel(order="F") for v in values)])
        most = np.concatenate([np.zeros(self.equalities), np.full(self.inequalities, np.inf)])
        found = self.solver(x0=first, p=p, lbx=low, ubx=high, lbg=np.zeros(len(most)), ubg=most)
        stats = self.solver.stats()
        torques = np.asarray(found["x"]).ravel()[: N * m].reshape(N, m)
        return Motion(bool(stats["success"]), float(found["f"]), int(stats["iter_count"]), torques)
