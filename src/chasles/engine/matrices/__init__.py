"""Steps on whole matrices, for sizes at which scalar programs would be too long.

`steps` are the operations, `scan` is a recursion over them; `chasles.engine.matrix_calls` makes it one call.
"""
