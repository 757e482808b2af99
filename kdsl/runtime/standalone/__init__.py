"""Launches the kernels of a fatbin. `kdsl build` copies these files into the loaders that it writes: they need
cuda-python and NumPy, and nothing of kdsl.
"""
