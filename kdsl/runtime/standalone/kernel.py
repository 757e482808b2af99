"""The kernels that were built ahead of time, and their launches."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from kdsl.runtime.standalone.configuration import check_limits, extents, shared_bytes, stream_handle
from kdsl.runtime.standalone.contract import Contract, Values
from kdsl.runtime.standalone.driver_module import Module
from kdsl.runtime.standalone.host_arrays import HostArrays
from kdsl.runtime.standalone.passing import Parameter, check_tuples, in_order, passed

L = TypeVar("L")
"""A kernel's call, a Protocol with its parameters."""

CLUSTER, COOPERATIVE = "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", "CU_LAUNCH_ATTRIBUTE_COOPERATIVE"

DEFAULT_SHARED = 48 * 1024

DEFAULT_STREAMS = {0, 1}
"""The legacy default stream's two names."""


class Kernel(Generic[L]):
    """A kernel: ``kernel[grid, block](...)``, also ``[grid, block, stream]`` and ``[grid, block, stream, shared]``.

    ``most_threads`` is the largest block it is compiled for, ``multiple`` what the threads of a block are a multiple
    of, ``cluster`` the blocks of its clusters; ``cooperative``: all its blocks must run together. ``tuples`` says how
    many elements the tuples among the arguments have, by their places.
    """

    def __init__(
        self,
        module: Module,
        entry: str,
        names: tuple[str, ...],
        parameters: Sequence[Parameter],
        most_threads: int | None = None,
        multiple: int = 1,
        cluster: tuple[int, int, int] | None = None,
        cooperative: bool = False,
        contract: Contract | None = None,
        defaults: Mapping[str, Any] | None = None,
        tuples: Mapping[tuple[int, ...], int] | None = None,
    ) -> None:
        self.module, self.entry, self.names, self.parameters = module, entry, names, tuple(parameters)
        self.most_threads, self.multiple = most_threads, multiple
        self.cluster, self.cooperative, self.contract = cluster, cooperative, contract or Contract()
        self.defaults, self.tuples = defaults or {}, tuples or {}
        self._function: Any = None

    @property
    def function(self) -> Any:
        if self._function is None:
            self._function = self.module.function(self.entry)
        return self._function

    def __getitem__(self, configuration: Any) -> L:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise TypeError(f"{self.entry}[grid, block], [grid, block, stream] or [grid, block, stream, shared_bytes]")
        grid, block, *rest = configuration
        stream, shared = stream_handle(rest[0] if rest else None), rest[1] if len(rest) > 1 else 0
        launch = Launch(self, extents("grid", grid), extents("block", block), stream, shared)
        return cast(L, launch)

    @property
    def launch(self) -> L:
        """``kernel.launch(...)`` without brackets, for a kernel whose contract says grid and block."""
        return cast(L, self._launched)

    def _launched(self, /, *arguments: Any, **keywords: Any) -> None:
        contract = self.contract
        if contract.grid is None or contract.block is None:
            raise TypeError(
                f"{self.entry} has no contract that says its grid and block: {self.entry}[grid, block](...)"
            )
        given = in_order(self.entry, self.names, arguments, keywords, self.defaults)
        self.packed(given, HostArrays(self.module))  # which says what is wrong with an argument
        values = Values(self.names, given)
        try:
            grid, block = contract.grid(values), contract.block(values)
            shared = contract.shared(values) if contract.shared is not None else 0
        except (ArithmeticError, IndexError) as error:
            raise ValueError(f"{self.entry}: no configuration follows from these arguments: {error}") from None
        if min(*grid, shared) < 0 or min(block) < 1:
            raise ValueError(
                f"{self.entry}: of these arguments follow grid = {grid}, block = {block}, shared = {shared}"
            )
        is_empty = 0 in grid
        launch = Launch(self, grid, extents("block", block), 0, shared, is_empty=is_empty)
        launch(*given)

    def packed(self, given: Sequence[Any], host: HostArrays) -> list[Any]:
        """The values of all parameters: bytes, or functions that give them once host arrays have addresses."""
        check_tuples(self.entry, self.tuples, self.names, given)
        return [value for parameter in self.parameters for value in passed(self.entry, parameter, given, host)]

    # To a type checker a kernel cannot be called, which it reports; after a NoReturn it would check nothing.
    if not TYPE_CHECKING:

        def __call__(self, /, *arguments: Any, **keywords: Any) -> NoReturn:
            raise TypeError(f"{self.entry} is launched as {self.entry}[grid, block](...)")

    def __repr__(self) -> str:
        return f"<kernel {self.entry}({', '.join(self.names)})>"


class Launch:
    """A kernel with its configuration."""

    def __init__(
        self,
        kernel: Kernel[Any],
        grid: Sequence[int],
        block: Sequence[int],
        stream: Any,
        shared: Any,
        is_empty: bool = False,
    ) -> None:
        check_limits(grid, block)
        threads = math.prod(block)
        if kernel.most_threads is not None and threads > kernel.most_threads:
            raise ValueError(f"block = {block}: {kernel.entry} is compiled for at most {kernel.most_threads} threads")
        if threads % kernel.multiple:
            raise ValueError(f"block = {block}: {kernel.entry} takes a multiple of {kernel.multiple} threads")
        fixed = kernel.contract.fixed_block
        if fixed is not None and tuple(block) != fixed:
            raise ValueError(f"block = {block}: {kernel.entry} is compiled for blocks of {fixed}")
        if kernel.cluster is not None and any(n % c for n, c in zip(grid, kernel.cluster, strict=True)):
            raise ValueError(f"grid = {grid}: {kernel.entry} takes a multiple of its clusters' {kernel.cluster}")
        self.kernel, self.grid, self.block, self.stream = kernel, grid, block, stream
        self.shared, self.is_empty = shared_bytes(shared), is_empty

    def __call__(self, /, *arguments: Any, **keywords: Any) -> None:
        kernel = self.kernel
        given = in_order(kernel.entry, kernel.names, arguments, keywords, kernel.defaults)
        host = HostArrays(kernel.module)
        packed = kernel.packed(given, host)
        self._check(given)
        if self.is_empty:
            return
        function = kernel.function
        try:
            host.copy_in()
            values = [value() if callable(value) else value for value in packed]
            for stream in host.producers:
                self._wait_for(stream)
            self._enqueue(function, values)
            host.copy_back()
        finally:
            host.release()

    def _check(self, given: Sequence[Any]) -> None:
        """ValueError for a relation of the contract that does not hold."""
        for text, relation in self.kernel.contract.requires:
            try:
                holds = relation(Values(self.kernel.names, given, self.grid, self.block, self.shared))
            except (ArithmeticError, IndexError):
                holds = False
            if not holds:
                raise ValueError(f"{self.kernel.entry} requires {text}")

    def _wait_for(self, producer: int) -> None:
        """Let the launch come after what another stream has been given."""
        module, api = self.kernel.module, self.kernel.module.driver
        if {producer, self.stream} <= DEFAULT_STREAMS or producer == self.stream:
            return
        event = module.call("cuEventCreate", 2)  # CU_EVENT_DISABLE_TIMING
        try:
            module.call("cuEventRecord", event, api.CUstream(producer))
            module.call("cuStreamWaitEvent", api.CUstream(self.stream), event, 0)
        finally:
            api.cuEventDestroy(event)

    def _enqueue(self, function: Any, values: Sequence[bytes]) -> None:
        module, api = self.kernel.module, self.kernel.module.driver
        module.enter()
        if self.shared > DEFAULT_SHARED:
            attribute = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            module.call("cuFuncSetAttribute", function, attribute, self.shared)
        # The driver reads every value at its address while it is called.
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*map(ctypes.addressof, buffers))
        address = ctypes.addressof(pointers)
        what = f"launching {self.kernel.entry}"
        if self.kernel.cluster is None and not self.kernel.cooperative:
            launched = api.cuLaunchKernel(function, *self.grid, *self.block, self.shared, self.stream, address, 0)
        else:
            launched = api.cuLaunchKernelEx(self._configuration(), function, address, 0)
        module.checked(what, launched)

    def _configuration(self) -> Any:
        api = self.kernel.module.driver
        config = api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = self.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self.block
        config.sharedMemBytes, config.hStream = self.shared, api.CUstream(self.stream)
        attributes = []
        if self.kernel.cluster is not None:
            attributes.append(api.CUlaunchAttribute())
            attributes[-1].id = getattr(api.CUlaunchAttributeID, CLUSTER)
            dimensions = attributes[-1].value.clusterDim
            dimensions.x, dimensions.y, dimensions.z = self.kernel.cluster
        if self.kernel.cooperative:
            attributes.append(api.CUlaunchAttribute())
            attributes[-1].id = getattr(api.CUlaunchAttributeID, COOPERATIVE)
            attributes[-1].value.cooperative = 1
        config.attrs, config.numAttrs = attributes, len(attributes)
        return config
