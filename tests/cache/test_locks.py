"""Locks of the cache: held by one thread or process at a time, and free when that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kdsl.cache.locks import locked
from tests.cache.programs import ROOT


def test_a_lock_is_held_by_one_thread(tmp_path: Path) -> None:
    inside, most = [], []

    def work() -> None:
        with locked(tmp_path / "lock") as held:
            assert held
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 8


HOLDER = """
import sys, time
from pathlib import Path
from kdsl.cache.locks import locked
with locked(Path(sys.argv[1])) as held:
    print(held, flush=True)
    time.sleep(60)
"""


def test_a_lock_ends_with_its_holder_and_is_not_waited_for_forever(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"True\n"
    with locked(path, longest=0.1) as held:
        assert not held
    holder.kill()
    holder.communicate()
    with locked(path, longest=5.0) as held:
        assert held


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX has forks")
def test_a_lock_is_free_though_a_fork_has_its_file(tmp_path: Path) -> None:
    with locked(tmp_path / "lock") as held:
        assert held
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
    try:
        with locked(tmp_path / "lock", longest=0.5) as held:
            assert held
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_no_lock_where_there_can_be_none(tmp_path: Path) -> None:
    with locked(tmp_path / "missing" / "lock") as held:
        assert not held
