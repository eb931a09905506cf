"""Tests in fresh environments: ``nox``, or of one ``nox -s "tests-3.12(numpy='oldest')" -- tests/engine``."""

from __future__ import annotations

import glob
import json
from collections import Counter
from pathlib import Path
from typing import Any

import nox

#: The oldest NumPy with wheels for each Python that the metadata allow, and the newest; machine code reads its layout.
NUMPY = {"oldest": {"3.11": "~=2.0.0", "3.12": "~=2.0.0", "3.13": "~=2.1.0", "3.14": "~=2.3.3"}, "latest": {}}


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
@nox.parametrize("numpy", list(NUMPY))
def tests(session: nox.Session, numpy: str) -> None:
    """Run the default tests, or what is named behind ``--``."""
    session.install(".[test]", "numpy" + NUMPY[numpy].get(str(session.python), ">=2.0"))
    session.run("python", "-c", "import numpy; print('NumPy', numpy.__version__)")
    session.run("pytest", "--strict-skips", *session.posargs, env={"CHASLES_CACHE_DIR": session.create_tmp()})


@nox.session
def coverage(session: nox.Session) -> None:
    """Show what the default tests, or those named behind ``--``, never run, and the share of each package that ran."""
    session.install(".[test]", "pytest-cov>=6")
    # Traced functions run as Python, so that algorithms count; compiled code itself is not seen.
    reports = ("term-missing", "html:build/coverage", "json:build/coverage.json")
    session.run("pytest", "--cov", *(f"--cov-report={report}" for report in reports), *session.posargs)
    for package, share in _coverage_of_packages(json.loads(Path("build/coverage.json").read_text())["files"]).items():
        session.log(f"{package}: {share:.1f} %")


def _coverage_of_packages(files: dict[str, Any]) -> dict[str, float]:
    """Lines and branches that ran, in per cent of those of each package, by pytest-cov's report of files."""
    ran: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for file, report in files.items():
        package, summary = Path(file.partition("chasles/")[2]).parts[0], report["summary"]
        ran[package] += summary["covered_lines"] + summary["covered_branches"]
        counted[package] += summary["num_statements"] + summary["num_branches"]
    return {package: 100.0 * ran[package] / count for package, count in sorted(counted.items()) if count}


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def package(session: nox.Session) -> None:
    """Build wheel and source distribution, check them, and compute with each in a fresh environment."""
    session.install("build", "twine")
    folder = session.create_tmp()
    session.run("python", "-m", "build", "--outdir", folder)
    files = sorted(glob.glob(f"{folder}/*"))
    session.run("twine", "check", "--strict", *files)
    for file in files:
        session.install("--force-reinstall", f"{file}[cli,plot]")
        session.chdir(folder)
        session.run("chasles", "demo", "--quick", "--out", f"{folder}/demo.html")
        session.chdir(session.invoked_from)


@nox.session(venv_backend="none")
def javascript(session: nox.Session) -> None:
    """Check the types of the pages' scripts with TypeScript, which npm installs."""
    session.run("npx", "--yes", "--package", "typescript", "tsc", "-p", "jsconfig.json", external=True)


@nox.session
def metadata(session: nox.Session) -> None:
    """Check the workflows and CITATION.cff against their schemas."""
    session.install("check-jsonschema", "cffconvert")
    session.run(
        "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *glob.glob(".github/workflows/*.yml")
    )
    session.run("cffconvert", "--validate")


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation site into build/site/html."""
    session.install(".[site]")
    session.run("python", "site/build.py")
