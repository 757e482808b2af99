"""What a GPU's machine code depends on beside the PTX that it is made of."""

from __future__ import annotations

from pathlib import Path

from kdsl.records import dataclass

VERSION_FILE = "/proc/driver/nvidia/version"


@dataclass(frozen=True, slots=True)
class Machine:
    """The GPU's architecture, such as sm_90; the newest version of CUDA that the driver supports, such as (13, 0); the
    driver's own release, such as 580.65.06.
    """

    architecture: str
    cuda: tuple[int, int]
    release: str

    @property
    def name(self) -> str:
        """As part of a file's name, without a dot."""
        return f"{self.architecture}-{self.cuda[0]}-{self.cuda[1]}-{self.release.replace('.', '-')}"


def driver_release(file: str = VERSION_FILE) -> str:
    """The driver's release where the system tells it: many have the same version of CUDA."""
    try:
        text = Path(file).read_text("utf-8", "replace")
    except OSError:
        return "unknown"
    # "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ..."
    words = [word for word in text.partition("\n")[0].split() if word.replace(".", "").isdigit() and "." in word]
    return words[0] if words else "unknown"
