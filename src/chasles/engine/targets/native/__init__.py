"""The native target: machine code of the host's vector unit, made by LLVM."""
