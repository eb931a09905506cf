"""Kernels: programs over many samples.

`shapes` are map, scan and solve. Long calls go in `pieces` on all `threads`; `memory` of large results is used again;
`empty_arrays` are what NumPy's ufuncs cannot take; `foreign` arrays stay those of their library; `cache` is the folder
of compiled kernels.
"""
