"""From the typed tree to LLVM IR, PTX, cubin and SASS; the only place that imports llvmlite.

In pipeline order: `lower` (modules and functions), `statements` with `loops` and `output`, `expressions` with
`arithmetic`, `division`, `power`, `conversions`, `memory`, `arrays`, `views`, `atomics`, `intrinsics` (by chapter), and
a file for each family of types; then `nvptx` (optimize, emit) with `libdevice`, `ptx_text`, `wide_products` and
`spin_loops`; then `sass` (assemble, disassemble). Below them all: `types` and `context`. What is known before lowering
starts: `ranges` of integers, `effort` of expressions, `reachable` for what a kernel's callees add, and `contracts`
with `assumptions`, what every launch of it is checked for.
"""
