"""What is wrong with structs in kernels, and what the errors say."""

# mypy: ignore-errors

from functools import cache

import numpy as np

from kdsl import (
    Array,
    FixedArray,
    Ptr,
    address_of,
    atomic,
    constant,
    f32,
    f32x4,
    f64,
    i32,
    kernel,
    load,
    local,
    shared,
    struct,
)
from tests.frontend.harness import check_errors


@struct
class Vec:
    x: f32
    y: f32 = 2.0
    next: Ptr[f32] = 0

    def length(self) -> f32:
        return self.x + self.y

    def grow(self, s: f32):
        self.x *= s  # error: `self` is a copy here: what `grow` assigns to it is lost # hint: call it as p.grow(...)

    def __mul__(self, s: f32):
        self.x *= s  # error: `self` is a copy here: what `__mul__` assigns to it is lost
        # hint: return a new struct: return Vec(...)
        return self

    def take(self):
        self.x = 0
        return 1

    def without():
        return 1

    @classmethod
    def made(cls):
        return cls(1, 2)


@struct
class Plain:
    a: i32
    b: f32x4
    v: Vec


@struct
class Odd:
    a: i32

    def __eq__(self, other):
        return self.a

    def __add__(self, other: "Odd"):
        return other

    def __bool__(self):
        return self.a

    def __repr__(self):
        return "odd"


@struct
class Changed:
    a: i32
    c: f32

    def change(self):
        self.a = 1


class Class:
    a: i32

    def __init__(self, a):
        self.a = a


TABLE = np.zeros(4, np.dtype({"names": ["a", "c"], "formats": ["i4", "f4"]}))
OBJECTS = np.zeros(4, np.dtype([("a", "O")]))
BAD = Vec("text")
WIDE = Odd(2**40)


def test_fields():
    @kernel
    def k(a: Array[Plain, 1], p: Ptr[Plain], v: Vec, out: Ptr[f32]):
        out[0] = v.z  # error: Vec has no field `z` # hint: its fields are x, y, next
        out[1] = a[0].v.yy  # error: Vec has no field `yy` # hint: did you mean `y`?
        out[2] = p.a  # error: `p` is a Ptr, which has no attribute `a` # hint: index it: p[0].a
        p.a = 1  # error: `p` is a Ptr: it has no fields, its elements have # hint: index it: p[0].a = ...
        out[3] = a.a  # error: an array has no attribute `a` in a kernel
        a[0].c = 1  # error: Plain has no field `c`
        a[0].v.x += v  # error: Vec has no `+` with f32 # hint: define __radd__ in it
        a[0].a = 1.5  # error: 1.5 is a float literal where i32 is needed
        a[0].b = 1.0  # error: this is f32, but `a[0].b` takes f32x4 # hint: convert it: f32x4(1.0)
        a[0].v = a[1]  # error: this is Plain, but `a[0].v` takes Vec
        a[0] = v  # error: this is Vec, but `a` takes Plain
        v[0] = 1.0  # error: `v` is Vec, whose fields are assigned by name # hint: such as v.x = ...
        out[4] = v.length  # error: the method `v.length` is not a value that a kernel computes with
        # hint: call it: v.length(...)
        v.length = 1  # error: Vec has no field `length`

    check_errors(k)


def test_construction():
    @kernel
    def k(out: Ptr[Vec], p: Ptr[f32], n: i32):
        a = Vec()  # error: Vec() needs `x` # hint: it takes x, y, next
        b = Vec(1, 2, 3, 4)  # error: Vec() takes 1 to 3 arguments (x, y, next), and this gives 4
        c = Vec(1, z=2)  # error: Vec() has no parameter `z` # hint: it takes x, y, next
        d = Vec(1, 2)  # error: `next` of Vec is a pointer, which has no default in a kernel # hint: say which
        e = Vec(1, x=2, next=p)  # error: Vec() got `x` twice
        f = Vec(p, 1, p)  # error: this is Ptr[f32], but `x` of Vec takes f32
        g = Vec(1, 2, n)  # error: this is i32, but `next` of Vec takes Ptr[f32]
        h = Plain(1.0, f32x4(1), out[0])  # error: 1.0 is a float literal where i32 is needed
        i = Class(1)  # error: `Class` is a class, and a kernel makes no objects # hint: decorate it with @struct
        j = Vec.made(n)  # error: made() takes 0 arguments, and this gives 1

    check_errors(k)


def test_methods():
    @kernel
    def k(v: Vec, out: Ptr[f32]):
        out[0] = v.length(1)  # error: length() takes 0 arguments, and this gives 1
        v.grow(2.0)
        Vec.grow(v, 2.0)
        w = v * 2.0
        out[1] = v.without()  # error: `without` takes no `self` # hint: a method without `self` is a @staticmethod
        out[2] = v.made()  # error: `made` is a class method, and a kernel has no classes
        # hint: make it a @staticmethod that names Vec
        out[3] = v(1)  # error: `v` is Vec, not a function # hint: define __call__ in it, or name a method
        out[4] = v[0]  # error: Vec has no elements # hint: define __getitem__ in it, or compute with its fields
        out[5] = len(v)  # error: Vec has no len() # hint: define __len__ in it, or compute with its fields

    check_errors(k, helpers=(Vec.grow, Vec.__mul__))


def test_methods_that_change_their_object():
    @kernel
    def k(a: Ptr[Plain], v: Vec, out: Ptr[f32], n: i32):
        out[0] = a[n].v.take()  # error: `take` changes `a[n].v`, an element of memory: call it in a statement
        #   of its own # hint: or bind the element to a name first: s = a[n].v
        (v if n else a[0].v).take()  # error: `take` changes `v if n else a[0].v`, which is no variable of this
        #   function, and no element of an array # hint: bind it to a name first: s = v if n else a[0].v
        out[1] = v.grow(1.0)  # error: `v.grow(1.0)` returns no value # hint: call it in a statement of its own
        t = constant.array(TABLE, Changed)
        t[0].change()  # error: a kernel cannot write constant memory # hint: copy it into a shared or local array first
        v.take(1)  # error: take() takes 0 arguments, and this gives 1

    check_errors(k)


def test_operators():
    @kernel
    def k(v: Vec, o: Odd, p: Plain, out: Ptr[f32]):
        out[0] = v + 1  # error: Vec has no `+` # hint: define __add__ in it, or compute with its fields
        out[1] = 2 * v  # error: Vec has no `*` with an int literal (i32) # hint: define __rmul__ in it
        w = -v  # error: Vec has no `-` # hint: define __neg__ in it, or compute with its fields
        out[2] = 1 if v == p else 0  # error: Vec and Plain cannot be equal
        out[3] = 1 if v < v else 0  # error: Vec has no `<` # hint: define __lt__ in it, or compute with its fields
        out[4] = 1 if o == o else 0  # error: `__eq__` gives i32, and a comparison gives a bool
        out[5] = 1 if v else 0  # error: Vec has no truth # hint: define __bool__ in it, or compute with its fields
        out[6] = 1 if o else 0  # error: `__bool__` gives i32, and a test takes a bool
        q = o + 1  # error: this is i32, but `other` of `__add__` takes Odd
        out[7] = f32(v)  # error: f32() takes numbers, and this is Vec # hint: take a field: v.x
        m = max(v, v)  # error: max() takes numbers, and this is Vec
        # hint: compare them, and choose with a conditional expression
        v += 1  # error: Vec has no `+` # hint: define __add__ in it, or compute with its fields
        print(f"{v:.2f}")  # error: `.2f` is no format for a Vec # hint: print its fields: {v.x:.2f}
        print(o)  # error: Odd has a `__repr__` of its own, which makes text, and a kernel makes none
        # hint: print its fields: {o.a}
        out[8] = (v if out[0] > 0 else p).x  # error: the two arms are Vec and Plain
        x, y = v  # error: Vec cannot be unpacked: it is no tuple

    check_errors(k)


def test_variables():
    def take(v: Vec):
        return v.x

    @kernel
    def k(v: Vec, p: Plain, out: Ptr[f32], n: i32):
        w = v
        w = p  # error: `w` is Plain here but Vec at line {-1} (`w = v`); a variable keeps one type
        if n > 0:
            u = v
        u.x = 1  # error: `u` may be read before it has a value
        out[0] = take(p)  # error: this is Plain, but `v` of `take` takes Vec
        out[1] = take((1.0, 2.0))  # error: this is tuple[f32, f32], but `v` of `take` takes Vec
        # hint: make one: Vec(x, y, next)
        (v if n else v).x = 1  # error: `v if n else v` is no variable of this function, and no element of an array
        # hint: bind it to a name first: s = v if n else v

    check_errors(k)


def test_memory():
    @kernel
    def k(a: Array[Plain, 1], v: Vec, out: Ptr[f32], n: i32):
        atomic.add(a, 0, 1)  # error: atomic.add() takes elements of i16, u16, i32, u32, i64, u64, f16, bf16,
        #   f32, f64, and these are Plain # hint: take a field's address: atomic.add(address_of(a[0].a), 0, ...)
        atomic.add(a[0].a, 0, 1)  # error: i32 cannot be indexed # hint: its address can: address_of(a[0].a)
        p = address_of(v)  # error: `v` is in a register, which has no address
        # hint: local.array(1, Vec) is a variable that has one
        q = address_of(v.x)  # error: `v.x` is in a register, which has no address
        r = address_of(n + 1)  # error: `n + 1` does not lie in memory
        # hint: address_of() takes an element or a part of one: a[i].x
        s = constant.array(TABLE, Plain)  # error: the array's elements are no Plain: it has no field 'b'
        # hint: such as a.astype(Plain.dtype)
        t = constant.array(OBJECTS)  # error: a kernel has no type for elements of [('a', 'O')]
        u = shared.array(4, Class)  # error: shared.array() takes a scalar, vector or struct type here
        w = local.array(4, Class)  # error: local.array() takes a scalar, vector or struct type here
        c = constant.array(TABLE)
        c[0].a = 1  # error: a kernel cannot write constant memory # hint: copy it into a shared or local array first
        x = shared.dynamic(Plain, 4)  # error: 4 is no offset in bytes for Plain: no multiple of 16
        # hint: 16 is the next that is

    check_errors(k)


def test_captured_structs():
    @kernel
    def k(out: Ptr[f32]):
        out[0] = BAD.x  # error: `Vec.x` is f32, and holds 'text', which does not fit

    check_errors(k)

    @kernel
    def wide(out: Ptr[i32]):
        out[0] = WIDE.a  # error: `Odd.a` is i32, and holds 1099511627776, which does not fit

    check_errors(wide)


def test_annotations():
    @kernel
    def k(c: Class):  # error: `c` is annotated `Class`, which is no type of the kernel language
        pass

    check_errors(k)


@struct
class Weights:
    w: FixedArray[f32, 4]
    d: FixedArray[f64, 2] = (0.0, 0.0)
    n: i32 = 0

    def sneaky(self):  # error: `sneaky` changes an array of `self` through another name, and is not seen to change it
        w = self.w
        w[0] = 1
        return self.n

    def lent(self):  # error: `lent` changes an array of `self` through another name, and is not seen to change it
        clear(self.w)
        return self.n

    def __neg__(self):
        self.w[0] = 1  # error: `self` is a copy here: what `__neg__` assigns to it is lost
        return self


def clear(w):
    w[0] = 0


def made(w):
    return Weights(w)


def escaped(w):
    f = Weights(w)
    return f.w  # error: a local array of `escaped` ends with it


def test_arrays_in_structs():
    table = np.zeros(2, Weights.dtype)

    @kernel
    def k(a: Array[Weights, 1], out: Ptr[f32], n: i32):
        f = a[0]
        out[0] = f.w[4]  # error: index 4 is out of range: `f.w` has extent 4 along axis 0
        out[1] = f.w[-1]  # error: a negative index does not count from the end: `f.w` would be read before its start
        out[2] = a[0].w  # error: this is a global array of 4 f32, but `out` takes f32
        f.w = (1, 2, 3)  # error: this is tuple[i32, i32, i32], but `f.w` takes FixedArray[f32, 4]
        f.w = 1.0  # error: this is a float literal (f32), but `f.w` takes FixedArray[f32, 4]
        f.d = [0.1, 0.2]  # error: this list is of f32, but `f.d` takes FixedArray[f64, 2]
        made(a[0].w).w[0] = 1  # error: `made(a[0].w).w[0]` is in a copy of a struct, which nothing can read afterwards
        made(a[0].w).w[:] = 1  # error: `made(a[0].w).w[:]` is in a copy of a struct, which nothing can read afterwards
        constant.array(table, Weights)[0].w[n] = 1  # error: a kernel cannot write constant memory
        f.w[0, 1] = 1  # error: `f.w` has 1 dimension, and this is 2 indices
        f.w[0].x = 1  # error: a kernel cannot set attributes
        g: FixedArray[f32, 4] = f.w  # error: only a field of a struct is a FixedArray[f32, 4]

    check_errors(k)


def test_arrays_of_methods():
    @kernel
    def k(a: Array[Weights, 1], n: i32):
        f = a[0]
        a[0].n = f.sneaky()

    check_errors(k, helpers=(Weights.sneaky,))

    @kernel
    def lends(a: Array[Weights, 1], n: i32):
        a[0].n = a[1].lent()

    check_errors(lends, helpers=(Weights.lent,))

    @kernel
    def negates(a: Array[Weights, 1], n: i32):
        a[0] = -a[1]

    check_errors(negates, helpers=(Weights.__neg__,))

    @kernel
    def escapes(a: Array[Weights, 1], n: i32):
        a[0].w = escaped(a[1].w)

    check_errors(escapes, helpers=(escaped,))


@cache
def pair(T):
    @struct
    class Pair:
        a: T

    return Pair


def test_structs_that_a_function_makes() -> None:
    one = pair(f32)

    @kernel
    def k(out: Ptr[f32], p: one):
        made = pair(f32)  # error: `pair` is a function of the host # hint: name what it gives outside of the kernel
        out[0] = made(1).a
        out[1] = one(f64(out[0])).a  # error: this is f64, but `a` of Pair takes f32

    check_errors(k)
