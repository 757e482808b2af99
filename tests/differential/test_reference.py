"""The reference evaluator against NumPy, ml_dtypes, struct and Python's floats, its typing against written-out rows."""

from __future__ import annotations

import ast
import itertools
import math
import operator
import struct
from collections.abc import Callable
from random import Random

import ml_dtypes
import numpy as np
import pytest

from . import (
    generate,
    generate_blocks,
    generate_statements,
    harness,
    ieee,
    parse,
    reference,
    render,
    semantics,
    typing_rules,
    values,
)
from . import program as p
from .memory import Undefined
from .regressions.found import FOUND
from .rows import Row
from .semantics_rows import FLOAT_POWERS, ROWS
from .typing_rules import TYPES, Scalar

NUMPY = {ieee.HALF: np.float16, ieee.BFLOAT: ml_dtypes.bfloat16, ieee.SINGLE: np.float32, ieee.DOUBLE: np.float64}
INTS = [t for t in TYPES.values() if t.is_int]
FLOATS = [t for t in TYPES.values() if t.is_float]


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1.0, a) == math.copysign(1.0, b))


def pairs(t: Scalar, count: int) -> list[tuple[float, float]]:
    random = Random(t.name)
    some = values.edges(t)
    return [(random.choice(some), random.choice(some)) for _ in range(count)] + [
        (values.draw(t, random), values.draw(t, random)) for _ in range(count)
    ]


@pytest.mark.parametrize("form", [ieee.HALF, ieee.BFLOAT], ids=lambda form: form.name)
def test_every_16_bit_pattern_decodes_as_numpy_does_and_encodes_back(form: ieee.Format) -> None:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        expected = np.arange(65536, dtype=np.uint16).view(NUMPY[form]).astype(np.float64)
    for pattern in range(65536):
        value = ieee.decode(pattern, form)
        assert same(value, float(expected[pattern]))
        assert math.isnan(value) or ieee.encode(value, form) == pattern


@pytest.mark.parametrize(("form", "codes"), [(ieee.SINGLE, "If"), (ieee.DOUBLE, "Qd")], ids=["f32", "f64"])
def test_patterns_agree_with_struct(form: ieee.Format, codes: str) -> None:
    random = Random(1)
    t = typing_rules.FLOATS[form.name]
    edges = [ieee.encode(v, form) for v in values.edges(t) if not math.isnan(v)]
    for pattern in edges + [random.getrandbits(form.bits) for _ in range(5000)]:
        (expected,) = struct.unpack(codes[1], struct.pack(codes[0], pattern))
        assert same(ieee.decode(pattern, form), expected)
        assert math.isnan(expected) or ieee.encode(expected, form) == pattern


OPERATIONS: list[tuple[Callable[..., float], Callable[..., float]]] = [
    (ieee.add, np.add),
    (ieee.subtract, np.subtract),
    (ieee.multiply, np.multiply),
    (ieee.divide, np.divide),
]


@pytest.mark.parametrize(("ours", "numpys"), OPERATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", [ieee.HALF, ieee.SINGLE, ieee.DOUBLE], ids=lambda form: form.name)
def test_arithmetic_rounds_as_numpy_does(
    form: ieee.Format, ours: Callable[..., float], numpys: Callable[..., float]
) -> None:
    kind = NUMPY[form]
    for a, b in pairs(typing_rules.FLOATS[form.name], 1500):
        with np.errstate(all="ignore"):
            expected = float(numpys(kind(a), kind(b)))
        assert same(ours(a, b, form), expected), (a, b)


@pytest.mark.parametrize("form", [ieee.SINGLE, ieee.DOUBLE], ids=lambda form: form.name)
def test_square_root_rounds_as_numpy_does(form: ieee.Format) -> None:
    for a, b in pairs(typing_rules.FLOATS[form.name], 1500):
        for value in (a, b):
            with np.errstate(all="ignore"):
                expected = float(np.sqrt(NUMPY[form](value)))
            assert same(ieee.square_root(value, form), expected), value


@pytest.mark.parametrize("source", FLOATS, ids=lambda t: t.name)
@pytest.mark.parametrize("target", FLOATS, ids=lambda t: t.name)
def test_float_conversions_agree_with_numpy(source: Scalar, target: Scalar) -> None:
    # ml_dtypes goes from f64 to bf16 by way of f32, which rounds twice: from f64 that pair is left to the next test.
    if (source.name, target.name) == ("f64", "bf16"):
        return
    for value, _ in pairs(source, 1500):
        with np.errstate(all="ignore"):
            expected = float(NUMPY[source.format](value).astype(NUMPY[target.format]))
        assert same(ieee.convert(value, target.format), expected), value


def test_f64_to_bf16_rounds_once() -> None:
    just_above_half_way = 1.0 + 2.0**-8 + 2.0**-40
    assert ieee.convert(just_above_half_way, ieee.BFLOAT) == 1.0 + 2.0**-7
    assert ieee.convert(1.0 + 2.0**-8, ieee.BFLOAT) == 1.0
    assert ieee.convert(1.0 + 3 * 2.0**-8, ieee.BFLOAT) == 1.0 + 2.0**-6


def test_f64_floor_division_and_modulo_are_pythons() -> None:
    for a, b in pairs(typing_rules.F64, 6000):
        if b == 0:
            continue
        assert same(semantics.float_floor_divide(a, b, ieee.DOUBLE), a // b), (a, b)
        assert same(semantics.float_modulo(a, b, ieee.DOUBLE), a % b), (a, b)


INT_OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


@pytest.mark.parametrize("t", [t for t in INTS if t.bits >= 32], ids=lambda t: t.name)
def test_int_operations_agree_with_numpy(t: Scalar) -> None:
    kind = np.dtype(("i" if t.kind == "signed" else "u") + str(t.bits // 8)).type
    for a, b in itertools.product(values.edges(t)[::5], repeat=2):
        with np.errstate(all="ignore"):
            for op, numpys in INT_OPERATIONS.items():
                assert semantics.binary(op, a, b, t) == int(numpys(kind(a), kind(b))), (a, op, b)
            for op, numpys in (("//", np.floor_divide), ("%", np.remainder)):
                assert semantics.binary(op, a, b, t) == int(numpys(kind(a), kind(b))), (a, op, b)
            for shift, numpys in ((semantics.shift_left, np.left_shift), (semantics.shift_right, np.right_shift)):
                amount = b % t.bits
                assert shift(int(a), int(amount), t) == int(numpys(kind(a), kind(amount))), (a, amount)


@pytest.mark.parametrize("target", INTS, ids=lambda t: t.name)
def test_int_casts_keep_the_low_bits(target: Scalar) -> None:
    kind = np.dtype(("i" if target.kind == "signed" else "u") + str(target.bits // 8))
    for source in INTS:
        for value in values.edges(source):
            low = (int(value) % 2**64).to_bytes(8, "little")[: target.bits // 8]
            assert semantics.cast(value, source, target) == int(np.frombuffer(low, kind)[0])


COMMON = [
    ("i8", "i8", "i32"),
    ("u8", "i8", "i32"),
    ("u16", "bool", "i32"),
    ("bool", "bool", "i32"),
    ("u8", "i32", "i32"),
    ("u32", "i64", "i64"),
    ("i32", "i64", "i64"),
    ("u32", "u64", "u64"),
    ("i32", "u32", None),
    ("u8", "u32", None),
    ("bool", "u32", "u32"),
    ("i64", "u64", None),
    ("i64", "f16", "f16"),
    ("bool", "bf16", "bf16"),
    ("f16", "f32", "f32"),
    ("bf16", "f32", "f32"),
    ("f16", "bf16", None),
    ("f32", "f64", "f64"),
]


@pytest.mark.parametrize(("a", "b", "expected"), COMMON)
def test_common_types(a: str, b: str, expected: str | None) -> None:
    for left, right in ((a, b), (b, a)):
        found = generate.reference_common(TYPES[left], TYPES[right])
        assert (found and found.name) == expected


def test_weak_literals_take_the_type_they_meet() -> None:
    variables = {"h": TYPES["f16"], "i": TYPES["i64"], "b": TYPES["u8"]}
    three, half = p.Literal(3), p.Literal(0.5)
    assert reference.type_of(p.Binary("*", p.Name("h"), half), variables).name == "f16"
    assert reference.type_of(p.Binary("*", three, p.Name("i")), variables).name == "i64"
    assert reference.type_of(p.Binary("+", p.Name("b"), three), variables).name == "i32"
    assert reference.type_of(p.Binary("/", p.Name("i"), three), variables).name == "f64"


def test_a_variable_takes_the_type_of_its_later_assignment() -> None:
    loop = p.For("k", (p.Literal(3),), (p.Augmented("sum", "+", p.Name("x")),))
    program = p.Program((("x", "f16"),), (p.Assign(("sum",), p.Literal(0.0)), loop), p.Name("sum"), "f16")
    tenth = np.float16(0.1)
    assert reference.evaluator(program)([float(tenth)]) == float(tenth + tenth + tenth)
    with pytest.raises(typing_rules.IllTyped):
        reference.evaluator(p.Program(program.inputs, program.body, program.result, "bf16"))


@pytest.mark.parametrize("make", [generate.expression_program, generate_statements.statement_program])
def test_generated_programs_are_well_typed_python_and_the_same_for_the_same_seed(
    make: Callable[[Random], p.Program],
) -> None:
    programs = [make(Random(seed)) for seed in range(60)]
    assert programs == [make(Random(seed)) for seed in range(60)]
    for program in programs:
        reference.evaluator(program)
    tree = ast.parse(render.module(programs))
    group = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    assert [node.name for node in group.body if isinstance(node, ast.FunctionDef)] == [f"p{i}" for i in range(60)]


def test_the_order_of_threads_does_not_matter() -> None:
    for seed in range(25):
        random = Random(f"order {seed}")
        case = harness.make_case(generate_blocks.block_program(random), random)
        assert harness.expected_of_grid(case) == harness.expected_of_grid(case, backwards=True)


def shared_program(*body: p.Stmt) -> harness.Case:
    """Of two warps, each thread of which has written its element of ``m``."""
    start = (p.Declare("m", "shared", "i32", (64,)), p.Store("m", (p.Place("tid"),), p.Name("x")))
    program = p.Program((("x", "i32"),), start + body, p.Name("v"), "i32", grid=p.Grid(1, (64, 1)))
    return harness.Case(program, tuple((k,) for k in range(64)))


MIRRORED = p.Assign(("v",), p.Index("m", (p.Binary("-", p.Literal(63), p.Place("tid")),)))
SYNC = p.Collective("sync_threads")


def test_what_another_thread_wrote_is_read_after_a_barrier_only() -> None:
    assert harness.expected(shared_program(SYNC, MIRRORED)) == list(reversed(range(64)))
    with pytest.raises(Undefined, match="read"):
        harness.expected(shared_program(MIRRORED))
    with pytest.raises(Undefined, match="write"):
        harness.expected(shared_program(SYNC, MIRRORED, p.Store("m", (p.Place("tid"),), p.Literal(1))))


def test_threads_that_do_not_all_come_wait_for_ever() -> None:
    some = p.If(p.Compare(("<",), (p.Place("tid"), p.Literal(32))), (SYNC,), (p.Collective("sync_threads"),))
    with pytest.raises(Undefined, match="wait"):
        harness.expected(shared_program(some, MIRRORED))
    shuffle = p.Collective("shfl_sync", (p.Literal(0xFFFF), p.Name("x"), p.Literal(0)), ("v",))
    with pytest.raises(Undefined, match="mask"):
        harness.expected(shared_program(shuffle))


@pytest.mark.parametrize("row", [row for row in (*ROWS, *FOUND) if row not in FLOAT_POWERS], ids=str)
def test_hand_computed_results(row: Row) -> None:
    """The reference against the table that the compiler is held to as well."""
    body = parse.statements("\n".join(row.statements))
    run = reference.evaluator(p.Program(row.inputs, body, p.Name("r"), row.output))
    for lane, want in zip(row.lanes(), row.results(), strict=True):
        assert semantics.bits(run(lane), TYPES[row.output]) == want, lane


@pytest.mark.parametrize("make", [generate.expression_program, generate_statements.statement_program])
def test_rendered_programs_parse_back(make: Callable[[Random], p.Program]) -> None:
    for seed in range(40):
        program = make(Random(seed))
        rendered = "\n".join(render.block(program.body, 0, kernel=False))
        assert parse.statements(rendered) == program.body
        assert parse.expression(ast.parse(render.expression(program.result), mode="eval").body) == program.result
