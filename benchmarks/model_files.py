"""Count of robot files that load, and of those that other readers of the format refuse as well.

    python -m benchmarks.model_files FOLDER …

All URDF, xacro, SDF and MJCF files in the folders are loaded. A file that is refused goes to other readers: to the
standard library's parser of XML, xacro files to xacro and, expanded, to Pinocchio, URDF files to MuJoCo and
Pinocchio, MJCF files to MuJoCo.
"""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from benchmarks.tables import Table
from chasles.base.errors import ChaslesError
from chasles.model import load

SUFFIXES = (".urdf", ".xacro", ".sdf", ".world", ".xml")
#: Roots of files that MuJoCo's models include, and that are no models by themselves.
FRAGMENTS = ("mujocoinclude",)
NOT_ROBOTS = ("package", "launch", "library", "collada")
SECONDS = 60


def table(folders: list[Path]) -> tuple[Table, list[str]]:
    """Table of counts by format, and a line for each file that is refused here alone."""
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    alone = []
    for file in sorted(path for folder in folders for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES):
        root = root_tag(file)
        if root in NOT_ROBOTS:
            continue
        form = "SDF" if root == "sdf" else "xacro" if file.suffix == ".xacro" else "URDF" if root == "robot" else "MJCF"
        rows[form]["files"] += 1
        reason = refusal(file)
        if not reason:
            rows[form]["loaded"] += 1
        elif shared := shared_refusal(file, root):
            rows[form][shared] += 1
        else:
            rows[form]["alone"] += 1
            alone.append(f"{form} {file.name}: {reason[-200:]}")
    names = (
        "loaded",
        "malformed XML",
        "fragment",
        "refused by xacro",
        "refused by MuJoCo",
        "refused by Pinocchio",
        "alone",
    )
    found = Table(
        "Robot files",
        ("format", "files", *names),
        notes=["Refused files are counted by the first reader that refuses them too."],
    )
    rows["all"] = sum(rows.values(), collections.Counter())
    for form, counts in rows.items():
        found.add(form, *(str(counts[name]) for name in ("files", *names)))
    return found, alone


def root_tag(file: Path) -> str:
    """Tag of a file's first element; empty where there is none."""
    try:
        return next(element.tag for _, element in ElementTree.iterparse(file, ("start",)))
    except (ElementTree.ParseError, StopIteration, ValueError):
        return ""


def refusal(file: Path) -> str:
    """Reason why Chasles refuses a file; empty if it loads, or each of its models does."""
    try:
        load(file, check=False, trust=True)
    except ChaslesError as error:
        models = (
            [model.get("name", "") for model in ElementTree.parse(file).iter("model")]
            if root_tag(file) == "sdf"
            else []
        )
        if len(models) < 2:
            return str(error)
        try:
            for model in models:
                load(file, check=False, model=model)
        except ChaslesError as other:
            return str(other)
    return ""


def shared_refusal(file: Path, root: str) -> str:
    """Name of the first other reader that refuses a file; empty if one that knows the format takes it."""
    try:
        ElementTree.parse(file)
    except ElementTree.ParseError:
        return "malformed XML"
    if root in FRAGMENTS:
        return "fragment"
    if file.suffix == ".xacro":
        if not succeeds(_XACRO, file):
            return "refused by xacro"
        return "" if succeeds(_EXPANDED, file) else "refused by Pinocchio"
    if root == "sdf":
        return ""
    if not succeeds(_MUJOCO, file):
        return "refused by MuJoCo"
    return "refused by Pinocchio" if root == "robot" and not succeeds(_PINOCCHIO, file) else ""


_XACRO = "import sys, xacro; xacro.process_file(sys.argv[1])"
_EXPANDED = "import sys, pinocchio, xacro; pinocchio.buildModelFromXML(xacro.process_file(sys.argv[1]).toxml())"
_MUJOCO = "import sys, mujoco; mujoco.MjModel.from_xml_path(sys.argv[1])"
_PINOCCHIO = "import sys, pinocchio; pinocchio.buildModelFromUrdf(sys.argv[1])"


def succeeds(program: str, file: Path) -> bool:
    """Whether a reader takes a file, in a process of its own that it may take down.

    It works in an empty folder, because MuJoCo leaves its warnings in a file of the working directory.
    """
    command = [sys.executable, "-c", program, str(file.resolve())]
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model_files", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folders", nargs="+", type=Path, help="folders with robot files, searched with all theirs")
    warnings.simplefilter("ignore")
    counted, lines = table(parser.parse_args().folders)
    print(counted.text())
    print("\n".join(lines))
