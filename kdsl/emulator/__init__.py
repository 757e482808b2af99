"""Runs PTX text in NumPy: a device for machines without a GPU, and a second opinion for those with one."""

from kdsl.emulator.device import STEP_LIMIT, Emulator
from kdsl.emulator.memory import MOST_EMULATORS

__all__ = ["MOST_EMULATORS", "STEP_LIMIT", "Emulator"]
