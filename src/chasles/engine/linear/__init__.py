"""Linear equations inside programs: one file for each kind of matrix, written out in scalars that can be traced."""
