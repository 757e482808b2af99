"""Rows: control flow, loops, functions, match, print and assert."""

import numpy as np

from kdsl import DeviceAssertionError, Ptr, f32, f64, grid, i32, i64, kernel, local, static_range, thread_idx, u32

from .capability import row

N = np.arange(32)


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


@row("Statements", "if, elif, else", "branches that threads take apart", out=np.select([N < 5, N < 20], [N, -N], 7))
@kernel
def branches(out: Ptr[i64]):
    i = grid(1)
    if i < 5:
        out[i] = i
    elif i < 20:
        out[i] = -i
    else:
        out[i] = 7


@row("Statements", "while", "loops of which each thread takes its own number", out=[collatz(int(n)) for n in N])
@kernel
def loops(out: Ptr[i64]):
    n = grid(1)
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    out[grid(1)] = steps


@row("Statements", "for over range", "evaluated once, never wraps; the variable keeps its last value",
     out=[sum(range(int(n), 40, 3)) * 100 + [*range(int(n), 40, 3)][-1] for n in N])  # fmt: skip
@kernel
def ranged(out: Ptr[i64]):
    total = 0
    i = 0
    for i in range(grid(1), 40, 3):
        total += i
    out[grid(1)] = total * 100 + i


@row("Statements", "range near the largest i32", "does not wrap", out=np.full(32, 2))
@kernel
def near_the_end(out: Ptr[i64]):
    count = 0
    for _ in range(2147483640 + grid(1) // 32, 2147483647, 4):
        count += 1
    out[grid(1)] = count


@row(
    "Statements", "range with a negative step", "counts down", out=[sum(k * k for k in range(int(n), 0, -2)) for n in N]
)
@kernel
def downwards(out: Ptr[i64]):
    total = 0
    for k in range(grid(1), 0, -2):
        total += k * k
    out[grid(1)] = total


@row("Statements", "for over a tuple", "unrolled; elements may differ in type", out=N * 2 + N * 0.5 + N * 3,
     without=(r"\bbra\b",))  # fmt: skip
@kernel
def over_a_tuple(out: Ptr[f64]):
    total = f64(0)
    for factor in (2, 0.5, i64(3)):
        total += grid(1) * factor
    out[grid(1)] = total


@row("Statements", "range(unroll=N)", "that many copies of the body; True for all, False for a loop as written",
     out=np.full(32, 120.0, np.float32), inputs=(np.arange(16, dtype=np.float32),), without=(r"\bbra\b",))  # fmt: skip
@kernel
def unrolled(out: Ptr[f32], x: Ptr[f32]):
    total = 0.0
    for k in range(16, unroll=True):
        total += x[k]
    out[grid(1)] = total


@row("Statements", "else of loops", "runs if no break ended the loop", out=np.where(N < 10, N, 99))
@kernel
def loop_else(out: Ptr[i64]):
    i = grid(1)
    for k in range(10):
        if k == i:
            out[i] = k
            break
    else:
        out[i] = 99


@row(
    "Statements",
    "break and continue",
    "in loops of any kind",
    out=[sum(k for k in range(min(int(n), 20)) if k % 3) for n in N],
)
@kernel
def jumps(out: Ptr[i64]):
    total = 0
    for k in range(100):
        if k == grid(1) or k == 20:
            break
        if k % 3 == 0:
            continue
        total += k
    out[grid(1)] = total


@row("Statements", "return anywhere", "a thread is done before the others", out=np.where(N % 2, N, 0))
@kernel
def early_return(out: Ptr[i64]):
    i = grid(1)
    if i % 2 == 0:
        return
    out[i] = i


@row("Statements", "tuple and chained assignment", "`a, b = b, a` swaps; `x = y = 0`", out=N * 10 + 1)
@kernel
def assignments(out: Ptr[i64]):
    a, b = 1, grid(1)
    a, b = b, a
    x = y = a * 5
    out[grid(1)] = x + y + b


@row("Statements", "walrus", "`(n := f())` is a value and an assignment", out=np.where(N > 10, (N - 10) * 2, 0))
@kernel
def walrus(out: Ptr[i64]):
    i = grid(1)
    out[i] = 0
    if (above := i - 10) > 0:
        out[i] = above * 2


@row("Statements", "annotated locals", "`acc: f64 = 0.0`", out=np.full(32, 0.1) * 3, instructions=("st.global.b64",))
@kernel
def annotated(out: Ptr[f64]):
    x: f64 = 0.1
    out[grid(1)] = x * 3.0


@row("Statements", "match", "literals, alternatives, tuples, captures and guards",
     out=np.select([N == 0, (N == 1) | (N == 2), N > 20], [100, 200, N * 10], 7))  # fmt: skip
@kernel
def matched(out: Ptr[i64]):
    i = grid(1)
    match (i, i % 2):
        case (0, _):
            out[i] = 100
        case (1 | 2, _):
            out[i] = 200
        case (n, _) if n > 20:
            out[i] = n * 10
        case _:
            out[i] = 7


@row("Statements", "static_range", "a loop that is unrolled; its variable is a constant in each copy", out=N + 0 + 1 + 4 + 9,
     without=(r"\bbra\b", r"\.local"))  # fmt: skip
@kernel
def static(out: Ptr[i64]):
    squares = local.array(4, i32)
    for k in static_range(4):
        squares[k] = k * k
    total = grid(1)
    for k in static_range(4):
        total += squares[k]
    out[grid(1)] = total


@row("Statements", "enumerate, zip, reversed", "of tuples and of ranges", out=N * 0 + sum(i * w for i, w in enumerate((3, 1, 4), 1))
     + sum(a * b for a, b in zip((1, 2), (5, 6), strict=True)) + 210)  # fmt: skip
@kernel
def pythonic(out: Ptr[i64]):
    total = 0
    for i, w in enumerate((3, 1, 4), 1):
        total += i * w
    for a, b in zip((1, 2), (5, 6)):
        total += a * b
    digits = 0
    for k in reversed(range(3)):
        digits = digits * 10 + k
    out[grid(1)] = total + digits


@row("Statements", "sum, any, all, min, max of tuples", "without a loop", out=(N + 7) + 1 + np.maximum(N, 5))
@kernel
def of_tuples(out: Ptr[i64]):
    t = (grid(1), 3, 4)
    out[grid(1)] = sum(t) + (any((False, t[1] == 3)) and all((True, t[2] > 3))) + max((t[0], 5))


@row("Statements", "print", "with f-strings and format specs", prints="thread 1 of 2: x = 1.50, 0x1f\n", block=2,
     inputs=(np.float32(1.5), np.uint32(31)))  # fmt: skip
@kernel
def printing(x: f32, n: u32):
    if thread_idx.x == 1:
        print(f"thread {thread_idx.x} of 2: x = {x:.2f}, {n:#x}")


@row("Statements", "assert", "with a message; names file, line, block and thread", inputs=(np.int32(3),),
     raises=(DeviceAssertionError, "n must be small"), instructions=("call.uni",))  # fmt: skip
@kernel
def asserting(n: i32):
    assert thread_idx.x + n < 10, "n must be small"


@row("Statements", "@kernel(asserts=False)", "leaves asserts out", out=N, without=("trap", "assertfail"))
@kernel(asserts=False)
def not_asserting(out: Ptr[i64]):
    assert grid(1) < 3, "never looked at"
    out[grid(1)] = grid(1)


def horner(x, a, b=2, *, c=1):
    return (a * x + b) * x + c


@row("Statements", "device functions", "plain Python functions, typed at the call; defaults and keywords",
     out=(3 * N + 2) * N + 1 + (3 * (N / 2) + 4) * (N / 2) + 5)  # fmt: skip
@kernel
def calling(out: Ptr[f64]):
    i = grid(1)
    out[i] = horner(i, 3) + horner(f64(i) / 2, 3.0, c=5.0, b=4.0)


@row("Statements", "nested functions and lambdas", "may read the variables around them", out=N * 3 + N + 2)
@kernel
def nested(out: Ptr[i64]):
    i = grid(1)

    def tripled():
        return i * 3

    more = lambda y: i + y
    out[i] = tripled() + more(2)


def fibonacci(n: i32) -> i32:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@row("Statements", "recursion", "of annotated functions", out=[0, 1, 1, 2, 3, 5, 8, 13] * 4, instructions=("call.uni",))
@kernel
def recursive(out: Ptr[i64]):
    out[grid(1)] = fibonacci(grid(1) % 8)


@row("Statements", "assert with a formatted message", "evaluated where it fails, shown by the host", inputs=(np.int32(3),),
     raises=(DeviceAssertionError, "n=3 is too near 4.50"))  # fmt: skip
@kernel
def formatted(n: i32):
    limit = f32(n) * 1.5
    assert thread_idx.x != 5, f"{n=} is too near {limit:.2f}"
