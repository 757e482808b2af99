"""A call of one of the driver's launch functions as a built-in function of Python, at a third of ctypes' price.

It needs a C function of Python's own kind: the instructions below, which turn three ints into addresses, give up
the GIL, call, and give back the code. There is one page of memory for them, never writable and executable at once.
Where there is none to be had (another processor or system, a kernel that makes no memory executable) ctypes calls.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from typing import Any

METH_FASTCALL = 0x80
METHOD = "@PPiP"
"""PyMethodDef: name, function, flags, documentation."""
READ_AND_EXECUTE = 5
"""PROT_READ | PROT_EXEC."""

LISTING = (
    # PyObject *launch(PyObject *self, PyObject *const *arguments, Py_ssize_t count), for x86-64 as System V calls.
    ("f30f1efa", "endbr64"),
    ("53", "push rbx"),
    ("4154", "push r12"),
    ("4155", "push r13"),
    ("4156", "push r14"),
    ("4883ec08", "sub rsp, 8"),
    ("4989f4", "mov r12, rsi"),
    ("488d1d........", "lea rbx, [rip + table]"),
    ("498b3c24", "mov rdi, [r12]"),
    ("ff13", "call [rbx]"),  # PyLong_AsVoidPtr: the configuration
    ("4989c5", "mov r13, rax"),
    ("498b7c2408", "mov rdi, [r12 + 8]"),
    ("ff13", "call [rbx]"),  # PyLong_AsVoidPtr: the function
    ("4989c6", "mov r14, rax"),
    ("498b7c2410", "mov rdi, [r12 + 16]"),
    ("ff13", "call [rbx]"),  # PyLong_AsVoidPtr: the list of parameters
    ("4989c4", "mov r12, rax"),
    ("ff5308", "call [rbx + 8]"),  # PyEval_SaveThread
    ("48890424", "mov [rsp], rax"),
    ("4c89ef", "mov rdi, r13"),
    ("4c89f6", "mov rsi, r14"),
    ("31d2", "xor edx, edx"),
    ("4c89e1", "mov rcx, r12"),
    ("ff5310", "call [rbx + 16]"),  # cuLaunchKernelEx(configuration, function, NULL, parameters), or what takes fewer
    ("4189c4", "mov r12d, eax"),
    ("488b3c24", "mov rdi, [rsp]"),
    ("ff5318", "call [rbx + 24]"),  # PyEval_RestoreThread
    ("4963fc", "movsxd rdi, r12d"),
    ("ff5320", "call [rbx + 32]"),  # PyLong_FromLong
    ("4883c408", "add rsp, 8"),
    ("415e", "pop r14"),
    ("415d", "pop r13"),
    ("415c", "pop r12"),
    ("5b", "pop rbx"),
    ("c3", "ret"),
)
"""The instructions, and what they are in assembler. The table of functions follows them, at a multiple of 16."""

BEFORE, AFTER = ("PyLong_AsVoidPtr", "PyEval_SaveThread"), ("PyEval_RestoreThread", "PyLong_FromLong")
"""The functions of Python in the table, around the one that is called."""


def machine_code() -> bytes:
    """The instructions, padded up to the table that follows."""
    parts = [bytes.fromhex(code.replace(".", "0")) for code, _ in LISTING]
    ends = [sum(map(len, parts[: index + 1])) for index in range(len(parts))]
    size = -(-ends[-1] // 16) * 16
    (relative,) = (index for index, (code, _) in enumerate(LISTING) if "." in code)
    parts[relative] = parts[relative][:-4] + struct.pack("<i", size - ends[relative])
    return b"".join(parts).ljust(size, b"\0")


def native_call(address: int, name: str) -> Any:
    """A built-in function of three ints, called ``name``, that calls the function at ``address`` with the first two of
    them, a null pointer and the third; None where this cannot be. A function of fewer pointers takes the first of them.
    """
    if not (
        sys.implementation.name == "cpython"
        and sys.platform == "linux"
        and platform.machine() == "x86_64"
        and struct.calcsize("P") == 8
    ):
        return None
    code = machine_code() + struct.pack("<5Q", *map(_address, BEFORE), address, *map(_address, AFTER))
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    definition = len(code)
    text = definition + struct.calcsize(METHOD)
    contents = code + struct.pack(METHOD, start + text, start, METH_FASTCALL, 0) + name.encode() + b"\0"
    page[: len(contents)] = contents
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), ctypes.c_size_t(mmap.PAGESIZE), READ_AND_EXECUTE):
        return None
    # A prototype of our own: those of `ctypes.pythonapi` are everybody's.
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    # The function's `self` is the page, so that its definition is there as long as it is itself.
    return make(start + definition, page, None)


def _address(name: str) -> int | None:
    return ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value
