"""What is taken for a stream of another library: a handle that is none ends the process at the next launch."""

from __future__ import annotations

from typing import Any

import pytest

from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.errors import LaunchConfigTypeError
from kdsl.runtime.standalone import configuration
from kdsl.runtime.stream import Stream, stream_handle

HANDLE = 0x7F00_0000_1000


def of(library: str, name: str, *bases: type, **attributes: Any) -> Any:
    """An object of a library's class."""
    return type(name, bases, {"__module__": library, **attributes})()


STREAMS = [
    (HANDLE, HANDLE), (0, 0), (1, 1), (2, 2),
    (of("torch.cuda.streams", "Stream", cuda_stream=HANDLE), HANDLE),
    (of("mine", "MyStream", type("ExternalStream", (), {"__module__": "torch.cuda.streams"}), cuda_stream=HANDLE), HANDLE),
    (of("cupy.cuda.stream", "Stream", ptr=HANDLE), HANDLE),
    (of("cupy.cuda.stream", "ExternalStream", ptr=0), 0),
    (of("warp._src.context", "Stream", cuda_stream=HANDLE), HANDLE),
    (of("cuda.bindings.driver", "CUstream", __int__=lambda _: HANDLE), HANDLE),
    (of("any", "Thing", __cuda_stream__=lambda _: (0, HANDLE)), HANDLE),
    (of("any", "Thing", __cuda_stream__=(0, HANDLE)), HANDLE),
]  # fmt: skip
OTHERS = [
    of("cupy.cuda.memory", "MemoryPointer", ptr=HANDLE),
    of("cupy.cuda.stream", "Event", ptr=HANDLE),
    of("cupy", "ndarray", ptr=HANDLE),
    of("torch", "Tensor", cuda_stream=HANDLE),
    of("mine", "Stream", ptr=HANDLE),
    of("mine", "Stream", cuda_stream=HANDLE),
    of("cupy.cuda.stream", "Stream", ptr="x"),
    of("cupy.cuda.stream", "Stream"),
    of("cuda.bindings.driver", "CUevent", __int__=lambda _: HANDLE),
    of("cuda.bindings.driver", "CUdeviceptr", __int__=lambda _: HANDLE),
    of("any", "Thing", __cuda_stream__=lambda _: HANDLE),
    of("any", "Thing", __cuda_stream__=lambda _: (0, None)),
    of("any", "Thing", __cuda_stream__=lambda _: (0, -1)),
    of("any", "Thing", __cuda_stream__=lambda _: (0, HANDLE, 1)),
    of("any", "Thing", __cuda_stream__=(1 << 70, 1 << 70)),
    True, 1.0, "x", 3, 12345, -1, 1 << 64,
]  # fmt: skip


@pytest.mark.parametrize(("stream", "handle"), STREAMS)
def test_streams(gpu: CudaDriver, stream: Any, handle: int) -> None:
    assert stream_handle(stream, gpu) == handle == LaunchConfig(1, 1, stream=stream).check(gpu).stream
    assert configuration.stream_handle(stream) == handle


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_none(gpu: CudaDriver, other: Any) -> None:
    for take in (
        lambda: stream_handle(other, gpu),
        lambda: LaunchConfig(1, 1, stream=other),
        lambda: Stream._of(other, gpu),
        lambda: configuration.stream_handle(other),
        lambda: Stream(gpu).wait(other),
    ):
        with pytest.raises(TypeError, match="stream"):
            take()


def test_what_may_be_one_is_told_how_to_be_taken(gpu: CudaDriver) -> None:
    with pytest.raises(
        LaunchConfigTypeError, match="of a library that kdsl knows: if it is one, pass its handle, an int"
    ):
        Stream._of(OTHERS[0], gpu)


def test_a_stream_is_asked_for_its_handle_once(gpu: CudaDriver) -> None:
    answers = iter([HANDLE, 0])
    assert stream_handle(of("any", "Thing", __cuda_stream__=lambda _: (0, next(answers))), gpu) == HANDLE
