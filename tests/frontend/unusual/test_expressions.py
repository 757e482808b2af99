"""Expressions and functions that are valid but unusual: each gives what Python would."""

from kdsl import Ptr, f32, i32, kernel, local, shared

from .running import run


def following(v):
    return v, v + 1


def total(a, b=10, *, c=100):
    return a + b + c


def test_chained_cmp_calls():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        def g(v):
            return v + 1

        if 0 < g(n) <= g(5) < 100:
            y[0] = 1
        y[1] = 1 < g(n) < 3

    x, y = run(k)
    assert y[:2] == [1, 0]


def test_shadow_builtins():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        max = 3
        min = n
        len = max + min
        abs = 1.5
        range_ = 2
        print = 4
        y[0] = len + range_ + print
        x[0] = abs
        int = 7
        y[1] = int
        id = type = str = 1
        y[2] = id

    x, y = run(k)
    assert y[:3] == [14, 7, 1]
    assert x[:1] == [1.5]


def test_aug_all():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        a = n
        a += 1
        a -= 2
        a *= 3
        a //= 2
        a %= 5
        a **= 2
        a <<= 3
        a >>= 1
        a |= 8
        a &= 12
        a ^= 5
        y[0] = a
        b = 2.0
        b /= 4
        b *= n
        x[0] = b

    x, y = run(k)
    assert x[:1] == [2.5]


def test_nested_functions():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        k0 = 3

        def outer(v):
            def inner(w):
                return w + k0 + v

            return inner(v) * 2

        y[0] = outer(n)
        g = lambda a, b=2: a * b
        y[1] = g(n)
        y[2] = g(n, b=3)
        y[3] = (lambda q: q + n)(1)

    x, y = run(k)
    assert y[:4] == [26, 10, 15, 6]


def test_fn_defaults_kwonly():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = total(n)
        y[1] = total(n, c=1)
        y[2] = total(b=1, a=2)

    x, y = run(k)
    assert y[:3] == [115, 16, 103]


def test_bool_ops():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        a = n > 3
        b = not a
        c = a and b or not b
        d = a & b | a ^ b
        e = a == b
        if n and not b:
            y[0] = 1
        y[1] = a + b + c + d + e
        y[2] = (n or 0) + (n and 1)
        y[3] = True + True

    x, y = run(k)
    assert y[:4] == [1, 3, 2, 2]


def test_ops():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = -7 // 2
        y[1] = -n // 2
        y[2] = -n % 3
        y[3] = 2**10
        y[4] = n**3
        y[5] = ~n
        y[6] = n << 2
        y[7] = -n >> 1
        x[0] = n / 2
        x[1] = +n
        x[2] = -x[0]
        x[3] = x[0] ** 2

    x, y = run(k)
    assert y[:8] == [-4, -3, 1, 1024, 125, -6, 20, -3]
    assert x[:4] == [2.5, 5, -2.5, 6.25]


def test_hex_etc():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = 0xFF + 0b11 + 0o17 + 1_000
        x[0] = 1e3 + 1_0.5 + 0.5 + 5.0

    x, y = run(k)
    assert y[:1] == [1273]
    assert x[:1] == [1016.0]


def test_lambda_default():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        g = lambda v=3: v
        y[0] = g()
        h = lambda: n
        y[1] = h()

    x, y = run(k)
    assert y[:2] == [3, 5]


def test_conditional():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = 1 if n else 2
        x[0] = 1 if n > 9 else 2.5
        t = (1, n) if n else (2, 3)
        y[1] = t[1]
        p = x if n else x
        p[1] = 4

    x, y = run(k)
    assert y[:2] == [1, 5]
    assert x[:2] == [2.5, 4]


def test_shared_local():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        t = shared.array((2, 4), f32)
        t[1, 3] = n
        l = local.array(8, i32)
        for i in range(8):
            l[i] = i
        x[0] = t[1, 3]
        y[0] = l[n] + len(l) + t.shape[1] + t.ndim + t.size

    x, y = run(k)
    assert x[:1] == [5]
    assert y[:1] == [27]


def test_const_names():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        N = 4
        M = N * 2
        t = shared.array((N, M), i32)
        t[N - 1, M - 1] = 1
        y[0] = t.shape[1]

    x, y = run(k)
    assert y[:1] == [8]


def test_keyword_like_names():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        match = 1
        case = 2
        type = 3
        _x = 4
        soft = match + case + type + _x
        y[0] = soft

    x, y = run(k)
    assert y[:1] == [10]


def test_nested_def_same_name():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        def f(a):
            return a + 1

        def g(f):
            return f + 1

        y[0] = g(f(n))

    x, y = run(k)
    assert y[:1] == [7]


def test_param_reassign():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        n = n + 1
        n *= 2
        y[0] = n
        x = x

    x, y = run(k)
    assert y[:1] == [12]


def test_int_min():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        a: i32 = -2147483648
        y[0] = a
        y[1] = -(2**31)
        b = -9223372036854775808
        y[2] = b >> 62

    x, y = run(k)
    assert y[:3] == [-2147483648, -2147483648, -2]
