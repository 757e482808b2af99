"""The grid as a whole: a barrier of all blocks, and grids that begin before the one ahead has ended.

PTX ISA 9.0, 9.7.13.13 (griddepcontrol); the barrier is the one of CUDA's cooperative launches.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic


@intrinsic(Emit("grid_sync"), ptx="ld.acquire.gpu", convergent=True)
def grid_sync() -> None:
    """Wait for every thread of the grid; what each wrote before is seen by all after.

    All threads of all blocks come to the same call, and none has returned. A kernel that calls it is launched
    cooperatively, so that all blocks run together: a grid with more blocks than fit on the GPU at once is refused.
    """


@intrinsic(Nvvm("llvm.nvvm.griddepcontrol.wait", ()), ptx="griddepcontrol.wait", convergent=True, min_sm=90)
def grid_dependency_wait() -> None:
    """Wait until the grids that this one depends on have ended and what they wrote is seen here.

    For a launch with ``programmatic_dependent_launch=True``, which may begin before the grid ahead of it in its stream
    has ended: CUDA's ``cudaGridDependencySynchronize``. In other launches there is nothing to wait for.
    """


@intrinsic(
    Nvvm("llvm.nvvm.griddepcontrol.launch.dependents", ()),
    ptx="griddepcontrol.launch_dependents",
    convergent=True,
    min_sm=90,
)
def grid_launch_dependents() -> None:
    """Let the grid behind this one in its stream begin, once every block has called this or returned.

    CUDA's ``cudaTriggerProgrammaticLaunchCompletion``. Nothing of what this grid writes is promised to be seen there
    before `grid_dependency_wait`.
    """
