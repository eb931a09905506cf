"""Running programs: compiled on the first call, or with NumPy until machine code is there."""
