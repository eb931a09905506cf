"""Kernels: programs over many samples.

`shapes` are map, scan and solve. Long calls go on all `threads`; `empty_arrays` are what NumPy's ufuncs cannot take;
`foreign` arrays stay those of their library; `cache` is the folder of compiled kernels.
"""
