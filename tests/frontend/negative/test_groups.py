"""Mistakes with groups of threads: each is reported where it stands, and in the user's words."""

from __future__ import annotations

from kdsl import Array, Ptr, f8e4m3, f8e5m2x4, f32, f32x4, groups, i32, i64, kernel, math, shared, thread_idx
from tests.frontend.harness import check_errors


def test_sizes_of_tiles() -> None:
    @kernel
    def k(n: i32, x: f32):
        a = groups.tile(24)  # error: a tile has 1, 2, 4, 8, 16 or 32 threads, not 24
        b = groups.tile(64)  # error: a tile has 1, 2, 4, 8, 16 or 32 threads, not 64
        #   # hint: groups.this_block() has all threads of a block
        c = groups.tile(n)  # error: the size of a tile is a constant int # hint: 1, 2, 4, 8, 16 or 32
        d = groups.tile(0)  # error: a tile has 1, 2, 4, 8, 16 or 32 threads, not 0
        e = groups.tile(16.0)  # error: the size of a tile is a constant int
        f = groups.tile()  # error: groups.tile() needs `size`
        g = groups.this_block(1)  # error: groups.this_block() takes 0 arguments, and this gives 1
        h = groups.coalesced(mask=n)  # error: groups.coalesced() has no parameter `mask`

    check_errors(k)


def test_operations() -> None:
    @kernel
    def k(p: Ptr[f32], n: i32, x: f32):
        t = groups.tile(32)
        r1 = t.reduce(x, "sum")  # error: `op` of reduce() takes "add", "mul", "min", "max", "and", "or" or "xor", or a
        #   function of two values, and this is 'sum'
        r2 = t.reduce(x, n)  # error: `op` of reduce() takes "add", "mul", "min", "max", "and", "or" or "xor", or a
        #   function of two values, and this is i32
        r3 = t.reduce(x, "and")  # error: "and" combines ints and bools, and this is f32 # hint: reduce its bits:
        #   bitcast(x, u32)
        r4 = t.reduce(x > 0, "add")  # error: "add" combines numbers, and this is bool # hint: count with i32(x), or use
        #   "or"
        r5 = t.reduce((x, n), "add")  # error: "add" combines scalars and vectors, and this is tuple[f32, i32]
        #   # hint: say how: lambda a, b: ...
        r6 = t.reduce(p, "add")  # error: reduce() takes scalars, vectors, and tuples and structs of them, and this is
        #   Ptr[f32]
        r7 = t.reduce(x)  # error: t.reduce() needs `op` # hint: it takes value, op
        r8 = t.reduce(x, "add", 0)  # error: t.reduce() takes 2 arguments (value, op), and this gives 3
        r9 = t.reduce(x, max)  # error: `op` of reduce() takes a function of Python's, and this is `max` # hint: write a
        #   lambda that calls it: lambda a, b: ...

    check_errors(k)


def test_values_that_are_only_stored() -> None:
    @kernel
    def k(p: Ptr[f8e4m3], q: Ptr[f8e5m2x4]):
        t = groups.tile(32)
        r1 = t.reduce(p[0], "add")  # error: "add" does not take f8e4m3, which is only stored
        r2 = t.inclusive_scan(q[0], "max")  # error: "max" does not take f8e5m2x4, which is only stored
        p[1] = t.broadcast(p[0])

    check_errors(k)


def narrow(a: f32, b: f32) -> i32:
    return i32(a + b)


def test_functions() -> None:
    @kernel
    def k(p: Ptr[f32], n: i32, x: f32):
        t, block = groups.tile(32), groups.this_block()
        r1 = t.reduce(x, lambda a, b: i32(a))  # error: `op` of reduce() gives i32 for two values of f32 # hint: cast
        #   what it gives: f32(...)
        r2 = block.reduce(x, lambda a: a)  # error: `<lambda>` takes 1 of the 2 operands
        r3 = block.reduce(x, narrow)  # error: `op` of reduce() gives i32 for two values of f32
        r4 = t.exclusive_scan(x, lambda a, b: a + b)  # error: exclusive_scan() with a function needs `init`, which rank
        #   0 gets # hint: such as init=0
        r5 = t.exclusive_scan(x, "add", init=p)  # error: this is Ptr[f32], but `init` takes f32
        r6 = block.inclusive_scan((x, n), lambda a, b: a)
        r7 = t.reduce(x, lambda a, b: a + missing)  # error: `missing` is not defined

    check_errors(k)


def test_what_a_group_has() -> None:
    @kernel
    def k(n: i32, x: f32, v: f32):
        t, block, c, g = groups.tile(16), groups.this_block(), groups.coalesced(), groups.this_grid()
        r1 = block.shfl(x, 0)  # error: a Block has no `shfl` # hint: take a tile of it: groups.tile(32)
        r2 = c.shfl_xor(x, 1)  # error: a Coalesced has no `shfl_xor` # hint: take a tile of it: groups.tile(32)
        r3 = c.meta_group_rank  # error: a Coalesced has no `meta_group_rank` # hint: take a tile of it: groups.tile(32)
        r4 = g.mask  # error: a Grid has no `mask` # hint: take a tile of it: groups.tile(32)
        r5 = t.thread_rank()  # error: a Tile has no `thread_rank`
        r6 = t.rank()  # error: `t.rank` is i32, not a function
        r7 = t.broadcast(x, 16)  # error: a Tile of 16 has no rank 16
        r8 = t.broadcast(x, x)  # error: this is f32, but `src` takes i32 # hint: cast it: i32(x)
        r9 = t.any(n)  # error: this is i32, but `predicate` takes bool # hint: cast it: bool(n)
        r10 = t.match_any((n, n))  # error: match_any() takes a scalar, and this is tuple[i32, i32]
        r11 = t.reduce
        r12 = r11(x, "add")  # error: `r11` is a method of a group, which is no value # hint: call it directly:
        #   g.reduce(...)
        r13 = x + t.reduce  # error: the function `t.reduce` is not a number: `+` takes numbers

    check_errors(k)


def test_workspaces() -> None:
    @kernel
    def k(p: Ptr[f32], q: Ptr[i32], a: Array[f32, 2], n: i32, x: f32):
        g, c, op = groups.this_grid(), groups.this_cluster(), "add"
        r1 = g.reduce(x, op)  # error: g.reduce() needs `workspace` # hint: it takes value, op, workspace
        r2 = g.reduce(x, op, p)  # error: g.reduce() takes 2 arguments (value, op), and this gives 3
        r3 = g.reduce(x, op, workspace=q)  # error: `workspace` takes a Ptr[f32] or contiguous Array[f32, 1] in
        #   global memory, and this is Ptr[i32]
        r4 = g.inclusive_scan(x, op, workspace=a)  # error: `workspace` takes a Ptr[f32] or contiguous
        #   Array[f32, 1] in global memory, and this is Array[f32, 2]
        s = shared.array(32, f32)
        r5 = g.broadcast(x, workspace=s)  # error: `workspace` takes a Ptr[f32] or contiguous Array[f32, 1] in
        #   global memory, and this is a shared array of 32 f32
        r6 = g.reduce((x, n), lambda a, b: a, workspace=p)  # error: a grid's values go through memory, and this
        #   is tuple[f32, i32] # hint: make it a @struct
        r7 = g.shfl(x, 0)  # error: a Grid has no `shfl` # hint: take a tile of it: groups.tile(32)
        r8 = c.reduce(x, op, workspace=p)  # error: c.reduce() has no parameter `workspace`
        r9 = c.ballot(n > 0)  # error: a Cluster has no `ballot` # hint: take a tile of it: groups.tile(32)
        r10 = c.broadcast(x, 16384)  # error: a Cluster has no rank 16384
        r11 = g.broadcast(x, -1, workspace=p)  # error: a Grid has no rank -1

    check_errors(k)


def of_tile(t: groups.Tile) -> i32:
    return t.rank


def test_groups_as_values() -> None:
    @kernel
    def k(p: Ptr[i32], n: i32):
        t = groups.tile(8)
        if n > 3:
            t = groups.tile(16)  # error: `t` is Tile of 16 here but Tile of 8 at line {-2} (`t = groups.tile(8)`); a
            #   variable keeps one type # hint: give each value its own name
        u = groups.tile(8) if n > 2 else groups.this_block()  # error: the two arms are Tile of 8 and Block
        a = of_tile(groups.coalesced())  # error: this is Coalesced, but `t` of `of_tile` takes Tile
        b = of_tile(n)  # error: this is i32, but `t` of `of_tile` takes Tile
        p[0] = groups.this_block()  # error: this is Block, but `p` takes i32
        c = groups.tile(4) + 1  # error: `+` takes numbers, and this is Tile of 4
        d = groups.tile(4) == groups.tile(4)  # error: `==` takes numbers, and this is Tile of 4

    check_errors(k)


def chosen(n: i32) -> groups.Tile:
    return groups.this_block()


def test_annotations() -> None:
    @kernel
    def k(p: Ptr[i32], n: i32):
        a: groups.Tile = groups.tile(8)
        b: groups.Lanes = groups.this_block()  # error: this is Block, and `b` is annotated Lanes
        c: groups.Block = n  # error: this is i32, and `c` is annotated Block
        d = chosen(n)  # error: this is Block, and the result of `chosen` is annotated Tile
        p[0] = a.rank

    check_errors(k)


def test_a_group_is_no_parameter_of_a_kernel() -> None:
    @kernel
    def k(t: groups.Tile):  # error: `t` is Tile, which a kernel cannot take
        pass

    check_errors(k)
