"""Robots from tables, and as tables and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from numpy.typing import ArrayLike

from chasles import model
from chasles.base.writing import write
from chasles.engine.validators import choice
from chasles.mechanics.described import Described
from chasles.model.description import STANDARD_GRAVITY
from chasles.model.formats.writing import format_of

if TYPE_CHECKING:
    from chasles.model import DHTable, FileForm, Frame, Inertia, ScrewTable, WrittenFormat
    from chasles.model.formats.dh import Rows


class Formats(Described):
    """Robots from tables, and as tables and files; a base of `Mechanics`."""

    @classmethod
    def from_dh(
        cls,
        rows: Rows,
        *,
        convention: Literal["standard", "modified"] = "standard",
        name: str = "robot",
        base: ArrayLike | None = None,
        tool: ArrayLike | str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        home: ArrayLike | None = None,
        payload: Inertia | None = None,
        frames: Sequence[Frame] = (),
        link_prefix: str = "link",
        source: str = "",
        check: bool = True,
    ) -> Self:
        """Robot of Denavit–Hartenberg parameters; see `chasles.model.from_dh`."""
        description = model.from_dh(
            rows,
            convention=convention,
            name=name,
            base=base,
            tool=tool,
            gravity=gravity,
            home=home,
            payload=payload,
            frames=frames,
            link_prefix=link_prefix,
            source=source,
            check=check,
        )
        return cls(description)

    @classmethod
    def from_screws(
        cls,
        M: ArrayLike | None = None,
        Slist: ArrayLike | None = None,
        *,
        Blist: ArrayLike | None = None,
        Mlist: ArrayLike | None = None,
        Glist: ArrayLike | None = None,
        joints: Sequence[Mapping[str, Any]] | None = None,
        name: str = "robot",
        gravity: ArrayLike = STANDARD_GRAVITY,
        home: ArrayLike | None = None,
        tool: str = "tool",
        payload: Inertia | None = None,
        frames: Sequence[Frame] = (),
        link_prefix: str = "link",
        source: str = "",
        check: bool = True,
    ) -> Self:
        """Robot of screw axes at the home position; see `chasles.model.from_screws`."""
        description = model.from_screws(
            M,
            Slist,
            Blist=Blist,
            Mlist=Mlist,
            Glist=Glist,
            joints=joints,
            name=name,
            gravity=gravity,
            home=home,
            tool=tool,
            payload=payload,
            frames=frames,
            link_prefix=link_prefix,
            source=source,
            check=check,
        )
        return cls(description)

    def save(
        self,
        path: str | PathLike[str],
        *,
        format: WrittenFormat | None = None,
        form: FileForm | None = None,
        meshes: bool = False,
        packages: Mapping[str, str | PathLike[str]] | None = None,
    ) -> Path:
        """Write the robot to a file that `load` reads; `chasles.model.write` returns the text.

        Parameters
        ----------
        path
            File that ends in ``.urdf``, ``.xml`` or ``.mjcf`` (MuJoCo), ``.toml`` or ``.conf`` (ROBOOP).
        format
            ``"urdf"``, ``"mjcf"``, ``"toml"`` or ``"roboop"``. Default: what the suffix says.
        form, meshes, packages
            See `chasles.model.write`.

        Returns
        -------
        pathlib.Path
            The file, absolute.

        Raises
        ------
        ArgumentError
            The suffix says no format, the format does not take an option, or the file cannot be written.
        ModelError
            The format cannot describe the robot; the message says why.

        Examples
        --------
        >>> import chasles as ch, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = ch.load("panda").save(folder + "/panda.urdf")
        ...     file.name, ch.load(file, check=False).n
        ('panda.urdf', 7)
        """
        chosen = format_of(path) if format is None else format
        text = model.write(self.description, chosen, form=form, meshes=meshes, packages=packages)
        write(path, text)
        return Path(path).absolute()

    @overload
    def table(self, kind: Literal["dh", "modified-dh"]) -> DHTable: ...
    @overload
    def table(self, kind: Literal["screws"]) -> ScrewTable: ...
    def table(self, kind: Literal["dh", "modified-dh", "screws"]) -> DHTable | ScrewTable:
        """Return the geometry as a table: the arguments of `from_dh` or `from_screws`.

        Parameters
        ----------
        kind
            ``"dh"`` (standard Denavit-Hartenberg parameters), ``"modified-dh"`` (Craig's) or ``"screws"``; see
            `chasles.model.to_dh`, `chasles.model.to_modified_dh` and `chasles.model.to_screws`.

        Raises
        ------
        UnknownNameError
            There is no such table.
        ModelError
            The robot is no chain of which there is such a table; the message says why.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("puma560")
        >>> ch.Robot.from_dh(**arm.table("dh"), check=False) == arm
        True
        >>> print(ch.load("scara").table("modified-dh"))
        joint   kind         alpha      a  theta      d  offset
        joint1  revolute         0      0      0  0.387       0
        joint2  revolute         0  0.325      0      0       0
        joint3  prismatic  3.14159  0.275      0      0       0
        joint4  revolute         0      0      0      0       0
        >>> ch.load("scara").table("screws").Slist[:, 2]
        array([ 0.,  0.,  0.,  0.,  0., -1.])
        """
        if kind == "screws":
            return model.to_screws(self.description)
        choice(kind, "table of a robot", ("dh", "modified-dh", "screws"))
        return model.to_dh(self.description) if kind == "dh" else model.to_modified_dh(self.description)
