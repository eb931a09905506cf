"""Linear equations inside programs: one file for each kind of matrix, written out in scalars that can be traced.

`symmetric` is for positive definite matrices, `sparse_elimination` and `pivoted_elimination` for regular ones,
`least_squares` for full column rank, `minimum_norm` and `pseudo_inverse` for any rank; `complex_numbers` are pairs.
`symmetric_eigenvalues` are those of matrices of up to four rows.
"""
