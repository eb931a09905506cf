"""Robots from files and tables, and as files and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from chasles import model
from chasles.base.writing import write
from chasles.mechanics.described import Described
from chasles.model.description import STANDARD_GRAVITY

if TYPE_CHECKING:
    from chasles.model import DHTable, Frame, Inertia, ScrewTable
    from chasles.model.formats.dh import Rows


class Formats(Described):
    """Robots from files and tables, and as files and tables; a part of `Mechanics`."""

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

    @classmethod
    def from_urdf(cls, path: str | Path, *, tool: str = "", check: bool = True) -> Self:
        """Robot of a URDF file; see `chasles.model.from_urdf`."""
        return cls(model.from_urdf(path, tool=tool, check=check))

    @classmethod
    def from_toml(cls, path: str | Path, *, check: bool = True) -> Self:
        """Robot of a TOML file; see `chasles.model.from_toml`."""
        return cls(model.from_toml(path, check=check))

    @classmethod
    def from_spacelib(cls, path: str | Path, *, check: bool = True) -> Self:
        """Robot of a data file of SpaceLib's program ROB-MAT; see `chasles.model.from_spacelib`."""
        return cls(model.from_spacelib(path, check=check))

    @classmethod
    def from_roboop(cls, path: str | Path, name: str = "", *, check: bool = True) -> Self:
        """Robot of a configuration file of ROBOOP; see `chasles.model.from_roboop`."""
        return cls(model.from_roboop(path, name, check=check))

    @classmethod
    def from_mjcf(cls, path: str | Path, *, tool: str = "", check: bool = True, trust: bool = False) -> Self:
        """Robot of a MuJoCo model file; see `chasles.model.from_mjcf`."""
        return cls(model.from_mjcf(path, tool=tool, check=check, trust=trust))

    def to_dh(self) -> DHTable:
        """Standard Denavit-Hartenberg table, the arguments of `from_dh`; see `chasles.model.to_dh`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("puma560")
        >>> ch.Robot.from_dh(**arm.to_dh(), check=False) == arm
        True
        """
        return model.to_dh(self.description)

    def to_modified_dh(self) -> DHTable:
        """Modified (Craig's) Denavit-Hartenberg table, the arguments of `from_dh`; see `chasles.model.to_modified_dh`.

        Examples
        --------
        >>> import chasles as ch
        >>> print(ch.load("scara").to_modified_dh())
        joint   kind         alpha      a  theta      d  offset
        joint1  revolute         0      0      0  0.387       0
        joint2  revolute         0  0.325      0      0       0
        joint3  prismatic  3.14159  0.275      0      0       0
        joint4  revolute         0      0      0      0       0
        """
        return model.to_modified_dh(self.description)

    def to_screws(self) -> ScrewTable:
        """Screw axes, the arguments of `from_screws`; see `chasles.model.to_screws`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("scara").to_screws().Slist[:, 2]
        array([ 0.,  0.,  0.,  0.,  0., -1.])
        """
        return model.to_screws(self.description)

    def to_urdf(self, path: str | PathLike[str] | None = None) -> str:
        """Text of a URDF file of this robot, also written to `path` if one is given; see `chasles.model.to_urdf`.

        Examples
        --------
        >>> import chasles as ch, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     text = ch.load("panda").to_urdf(folder + "/panda.urdf")
        ...     ch.load(folder + "/panda.urdf", check=False).n
        7
        """
        return _written(model.to_urdf(self.description), path, (".urdf",))

    def to_mjcf(
        self,
        path: str | PathLike[str] | None = None,
        *,
        meshes: bool = False,
        packages: Mapping[str, str | PathLike[str]] | None = None,
    ) -> str:
        """Text of an MJCF file for MuJoCo, also written to `path` if one is given; see `chasles.model.to_mjcf`."""
        text = model.to_mjcf(self.description, meshes=meshes, packages=packages)
        return _written(text, path, (".xml", ".mjcf"))

    def to_roboop(self, path: str | PathLike[str] | None = None, *, standard: bool = True) -> str:
        """Text of a configuration file for ROBOOP, also written to `path` if given; see `chasles.model.to_roboop`."""
        return _written(model.to_roboop(self.description, standard=standard), path, (".conf",))

    def to_toml(self, form: model.TomlForm = "links", *, path: str | PathLike[str] | None = None) -> str:
        """Text of a TOML file of this robot, also written to `path` if one is given; see `chasles.model.to_toml`."""
        return _written(model.to_toml(self.description, form), path, (".toml",))


def _written(text: str, path: str | PathLike[str] | None, endings: tuple[str, ...]) -> str:
    """Return the text of a file, and write it if it has a path."""
    if path is not None:
        write(path, text, endings)
    return text
