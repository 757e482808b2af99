"""Launching through the driver: everything but the parameters is bound ahead, so that a launch is one call."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from kdsl.backend import Launch
from kdsl.locks import Lock
from kdsl.runtime import driver_contexts, driver_errors
from kdsl.runtime.driver_calls import Calls, error_text, forked_error, lost
from kdsl.runtime.driver_entry import LaunchStruct, Reference
from kdsl.runtime.driver_modules import CudaFunction
from kdsl.runtime.driver_resources import resources
from kdsl.runtime.errors import LaunchConfigValueError
from kdsl.runtime.parameters import ParameterBuffer

Enqueue = Callable[[ParameterBuffer], None]

PORTABLE_CLUSTER = 8
"""Blocks of a cluster on every GPU that has clusters; a kernel has to allow more (CUDA C++ Programming Guide)."""


def prepare(calls: Calls, function: CudaFunction, launch: Launch) -> Enqueue:
    """A function that enqueues this launch with the parameters it is given, and waits for it where launches are
    synchronous.
    """
    enqueue = _prepare(calls, function, launch)
    return _waiting(calls, launch, enqueue) if calls.synchronous else enqueue


def _waiting(calls: Calls, launch: Launch, enqueue: Enqueue) -> Enqueue:
    """A launch that ends before it returns. One that is captured into a graph has not begun, and is not waited for."""

    def enqueue_and_wait(buffer: ParameterBuffer) -> None:
        enqueue(buffer)
        stream = calls.api.CUstream(launch.stream or calls.current_stream())
        if not int(calls.call("cuStreamIsCapturing", stream)):
            launched = len(calls.recent)
            calls.call("cuStreamSynchronize", stream)
            calls.seen_well(launched)

    return enqueue_and_wait


def _prepare(calls: Calls, function: CudaFunction, launch: Launch) -> Enqueue:
    calls.enter()
    if launch.shared_bytes:
        allow_shared_memory(calls, function, launch)
    if launch.cluster and prod(launch.cluster) > PORTABLE_CLUSTER:
        allow_large_clusters(calls, function, launch)
    config = config_of(calls.api, launch)
    if launch.cooperative:
        _check_that_it_fits(calls, function, launch, config)
    described = (function.name, launch)
    # The closures hold what the driver reads by address.
    configuration, handle = Reference.to(LaunchStruct.copied(config, (function, launch))), int(function.handle)

    def enqueue(buffer: ParameterBuffer) -> None:
        # The parameters go as one packed buffer: `extra`, not an array of pointers.
        code = calls.launch(configuration, handle, buffer.extra)
        if code:
            again(code, buffer)
        if calls.latest is not described:
            calls.note(described)

    def again(code: int, buffer: ParameterBuffer) -> None:
        # Looking at the context at each launch would cost more than failing once in a thread that has none yet.
        if not driver_contexts.was_outside(calls, code):
            raise refused(calls, function, launch, code)
        code = calls.launch(configuration, handle, buffer.extra)
        if code:
            raise refused(calls, function, launch, code)

    return enqueue


def config_of(api: Any, launch: Launch) -> Any:
    """A launch as the driver takes it, with its attributes."""
    config = api.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
    config.sharedMemBytes = launch.shared_bytes
    config.hStream = api.CUstream(launch.stream)
    attributes = []
    if launch.cluster:
        attributes.append(_attribute(api, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION"))
        dimensions = attributes[-1].value.clusterDim
        dimensions.x, dimensions.y, dimensions.z = launch.cluster
    if launch.cooperative:
        attributes.append(_attribute(api, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE"))
        attributes[-1].value.cooperative = 1
    if launch.programmatic_dependent_launch:
        attributes.append(_attribute(api, "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"))
        attributes[-1].value.programmaticStreamSerializationAllowed = 1
    config.attrs = attributes
    config.numAttrs = len(attributes)
    return config


def allow_large_clusters(calls: Calls, function: CudaFunction, launch: Launch) -> None:
    attribute = calls.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    code, _ = calls.attempt("cuFuncSetAttribute", function.handle, attribute, 1)
    if code:
        raise refused(calls, function, launch, code)


def _check_that_it_fits(calls: Calls, function: CudaFunction, launch: Launch, config: Any) -> None:
    """LaunchConfigError when a cooperative grid has more blocks than the GPU runs at once."""
    if launch.cluster:
        code, clusters = calls.attempt("cuOccupancyMaxActiveClusters", function.handle, config)
        most = 0 if code else int(clusters) * prod(launch.cluster)
    else:
        threads = prod(launch.block)
        code, blocks = calls.attempt(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", function.handle, threads, launch.shared_bytes
        )
        attribute = calls.api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        most = 0 if code else int(blocks) * int(calls.bare("cuDeviceGetAttribute", attribute, calls.device))
    if code:
        raise refused(calls, function, launch, code)
    asked = prod(launch.grid)
    # Where no block fits, not even one, the driver says why at the launch.
    if asked > most > 0:
        raise LaunchConfigValueError(
            f"grid = {launch.grid} of {function.name} has {asked} blocks, and a cooperative launch runs all of them at "
            f"once: at most {most} fit on this GPU with blocks of {prod(launch.block)} threads and "
            f"{launch.shared_bytes} bytes of dynamic shared memory; use {most} blocks and a grid-stride loop, or "
            f"smaller blocks"
        )


def _attribute(api: Any, name: str) -> Any:
    attribute = api.CUlaunchAttribute()
    attribute.id = getattr(api.CUlaunchAttributeID, name)
    return attribute


_ALLOWING = Lock()
"""Of two threads that ask for a kernel's limit and raise it, the second could lower what the first has set."""


def allow_shared_memory(calls: Calls, function: CudaFunction, launch: Launch) -> None:
    """Raise the kernel's limit: at first it is what its static arrays leave of 48 KB (driver API, cuFuncAttribute).

    It is never lowered, because launches that were prepared before need it as it is.
    """
    attribute = calls.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    with _ALLOWING:
        code, limit = calls.attempt("cuFuncGetAttribute", attribute, function.handle)
        if not code and launch.shared_bytes <= int(limit):
            return
        code, _ = calls.attempt("cuFuncSetAttribute", function.handle, attribute, launch.shared_bytes)
    if code:
        raise refused(calls, function, launch, code)


def refused(calls: Calls, function: CudaFunction, launch: Launch, code: int) -> Exception:
    """Why a launch was not enqueued: the driver refuses it, or an earlier kernel's fault shows only now."""
    if calls.forked:
        return forked_error()
    if calls.fault is not None:
        return lost(calls.fault, f"`{function.name}` was not launched: the GPU cannot be used any more")
    if code in driver_errors.DEAD_CONTEXT:
        return calls.error(code, "a launch")
    kind, why = driver_errors.REFUSED_LAUNCH.get(code) or (driver_errors.meaning(code)[0], "the driver refuses it")
    found = resources(calls, function)
    if code in (driver_errors.INVALID_VALUE, driver_errors.OUT_OF_RESOURCES):
        kind, why = found.too_much(launch) or (kind, why)
    text = f"{driver_errors.launch_text(function.name, launch)} was not launched: {why}"
    error = kind(f"{text} ({error_text(calls.api, code)}){found.text}", kernel=function.name)
    error.code, error.launches = code, ((function.name, launch),)
    return error
