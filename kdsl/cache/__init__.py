"""The cache on disk: a kernel that was compiled before is neither parsed nor compiled again, in any process.

process       the cache of this process, which the environment names (`settings`); loading what it has
kept          a guess, before all this is imported
compilations  finding and keeping: a question (`question`) leads to recipes (`dependencies`), and these to an entry
machine_code  a GPU's, made beside the program; linked: of kernels and other compilers' code
fingerprints  what tells an object of the host from others; text: a function's source, without parsing it
versions      which compiler this is; digests
store         files in a private folder, checked and bounded; locks, that processes share; report: what is in it

Nothing that is read is executed: entries are JSON, PTX and machine code. Neither llvmlite nor the frontend is imported
before something has to be compiled.
"""
