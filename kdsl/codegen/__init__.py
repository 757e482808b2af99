"""From the typed tree to LLVM IR, PTX, cubin and SASS; the only place that imports llvmlite."""
