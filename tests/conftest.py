"""Settings of all tests."""

from __future__ import annotations

import signal
import threading

from hypothesis import settings

# an example may be the first to compile a function, which takes longer than hypothesis allows an example
settings.register_profile("chasles", deadline=None)
settings.load_profile("chasles")

# Jobs in the background ignore interrupts, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
