"""Several architectures' images in one file, as the CUDA driver loads it: written by NVIDIA's fatbinary."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kdsl.codegen.sass import AssemblyError, ToolMissing, find_tool
from kdsl.records import dataclass
from kdsl.target import Target


@dataclass(frozen=True, slots=True)
class Image:
    """PTX text, or a cubin, for one architecture."""

    target: Target
    data: bytes
    is_ptx: bool


def fatbin(images: Sequence[Image]) -> bytes:
    """One fatbin of all images. ToolMissing, or AssemblyError with fatbinary's words."""
    tool = find_tool("fatbinary")
    if tool is None:
        raise ToolMissing(
            "fatbinary was not found; pip install nvidia-cuda-nvcc, or put a CUDA toolkit's bin directory on PATH"
        )
    with tempfile.TemporaryDirectory(prefix="kdsl-") as directory:
        command = [str(tool), "--64", "--create=kernels.fatbin"]
        for index, image in enumerate(images):
            file = f"{index}.{'ptx' if image.is_ptx else 'cubin'}"
            Path(directory, file).write_bytes(image.data)
            kind = "ptx" if image.is_ptx else "elf"
            command.append(f"--image3=kind={kind},sm={image.target.name.removeprefix('sm_')},file={file}")
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssemblyError(f"fatbinary refused the images:\n{done.stderr.strip() or done.stdout.strip()}")
        return Path(directory, "kernels.fatbin").read_bytes()
