"""Lists, comprehensions and generator expressions that are refused."""

# mypy: ignore-errors

from __future__ import annotations

from kdsl import Array, FixedArray, Ptr, address_of, f32, f64, i32, kernel, local, struct

from ..harness import check_errors

i = 7


def makes_a_list(n):
    w = [n, n]
    return w  # error: a local array of `makes_a_list` ends with it
    #   # hint: let the caller make it, and pass it as an argument


def makes_a_part(n: i32):
    w = local.array(4, i32)
    w[0] = n
    v = w[1:3]
    return v, n  # error: a local array of `makes_a_part` ends with it


def passes_on(w, n):
    return w[n:]


def test_returned():
    @kernel
    def k(x: Ptr[i32], n: i32):
        x[0] = makes_a_list(n)[1]
        x[1] = makes_a_part(n)[1]
        x[2] = passes_on([n, 1, 2], 1)[0]

    check_errors(k, helpers=(makes_a_list, makes_a_part))


def test_lists():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64, t: Array[f32, 1]):
        a = []  # error: a list has at least one element
        #   # hint: its length is fixed: write all elements in one list
        b = [n, x[0]]  # error: this is f32, and the elements before are i32 # hint: cast them to one type
        c = [[1, 2], [3]]  # error: the lists in a list are of one length, and these are 1 and 2
        e = [1, [2]]  # error: the lists in a list are of one length, and these are 1 value and 1
        f = [0] * n  # error: a list is repeated a constant number of times, from 1 to 4096
        #   # hint: local.array(n, dtype) has elements without a value
        g = [[0.0] * 4] * 4  # error: this repeats one list, whose elements Python would share between the rows
        #   # hint: [[0.0] * 4 for _ in range(4)]
        h = [1] + [2]  # error: a kernel joins no lists
        #   # hint: its length is fixed: write all elements in one list
        j = [t, t]  # error: a list holds scalars, vectors, structs or lists, and this is Array[f32, 1]
        o = [None]  # error: a list holds scalars, vectors, structs or lists, and this is a Python object
        p = [v for v in t]  # error: a comprehension runs over what is known while the kernel is compiled, and this is
        #   Array[f32, 1] # hint: range(4), a tuple, or an array of known shape
        q = [v for v in range(n)]  # error: a comprehension runs over what is known while the kernel is compiled, and
        #   this
        #   range is not # hint: write a loop
        r = [v for v in range(4) if v < n]  # error: a condition in a comprehension is constant
        #   # hint: write a loop with an if
        s = [v for v in range(2000)]  # error: a comprehension makes more than 1024 values
        u = [1.0, 2.0]
        u.append(3.0)  # error: an array has no attribute `append` in a kernel
        #   # hint: its length is fixed; its elements can be assigned: a[i] = x, a[:] = b
        u[0] = d  # error: this is f64, but `u` takes f32 # hint: cast it: f32(d)
        u[2] = 1.0  # error: index 2 is out of range: `u` has extent 2 along axis 0
        a1, a2, a3 = u  # error: 2 values are unpacked to 3 names
        w = [*x]  # error: only a tuple is taken apart in a list
        x[0] = [1.0]  # error: this is a local array of 1 f32, but `x` takes f32

    check_errors(k)


def first_of(w, n):
    return w


@struct
class Pair:
    w: FixedArray[i32, 2]


def made(n: i32) -> Pair:
    return Pair((n, n + 1))


def test_lists_in_loops():
    @kernel
    def k(x: Ptr[i32], n: i32):
        before = [0, 0]
        for j in range(n):
            now = [j, j]  # error: a list made anew takes the place of the one before, which `before` holds (line {3})
            #   # hint: copy the elements: before[:] = now
            x[j] = before[0]
            before = now
        for j in range(n):
            fine = [j, j]
            before[:] = fine
        kept = before
        for j in range(n):
            first, other = [j] * 2 if n > 3 else [0, j], 1
            #   # error: a list made anew takes the place of the one before, which `kept` holds (line {4})
            #   # hint: make `kept` before the loop, and copy the elements: kept[:] = ...
            x[j] = kept[0]
            kept = first[other:]

    check_errors(k)


def test_lists_that_calls_pass_on():
    @kernel
    def k(x: Ptr[i32], n: i32):
        before, last, old = [0, 0], ([0, 0], 1), address_of([0, 0][0])
        for j in range(n):
            now = first_of([j, j], 0)  # error: a list made anew takes the place of the one before, which `before`
            #   holds (line {3}) # hint: copy the elements: before[:] = now
            x[j] = before[0]
            before = now
        for j in range(n):
            both = (lambda w: (w, 2))([j, n])  # error: a list made anew takes the place of the one before, which `last`
            #   holds (line {3}) # hint: copy the elements, into an array that is made before: a[:] = ...
            x[j] = last[0][0]
            last = both
        for j in range(n):
            young = address_of([j, n][0])  # error: a list made anew takes the place of the one before, which
            #   `old` holds (line {3}) # hint: copy the elements, into an array that is made before: a[:] = ...
            x[j] = old[0]
            old = young
        older = newer = before
        for j in range(n):
            x[j] = older[0]
            if j == 3:
                continue
            older = newer
            newer = [j, n]  # error: a list made anew takes the place of the one before, which `older` holds (line {-1})
            #   # hint: copy the elements: older[:] = newer
        for step in (0, 1):
            made_here = [step, n]  # error: a list made anew takes the place of the one before, which
            #   `shown` holds (line {4}) # hint: copy the elements: shown[:] = made_here
            if step == 1:
                x[0] = shown[0]
            shown = made_here
        j = 0
        while (there := first_of([j, 0], n))[0] < n:  # error: a list made anew takes the place of the one before, which
            #   `before` holds (line {3})
            x[j] = before[0]
            before = there
            j += 1

    check_errors(k, helpers=(first_of,))


def test_copied_arrays_in_loops():
    @kernel
    def k(x: Ptr[i32], n: i32):
        before, pair = made(0).w, (made(1).w, 1)
        for j in range(n):
            now = made(j).w  # error: a list made anew takes the place of the one before, which `before` holds
            #   (line {3}) # hint: copy the elements: before[:] = now
            x[j] = before[0]
            before = now
        for j in range(n):
            following = made(j).w, 2  # error: a list made anew takes the place of the one before, which `pair` holds
            #   (line {3}) # hint: copy the elements, into an array that is made before: a[:] = ...
            x[j] = pair[0][1]
            pair = following

    check_errors(k)


def test_variables_assigned_anew():
    @kernel
    def k(x: Ptr[i32], n: i32):
        s = made(n)
        w = s.w
        s = made(2)  # error: what is assigned to `s` anew takes the place of the one before, which `w` holds
        #   (line {-1}) # hint: make `w` before the loop, and copy the elements: w[:] = ...
        x[0] = w[0]
        for v in s.w:
            s = made(v)  # error: what is assigned to `s` anew takes the place of the one before, which is used later

    check_errors(k)


def test_generators():
    @kernel
    def k(x: Ptr[f32], n: i32):
        g = (v for v in range(3))  # error: a generator expression is only for sum, min, max, any and all
        #   # hint: a list has elements: [... for ... in ...]
        a = sum(v for v in range(n))  # error: a comprehension runs over what is known while the kernel is compiled,
        #   and this range is not # hint: write a loop
        b = max(v for v in ())  # error: max() of an empty tuple
        c = sum(v for v, w in (1, 2))  # error: these are no tuples, which could be unpacked
        d = sum(v for v, w in ((1, 2, 3),))  # error: 3 values are unpacked to 2 names
        e = sum((lambda: i)() for i in range(3))  # error: `i` belongs to a loop over a tuple, which a nested function
        #   cannot see # hint: pass it as an argument
        f = {v for v in (1, 2)}  # error: a comprehension makes a set, and a kernel has none
        h = sorted((3, 1, 2))  # error: `sorted` cannot be called in a kernel

    check_errors(k)


def test_lists_of_too_many_elements():
    @kernel
    def k(out: Ptr[i32]):
        a = [[[[0] * 30 for _ in range(30)] for _ in range(30)] for _ in range(30)]
        #   # error: a list has 4096 elements at most # hint: fill a local.array((n, m), dtype) in a loop
        b = [0] * 4096 * 2  # error: a list has 4096 elements at most
        c = [[0] * 4096 for _ in range(1)]
        d = [[0] * 2048, [1] * 2049]  # error: the lists in a list are of one length, and these are 2048 and 2049
        out[0] = c[0, 1]

    check_errors(k)
