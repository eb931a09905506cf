"""Targets: one module for each thing that a program can be lowered to.

A target reads `chasles.engine.Program.instructions` from first to last and translates each of the operations of
`chasles.engine.program.operations.OPERATIONS`; ``call`` instructions stay calls where the target has functions.
Nothing else of the engine knows of it, so a new target is a new module.
"""
