"""Measurements of kdsl beside a peer or a ceiling that is measured in the same run.

``python -m benchmarks`` times the host and needs no GPU; ``benchmarks.kernels`` and ``benchmarks.launch`` need one.
"""
