"""Kernels: programs over many samples, their memory, their threads, and where compiled ones are kept."""
