"""The reference for programs of many threads: blocks one after another, each run to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import program as p
from .expand import expanded
from .memory import Epochs, Memory, SharedMemory, Thread
from .reference import RESULT, Functions, settled
from .reference_block import Block, stepped
from .reference_expressions import THREAD, Frame
from .reference_memory import SHARED
from .semantics import Value
from .typing_rules import named
from .variables import walk

Lanes = Sequence[Sequence[Value]]
Results = tuple[list[Value], list[list[Value]]]


def grid_evaluator(program: p.Program, backwards: bool = False) -> Callable[[Lanes, Sequence[Value], Lanes], Results]:
    """The program as a function of each thread's inputs, the uniforms and the buffers' contents.

    It gives each thread's output and the buffers' new contents. ``backwards``: threads and blocks run in the other
    order, which must not matter.
    """
    grid = program.grid
    assert grid is not None
    fixed = {name: named(t) for name, t in (*program.inputs, *program.uniforms)}
    arrays = {b.name: named(b.type) for b in program.buffers}
    functions = Functions(program.functions)
    statements = expanded((*program.body, p.Return(program.result)))
    scope = settled(statements, fixed, functions, named(program.output), arrays)
    body = stepped(statements, scope)
    shared = [s for s in walk(statements) if isinstance(s, p.Declare) and s.space == "shared"]

    def run(lanes: Lanes, uniforms: Sequence[Value], contents: Lanes) -> Results:
        buffers: dict[str, Memory] = {
            b.name: SharedMemory(named(b.type), (b.size,), values)
            for b, values in zip(program.buffers, contents, strict=True)
        }
        names = [name for name, _ in (*program.inputs, *program.uniforms)]
        results: list[Value] = [0] * len(lanes)
        for block in sorted(range(grid.blocks), reverse=backwards):
            epochs = Epochs()
            of_block = {s.name: SharedMemory(named(s.type), s.shape) for s in shared}
            first = block * grid.threads
            frames: list[Frame] = []
            for k in range(grid.threads):
                thread = Thread(k, first + k, block, grid, epochs)
                values = dict(zip(names, (*lanes[first + k], *uniforms), strict=True))
                frames.append(values | buffers | {THREAD: thread, SHARED: of_block})
            Block(body, frames, epochs, backwards).run()
            results[first : first + grid.threads] = [frame[RESULT] for frame in frames]
        return results, [buffers[b.name].values for b in program.buffers]

    return run
