"""Launch contracts: ``@kernel(requires="a.size >= n", block=256, grid="ceil(n / 256)", shared=..., min_arch=...)``.

given        the options as a user gives them
parse        their texts, a closed little language with Python's operators, to
expressions  numbers, arguments and relations; nothing in them is ever run as Python
contract     what a kernel's options say in all, which the launcher checks and the compiler relies on
types        whether it fits the parameters' types
evaluate     an expression's value, and the Python source of it that goes into a launcher; explain: why one fails
places       errors at the decorator's line
decorate     from a kernel's options to its contract, and to its architecture
"""
