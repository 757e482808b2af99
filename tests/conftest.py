"""What all tests share: the emulator unless a test asks for a GPU, and GPU tests skipped, visibly, where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kdsl
import kdsl.frontend
from kdsl.codegen.sass import assemble
from kdsl.compilation import Compilation
from kdsl.frontend import Checked, KernelRequest
from kdsl.runtime.driver import CudaDriver
from kdsl.target import Target
from tests.cache.checking import check_what_is_found

ASSEMBLED_FOR = ("sm_75", "sm_90", "sm_120")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--assemble",
        action="store_true",
        help=f"have ptxas take every kernel that a test compiles, for {', '.join(ASSEMBLED_FOR)}; slow",
    )
    parser.addoption(
        "--cache",
        metavar="FOLDER",
        help="keep what is compiled in FOLDER, and compile what is found there again, to compare; run it twice",
    )


@pytest.fixture(autouse=True)
def assembled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--assemble``: whatever passes the frontend must pass ptxas, for an old, a middle and a new architecture."""
    if not request.config.getoption("--assemble"):
        return
    check = kdsl.frontend.check_kernels

    def check_and_assemble(requests: list[KernelRequest]) -> Checked:
        checked = check(requests)
        for name in ASSEMBLED_FOR:
            target = Target.parse(name)
            try:
                ptx = Compilation(checked.module, target, (), ()).ptx
            except kdsl.CompileError:
                continue  # what an architecture lacks, or codegen refuses: the test sees the same error
            assemble(ptx, target)
        return checked

    monkeypatch.setattr(kdsl.frontend, "check_kernels", check_and_assemble)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found, reason = CudaDriver.available()
    for item in items:
        if item.get_closest_marker("gpu") and not found:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))


@pytest.fixture(autouse=True, scope="session")
def own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests, and the processes that they start, have a cache of their own: not the user's."""
    folder = request.config.getoption("--cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KDSL_CACHE_DIR", folder or str(tmp_path_factory.mktemp("cache")))
        for name in ("KDSL_CACHE", "KDSL_CACHE_SIZE"):
            patch.delenv(name, raising=False)
        if folder:
            check_what_is_found(patch)
        yield


@pytest.fixture(autouse=True)
def on_the_emulator() -> None:
    """A test that does not say otherwise runs on the emulator, on a machine with a GPU too."""
    kdsl.set_device("emulator")


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, on_the_emulator: None) -> Iterator[str]:
    """The same test on the emulator and, where there is one, on a GPU."""
    kdsl.set_device(request.param)
    yield request.param
    kdsl.set_device("emulator")
