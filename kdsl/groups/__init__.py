"""Groups of threads: ``from kdsl import groups``, ``groups.this_block().reduce(x, "add")``.

What a group offers is in `kdsl.lang.groups`. The other files are functions of the kernel language, which the compiler
calls for it: `operations` combine two values, `lanes` work in a warp, `block` and `cluster` through shared memory,
`whole_grid` through global memory.
"""

from kdsl.lang.groups import (
    Block,
    Cluster,
    Coalesced,
    Collective,
    Grid,
    Group,
    Lanes,
    Operation,
    Tile,
    coalesced,
    this_block,
    this_cluster,
    this_grid,
    tile,
)

__all__ = [
    "Block",
    "Cluster",
    "Coalesced",
    "Collective",
    "Grid",
    "Group",
    "Lanes",
    "Operation",
    "Tile",
    "coalesced",
    "this_block",
    "this_cluster",
    "this_grid",
    "tile",
]
