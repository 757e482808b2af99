"""A kernel with its launch configuration: what ``k[grid, block]`` gives, and the way from its call to a launcher."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec

from kdsl.runtime.dynamo import leave_alone, untraced
from kdsl.runtime.mistakes import users_mistakes
from kdsl.starting import start_for

# Start-up cost: what launches need is imported by the first one, while the driver starts.
if TYPE_CHECKING:
    from kdsl.backend import Backend
    from kdsl.compiler import Kernel
    from kdsl.runtime.config import LaunchConfig
    from kdsl.runtime.known import KnownLaunches

P = ParamSpec("P")
ASKED_OFTEN = 64
"""Launches unlike the one that comes first, after which another comes first."""


class ConfiguredKernel(Generic[P]):
    """A kernel with its launch configuration, ``k[grid, block]``: call it with the kernel's arguments."""

    __slots__ = ("_known", "_run", "_runs", "config", "fast", "kernel")

    def __init__(self, kernel: Kernel[P], config: LaunchConfig) -> None:
        leave_alone()
        self.kernel = kernel
        self.config = config
        self._run: Callable[..., None] = self._specialize_and_run
        self.fast: Callable[..., None] | None = None
        """What launches at once, when there has been a launch."""
        self._runs: dict[Backend, Callable[..., None]] = {}
        self._known: KnownLaunches | None = None

    # Why Any and not P? A launch takes arrays and numbers where the function says Ptr and i32.
    @untraced
    def __call__(self, /, *arguments: Any, **keywords: Any) -> None:
        try:
            self._run(*arguments, **keywords)
        except users_mistakes() as error:
            # A mistake of the user's: the traceback shows their launch, without a screen of our frames.
            raise error.with_traceback(None) from error.__cause__

    def _specialize_and_run(self, /, *arguments: Any, **keywords: Any) -> None:
        """What a call does at first, and again when the device, a captured name or a type has changed."""
        start_for(self.kernel.function)
        from kdsl.homes import home
        from kdsl.parameters import filling
        from kdsl.runtime.call_names import check_names
        from kdsl.specialization import import_what_compiles

        import_what_compiles()

        kernel = self.kernel
        if keywords:
            check_names(kernel.name, [name for name, _ in kernel.parameters], keywords)
        # A GPU's context takes as long as the compilation, to which this thread now comes.
        home((*arguments, *keywords.values())).start()
        if not kernel.is_annotated:
            filling(self._run_open, kernel.defaults)(*arguments, **keywords)
            return
        filling(self._run_filled, kernel.defaults)(*arguments, **keywords)
        launcher = kernel._specialize(arguments, keywords).launcher
        run = launcher.bind(
            self.config, otherwise=self._specialize_and_run, wider=self._run_wide, other_device=self._has_run_elsewhere
        )
        self._runs[launcher.backend] = run
        self._keep(run)

    def _keep(self, run: Callable[..., None]) -> None:
        """Let the next call take a launcher's fast way at once. It is pickled as this object's `__call__`."""
        from kdsl.parameters import filling

        filled: Any = filling(run, self.kernel.defaults)
        self._run = self.fast = MethodType(filled.__func__, self)
        self.kernel._remember(self.config, self._run)

    def _has_run_elsewhere(self, here: Backend, arguments: tuple[Any, ...]) -> bool:
        """Launch on the device where the arguments live, if it is another one and launched so before."""
        from kdsl.homes import home
        from kdsl.runtime.launcher_code import MISSING

        there = home(arguments)
        # What is missing is told here.
        if there is here or any(value is MISSING for value in arguments):
            return False
        self._runs.get(there, self._specialize_and_run)(*arguments)
        return True

    def _run_filled(self, /, *arguments: Any, **keywords: Any) -> None:
        """A launch with all arguments."""
        launcher = self.kernel._specialize(arguments, keywords).launcher
        launcher.bind(self.config, wider=self._run_wide)(*arguments, **keywords)

    def _run_open(self, /, *arguments: Any, **keywords: Any) -> None:
        """A launch of a kernel whose types depend on the arguments."""
        from kdsl.parameters import by_name
        from kdsl.runtime.calls import guards_of
        from kdsl.runtime.errors import ExtentError
        from kdsl.runtime.known import KnownLaunch, KnownLaunches

        kernel = self.kernel
        given = by_name(kernel.name, kernel.parameters, arguments, keywords)
        values = tuple(given[name] for name, _ in kernel.parameters)
        found = kernel._specialize((), given)
        try:
            found.launcher.bind(self.config)(*values)
        except ExtentError:
            kernel._specialize((), given, wide=True).launcher.bind(self.config)(*values)
            return
        guards = guards_of(found.launcher.prefix, kernel.parameters, found.types, given)
        if guards.can_hold:
            self._known = self._known or KnownLaunches(kernel.parameters)
            again = found.launcher.bind(self.config, otherwise=self._specialize_and_run, guards=guards)
            first = found.launcher.bind(self.config, otherwise=self._run_known, guards=guards)
            self._known.keep(values, KnownLaunch(again, first))
            self._keep(first)

    def _run_known(self, /, *arguments: Any, **keywords: Any) -> None:
        """A launch unlike the one that `_keep` was told of: perhaps like an earlier one."""
        known = self._known.find(arguments) if self._known is not None and not keywords else None
        if known is None or self._known is None:
            self._specialize_and_run(*arguments, **keywords)
            return
        if self._known.asked % ASKED_OFTEN == 0:
            self._keep(known.first)
        known.run(*arguments)

    def _run_wide(self, /, *arguments: Any, **keywords: Any) -> None:
        """For arrays whose offsets do not fit 32 bits."""
        self.kernel._specialize(arguments, keywords, wide=True).launcher.bind(self.config)(*arguments, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.getitem, (self.kernel, self.config)

    def __repr__(self) -> str:
        return f"{self.kernel!r}[{self.config.grid}, {self.config.block}]"
