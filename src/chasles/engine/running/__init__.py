"""Running programs: `runner` compiles on the first call, or computes with NumPy until machine code is there.

`compiling` says whether there is machine code and holds the lock under which it is made; `machine_code` makes a ufunc
and a direct call of a kernel; `aside` compiles in a thread what makes later calls faster.
"""
