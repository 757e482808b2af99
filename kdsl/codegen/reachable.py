"""What holds for a kernel together with what it calls: shared memory, index registers, known arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from kdsl.codegen.ranges import Interval, Ranges
from kdsl.codegen.walk import all_expressions, statements
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Emit, Nvvm
from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.source import CompileError
from kdsl.target import Target

STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of static shared memory that ptxas grants a block, on every architecture."""
MOST_COPIES = 1 << 16
"""Of device functions in a kernel: LLVM takes some ten seconds for them."""
SMALL_PARAMETERS, PARAMETER_LIMIT = 4352, 32764
"""Bytes of kernel parameters in all, before PTX ISA 8.1 and from it on (PTX ISA 9.0, 5.1.6.1)."""
LARGE_PARAMETERS = 81
FIRST_WITH_CLUSTERS = 90
_SREG = "llvm.nvvm.read.ptx.sreg."
_GRID = {"grid": ("ntid", "ctaid", "tid"), "gridsize": ("ntid", "nctaid")}


def reachable(f: ir.Function, module: ir.Module) -> Iterator[tuple[ir.Function, ir.Expr]]:
    """Every expression of a function and of what it calls, each function once, in the order of the first call."""
    by_name = {g.name: g for g in module.functions}
    seen: set[str] = set()

    def visit(g: ir.Function) -> Iterator[tuple[ir.Function, ir.Expr]]:
        seen.add(g.name)
        for e in all_expressions(g.body):
            yield g, e
            if isinstance(e, ir.Call) and e.function not in seen:
                yield from visit(by_name[e.function])

    return visit(f)


def calls_of(kernel: ir.Function, module: ir.Module, intrinsic: str) -> bool:
    """Whether a kernel, or what it calls, calls the intrinsic of that name."""
    return any(isinstance(e, ir.IntrinsicCall) and e.intrinsic.name == intrinsic for _, e in reachable(kernel, module))


def recursive(module: ir.Module) -> frozenset[str]:
    """The functions that may call themselves, by way of others or not: they stay functions, of any argument."""
    by_name = {f.name: f for f in module.functions}
    calls = {
        name: {e.function for e in all_expressions(f.body) if isinstance(e, ir.Call)} for name, f in by_name.items()
    }
    found: set[str] = set()
    for name in calls:
        seen: set[str] = set()
        pending = list(calls[name])
        while pending:
            callee = pending.pop()
            if callee not in seen:
                seen.add(callee)
                pending += calls[callee]
        if name in seen:
            found.add(name)
    return frozenset(found)


def check_copies(kernel: ir.Function, module: ir.Module, calls_themselves: frozenset[str]) -> None:
    """CompileError at the call that makes too many copies of device functions: each call gets one, and calls in it."""
    by_name = {f.name: f for f in module.functions}
    known: dict[str, int] = dict.fromkeys(calls_themselves, 0)

    def copies(f: ir.Function) -> int:
        total = 0
        for e in all_expressions(f.body):
            if not isinstance(e, ir.Call):
                continue
            if e.function not in known:
                known[e.function] = 1 + copies(by_name[e.function])
            total += known[e.function]
            if total > MOST_COPIES:
                message = f"a device function is copied to each of its calls, and these make more than {MOST_COPIES}"
                hint = "call it once and keep the result in a variable, or call it in a loop"
                raise CompileError.at(e.span, f"{message} copies", hint)
        return total

    copies(kernel)


def check_shared_memory(kernel: ir.Function, module: ir.Module) -> None:
    """CompileError at the static shared array that passes what a block may have, with each aligned as in memory."""
    total = 0
    seen: set[tuple[str, int]] = set()
    for f, e in reachable(kernel, module):
        if not isinstance(e, ir.SharedArray) or (place := ("" if e.common else f.name, e.uid)) in seen:
            continue
        seen.add(place)
        size = e.type.element.size
        for extent in e.type.shape or ():
            size *= extent
        total = -(-total // 16) * 16 + size
        if total > STATIC_SHARED_LIMIT:
            raise CompileError.at(
                e.span,
                f"the shared arrays of `{kernel.source_name}` need {total} bytes with this one; a block has at most "
                f"{STATIC_SHARED_LIMIT} (48 KB) of static shared memory",
                "use smaller shapes, or shared.dynamic(dtype), which may be as large as the device allows",
            )


def check_cluster(kernel: ir.Function, target: Target) -> None:
    """CompileError where a kernel says how large its clusters are, and the target has none."""
    options = kernel.options
    said = "cluster" if options.cluster else "launch_bounds" if len(options.launch_bounds or ()) > 2 else ""
    if said and target.sm < FIRST_WITH_CLUSTERS:
        raise CompileError.at(
            kernel.span,
            f"@kernel({said}={getattr(options, said)}) is of clusters, which need sm_{FIRST_WITH_CLUSTERS} or newer; "
            f"this is {target}",
            f'compile with target="sm_{FIRST_WITH_CLUSTERS}"',
        )


def check_parameters(kernel: ir.Function) -> int:
    """The PTX ISA version that the kernel's parameters need; CompileError where they pass what a launch can carry."""
    size = buffer_size(parameter_layout((p.name, p.type) for p in kernel.parameters))
    if size > PARAMETER_LIMIT:
        raise CompileError.at(
            kernel.span,
            f"the parameters of `{kernel.source_name}` take {size} bytes, and a launch carries {PARAMETER_LIMIT}",
            "pass an array that holds them",
        )
    return LARGE_PARAMETERS if size > SMALL_PARAMETERS else 0


def registers_of(kernel: ir.Function, module: ir.Module) -> tuple[str, ...]:
    """The index registers that the device functions of a kernel read, such as ``tid.x``."""
    found: dict[str, None] = {}
    if not module.functions:
        return ()
    for f, e in reachable(kernel, module):
        if f is kernel or not isinstance(e, ir.IntrinsicCall):
            continue
        match e.intrinsic.lowering:
            case Nvvm(name=str(name)) if e.intrinsic.register:
                found[name.removeprefix(_SREG)] = None
            case Emit(name) if name in _GRID:
                ndim = dict(e.constants).get("ndim", 1)
                assert isinstance(ndim, int)
                found.update({f"{group}.{axis}": None for axis in "xyz"[:ndim] for group in _GRID[name]})
            case _:
                pass
    return tuple(found)


def parameter_ranges(module: ir.Module, ranges: Mapping[str, Ranges]) -> None:
    """Tell each device function what its callers pass, and each caller what its callees return, where bounded."""
    if not module.functions:
        return
    by_name = {f.name: f for f in module.functions}
    results: dict[str, Interval | None] = {}
    for f in module.functions:  # callees first
        ranges[f.name].results = results.get
        returned = [ranges[f.name].interval(s.value) for s in _returns(f) if s.value is not None]
        results[f.name] = _join(returned)
    for f in module.kernels:
        ranges[f.name].results = results.get
    passed: dict[tuple[str, int], list[Interval | None]] = {}
    calls_itself = recursive(module)
    for f in (*module.kernels, *reversed(module.functions)):  # callers first
        known = {p.uid: i for p in f.parameters if (i := _join(passed.get((f.name, p.uid), [])))}
        if f.name in calls_itself:
            known = {}
        # Of a kernel's parameters its launch contract knows, and no caller.
        ranges[f.name].forget(ranges[f.name].parameters if f.is_kernel else known)
        for call in (e for e in all_expressions(f.body) if isinstance(e, ir.Call)):
            for parameter, argument in zip(by_name[call.function].parameters, call.arguments, strict=True):
                passed.setdefault((call.function, parameter.uid), []).append(ranges[f.name].interval(argument))


def _returns(f: ir.Function) -> Iterator[ir.Return]:
    return (s for s in statements(f.body) if isinstance(s, ir.Return))


def _join(intervals: list[Interval | None]) -> Interval | None:
    known = [i for i in intervals if i is not None]
    return reduce(Interval.join, known) if known and len(known) == len(intervals) else None
