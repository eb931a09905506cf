"""Programs: from a Python function, by tracing, to a list of scalar operations.

In reading order: `operations`, `graph`, `scalar`, `folding`, `operators`, `numpy_functions`, `tracing`, `program`.
`records` are named parts in one vector, which `trace` and `Function` take and give.
"""
