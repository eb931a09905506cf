"""Running programs: `runner` compiles on the first call, or computes with NumPy until machine code is there.

`pieces` cut long calls for threads and interrupts. `compiling` says whether there is machine code and holds the lock
under which it is made; `machine_code` makes a kernel's direct call and its loop's, `loop_calls`; `aside` compiles in a
thread what makes later calls faster.
"""
