"""Clusters in PTX: generic addresses of other blocks' memory, and what only PTX asks of an address."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.backend import Launch, SynchronizationError
from kdsl.emulator import Emulator
from tests.emulator.engine import LINEAR, Machine, Run, element, kernel

CLUSTER_OF_TWO = ".explicitcluster .reqnctapercluster 2, 1, 1"
SYNC = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


def clustered(parameters: str, body: str, module: str = "", directives: str = CLUSTER_OF_TWO) -> str:
    return kernel(parameters, body, module=module).replace(")\n{", f")\n{directives}\n{{")


def test_generic_addresses_of_another_block(run: Run) -> None:
    """Each block writes its index into the other's word by a generic address, and into its own by its mapped one."""
    ptx = clustered(
        "u64 a",
        LINEAR + "mov.u64 %rd5, tile; cvta.shared.u64 %rd6, %rd5; mov.u32 %r6, %cluster_ctarank; xor.b32 %r7, %r6, 1;"
        "mapa.u64 %rd7, %rd6, %r7; mapa.u64 %rd8, %rd6, %r6;" + SYNC +
        "st.u32 [%rd7], %r2; st.u32 [%rd8+4], %r2;" + SYNC +
        "ld.shared.u32 %r10, [tile]; ld.u32 %r11, [%rd7+4]; ld.shared::cta.u32 %r12, [tile+4];"
        "isspacep.shared::cta %p1, %rd6; isspacep.shared::cta %p2, %rd7; isspacep.shared::cta %p3, %rd8;"
        "isspacep.shared::cluster %p4, %rd7; isspacep.global %p5, %rd7;"
        "selp.u32 %r13, 1, 0, %p1; selp.u32 %r14, 2, 0, %p2; selp.u32 %r15, 4, 0, %p3; selp.u32 %r16, 8, 0, %p4;"
        "selp.u32 %r17, 16, 0, %p5; add.u32 %r13, %r13, %r14; add.u32 %r13, %r13, %r15; add.u32 %r13, %r13, %r16;"
        "add.u32 %r13, %r13, %r17; getctarank.u64 %r18, %rd7; getctarank.u64 %r19, %rd6;"
        + SYNC + element("%rd1", "a", "%r2", 24) +
        "st.global.u32 [%rd1], %r10; st.global.u32 [%rd1+4], %r11; st.global.u32 [%rd1+8], %r12;"
        "st.global.u32 [%rd1+12], %r13; st.global.u32 [%rd1+16], %r18; st.global.u32 [%rd1+20], %r19; ret;",
        module=".shared .align 8 .b8 tile[8];",
    )  # fmt: skip
    (out,) = run(ptx, 4, 1, np.zeros((4, 6), np.uint32))
    block = np.arange(4)
    other = block ^ 1
    assert out.T.tolist() == [other.tolist(), other.tolist(), block.tolist(), [13] * 4, [1, 0, 1, 0], [0, 1, 0, 1]]


def test_shared_cluster_addresses_convert(run: Run) -> None:
    """mapa of a 32-bit address, cvta.shared::cluster, and a reduction on the result."""
    ptx = clustered(
        "u64 a",
        LINEAR + "mov.u32 %r5, tile; mov.u32 %r6, %cluster_ctarank; xor.b32 %r7, %r6, 1; st.shared.u32 [tile], 0;" + SYNC +
        "mapa.shared::cluster.u32 %r8, %r5, %r7; cvt.u64.u32 %rd5, %r8; cvta.shared::cluster.u64 %rd6, %rd5;"
        "red.relaxed.cluster.shared::cluster.add.u32 [%r8], 1; atom.add.u32 %r9, [%rd6], %r2;"
        "cvta.to.shared::cluster.u64 %rd7, %rd6; cvt.u32.u64 %r10, %rd7; sub.u32 %r11, %r10, %r8;" + SYNC
        + "ld.shared.u32 %r12, [tile]; add.u32 %r12, %r12, %r11;" + element("%rd1", "a", "%r2")
        + "st.global.u32 [%rd1], %r12; ret;",
        module=".shared .align 4 .b8 tile[4];",
    )  # fmt: skip
    (out,) = run(ptx, 4, 32, np.zeros(4, np.uint32))
    assert out.tolist() == [32 * (1 + (b ^ 1)) for b in range(4)]


@pytest.mark.parametrize(("directives", "expected"), [(CLUSTER_OF_TWO, [1, 2, 0, 1]), ("", [0, 1, 0, 0])])
def test_whether_there_are_clusters(directives: str, expected: list[int], run: Run) -> None:
    ptx = clustered(
        "u64 a",
        LINEAR + "mov.pred %p1, %is_explicit_cluster; selp.u32 %r5, 1, 0, %p1; mov.u32 %r6, %cluster_nctarank;"
        "setp.eq.u32 %p2, %r2, 3; @!%p2 bra $E; mov.u32 %r7, %cluster_ctaid.y; mov.u32 %r8, %cluster_ctarank;"
        + element("%rd1", "a", "0") + "st.global.v4.u32 [%rd1], {%r5, %r6, %r7, %r8}; $E: ret;",
        directives=directives,
    )  # fmt: skip
    (out,) = run(ptx, 4, 1, np.full(4, 9, np.uint32))
    assert out.tolist() == expected


def test_many_clusters_in_many_batches(run: Run) -> None:
    """Clusters of three never lie in two batches, however many blocks a batch has."""
    ptx = clustered(
        "u64 a",
        LINEAR + "mov.u32 %r5, tile; mov.u32 %r6, %cluster_ctarank; add.u32 %r7, %r6, 1; rem.u32 %r7, %r7, 3;"
        "st.shared.u32 [tile], %r2;" + SYNC + "mapa.shared::cluster.u32 %r8, %r5, %r7;"
        "ld.shared::cluster.u32 %r9, [%r8];" + SYNC + element("%rd1", "a", "%r2") + "st.global.u32 [%rd1], %r9; ret;",
        module=".shared .align 4 .b8 tile[4];",
        directives=".explicitcluster .reqnctapercluster 3, 1, 1",
    )  # fmt: skip
    (out,) = run(ptx, 300, 1024, np.zeros(300, np.uint32))
    assert out.tolist() == [b - 2 if b % 3 == 2 else b + 1 for b in range(300)]


def test_waiting_names_every_place() -> None:
    body = (
        LINEAR
        + """
        mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p1, %r6, 0; @%p1 bra $A;
    .loc 1 7 1
        bar.sync 1, 64;
        bra.uni $E;
    $A:
        barrier.cluster.arrive;
    .loc 1 9 1
        barrier.cluster.wait;
    $E: ret;
    """
    )
    with pytest.raises(SynchronizationError) as caught:
        Machine().run(clustered("", body), 2, 32)
    assert str(caught.value) == (
        "k.py:9: kernel k: deadlock: threads wait at `barrier.cluster.wait` (k.py:9), others at `bar.sync 1, 64` (k.py:7) "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )


def test_a_module_of_too_many_shared_arrays_is_refused() -> None:
    module = "".join(f".shared .b8 s{i}[4];" for i in range(130))
    emulator = Emulator()
    function = emulator.function(emulator.load(kernel("", "ret;", module=module).encode()), "k")
    emulator.launch(function, Launch((2, 1, 1), (1, 1, 1)), b"")
    with pytest.raises(Exception, match="has 130 shared arrays; the emulator can tell apart 127 in a cluster"):
        emulator.launch(function, Launch((2, 1, 1), (1, 1, 1), cluster=(2, 1, 1)), b"")
