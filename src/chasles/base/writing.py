"""Files that Chasles writes: whole or not at all, under names whose ending says what they are."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import FileIO
from os import PathLike
from pathlib import Path

from chasles.base.errors import ArgumentError

#: Start of the last part of the name of a file that is being written.
UNFINISHED = ".part"
PAGE = (".html", ".htm")
TABLE = (".csv", ".txt", ".csv.gz")
NETCDF = (".nc", ".nc4", ".cdf")
ROBOT = (".toml", ".urdf")


def path_to_write(path: str | PathLike[str], endings: tuple[str, ...] = ()) -> Path:
    """Return the absolute path of a file to write.

    Parameters
    ----------
    path
        Path of the file.
    endings
        Allowed endings, in lower case; default any. A device, such as
        ``/dev/stdout``, needs no ending.

    Raises
    ------
    ArgumentError
        The path ends otherwise, is a folder, or is relative while the working directory has been deleted.

    Examples
    --------
    >>> path_to_write("run.pdf", PAGE)
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: the file must end in .html or .htm, not 'run.pdf'
    """
    given = Path(path)
    if endings and os.path.isdir(given):
        raise ArgumentError(f"{given} cannot be written: it is a folder")
    if endings and not given.name.lower().endswith(endings) and not _is_device(given):
        *others, last = endings
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ArgumentError(f"the file must end in {listed}, not '{given.name}'")
    try:
        if b"\0" in os.fsencode(given):
            raise ValueError
    except ValueError:
        raise ArgumentError(f"{str(given)!r} cannot be written: no file can have this name") from None
    with _failures(given):
        return given.absolute()


def write(path: str | PathLike[str], content: str | bytes, endings: tuple[str, ...] = ()) -> Path:
    """Write a file whole, or leave what is there as it is.

    Parameters
    ----------
    path
        Path of the file.
    content
        Bytes, or text to be written as UTF-8. What UTF-8 cannot hold becomes a question mark.
    endings
        Endings that the path may have; see `path_to_write`.

    Returns
    -------
    pathlib.Path
        Absolute path of the file.

    Raises
    ------
    ArgumentError
        The path has another ending, or the file cannot be written; the message names the file and the reason.

    Examples
    --------
    >>> write("/no/such/folder/run.html", "")
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: /no/such/folder/run.html cannot be written: No such file or directory
    """
    (target,) = write_all({Path(path): content}, endings)
    return target


def write_lines(path: str | PathLike[str], lines: Iterable[str], endings: tuple[str, ...] = ()) -> Path:
    """Write lines of text, each with its end; see `write`."""
    return write(path, "\n".join(lines) + "\n", endings)


def folder_to_write(path: str | PathLike[str]) -> Path:
    """Return the absolute path of a folder, which is made if it does not exist.

    Raises
    ------
    ArgumentError
        It cannot be made.
    """
    folder = path_to_write(path)
    with _failures(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_all(contents: Mapping[Path, str | bytes], endings: tuple[str, ...] = ()) -> list[Path]:
    """Write files that belong together, all of them or none; see `write`."""
    with ExitStack() as stack:
        for path, content in contents.items():
            temporary = stack.enter_context(replacing(path, endings))
            temporary.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
    return [path.absolute() for path in contents]


def add(path: Path, content: str, head: str) -> None:
    """Add text at the end of a file, and then replace its first line by one of the same length.

    If that fails, what was added is taken away again. The size of the file is no matter, as it would be for `write`.

    Raises
    ------
    ArgumentError
        The file cannot be written.
    """
    with _failures(path), open(path, "r+b", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            _write_raw(file, content.encode())
            os.fsync(file.fileno())
            file.seek(0)
            _write_raw(file, head.encode())
        except BaseException:
            file.truncate(before)
            raise


@contextmanager
def replacing(path: str | PathLike[str], endings: tuple[str, ...] = ()) -> Iterator[Path]:
    """Give the path of a file to fill, which replaces the one at `path` when the block ends without an error.

    It lies in the same folder and has the same ending. A link is followed; a device or a pipe is written directly.

    Raises
    ------
    ArgumentError
        The path has another ending than one of `endings`, or writing fails with an `OSError`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(folder + "/motion.csv") as temporary:
    ...         _ = temporary.write_text("0, 0")
    ...     Path(folder, "motion.csv").read_text()
    '0, 0'
    """
    target = path_to_write(path, endings)
    with _failures(Path(path)):
        if _is_device(target):
            yield target
            return
        final = Path(os.path.realpath(target))
        mode = 0o666
        if final.exists():
            if not os.access(final, os.W_OK):
                raise PermissionError(0, "it may not be written")
            mode = stat.S_IMODE(final.stat().st_mode)
        if final.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        # An interrupt may come as soon as the file exists: its name is known before.
        temporary = final.parent / f".{secrets.token_hex(8)}{UNFINISHED}{final.suffix}"
        try:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
            yield temporary
            _synchronise(temporary)
            if final.exists():
                os.chmod(temporary, mode)
            os.replace(temporary, final)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _write_raw(file: FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def _synchronise(path: Path) -> None:
    """Wait until a file is on its disk: what was only promised space must have it before an older file goes."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _failures(target: Path) -> Iterator[None]:
    """Turn a failure of the system into an `ArgumentError` that names the file."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"{target} cannot be written: {error.strerror or error}") from None


def _is_device(path: Path) -> bool:
    """Whether a path leads to what can be written but not replaced."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError):  # nothing is there, or no file can have this name
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)
