"""A kernel compiled for the types of its parameters and loaded on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kdsl.backend import Backend
from kdsl.cache.process import compile_cached, load_cached, will_compile
from kdsl.compilation import Compilation
from kdsl.compiled import CompiledKernel
from kdsl.contracts.architecture import check_architecture
from kdsl.contracts.contract import NOTHING, Contract
from kdsl.contracts.types import contract_for
from kdsl.current import IsCurrent, timeline
from kdsl.lang.types import ArrayType, PointerType, Type
from kdsl.records import dataclass
from kdsl.runtime.calls import Call, call_of
from kdsl.runtime.launch import Condition, Launcher, all_hold
from kdsl.runtime.variables import attach
from kdsl.target import Target

if TYPE_CHECKING:
    from kdsl.compiler import Kernel


def import_what_compiles() -> None:
    """Import the compiler where it is certain to be wanted: a GPU's driver starts meanwhile."""
    if will_compile():
        from kdsl import frontend  # noqa: F401
        from kdsl.codegen import lower, nvptx  # noqa: F401


@dataclass(frozen=True)
class Specialization:
    """A kernel compiled for parameter types and a device, and loaded there; good as long as what it captured stays
    bound.
    """

    compilation: Compilation
    backend: Backend
    launcher: Launcher
    types: tuple[Type, ...]
    """Of all parameters, constants included."""

    def is_current(self) -> bool:
        """Whether every captured name is bound to the object it was compiled with."""
        return self.launcher.holds()


def specialized(
    kernel: Kernel[Any], types: tuple[Type, ...], backend: Backend, known: Iterable[Specialization]
) -> Specialization:
    """The kernel compiled for ``types`` and loaded on the device. ``known`` are its specialisations so far."""
    target = Target.parse(backend.target)
    check_architecture(kernel.function, kernel.options.min_arch, target, backend.description)
    compilation = _compiled(kernel, types, target, known)
    (compiled,) = compilation.compiled
    module = load_cached(backend, compilation)
    attach(backend, module, compilation.variables)
    typed = [(name, type) for (name, _), type in zip(kernel.parameters, types, strict=True)]
    call = None if kernel.is_annotated else call_of(typed)
    conditions: tuple[Condition, ...] = compilation.captured
    passed = types if call is None else [slot.type for slot in call.slots]
    # Each array says where it lives. Without one, a launch is for the current device.
    if not any(isinstance(type, PointerType | ArrayType) for type in passed):
        conditions = (IsCurrent(backend), *conditions)
    report = partial(compilation.resources_of, compiled.name)
    contract = contract_for(kernel.options.contract, dict(typed))
    launcher = build_launcher(
        backend, module, kernel.name, compiled, typed, conditions, call, report, contract=contract
    )
    return Specialization(compilation, backend, launcher, types)


def _compiled(
    kernel: Kernel[Any], types: tuple[Type, ...], target: Target, known: Iterable[Specialization]
) -> Compilation:
    """The kernel compiled for these types; another device of the same architecture may have it already."""
    for other in known:
        compilation = other.compilation
        if other.types == types and compilation.target == target and all_hold(compilation.captured):
            return compilation
    return compile_cached([kernel._request(types)], target, timeline())


def build_launcher(
    backend: Backend,
    module: Any,
    name: str,
    compiled: CompiledKernel,
    parameters: Sequence[tuple[str, Type]],
    conditions: Sequence[Condition] = (),
    call: Call | None = None,
    report: Callable[[], Any] | None = None,
    *,
    contract: Contract = NOTHING,
) -> Launcher:
    """The typed launcher of a kernel of the loaded module; errors call it ``name``. ``call`` is that of a kernel that
    is specialised on its arguments. ``report`` gives ptxas's report on it, ``contract`` what a launch is checked
    against.
    """
    if call is not None:
        parameters = [(slot.name, slot.type) for slot in call.slots]
    return Launcher(
        name,
        parameters,
        backend,
        backend.function(module, compiled.name),
        compiled.written,
        conditions,
        compiled.most_threads,
        compiled.cluster,
        compiled.cooperative,
        call,
        compiled.block_multiple,
        report,
        contract=contract,
    )
