"""vadd with no annotations: its types are those of each launch's arguments."""

from kdsl import block_dim, block_idx, kernel, thread_idx


@kernel
def vadd(a, b, c, n):  # type: ignore[no-untyped-def]
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]
