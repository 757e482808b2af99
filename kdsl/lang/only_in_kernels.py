"""What names of the kernel language say when the host computes with them: ``thread_idx.x + 1`` outside of a kernel."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn


class OnlyInKernels:
    """An object that stands for a value or a function of kernels; on the host it is neither a number nor a sequence."""

    __slots__ = ()

    def host_error(self) -> TypeError:
        """What is wrong with using it on the host."""
        raise NotImplementedError

    # To a type checker `thread_idx.x` is an int, which the host may compute with.
    if not TYPE_CHECKING:
        __array_ufunc__ = None

        def _refuse(self, *_: Any) -> NoReturn:
            raise self.host_error()

        def __eq__(self, other: object) -> bool:
            # Tables of names compare them with each other.
            if isinstance(other, Number):
                raise self.host_error()
            return self is other

        __hash__ = object.__hash__

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _refuse
        __rdivmod__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __pos__ = __invert__ = _refuse
        __abs__ = __round__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __complex__ = _refuse
        __index__ = _refuse
