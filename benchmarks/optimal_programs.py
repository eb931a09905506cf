"""Other programs of optimal control, run in an environment of their own: ``python optimal_programs.py PROGRAM FOLDER``.

The folder has a problem in a form that knows no robot: functions of CasADi for the step, the residuals and what must
be zero or not negative, and numbers. Nothing of Chasles is imported here. The result is printed as JSON, with the
motion that was found, so that the caller can judge it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import casadi
import numpy as np

REPEATS, MOST_ITERATIONS, TOLERANCE = 3, 500, 1e-9
FLAGS = "-O3 -march=native"
#: CasADi's functions as machine code instead of its virtual machine; compiling takes minutes.
COMPILED = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O2"]}}


class NotOfferedError(Exception):
    """A program has no such problems; the caller prints the reason in place of figures."""


class Problem:
    """The problem of a folder.

    Attributes are ``step`` (x, u) -> x⁺, ``running`` (x, u) -> residual, ``final`` (x) -> residual and zeros,
    ``clear`` (x) -> what must not be negative, and arrays: the first states and torques, bounds of both at the nodes.
    """

    def __init__(self, folder: Path) -> None:
        given = json.loads((folder / "problem.json").read_text(encoding="utf-8"))
        self.step, self.running, self.final, self.clear = (
            casadi.Function.load(str(folder / f"{name}.casadi")) for name in ("step", "running", "final", "clear")
        )
        self.states, self.torques = np.array(given["states"]), np.array(given["torques"])
        self.lower_x, self.upper_x = np.array(given["lower_x"], float), np.array(given["upper_x"], float)
        self.lower_u, self.upper_u = np.array(given["lower_u"], float), np.array(given["upper_u"], float)
        self.nodes, self.h, self.arm = len(self.torques), given["h"], given["arm"]


class Found:
    """What a solver says it found, and the motion."""

    def __init__(self, solved: bool, iterations: int, states: Any, torques: Any) -> None:
        self.solved, self.iterations = bool(solved), int(iterations)
        self.states, self.torques = np.asarray(states), np.asarray(torques)


def interior_point(problem: Problem, name: str, options: dict[str, Any]) -> Callable[[], Found]:
    """IPOPT and Fatrop of CasADi's package, in the order of variables and constraints that Fatrop wants."""
    n, m, N = problem.states.shape[1], problem.torques.shape[1], problem.nodes
    xs, us = [casadi.MX.sym(f"x{k}", n) for k in range(N + 1)], [casadi.MX.sym(f"u{k}", m) for k in range(N)]
    cost, g, equal = 0, [], []

    def constrain(value: Any, is_equality: bool) -> None:
        g.append(value)
        equal.extend([is_equality] * value.numel())

    for k in range(N):
        cost += 0.5 * casadi.sumsqr(problem.running(xs[k], us[k]))
        constrain(xs[k + 1] - problem.step(xs[k], us[k]), True)
        if k == 0:
            constrain(xs[0] - problem.states[0], True)
        elif problem.clear.numel_out(0):
            constrain(problem.clear(xs[k]), False)
    residual, ends = problem.final(xs[N])
    cost += 0.5 * casadi.sumsqr(residual)
    if ends.numel():
        constrain(ends, True)
    if problem.clear.numel_out(0):
        constrain(problem.clear(xs[N]), False)

    def interleaved(x: Any, u: Any) -> Any:
        return np.concatenate([*(np.concatenate(pair) for pair in zip(x[:-1], u, strict=True)), x[-1]])

    free = np.full(n, np.inf)
    low, high = problem.lower_x.copy(), problem.upper_x.copy()
    low[0], high[0] = -free, free  # a constraint fixes the first state
    z = casadi.vertcat(*[v for pair in zip(xs, us, strict=False) for v in pair], xs[N])
    structure = {"structure_detection": "auto", "equality": equal} if name == "fatrop" else {}
    program = {"x": z, "f": cost, "g": casadi.vertcat(*g)}
    solver = casadi.nlpsol("solver", name, program, {"print_time": False, **COMPILED, **structure, **options})
    bounds = {
        "lbx": interleaved(low, problem.lower_u),
        "ubx": interleaved(high, problem.upper_u),
        "lbg": 0.0,
        "ubg": np.where(equal, 0.0, np.inf),
    }
    first = interleaved(problem.states, problem.torques)

    def solve() -> Found:
        values = np.asarray(solver(x0=first, **bounds)["x"]).ravel()
        stats = solver.stats()
        pairs = values[: N * (n + m)].reshape(N, n + m)
        states = np.vstack([pairs[:, :n], values[N * (n + m) :]])
        return Found(stats["success"], stats["iter_count"], states, pairs[:, n:])

    return solve


def ipopt(problem: Problem) -> Callable[[], Found]:
    """IPOPT with exact Hessians."""
    quiet = {"print_level": 0, "sb": "yes", "tol": TOLERANCE, "bound_relax_factor": 0.0, "max_iter": MOST_ITERATIONS}
    return interior_point(problem, "ipopt", {"ipopt": quiet})


def fatrop(problem: Problem) -> Callable[[], Found]:
    """Fatrop with exact Hessians."""
    return interior_point(
        problem, "fatrop", {"fatrop": {"print_level": 0, "tol": TOLERANCE, "max_iter": MOST_ITERATIONS}}
    )


def acados(problem: Problem) -> Callable[[], Found]:
    """acados' SQP with HPIPM and Gauss-Newton Hessians."""
    import acados as package

    source = Path("acados").absolute()  # laid out as acados' own repository, which its templates expect
    (source / "interfaces/acados_template").mkdir(parents=True, exist_ok=True)
    for link, target in {
        "lib": package.LIB_DIR,
        "include": package.INCLUDE_DIR,
        "bin": package.BIN_DIR,
        "interfaces/acados_template/acados_template": package.TEMPLATE_DIR,
    }.items():
        if not (source / link).exists():
            (source / link).symlink_to(target)
    os.environ |= {"ACADOS_SOURCE_DIR": str(source), "TERA_PATH": package.TERA_PATH}
    for library in ("libqpOASES_e.so.3.1", "libblasfeo.so", "libhpipm.so", "libacados.so"):
        ctypes.CDLL(str(Path(package.LIB_DIR) / library), ctypes.RTLD_GLOBAL)
    sys.path.insert(0, str(Path(package.DIR).parent))
    sys.path.insert(0, str(Path(package.TEMPLATE_DIR).parent))
    from acados_template import AcadosModel, AcadosOcp, AcadosOcpSolver

    n, m, N = problem.states.shape[1], problem.torques.shape[1], problem.nodes
    ocp, model = AcadosOcp(), AcadosModel()
    model.name = "problem"
    model.x, model.u = casadi.SX.sym("x", n), casadi.SX.sym("u", m)
    model.disc_dyn_expr = problem.step(model.x, model.u)
    model.cost_y_expr = problem.running(model.x, model.u)
    model.cost_y_expr_e, ends = problem.final(model.x)
    ocp.model = model
    ocp.cost.cost_type, ocp.cost.cost_type_e = "NONLINEAR_LS", "NONLINEAR_LS"
    sizes = model.cost_y_expr.numel(), model.cost_y_expr_e.numel()
    ocp.cost.W, ocp.cost.W_e = np.eye(sizes[0]) / problem.h, np.eye(sizes[1])  # it multiplies by the time step
    ocp.cost.yref, ocp.cost.yref_e = map(np.zeros, sizes)
    everything = 1e9  # acados knows no infinite bounds
    ocp.constraints.x0 = problem.states[0]
    ocp.constraints.idxbu, ocp.constraints.idxbx, ocp.constraints.idxbx_e = np.arange(m), np.arange(n), np.arange(n)
    lower_x, upper_x = (np.clip(bound, -everything, everything) for bound in (problem.lower_x, problem.upper_x))
    lower_u, upper_u = (np.clip(bound, -everything, everything) for bound in (problem.lower_u, problem.upper_u))
    ocp.constraints.lbu, ocp.constraints.ubu = lower_u[0], upper_u[0]
    ocp.constraints.lbx, ocp.constraints.ubx = lower_x[1], upper_x[1]
    ocp.constraints.lbx_e, ocp.constraints.ubx_e = lower_x[N], upper_x[N]
    distances = problem.clear(model.x)
    clear = distances.numel()
    if clear:
        model.con_h_expr = distances
        ocp.constraints.lh, ocp.constraints.uh = np.zeros(clear), np.full(clear, everything)
    if clear + ends.numel():
        model.con_h_expr_e = casadi.vertcat(distances, ends)
        ocp.constraints.lh_e = np.zeros(clear + ends.numel())
        ocp.constraints.uh_e = np.concatenate([np.full(clear, everything), np.zeros(ends.numel())])
    options = ocp.solver_options
    ocp.dims.N, options.tf = N, N * problem.h
    options.integrator_type, options.nlp_solver_type = "DISCRETE", "SQP"
    options.qp_solver, options.hessian_approx = "PARTIAL_CONDENSING_HPIPM", "GAUSS_NEWTON"
    options.globalization, options.nlp_solver_max_iter = "MERIT_BACKTRACKING", MOST_ITERATIONS
    options.nlp_solver_tol_stat = 1e-5  # of gradients of the order of 1e3
    options.nlp_solver_tol_eq = 1e-8
    options.nlp_solver_tol_ineq = options.nlp_solver_tol_comp = 5e-7  # HPIPM stops near 1e-7
    options.ext_fun_compile_flags, options.print_level = FLAGS, 0
    ocp.code_export_directory = "code"
    solver = AcadosOcpSolver(ocp, json_file="problem_acados.json", verbose=False)

    def solve() -> Found:
        solver.reset()
        for k in range(N + 1):
            solver.set(k, "x", problem.states[k])
            if k < N:
                solver.set(k, "u", problem.torques[k])
        status = solver.solve()
        states = [solver.get(k, "x") for k in range(N + 1)]
        torques = [solver.get(k, "u") for k in range(N)]
        return Found(status == 0, np.ravel(solver.get_stats("sqp_iter"))[0], states, torques)

    return solve


def crocoddyl_problem(problem: Problem, limited: bool) -> Any:
    """The reach in Crocoddyl's own classes, as in the benchmark of an arm that it ships."""
    import crocoddyl
    import pinocchio

    arm = problem.arm
    if arm is None:
        raise NotOfferedError("it is written here for the reach alone")
    model = pinocchio.buildModelFromUrdf(arm["urdf"])
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    T = np.array(arm["goal"])
    frame = model.getFrameId(arm["tool"])
    goal = crocoddyl.CostModelResidual(
        state, crocoddyl.ResidualModelFramePlacement(state, frame, pinocchio.SE3(T[:3, :3], T[:3, 3]), actuation.nu)
    )
    start = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, problem.states[0], actuation.nu))
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu))
    running, final = crocoddyl.CostModelSum(state), crocoddyl.CostModelSum(state)
    running.addCost("goal", goal, 1.0)
    running.addCost("state", start, 0.1)
    running.addCost("torque", effort, 0.1)
    final.addCost("goal", goal, 1e3)
    nodes = []
    for costs, h in ((running, problem.h), (final, 0.0)):
        if limited:
            bounds = crocoddyl.ConstraintModelManager(state, actuation.nu)
            boxes = {"state": (crocoddyl.ResidualModelState(state, np.zeros(2 * model.nv), actuation.nu), "x", 1)}
            if h:
                boxes["torque"] = crocoddyl.ResidualModelControl(state, actuation.nu), "u", 0
            for name, (residual, kind, node) in boxes.items():
                low, high = (getattr(problem, f"{side}_{kind}")[node] for side in ("lower", "upper"))
                if np.isfinite(high).any():
                    constraint = crocoddyl.ConstraintModelResidual(state, residual, low, high)
                    bounds.addConstraint(name, constraint)
            dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, bounds)
        else:
            dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        node = crocoddyl.IntegratedActionModelEuler(dynamics, h)
        if h and np.isfinite(problem.upper_u).all():
            node.u_lb, node.u_ub = problem.lower_u[0], problem.upper_u[0]
        nodes.append(node)
    shooting = crocoddyl.ShootingProblem(problem.states[0], [nodes[0]] * problem.nodes, nodes[1])
    shooting.nthreads = 1
    return shooting


def crocoddyl(problem: Problem) -> Callable[[], Found]:
    """Crocoddyl's feasibility-driven DDP, with box limits of torques where there are some."""
    import crocoddyl as package

    if np.isfinite(problem.upper_x[1:]).any() or problem.clear.numel_out(0):
        raise NotOfferedError("it has no limits of states")
    limited = np.isfinite(problem.upper_u).all()
    solver = (package.SolverBoxFDDP if limited else package.SolverFDDP)(crocoddyl_problem(problem, False))
    solver.th_stop = TOLERANCE

    def solve() -> Found:
        done = solver.solve(list(problem.states), list(problem.torques), MOST_ITERATIONS, False, 1e-9)
        return Found(done, solver.iter, list(solver.xs), list(solver.us))

    return solve


def mim_solvers(problem: Problem) -> Callable[[], Found]:
    """The constrained SQP of mim_solvers on Crocoddyl's problem."""
    import crocoddyl  # noqa: F401 - which loads libraries that mim_solvers needs
    import mim_solvers as package

    if problem.clear.numel_out(0):
        raise NotOfferedError("it is not written here with distances")
    limited = np.isfinite(problem.upper_x[1:]).any() or np.isfinite(problem.upper_u).any()
    solver = package.SolverCSQP(crocoddyl_problem(problem, bool(limited)))
    solver.termination_tolerance = 1e-5
    solver.eps_abs, solver.eps_rel, solver.max_qp_iters = 1e-6, 0.0, 1000

    def solve() -> Found:
        done = solver.solve(list(problem.states), list(problem.torques), MOST_ITERATIONS, False)
        return Found(done, solver.iter, list(solver.xs), list(solver.us))

    return solve


PROGRAMS = {"IPOPT": ipopt, "Fatrop": fatrop, "acados": acados, "Crocoddyl": crocoddyl, "mim_solvers": mim_solvers}


def main() -> None:
    """Solve the problem of a folder several times and print the last result with the median time."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    problem = Problem(folder)
    begin = perf_counter()
    try:
        solve = PROGRAMS[name](problem)
    except NotOfferedError as reason:
        print(json.dumps({"reason": str(reason)}))
        return
    build = perf_counter() - begin
    times = []
    for _ in range(REPEATS):
        begin = process_time()
        found = solve()
        times.append(process_time() - begin)
    result = {"solved": found.solved, "iterations": found.iterations, "seconds": median(times), "build": build}
    print(json.dumps(result | {"states": found.states.tolist(), "torques": found.torques.tolist()}))


if __name__ == "__main__":
    main()
