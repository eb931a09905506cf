"""Mutation trials: one small change in the source at a time; the tests of the changed package must notice.

    python tests/mutants.py --packages algorithms geometry --count 40 --seed 1 --log trial.jsonl
    python tests/mutants.py --only src/chasles/algorithms/energy.py:41:11-30:operator

The working tree is never changed: each worker has a copy of it. A survivor is a change that no test noticed. Look at
it: it may compute the same (equivalent), change a tolerance or a message, or show a gap.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/chasles")

#: Tests of the packages that have others than those in the folder of their name.
TESTS = {
    "algorithms": ("tests/algorithms", "tests/mechanics"),
    "interop/modern_robotics": ("tests/interop/modern_robotics", "tests/peers/test_modern_robotics.py"),
    "plant": ("tests/plant", "tests/simulation"),
    "simulation": ("tests/simulation", "tests/plant", "tests/control/test_in_simulation.py"),
}

OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "*", ast.Mod: "//"}
COMPARISONS = {
    ast.Lt: (">=", "<="),
    ast.LtE: (">", "<"),
    ast.Gt: ("<=", ">="),
    ast.GtE: ("<", ">"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
_PAIRS = (("min", "max"), ("minimum", "maximum"), ("sin", "cos"), ("any", "all"), ("floor", "ceil"), ("zeros", "ones"))
OPPOSITES = {**dict(_PAIRS), **{b: a for a, b in _PAIRS}}
SWAPPED_ARGUMENTS = {"cross": (0, 1), "atan2": (0, 1), "arctan2": (0, 1), "where": (1, 2), "generally": (1, 2)}
TOLERANCE = 1e-6  # a smaller constant is taken for a tolerance


@dataclass(frozen=True)
class Mutant:
    """One change: the source between two positions (line, column in bytes) is replaced."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    replacement: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}:{self.column}-{self.end_column}:{self.kind}"

    def applied(self, text: bytes) -> bytes:
        lines = text.splitlines(keepends=True)
        start = sum(map(len, lines[: self.line - 1])) + self.column
        end = sum(map(len, lines[: self.end_line - 1])) + self.end_column
        return text[:start] + self.replacement.encode() + text[end:]


def sites(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the kind, place and replacement of each change in a syntax tree; texts, messages and types are left out."""
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__"):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield from _changes(node)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list") or (
            field == "value" and isinstance(node, ast.AnnAssign)
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from sites(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    text = ast.unparse
    match node:
        case ast.BinOp(op=ast.MatMult()):
            yield "operands", node, f"({text(node.right)}) @ ({text(node.left)})"
        case ast.BinOp() if type(node.op) in OPERATORS and not isinstance(node.left, ast.Constant | ast.JoinedStr):
            yield "operator", node, f"(({text(node.left)}) {OPERATORS[type(node.op)]} ({text(node.right)}))"
        case ast.BinOp() if type(node.op) in OPERATORS and isinstance(getattr(node.left, "value", None), int | float):
            yield "operator", node, f"(({text(node.left)}) {OPERATORS[type(node.op)]} ({text(node.right)}))"
        case ast.AugAssign() if type(node.op) in OPERATORS:
            yield "operator", node, f"{text(node.target)} {OPERATORS[type(node.op)]}= {text(node.value)}"
            yield "removed", node, "pass"
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield "sign", node, f"({text(node.operand)})"
        case ast.UnaryOp(op=ast.Not()):
            yield "negation", node, f"({text(node.operand)})"
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            for index, other in enumerate(COMPARISONS[type(op)]):
                kind = "boundary" if index else "comparison"
                yield kind, node, f"(({text(node.left)}) {other} ({text(node.comparators[0])}))"
        case ast.BoolOp():
            other = " or " if isinstance(node.op, ast.And) else " and "
            yield "and-or", node, "(" + other.join(f"({text(value)})" for value in node.values) + ")"
        case ast.IfExp():
            yield "branches", node, f"(({text(node.orelse)}) if ({text(node.test)}) else ({text(node.body)}))"
        case ast.If():
            yield "condition", node.test, f"(not ({text(node.test)}))"
            if isinstance(node.body[-1], ast.Return | ast.Continue | ast.Raise) and not node.orelse:
                yield "guard removed", node.test, "False"
        case ast.Subscript(slice=ast.Constant(value=int() as index)) if not isinstance(index, bool):
            yield "index", node.slice, str(index + 1)
        case ast.Constant(value=bool()):
            yield "constant", node, str(not node.value)
        case ast.Constant(value=int() as number):
            yield "constant", node, str(number + 1)
        case ast.Constant(value=float()):
            small = 0 < abs(node.value) <= TOLERANCE
            yield (
                ("tolerance", node, repr(1e4 * node.value))
                if small
                else ("constant", node, repr(2 * node.value + 0.125))
            )
        case ast.Call(func=ast.Name() | ast.Attribute() as function):
            name = function.id if isinstance(function, ast.Name) else function.attr
            arguments = [text(argument) for argument in node.args]
            i, j = SWAPPED_ARGUMENTS.get(name, (0, 0))
            if j and len(arguments) > j:
                arguments[i], arguments[j] = arguments[j], arguments[i]
                keywords = [text(keyword) for keyword in node.keywords]
                yield "arguments", node, f"{text(function)}({', '.join(arguments + keywords)})"
            if name in OPPOSITES:
                yield "opposite", function, text(function)[: -len(name)] + OPPOSITES[name]
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "removed", node, "pass"
        case ast.Break():
            yield "loop", node, "continue"
        case ast.Continue():
            yield "loop", node, "break"


def mutants(tree: Path, path: Path) -> list[Mutant]:
    """Return every change of a file."""
    found = []
    for kind, node, replacement in sites(ast.parse((tree / path).read_bytes())):
        place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        found.append(Mutant(path.as_posix(), *place, kind, replacement))
    return found


def drawn(tree: Path, package: str, count: int, generator: random.Random) -> list[Mutant]:
    """Return changes of a package: files by their number of places, kinds within a file with equal chances."""
    files = sorted(path.relative_to(tree) for path in (tree / SOURCE / package).rglob("*.py"))
    of_file = [found for path in files if path.name != "__init__.py" and (found := mutants(tree, path))]
    chosen: dict[str, Mutant] = {}
    while len(chosen) < min(count, sum(map(len, of_file))):
        by_kind = defaultdict(list)
        for mutant in generator.choices(of_file, [len(found) for found in of_file])[0]:
            by_kind[mutant.kind].append(mutant)
        mutant = generator.choice(by_kind[generator.choice(sorted(by_kind))])
        chosen[mutant.name] = mutant
    return list(chosen.values())


def tests_of(tree: Path, mutant: Mutant) -> list[str]:
    """Return the test files of a mutant's package; those that speak of its module and function come first."""
    inside = Path(mutant.path).relative_to(SOURCE)
    package = next((name for name in TESTS if inside.as_posix().startswith(name + "/")), inside.parts[0])
    files = []
    for place in TESTS.get(package, (f"tests/{package}",)):
        folder = tree / place
        files += sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder]
    functions = ast.walk(ast.parse((tree / mutant.path).read_bytes()))
    names = {
        node.name
        for node in functions
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= mutant.line <= (node.end_lineno or 0)
    }

    def relevance(file: Path) -> tuple[int, int]:
        text = file.read_text()
        mentioned = 3 * (inside.stem in file.stem) + (inside.stem in text) + 2 * sum(name in text for name in names)
        return -mentioned, len(text)

    return [file.relative_to(tree).as_posix() for file in sorted(files, key=relevance)]


def outcome(mutant: Mutant, tree: Path, timeout: float, tests: list[str] | None = None) -> dict[str, object]:
    """Run the tests of a mutant in a copy of the tree; say whether, where and when it was noticed."""
    target = tree / mutant.path
    original = target.read_bytes()
    shared = "engine" not in mutant.path  # the engine's kernels could be those of another mutant, or of none
    cache = Path(tempfile.gettempdir()) / "chasles-mutants-cache" if shared else Path(tempfile.mkdtemp())
    variables = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "CHASLES_CACHE_DIR": str(cache),
        "CI": "1",  # hypothesis: no deadlines, the same examples each time
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=line"]
    command = [sys.executable, "-m", "pytest", *options, *(tests or tests_of(tree, mutant))]
    start = time.monotonic()
    try:
        _forget_bytecode(target)
        target.write_bytes(mutant.applied(original))
        process = subprocess.Popen(
            command,
            cwd=tree,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output = process.communicate(timeout=timeout)[0]
            # pytest gives 1 where tests fail and 2 where they cannot be imported; 4 and 5 say that none were run
            status = {0: "survived", 4: "not run", 5: "not run"}.get(process.returncode, "killed")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, status = process.communicate()[0], "timeout"
    finally:
        target.write_bytes(original)
        _forget_bytecode(target)
        if not shared:
            shutil.rmtree(cache, ignore_errors=True)
    by = next((line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))), output.strip()[-200:])
    return {
        **asdict(mutant),
        "name": mutant.name,
        "status": status,
        "by": by,
        "seconds": round(time.monotonic() - start, 1),
    }


def _forget_bytecode(path: Path) -> None:
    """Bytecode is taken for current by time and size, and a mutant may have both of the original."""
    for file in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        file.unlink()


def main() -> int:
    """Draw mutants, run them, print what survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", default=["algorithms"], help="folders of src/chasles")
    parser.add_argument("--count", type=int, default=20, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[], metavar="name", help="these mutants, none drawn")
    parser.add_argument("--tests", nargs="+", help="test files in place of those of the package")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one mutant")
    parser.add_argument(
        "--log", type=Path, help="file to append one JSON object a mutant to; those in it are not run again"
    )
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    survivors = 0
    trees: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.workers) as pool:
        for number in range(arguments.workers):
            tree = Path(folder) / str(number)
            shutil.copytree(Path(folder) / "0" if number else ROOT, tree, ignore=shutil.ignore_patterns(".*"))
            trees.put(tree)
        if arguments.only:
            files = {Path(name.split(":")[0]) for name in arguments.only}
            chosen = [mutant for path in files for mutant in mutants(tree, path) if mutant.name in arguments.only]
        else:
            chosen = [one for package in arguments.packages for one in drawn(tree, package, arguments.count, generator)]
            generator.shuffle(chosen)
        if arguments.log and arguments.log.exists():
            known = {json.loads(line)["name"] for line in arguments.log.read_text().splitlines()}
            chosen = [mutant for mutant in chosen if mutant.name not in known]

        def run(mutant: Mutant) -> dict[str, object]:
            tree = trees.get()
            try:
                return outcome(mutant, tree, arguments.timeout, arguments.tests)
            finally:
                trees.put(tree)

        for result in pool.map(run, chosen):
            survivors += result["status"] == "survived"
            print("{status:8} {seconds:6} s  {name}  -> {replacement}\n    {by}".format(**result), flush=True)
            if arguments.log:
                with arguments.log.open("a") as log:
                    log.write(json.dumps(result) + "\n")
    print(f"{len(chosen)} mutants, {survivors} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
