"""What this machine has of what kdsl can use, and what to install for what it lacks."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from importlib import metadata

from kdsl.backend import Backend
from kdsl.version import __version__

Finding = tuple[bool, str, str]
"""Found or not, what, and where it is or what to install."""


def report() -> str:
    """A line for each thing looked for. Nothing here raises because something is missing."""
    findings = [finding for check in CHECKS for finding in check()]
    width = max(len(what) for _, what, _ in findings)
    lines = [f"kdsl {__version__}"]
    lines += [f"  {'ok     ' if found else 'missing'}  {what:<{width}}  {where}" for found, what, where in findings]
    return "\n".join(lines)


def python() -> Iterable[Finding]:
    yield True, "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def packages() -> Iterable[Finding]:
    for name in ("numpy", "llvmlite", "ml_dtypes", "cuda-bindings"):
        try:
            yield True, name, metadata.version(name)
        except metadata.PackageNotFoundError:
            remedy = (
                "no CUDA on macOS: kernels run on the emulator"
                if platform.system() == "Darwin"
                else f"pip install {name}"
            )
            yield False, name, remedy


def llvm() -> Iterable[Finding]:
    from kdsl.codegen.nvptx import llvm_version, nvptx_problem

    problem = nvptx_problem()
    yield problem is None, "LLVM's NVPTX target", problem or f"LLVM {llvm_version()}"


def libdevice() -> Iterable[Finding]:
    from kdsl.codegen.libdevice import find

    path = find()
    remedy = (
        "there is no wheel for macOS: math.sin and its like are compile errors"
        if platform.system() == "Darwin"
        else ("pip install nvidia-nvvm (needed by math.sin and its like)")
    )
    yield path is not None, "libdevice", str(path) if path else remedy


def tools() -> Iterable[Finding]:
    from kdsl.codegen.sass import find_tool

    for name, use in (("ptxas", "cubins and resource reports"), ("nvdisasm", "SASS")):
        path = find_tool(name)
        yield path is not None, name, str(path) if path else f"pip install 'kdsl[tools]' (needed for {use})"


def linker() -> Iterable[Finding]:
    from kdsl.runtime.linking import available

    found = available()
    remedy = (
        "not made for macOS: PTX text is linked without it"
        if platform.system() == "Darwin"
        else "pip install 'kdsl[link]' (needed for linking with objects of other compilers)"
    )
    yield found is not None, "nvJitLink", found or remedy


def gpus() -> Iterable[Finding]:
    from kdsl.runtime.driver import CudaDriver

    found, reason = CudaDriver.available()
    yield found, "NVIDIA driver", CudaDriver.version() if found else f"{reason}; kernels run on the emulator"
    for ordinal in range(CudaDriver.count() if found else 0):
        yield True, f"GPU {ordinal}", _described(CudaDriver(ordinal))


def environment() -> Iterable[Finding]:
    """What the environment says of devices, and whether there is such a one."""
    from kdsl.current import backend_of
    from kdsl.device_choice import DeviceChoiceError

    for name, device in (("KDSL_DEVICE", os.environ.get("KDSL_DEVICE", "")), ("KDSL_STEP_LIMIT", "emulator")):
        said = os.environ.get(name)
        if said:
            try:
                backend_of(device)
                yield True, name, said
            except DeviceChoiceError as error:
                yield False, name, str(error)


def _described(device: Backend) -> str:
    return f"{device.description}, {device.target}"


CHECKS: tuple[Callable[[], Iterable[Finding]], ...] = (
    python,
    packages,
    llvm,
    libdevice,
    tools,
    linker,
    gpus,
    environment,
)
