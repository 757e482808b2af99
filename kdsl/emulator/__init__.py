"""Runs PTX text in NumPy: a device for machines without a GPU, and a second opinion for those with one."""

from kdsl.emulator.device import Emulator

__all__ = ["Emulator"]
