"""Calls into machine code without detour, by the layout of CPython's and NumPy's objects in memory.

`switch` turns all of it off. In reading order: `objects`, the layouts and functions with CPython's calling convention;
`calls` of single samples and `batches` of few; `dispatch` by keywords; `vectorcall`, objects that are called as
built-in functions are; `gufunc`, ufuncs around the address of a loop; `immortal`, what is never freed; `memory` of
large results, used again once nobody holds it.
"""
