"""Calls of the CUDA driver through cuda-python: the context they need, and their errors as exceptions.

Knows nothing of arrays or kernels' arguments. Nothing of CUDA is called before `Calls.start`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

from kdsl.backend import DeviceError, Launch
from kdsl.locks import Lock
from kdsl.runtime import driver_contexts, driver_errors
from kdsl.runtime.cuda_errors import ContextLostError
from kdsl.runtime.driver_checks import ModuleChecks
from kdsl.runtime.driver_entry import Native, launch_function
from kdsl.runtime.errors import DriverUnavailableError, ForkedProcessError
from kdsl.runtime.hooks import HOOKS

Recorder = Callable[[str, float, float], object]
"""Takes a driver call's name, when it began (`perf_counter`) and how many seconds it took."""

ENDED = ". The GPU cannot be used any more in this process"
OLDEST_DRIVER = 12000
OLDEST_CAPABILITY = (7, 5)


def bindings() -> Any:
    """The module `cuda.bindings.driver`; DriverUnavailableError says how to get it."""
    try:
        from cuda.bindings import driver  # start-up cost, and absent on macOS
    except ImportError as error:
        raise DriverUnavailableError(
            "cuda-python is not installed; pip install 'cuda-python>=12.8' (there is none for macOS)"
        ) from error
    return driver


class Recording:
    """The driver's functions, each call of which is timed and told to ``record``."""

    def __init__(self, api: Any, record: Recorder) -> None:
        self._api = api
        self._record = record

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._api, name)
        if not name.startswith("cu") or not callable(found) or isinstance(found, type):
            return found
        timed = _timed(name, found, self._record)
        setattr(self, name, timed)
        return timed


def _timed(name: str, call: Callable[..., Any], record: Recorder) -> Callable[..., Any]:
    def timed(*args: Any) -> Any:
        start = perf_counter()
        result = call(*args)
        record(name, start, perf_counter() - start)
        return result

    return timed


def initialized(api: Any) -> str | None:
    """Initialise the driver; why it cannot be used, or None. Never raises."""
    try:
        for name, args in (("cuInit", (0,)), ("cuDriverGetVersion", ()), ("cuDeviceGetCount", ())):
            code, *values = getattr(api, name)(*args)
            if code:
                return _no_device(api, int(code))
            if name == "cuDriverGetVersion" and int(values[0]) < OLDEST_DRIVER:
                supported = version_text(int(values[0]))
                return f"the NVIDIA driver is too old: it supports CUDA {supported}, and kdsl needs 12.0 or later"
        if not int(values[0]):
            return _no_device(api, driver_errors.NO_DEVICE)
        return too_old(capability(api, api.cuDeviceGet(0)[1]))
    except RuntimeError as error:
        # cuda-python's word for a machine without the driver's library, and for a driver without a function.
        text = str(error)
        return f"the NVIDIA driver is too old: {text}" if text.startswith("Function") else "no NVIDIA driver was found"


def capability(api: Any, device: Any) -> tuple[int, int]:
    """The compute capability: (9, 0) is sm_90."""
    names = api.CUdevice_attribute
    major = api.cuDeviceGetAttribute(names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)[1]
    return int(major), int(api.cuDeviceGetAttribute(names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)[1])


def too_old(capability: tuple[int, int]) -> str | None:
    """Why a GPU is none for kdsl."""
    if capability >= OLDEST_CAPABILITY:
        return None
    return f"the GPU is sm_{capability[0]}{capability[1]}, and kdsl needs sm_75 or later"


def _no_device(api: Any, code: int) -> str:
    if code == driver_errors.NO_DEVICE:
        return "the NVIDIA driver finds no GPU (is CUDA_VISIBLE_DEVICES hiding it?)"
    if code == driver_errors.NOT_INITIALIZED:
        return "CUDA was used before this process was forked; start it with multiprocessing's spawn method"
    return f"the NVIDIA driver does not start: {error_text(api, code)}"


def version_text(version: int) -> str:
    """12080 as 12.8."""
    return f"{version // 1000}.{version % 1000 // 10}"


def error_text(api: Any, code: int) -> str:
    """``CUDA_ERROR_X: what it means``."""
    name, text = api.cuGetErrorName(code_of(api, code))[1], api.cuGetErrorString(code_of(api, code))[1]
    if not name:
        return f"CUDA error {code}"
    return f"{_decoded(name)}: {_decoded(text)}" if text else _decoded(name)


def code_of(api: Any, code: int) -> Any:
    """The binding's own object for a code, where it has one."""
    try:
        return api.CUresult(code)
    except ValueError:
        return api.CUresult(999)  # CUDA_ERROR_UNKNOWN: a driver newer than the bindings


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


class Calls:
    """The driver's functions for one device: each in the device's primary context, with errors raised.

    ``recent`` holds what was launched since the device was last seen well, so that a fault can be given its kernel's
    name; ``checks`` what loaded debug builds tell of a check that failed. ``synchronous``: each launch is waited for,
    so that its fault is its own.
    """

    def __init__(self, ordinal: int, api: Any, record: Recorder | None = None, synchronous: bool = False) -> None:
        self.driver = api
        self.api: Any = Recording(api, record) if record else api
        self.ordinal = ordinal
        reason = initialized(self.api)
        if reason:
            raise DriverUnavailableError(reason)
        count = int(self.api.cuDeviceGetCount()[1])
        if not 0 <= ordinal < count:
            raise DriverUnavailableError(f"there is no GPU {ordinal}: the driver finds {count}, counted from 0")
        self.device = self.bare("cuDeviceGet", ordinal)
        self.context: Any = None
        self.fault: DeviceError | None = None
        """What ended the context, if something did."""
        self.synchronous = synchronous
        self._untold: Exception | None = None
        self.forked = False
        self.recent: deque[tuple[str, Launch]] = deque(maxlen=64)
        self.latest: tuple[str, Launch] | None = None
        self.checks: list[ModuleChecks] = []
        self.native = launch_function(self.api)
        if record is not None:
            self.native = _timed("cuLaunchKernelEx", self.native, record)
        # Read anew at each launch, so that a forked child meets the error and not the parent's driver.
        self.launch: Native = self.native
        self._watched: Native | None = None
        self._check: Callable[[], None] | None = None
        self._inside: Callable[[Native], Native] | None = None
        self._replacing = Lock()
        self._lock = threading.Lock()
        # What must not call the driver where it is met, and is done by the next call that may.
        self._postponed: deque[Callable[[], object]] = deque()
        self.in_callback: Callable[[], bool] = lambda: False
        self.in_capture: Callable[[], bool] = lambda: False
        # Where launches go that name no stream.
        self.current_stream: Callable[[], int] = lambda: 0
        _mark_children(self)
        HOOKS.follow(self)

    @property
    def dead(self) -> bool:
        """Whether the process cannot use the device any more."""
        return self.fault is not None

    def note(self, launched: tuple[str, Launch]) -> None:
        """Remember a launch, unless it is the same as the one before."""
        self.recent.append(launched)
        self.latest = launched

    def seen_well(self, count: int) -> None:
        """Forget the first ``count`` launches remembered: they have ended, without a fault."""
        self.latest = None
        for _ in range(count):
            try:
                self.recent.popleft()
            except IndexError:  # another thread has seen it well, too
                return

    def watch(self, launch: Native | None) -> None:
        """Launch so from now on; None: as the driver does."""
        with self._replacing:
            self._watched = launch
            self._replace_launch()

    def intercept(self, check: Callable[[], None] | None) -> None:
        """Call ``check`` before each launch from now on: what it raises is raised in place of the launch."""
        with self._replacing:
            self._check = check
            self._replace_launch()

    def launch_inside(self, inside: Callable[[Native], Native]) -> None:
        """Let ``inside`` see to the context of each launch from now on."""
        with self._replacing:
            if self._inside is None:
                self._inside = inside
                self._replace_launch()

    def _replace_launch(self) -> None:
        """Called by one thread at a time, or what another one asked for would be lost."""
        if self.forked:
            return
        launch = self._watched or self.native
        if self._inside is not None:
            launch = self._inside(launch)
        if self._check is not None:
            launch = _checked(launch, self._check)
        self.launch = launch

    def when_allowed(self, call: Callable[[], object]) -> None:
        """Call it now, or where the driver must not be called, before the next call that may be made."""
        if self.in_callback() or self.in_capture():
            self._postponed.append(call)
        else:
            call()

    def start_beside(self) -> None:
        """Make the primary context in a thread of its own, while this one compiles; returns at once."""
        if self.context is None and not (self.forked or self.dead):
            threading.Thread(target=self._try_to_start, name="kdsl: CUDA context").start()

    def _try_to_start(self) -> None:
        with self._lock:
            if self.context is None:
                code, context = self.attempt("cuDevicePrimaryCtxRetain", self.device)
                # What went wrong is met again, and raised, by the call that needs the context.
                self.context = None if code else context
                if not code:
                    driver_contexts.made(self)

    def start(self) -> None:
        """Make the primary context, which takes a fifth of a second; later calls are free. Any thread may call it."""
        with self._lock:
            if self.context is None:
                self.context = self.bare("cuDevicePrimaryCtxRetain", self.device)
                driver_contexts.made(self)

    def enter(self) -> None:
        """Make the device's context this thread's; raise if the process cannot use it any more."""
        if self.forked:
            raise forked_error()
        if self.in_callback():
            raise DeviceError(
                "a callback of a stream must not use the device, which CUDA forbids; wake a thread that does"
            )
        if self._untold is not None:
            failure, self._untold = self._untold, None
            if failure is not None:  # no other thread was told meanwhile
                raise failure
        if self.fault is not None:
            raise lost(self.fault, "the GPU cannot be used any more in this process")
        if self.context is None:
            self.start()
        if int(self.api.cuCtxGetCurrent()[1]) != int(self.context):
            self.bare("cuCtxSetCurrent", self.context)
        while self._postponed and not self.in_capture():
            try:
                call = self._postponed.popleft()
            except IndexError:  # another thread makes the last one
                return
            call()

    def call(self, name: str, *args: Any) -> Any:
        """The values of a call in the device's context (None, one, or a tuple); its error raised."""
        self.enter()
        return self.bare(name, *args)

    def bare(self, name: str, *args: Any) -> Any:
        """As `call`, in whatever context is current."""
        code, value = self.attempt(name, *args)
        if code:
            raise self.error(code, name)
        return value

    def attempt(self, name: str, *args: Any) -> tuple[int, Any]:
        """The code and the values of a call."""
        try:
            result = getattr(self.api, name)(*args)
        except RuntimeError as error:
            raise DriverUnavailableError(f"the NVIDIA driver is too old for {name}: {error}") from error
        values = result[1:]
        return int(result[0]), values[0] if len(values) == 1 else values or None

    def put_off(self, code: int) -> None:
        """Remember a kernel's fault that was met where nothing can be raised; the next call raises it."""
        self._untold = self.error(code, "a call")

    def error(self, code: int, doing: str) -> Exception:
        """The exception for a code that ``doing`` gave: a kernel's fault with the kernel's name, or the driver's
        refusal.
        """
        text = error_text(self.api, code)
        if code not in driver_errors.DEAD_CONTEXT:
            return driver_errors.failed(doing, code, text)
        if self.fault is not None:
            return lost(self.fault, f"{doing} failed: the GPU cannot be used any more in this process")
        failure = self._failed_check() or driver_errors.fault(code, text, list(dict.fromkeys(self.recent.copy())))
        self.fault = failure
        failure.args = (f"{failure}{ENDED}",)
        return failure

    def _failed_check(self) -> DeviceError | None:
        """The check of a debug build that ended the context, if one did."""
        launched = [name for name, _ in self.recent.copy()]
        return next((failed for checks in self.checks if (failed := checks.failure(launched))), None)


def lost(fault: DeviceError, what: str) -> ContextLostError:
    """The error of a call after the fault that ended the context."""
    error = ContextLostError(f"{what}, since {str(fault).removesuffix(ENDED)}", kernel=fault.kernel)
    error.fault = error.__cause__ = fault
    error.code, error.launches = fault.code, fault.launches
    return error


def _checked(native: Native, check: Callable[[], None]) -> Native:
    def launch(*arguments: Any) -> Any:
        check()
        return native(*arguments)

    return launch


def forked_error() -> ForkedProcessError:
    return ForkedProcessError(
        "CUDA was used before this process was forked, and CUDA does not survive a fork; start processes with "
        'multiprocessing.get_context("spawn")'
    )


def _refuse_in_child(*_: Any) -> Any:
    raise forked_error()


def _mark_children(calls: Calls) -> None:
    """Make every use after a fork an error. The hook cannot be removed, so it must not keep ``calls`` alive."""
    reference = weakref.ref(calls)

    def in_child() -> None:
        found = reference()
        if found is not None:
            found.forked = True
            found.launch = _refuse_in_child

    if hasattr(os, "register_at_fork"):  # absent on Windows, which does not fork
        os.register_at_fork(after_in_child=in_child)
