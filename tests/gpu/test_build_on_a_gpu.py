"""What `kdsl build` writes, on a GPU: the Python loader in a process without kdsl, and a C program with the header."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kdsl.ahead.build import Build, build
from kdsl.codegen.sass import find_tool
from kdsl.files import load_file
from kdsl.runtime.driver import CudaDriver

KERNELS = Path(__file__).parents[1] / "ahead" / "kernels_to_build.py"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        find_tool("fatbinary") is None or find_tool("ptxas") is None, reason="needs ptxas and fatbinary"
    ),
]

PROGRAM = """
import sys
import numpy as np
import built
x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
built.scale[4, 256](x, out, 2.0, 1000)
assert (out == 2 * x).all()
d, e = built.to_device(x), built.empty(1000)
built.scale[4, 256](d, e, 3.0, 1000)
assert (e.to_host() == 3 * x).all()
total = np.zeros(1, np.int32)
built.count[2, 32](total)
assert total[0] == 192, total
try:
    built.scale[1, 1](d, e, 1.0, 2**40)
except ValueError as error:
    print(error)
assert not [m for m in sys.modules if m.startswith("kdsl")]
print("verified")
"""

C = r"""
#include <cuda.h>
#include "built.h"
#include <stdio.h>
#include <stdlib.h>
#define CHECK(call) do { CUresult code = (call); if (code) { printf("%s: %d\n", #call, code); return 1; } } while (0)
int main(int argc, char **argv) {
    CUdevice device; CUcontext context; CUmodule module; CUfunction function; CUdeviceptr x, out;
    float host[100];
    (void)argc;
    for (int i = 0; i < 100; ++i) host[i] = (float)i;
    CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context)); CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&function, module, SCALE_ENTRY));
    CHECK(cuMemAlloc(&x, sizeof host)); CHECK(cuMemAlloc(&out, sizeof host)); CHECK(cuMemcpyHtoD(x, host, sizeof host));
    scale_params params = {(const float *)x, (float *)out, 2.5f, 100};
    CHECK(scale_launch(function, 1, 1, 1, 128, 1, 1, 0, NULL, &params));
    CHECK(cuMemcpyDtoH(host, out, sizeof host));
    for (int i = 0; i < 100; ++i) if (host[i] != 2.5f * (float)i) { printf("wrong at %d\n", i); return 1; }
    printf("verified\n");
    return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Path]:
    module = load_file(KERNELS)
    folder = tmp_path_factory.mktemp("built")
    signatures = {"count": {"step": 3}}
    target = CudaDriver(0).target
    made = build([module.scale, module.count], folder, targets=[target], name="built", signatures=signatures)
    return made, folder


def test_loader(built: tuple[Build, Path]) -> None:
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=built[1], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.endswith("argument `n`: 1099511627776 does not fit\nverified\n"), done.stderr


def test_ptx_of_the_fatbin_runs_on_a_newer_gpu(tmp_path: Path) -> None:
    module = load_file(KERNELS)
    build([module.scale, module.count], tmp_path, targets=["sm_75"], name="built", signatures={"count": {"step": 3}})
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.endswith("verified\n"), done.stderr


def test_header_in_a_c_program(built: tuple[Build, Path], tmp_path: Path) -> None:
    compiler, nvcc = shutil.which("gcc"), find_tool("nvcc")
    if compiler is None or nvcc is None:
        pytest.skip("needs gcc, and cuda.h of a CUDA toolkit")
    (tmp_path / "main.c").write_text(C)
    include = nvcc.resolve().parents[1] / "include"
    program = str(tmp_path / "main")
    command = [
        compiler,
        "-std=c11",
        f"-I{include}",
        f"-I{built[1]}",
        str(tmp_path / "main.c"),
        "-o",
        program,
        "-l:libcuda.so.1",
    ]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([program, str(built[1] / "built.fatbin")], capture_output=True, text=True, check=False)
    assert done.stdout == "verified\n", done.stdout + done.stderr
