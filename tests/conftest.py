"""Settings of all tests."""

from __future__ import annotations

import os
import signal
import threading

from hypothesis import settings

# Tests run in several processes; threads of BLAS in each of them would only wait. NumPy reads this when it is imported.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Most tests compile a program and call it a few times. Code that compiles quickly gives the same results to the last
# bit, as the tests of the engine prove, which use the code of users; so do small robots beside Pinocchio.
os.environ.setdefault("CHASLES_QUICK_CODE", "1")

# an example may be the first to compile a function, which takes longer than hypothesis allows an example
settings.register_profile("chasles", deadline=None)
settings.load_profile("chasles")

# Jobs in the background ignore interrupts, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
