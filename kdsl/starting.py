"""The order of a first launch's work: what the driver does beside, and when this thread goes on with its own."""

from __future__ import annotations

from types import FunctionType

from kdsl.current import start_beside


def start_for(function: FunctionType) -> None:
    """Begin with starting a GPU, if a launch of the kernel would come to that; what launches need is imported beside.

    Importing slows cuInit down by a fifth, but not the making of the context, which comes next and takes as long: a
    kernel that need not be compiled lets cuInit end first. To compile takes longer than a context, and begins at once.
    """
    initialized = start_beside()
    if initialized is None:
        return
    from kdsl.cache.kept import is_probably_kept  # start-up cost: for the first launch

    if is_probably_kept(function):
        initialized.wait()
