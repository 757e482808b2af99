"""Any value as 32-bit words and back, in as few as its bytes need: what moves between lanes moves so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.types import I1, I32, llvm_type
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import Kind, ScalarType, TupleType, Type, VectorType
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a value: ``path`` leads to it through tuples and structs, ``lane`` to one component of a vector."""

    path: tuple[int, ...]
    type: ScalarType | VectorType
    lane: int | None = None

    @property
    def bits(self) -> int:
        return self.type.size * 8


@dataclass(frozen=True, slots=True)
class _Layout:
    """``whole`` pieces have words of their own, in order; after them each of ``packed`` is a word of smaller pieces."""

    whole: tuple[_Piece, ...]
    packed: tuple[tuple[_Piece, ...], ...]


def to_words(builder: llvm.IRBuilder, t: Type, value: Any) -> list[Any]:
    """The value as i32 values."""
    layout = _layout(t)
    words: list[Any] = []
    for piece in layout.whole:
        count = piece.bits // 32
        part = builder.bitcast(_extracted(builder, value, piece), I32 if count == 1 else llvm.VectorType(I32, count))
        words += [part] if count == 1 else [builder.extract_element(part, _index(i)) for i in range(count)]
    for pieces in layout.packed:
        word, offset = None, 0
        for piece in pieces:
            bits = _small_bits(builder, piece.type, _extracted(builder, value, piece))
            moved = builder.shl(bits, llvm.Constant(I32, offset)) if offset else bits
            word = moved if word is None else builder.or_(word, moved)
            offset += piece.bits
        words.append(word)
    return words


def from_words(builder: llvm.IRBuilder, t: Type, words: Sequence[Any]) -> Any:
    """The value that `to_words` took apart."""
    layout = _layout(t)
    value: Any = llvm.Constant(llvm_type(t), llvm.Undefined)
    remaining = iter(words)
    for piece in layout.whole:
        part = _joined(builder, [next(remaining) for _ in range(piece.bits // 32)])
        value = _inserted(builder, value, piece, builder.bitcast(part, llvm_type(piece.type)))
    for pieces in layout.packed:
        word, offset = next(remaining), 0
        for piece in pieces:
            bits = builder.lshr(word, llvm.Constant(I32, offset)) if offset else word
            value = _inserted(builder, value, piece, _small_value(builder, piece.type, bits))
            offset += piece.bits
    return value


def _layout(t: Type) -> _Layout:
    pieces = list(_pieces(t, ()))
    whole = tuple(p for p in pieces if p.bits % 32 == 0)
    # Larger ones first: so none straddles two words.
    small = sorted((p for p in pieces if p.bits % 32), key=lambda p: -p.bits)
    packed: list[list[_Piece]] = []
    room = 0
    for piece in small:
        if piece.bits > room:
            packed.append([])
            room = 32
        packed[-1].append(piece)
        room -= piece.bits
    return _Layout(whole, tuple(map(tuple, packed)))


def _pieces(t: Type, path: tuple[int, ...]) -> Iterator[_Piece]:
    match t:
        case VectorType() if t.size % 4:
            yield from (_Piece(path, t.element, lane) for lane in range(t.lanes))
        case ScalarType() | VectorType():
            yield _Piece(path, t)
        case TupleType(elements):
            for i, element in enumerate(elements):
                yield from _pieces(element, (*path, i))
        case StructType(fields=fields):
            for i, field in enumerate(fields):
                yield from _pieces(field.type, (*path, i))
        case _:
            raise AssertionError(f"{t} does not move between lanes")


def _extracted(builder: llvm.IRBuilder, value: Any, piece: _Piece) -> Any:
    part = builder.extract_value(value, piece.path) if piece.path else value
    return part if piece.lane is None else builder.extract_element(part, _index(piece.lane))


def _inserted(builder: llvm.IRBuilder, value: Any, piece: _Piece, part: Any) -> Any:
    if piece.lane is not None:
        vector = builder.extract_value(value, piece.path) if piece.path else value
        part = builder.insert_element(vector, part, _index(piece.lane))
    return builder.insert_value(value, part, piece.path) if piece.path else part


def _joined(builder: llvm.IRBuilder, words: Sequence[Any]) -> Any:
    if len(words) == 1:
        return words[0]
    # As a vector, which PTX puts together with one `mov.b64`.
    vector: Any = llvm.Constant(llvm.VectorType(I32, len(words)), llvm.Undefined)
    for i, word in enumerate(words):
        vector = builder.insert_element(vector, word, _index(i))
    return vector


def _small_bits(builder: llvm.IRBuilder, t: ScalarType | VectorType, value: Any) -> Any:
    assert isinstance(t, ScalarType)
    return builder.zext(builder.bitcast(value, llvm.IntType(t.bits)) if t.is_float else value, I32)


def _small_value(builder: llvm.IRBuilder, t: ScalarType | VectorType, bits: Any) -> Any:
    assert isinstance(t, ScalarType)
    if t.kind is Kind.BOOL:
        return builder.trunc(bits, I1)
    number = builder.trunc(bits, llvm.IntType(t.bits))
    return builder.bitcast(number, llvm_type(t)) if t.is_float else number


def _index(i: int) -> llvm.Constant:
    return llvm.Constant(I32, i)
