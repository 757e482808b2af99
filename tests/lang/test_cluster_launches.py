"""Clusters: options of a kernel, launches that fit or not, and architectures that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    CompileError,
    LaunchConfig,
    LaunchConfigError,
    Ptr,
    block_idx,
    cluster_size,
    f32,
    i32,
    kernel,
    map_shared_rank,
    shared,
)

from .test_cluster import registers, ring


def test_a_kernel_of_clusters_is_launched_so(device: str) -> None:
    out = np.zeros((8, 14), np.int32)

    @kernel(cluster=2)
    def sized(out: Array[i32, 2]):
        out[block_idx.x, 0] = cluster_size()

    sized[8, 32](out)
    sized[LaunchConfig(8, 32, cluster=(2, 1))](out)
    assert out[:, 0].tolist() == [2] * 8
    ptx = kdsl.compile(sized, target="sm_90").ptx
    assert ".explicitcluster" in ptx and ".reqnctapercluster 2, 1, 1" in ptx
    with pytest.raises(LaunchConfigError, match=r"cluster = \(4, 1, 1\), and sized is compiled for clusters of \(2, 1"):
        sized[LaunchConfig(8, 32, cluster=4)](out)
    with pytest.raises(LaunchConfigError, match=r"grid.x = 7 is not a multiple of cluster.x = 2; use 8, and a guard"):
        sized[7, 32](out)


def test_launches_that_no_cluster_fits() -> None:
    out = np.zeros((8, 14), np.int32)
    with pytest.raises(LaunchConfigError, match=r"grid.y = 1 is not a multiple of cluster.y = 2"):
        registers[LaunchConfig(8, 32, cluster=(1, 2))](out)
    with pytest.raises(LaunchConfigError, match=r"cluster = \(4, 5, 1\) has 20 blocks, at most 16 fit, and 8 on every"):
        LaunchConfig((8, 5), 32, cluster=(4, 5))
    with pytest.raises(LaunchConfigError, match="cluster.x = 0 must be at least 1"):
        LaunchConfig(8, 32, cluster=0)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cluster": 0}, "cluster takes the blocks of a cluster along x"),
        ({"cluster": (2, 2, 2, 2)}, "cluster takes the blocks of a cluster along x"),
        ({"cluster": 2.0}, "cluster takes the blocks of a cluster along x"),
        ({"cluster": (4, 5)}, r"a cluster has at most 16 blocks, 8 on every GPU; \(4, 5\) are 20"),
        ({"cluster": 2, "launch_bounds": (256, 1, 4)}, "both say how large a cluster is"),
        ({"launch_bounds": (256, 1, 17)}, "a cluster has at most 16 blocks, and launch_bounds says 17"),
        ({"max_registers": 16}, "max_registers takes 24 to 255 registers of a thread, got 16"),
        ({"max_registers": 256}, "max_registers takes 24 to 255 registers of a thread, got 256"),
        ({"max_registers": True}, "max_registers takes 24 to 255"),
        ({"max_registers": 64, "launch_bounds": (256, 2)}, "both say how many registers there are"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        kernel(**options)(lambda: None)


def test_register_limits_are_in_the_ptx() -> None:
    @kernel(max_registers=40, launch_bounds=128)
    def few(x: Ptr[f32]):
        x[0] = 1.0

    @kernel(launch_bounds=(128, 2, 4))
    def bounded(x: Ptr[f32]):
        x[0] = 1.0

    compilation = kdsl.compile(few, target="sm_75")
    assert ".maxnreg 40" in compilation.ptx and ".maxntid 128" in compilation.ptx
    assert compilation.cubin
    assert ".maxclusterrank 4" in kdsl.compile(bounded, target="sm_90").ptx
    assert kdsl.compile(bounded, target="sm_90").cubin


def test_ptxas_obeys_the_register_limit() -> None:
    @kernel
    def many(x: Ptr[f32], n: i32):
        values = kdsl.local.array(64, f32)
        for k in kdsl.static_range(64):
            values[k] = x[k]
        for _ in range(n):
            for k in kdsl.static_range(64):
                values[k] = values[k] * values[(k + 7) % 64]
        for k in kdsl.static_range(64):
            x[k] = values[k]

    free = kdsl.compile(many, target="sm_90").resources[0].registers
    limited = kdsl.compile(many, target="sm_90", options={"max_registers": 48}).resources[0].registers
    assert free > 64 and limited <= 48


@pytest.mark.parametrize("target", ["sm_75", "sm_89"])
def test_older_architectures_are_refused(target: str) -> None:
    for options, text in (({"cluster": 2}, "cluster"), ({"launch_bounds": (64, 1, 2)}, "launch_bounds")):
        with pytest.raises(CompileError, match=rf"@kernel\({text}=.*need sm_90 or newer; this is {target}"):
            kdsl.compile(own_store, target=target, options=options)
    for what, name in ((ring, "cluster_sync"), (registers, "cluster_idx.x"), (mapping, "map_shared_rank")):
        with pytest.raises(CompileError, match=rf"{name}.* needs sm_90 or newer; this is {target}"):
            kdsl.compile(what, target=target)


@kernel
def own_store(x: Ptr[f32]):
    x[0] = 1.0


@kernel
def mapping(x: Ptr[f32]):
    s = shared.array(32, f32)
    x[0] = map_shared_rank(s, 0)[0]


def test_older_architectures_have_no_cluster_launches() -> None:
    device = kdsl.current_device().backend
    before = device.target
    try:
        device.target = "sm_86"
        with pytest.raises(LaunchConfigError, match="clusters need a GPU of sm_90 or later; this is the emulator"):
            own_store[LaunchConfig(2, 32, cluster=2)](np.zeros(1, np.float32))
    finally:
        device.target = before
