"""The tests; the benchmarks take their oracles from `tests.oracles`."""
