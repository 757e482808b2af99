"""Devices, memory and launches; the only place that imports cuda-python."""
