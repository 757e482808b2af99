"""Kernels built ahead of time, and stubs for type checkers.

build       `kdsl build`: PTX, machine code, a fatbin (`fatbin`), a Python loader (`loader`) and a C header (`header`)
built       what all of these are made of
stubs       `kdsl stubs`: a module's kernels as typed launchers, of stub_types, in stub_syntax
writing     files that are written whole; c_names: what a header calls things
"""
