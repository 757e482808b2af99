"""What `@kernel` objects use to launch: configurations, their memo, and the typed launcher.

    launcher = Launcher("vadd", (("a", Ptr[f32]), ..., ("n", i32)), backend, function, written={2})
    launcher.bind(LaunchConfig(grid, block))(a, b, c, n)     # a plain function: bind once, call often
    launcher.launch(Launch(...), (a, b, c, n))               # one call of what `bind` gives
    launcher.describe                                        # the generated packer's source text

With ``conditions`` (names that must stay bound to the objects that the kernel was compiled with) the packer looks at
them on each launch, and calls ``bind(..., otherwise=)`` when one does not hold.

`Configurations(prepare)` is the dict behind ``kernel[grid, block]``: a missing key is turned into a LaunchConfig, which
``prepare`` turns into what ``kernel[...]`` gives. Look up through `configured`, which also refuses equal keys of other
types.
"""

from __future__ import annotations

from kdsl.runtime.conditions import Condition, all_hold
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.configurations import Configurations
from kdsl.runtime.launcher import Launcher, not_configured
from kdsl.runtime.launcher_code import MISSING

__all__ = ["MISSING", "Condition", "Configurations", "LaunchConfig", "Launcher", "all_hold", "not_configured"]
