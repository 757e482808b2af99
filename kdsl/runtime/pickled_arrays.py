"""What a pickled device array becomes in the process that unpickles it."""

from __future__ import annotations

from kdsl.runtime.device import Device
from kdsl.runtime.element_types import element_type
from kdsl.runtime.host_values import HostArray
from kdsl.runtime.memory import DeviceArray


def restored(host: HostArray, cls: type | None) -> DeviceArray:
    """An array on the current device that holds what the pickled one held; ``cls`` is the struct class of its
    elements, if they have one.
    """
    array = DeviceArray(host.shape, element_type(host.dtype if cls is None else cls), Device.current().backend)
    array.copy_from(host)
    return array
