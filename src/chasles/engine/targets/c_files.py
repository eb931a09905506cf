"""C sources of several programs in one folder, which compile together, with one header that includes all of them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from chasles.base.errors import ArgumentError
from chasles.base.writing import folder_to_write, write_all
from chasles.engine.program.program import Program
from chasles.engine.targets.c import identifier, lower


def write_c(
    folder: str | PathLike[str], programs: Mapping[str, Program], name: str, precision: str = "double"
) -> list[Path]:
    """Write a source and a header for each program, and a header for all.

    Parameters
    ----------
    folder
        Folder of the files; it is made if it does not exist, and files of these names are replaced.
    programs
        Programs by the names of their functions in C.
    name
        Name of the header that includes the others.
    precision
        ``"double"`` or ``"float"``: the type of every number.

    Returns
    -------
    list of Path
        The files, the common header first.

    Raises
    ------
    ArgumentError
        Two names are the same in C, or a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from chasles.engine import trace
    >>> spring = trace(lambda x, k: -k * x, {"x": (), "k": ()})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_c(folder, {"spring": spring}, "arm")]
    ['arm.h', 'spring.c', 'spring.h']
    """
    names = {function: identifier(function) for function in programs}
    common = identifier(name)
    taken = [*names.values(), common]
    for function, file_name in names.items():
        if taken.count(file_name) > 1:
            raise ArgumentError(f"two files would be called {file_name}.h, one for '{function}'; choose other names")
    texts = {f"{common}.h": "".join(f'#include "{file_name}.h"\n' for file_name in names.values())}
    for function, program in programs.items():
        source, header = lower(program.renamed(names[function]), precision)
        texts |= {f"{names[function]}.c": source, f"{names[function]}.h": header}
    place = folder_to_write(folder)
    return write_all({place / file: text for file, text in texts.items()})
