"""Which type of the kernel language is meant by a dtype that NumPy does not know: another library's, or our own name as
text. By its name alone, so that no library is asked, or imported.
"""

from __future__ import annotations

from typing import Any

NAMES = {
    "bool": "bool", "bool_": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16", "half": "f16", "bfloat16": "bf16",
    "float32": "f32", "float64": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "complex64": "complex64",
    "complex128": "complex128",
}  # fmt: skip
"""As NumPy, PyTorch, JAX, TensorFlow, Numba and Warp call them."""


def name_meant(dtype: Any) -> str | None:
    """The name of the type that ``dtype`` is called like: f32 for torch.float32, "f32" and tf.float32."""
    names = (getattr(dtype, "__name__", None), getattr(dtype, "name", None), str(dtype))
    words = [called.rpartition(".")[2] for called in names if isinstance(called, str)]
    return next((NAMES.get(word, word) for word in words if word in NAMES or word in NAMES.values()), None)


def foreign_dtype(dtype: Any) -> str | None:
    """The name of the type that a dtype of PyTorch is, or an object that says so itself, as TensorFlow's do."""
    if type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype":
        return NAMES.get(str(dtype).removeprefix("torch."))
    says = getattr(dtype, "as_numpy_dtype", None)
    return NAMES.get(getattr(says, "__name__", ""))
