"""Programs: from a Python function, by tracing, to a list of scalar operations."""
