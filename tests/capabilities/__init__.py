"""What the language can do, one row and one test each: the table in docs/language.md is made of those that passed.

To add a row, write it in a file `rows_SUBJECT.py` of this folder (each is found by its name):

    @row(
        "Memory",                               # the heading in the table, one of AREAS
        "load(cache='cg')",                     # unique within its area
        "a load that is cached in L2 alone",    # one line, what a reader gets
        out=np.arange(32, dtype=np.float32),    # what the first argument must hold afterwards: independent of kdsl
        inputs=(np.arange(32, dtype=np.float32),),
        instructions=("ld.global.cg.b32",),     # whole mnemonics that the PTX must hold; "%laneid", ".maxntid" too
    )
    @kernel
    def load_cg(out: Ptr[f32], x: Ptr[f32]):
        i = grid(1)
        out[i] = load(x, i, cache="cg")

`minimum="sm_90"` is the first architecture that has it: there ptxas must take the PTX, and the one before must be
refused by a CompileError that names it. `shown_on` is the architecture whose PTX has the instructions, where an older
one does it otherwise. `raises=(CheckError, "division by zero")` and `prints="text\\n"` are for kernels that fail or
print. A list of rows that a function makes is found too: see `rows_atomics.py`. These files do without
`from __future__ import annotations`, so that annotations may name types of the function around them.

Then record what passes, and write the table:

    python -m pytest tests/capabilities --record-capabilities docs/capabilities.json    # with -m gpu on a GPU, too
    python docs/generate_capabilities.py
"""
