"""The process that expands a xacro file: ``xacro_process.py LARGEST_RESULT PATH [NAME=VALUE]...``, URDF to its output.

It imports nothing of Chasles.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MEMORY = 2_000_000_000
#: Beginning of the names that say where packages are.
PACKAGE = "package "


def main() -> int:
    """Write the expanded file to the standard output, or the reason why there is none to the standard error."""
    _limit_memory()
    import xacro
    from xacro import substitution_args

    largest, path, *words = sys.argv[1:]
    given = dict(pair.split("=", 1) for pair in words)
    packages = {name.removeprefix(PACKAGE): folder for name, folder in given.items() if name.startswith(PACKAGE)}
    in_ros = substitution_args._eval_find

    def find(package: str) -> str:
        if package in packages:
            return packages[package]
        for folder in package_folders(Path(path), package):
            return str(folder)
        try:
            in_package: str = in_ros(package)
        except Exception:
            raise LookupError(
                f"there is no folder of the package '{package}' above the file or beside a folder above it; "
                f"say where it is: packages={{'{package}': …}}"
            ) from None
        return in_package

    substitution_args._eval_find = find
    try:
        with contextlib.redirect_stdout(sys.stderr):
            document = xacro.process_file(path, mappings=given)
    except (Exception, SystemExit) as error:
        reason: BaseException = error
        while isinstance(inner := getattr(reason, "exc", None), BaseException):
            reason = inner
        print(reason, file=sys.stderr)
        return 1
    text = document.toxml("utf-8")
    if len(text) > int(largest):
        print(f"it expands to {len(text)} bytes; at most {largest} are read", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(text)
    return 0


def package_folders(file: Path, package: str) -> Iterator[Path]:
    """Yield the folders of a package above a file or beside a folder above it, nearest first."""
    for folder in file.resolve().parents:
        for candidate in (folder, *_folders_in(folder)):
            if candidate.name == package or _name_in_manifest(candidate) == package:
                yield candidate


def _folders_in(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):  # not there, or not ours to read
        return sorted(other for other in folder.iterdir() if other.is_dir())
    return []


def _name_in_manifest(folder: Path) -> str | None:
    """Name of the package in a folder, if it has a ``package.xml``."""
    with contextlib.suppress(OSError):
        match = re.search(rb"<name>\s*([\w-]+)\s*</name>", (folder / "package.xml").read_bytes())
        return match[1].decode() if match else None
    return None


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    sys.exit(main())
