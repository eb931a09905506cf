"""Command line of the benchmarks."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"  # read by the peers when they are imported
os.environ.setdefault(  # what frax recommends for processors
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false --xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
)
os.environ["JAX_ENABLE_X64"] = "1"

#: Names of the sections, and the modules that print them.
SECTIONS = {
    "closed_chains": "closed_chains",
    "control": "control",
    "drawn-gains": "drawn_gains",
    "dynamics": "dynamics",
    "equal-margins": "equal_margins",
    "exports": "exports",
    "floating": "floating",
    "generated-code": "generated_code",
    "geometry": "geometry",
    "gradients": "gradients",
    "gradients-mjx": "gradients_mjx",
    "identification": "identification",
    "ik": "inverse_kinematics",
    "modern-robotics": "modern_robotics",
    "operations": "operations",
    "optimal": "optimal",
    "optimal-draws": "optimal_draws",
    "optimal-peers": "optimal_peers",
    "optimal-tasks": "optimal_tasks",
    "roofline": "roofline",
    "simulation": "simulation",
    "startup": "startup",
    "stewart": "stewart",
    "trajectories": "trajectories",
    "tree": "tree",
    "tuned-gains": "tuned_gains",
    "turned-gains": "turned_gains",
    "viewer": "viewer",
    "whole-body": "whole_body",
}
#: Sections that run only when they are named: they take an hour, compile for minutes, or install programs into an
#: environment of their own.
ON_REQUEST = {"gradients-mjx", "optimal-draws", "optimal-peers"}
PACKAGES = (
    "numpy",
    "scipy",
    "llvmlite",
    "pin",
    "mujoco",
    "mujoco-mjx",
    "roboticstoolbox-python",
    "ruckig",
    "modern_robotics",
    "pytracik",
    "EAIK",
    "example-robot-data",
    "pin-pink",
    "mink",
    "casadi",
    "adam-robotics",
    "frax",
    "jax",
)


def main() -> int:
    """Run the sections that were asked for and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"of {', '.join(SECTIONS)}; default all but {', '.join(ON_REQUEST)}",
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown, as in the README")
    parser.add_argument(
        "--without", metavar="feature", help="compile for a processor without these features, such as avx512"
    )
    parser.add_argument(
        "--robot", action="append", default=[], metavar="FILE",
        help="file of a further robot, for equal-margins and turned-gains; may be repeated",
    )  # fmt: skip
    arguments = parser.parse_args()
    for name in arguments.sections:
        if name not in SECTIONS:
            parser.error(f"there is no section {name!r}; there are {', '.join(SECTIONS)}")
    import chasles as ch
    from benchmarks.robots import MissingPeerError

    ch.set_threads(1)
    if arguments.without:
        leave_out(arguments.without)
    print(header(ch.__version__, arguments.without) + "\n", flush=True)
    complete = True
    for name in arguments.sections or [name for name in SECTIONS if name not in ON_REQUEST]:
        try:
            tables = importlib.import_module(f"benchmarks.{SECTIONS[name]}").tables
            takes_robots = bool(arguments.robot) and "further" in inspect.signature(tables).parameters
            for table in tables(arguments.robot) if takes_robots else tables():
                print(table.markdown() if arguments.markdown else table.text(), flush=True)
        except MissingPeerError as error:
            complete = False
            print(f"{name}: {error}\n", flush=True)
    return 0 if complete else 1


def leave_out(features: str) -> None:
    """Compile for this processor without the features whose names begin so; the peers' code stays as it is."""
    from chasles.engine.targets.native import machine

    present = machine.features()
    reduced = type(present)({name: has and not name.startswith(features) for name, has in present.items()})
    machine.features = lambda: reduced


def header(version: str, left_out: str | None = None) -> str:
    """The machine and the versions of everything."""
    installed = []
    for package in PACKAGES:
        try:
            installed.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            installed.append(f"no {package}")
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    without = f", ours without {left_out}" if left_out else ""
    return (
        f"Chasles {version}, {when}, Python {platform.python_version()}, {', '.join(installed)}\n"
        f"on {_processor()}, {platform.system()} {platform.machine()}{without}; "
        "one thread; medians of interleaved repeats"
    )


def _processor() -> str:
    import llvmlite.binding as llvm

    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name} ({llvm.get_host_cpu_name()})"


if __name__ == "__main__":
    sys.exit(main())
