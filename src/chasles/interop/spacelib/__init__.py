"""SpaceLib in C, version 2.2, under its own names and with its own conventions (Legnani, Adamini, Zappa, 2006).

Every routine of the manual takes its inputs in the original's order and returns its outputs: one array, or a named
tuple with the original's names in their order. A return value that says something about the data stands last, as `rv`.
Illegal codes raise `ArgumentError` where the original returns NOTOK. Illegal matrices, axes and origins give NaN, and
`rv` is NOTOK beside them (see `legality`). Arguments that the original overwrites are taken and returned anew. Arrays
may have leading batch axes, and hold traced scalars or symbols of SymPy as well as numbers.

`chasles.interop.spacelib.matlab` and `chasles.interop.spacelib.maple` have the names and codes of the other versions.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
