"""`load`: identifications from the files that they were saved to."""

from __future__ import annotations

from os import PathLike

from chasles.base.errors import ArgumentError
from chasles.identification import archive
from chasles.identification.comparison import Prediction
from chasles.identification.drive_gains import DriveGains
from chasles.identification.equations import InertialUnknowns
from chasles.identification.filtering import Cutoff, Signals
from chasles.identification.friction import FrictionTerms
from chasles.identification.identification import Identification, Parameter
from chasles.identification.logs.columns import Columns
from chasles.identification.logs.log import Log
from chasles.identification.wrench_identification import WrenchIdentification

KINDS = (
    Identification, WrenchIdentification, Parameter, Prediction, DriveGains, Cutoff, Signals, FrictionTerms, Columns,
    Log, InertialUnknowns,
)  # fmt: skip
"""Classes that a file may hold."""


def load(path: str | PathLike[str]) -> Identification | WrenchIdentification:
    """Read an identification that `save` wrote.

    Parameters
    ----------
    path
        File that ends in ``.npz``.

    Raises
    ------
    ArgumentError
        If the file does not exist or holds no identification.
    """
    loaded = archive.load(path, KINDS)
    if not isinstance(loaded, Identification | WrenchIdentification):
        raise ArgumentError(f"the file '{path}' holds no identification")
    return loaded
