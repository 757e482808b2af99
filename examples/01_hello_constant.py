"""One thread writes one number: the shortest whole path to the device and back.

Shows `@cuda_module`, which puts kernels into one PTX module, as a .cu file does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Ptr, cuda_module, i32, kernel


@cuda_module
class kernels:
    @kernel
    def hello(out: Ptr[i32]) -> None:
        out[0] = 42


def reference() -> NDArray[np.int32]:
    return np.array([42], np.int32)


def main(argv: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(description="one thread writes 42").parse_args(argv)

    # Compiled and loaded here, once; launches find their kernel ready. (mypy does not follow class decorators.)
    module = kernels.load()  # type: ignore[attr-defined]
    out = np.zeros(1, np.int32)
    module.hello[1, 1](out)  # one block of one thread; `out` is copied to the device and back

    if not np.array_equal(out, reference()):
        print(f"hello_constant: got {out[0]}, expected 42")
        return 1
    print(f"hello_constant: the device says {out[0]}: verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
