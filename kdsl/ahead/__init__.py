"""Kernels built ahead of time: PTX, machine code, a fatbin, a Python loader and a C header. The type stubs, too."""
