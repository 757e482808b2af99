"""Files of the cache: whole or not there, private, bounded, shared by processes and threads."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kdsl.cache.store import Store
from tests.cache.programs import ROOT

CONTENT = b".version 7.8\n" + bytes(range(256))


def named(number: int, kind: str = "ptx") -> str:
    """A name as the cache gives its files."""
    return f"{number:048x}.{kind}"


NAME, OTHER = named(0x123), named(0x456)
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX's permissions, signals and limits")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache", 1 << 20)


def file_of(store: Store, name: str = NAME) -> Path:
    return store.folder / "files" / name


def test_what_is_written_is_read_by_another(store: Store) -> None:
    assert store.read(NAME) is None
    assert store.write(NAME, CONTENT)
    assert Store(store.folder, 1 << 20).read(NAME) == CONTENT
    assert store.write(NAME, b"other")
    assert store.read(NAME) == b"other"


@pytest.mark.parametrize("content", [b"", b"\n", b"\0", b"//kdsl:\n", CONTENT])
def test_every_truncation_is_seen(content: bytes, store: Store) -> None:
    store.write(NAME, content)
    whole = file_of(store).read_bytes()
    for length in range(len(whole)):
        file_of(store).write_bytes(whole[:length])
        assert store.read(NAME) is None, length
        assert not file_of(store).exists()  # so that it is made again
    file_of(store).write_bytes(whole + b"\n")
    assert store.read(NAME) is None


def test_every_flipped_bit_is_seen(store: Store) -> None:
    store.write(NAME, CONTENT)
    whole = file_of(store).read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        file_of(store).write_bytes(damaged)
        assert store.read(NAME) is None, bit


def test_a_file_under_another_name_is_not_taken(store: Store) -> None:
    store.write(NAME, CONTENT)
    file_of(store).rename(file_of(store, OTHER))
    assert store.read(OTHER) is None


@posix
def test_it_is_the_users_alone(store: Store) -> None:
    store.write(NAME, CONTENT)
    store.count("hits")
    with store.lock("ab"):
        pass
    found = [store.folder, *store.folder.rglob("*")]
    assert len(found) == 8
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@posix
@pytest.mark.parametrize("folder", [".", "files", "locks", "counts"])
@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_a_folder_that_others_can_write_is_not_used(
    folder: str, mode: int, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    store.write(NAME, CONTENT)
    (store.folder / folder).chmod(mode)
    other = Store(store.folder, 1 << 20)
    assert other.read(NAME) is None
    assert not other.write(NAME, CONTENT)
    assert other.read(NAME) is None
    said = capfd.readouterr().err
    assert (
        said == f"kdsl: the cache in {store.folder} is not used: others may write to it; chmod 700 makes it private\n"
    )


@posix
def test_a_folder_that_others_can_read_is_used(store: Store) -> None:
    store.write(NAME, CONTENT)
    store.folder.chmod(0o755)
    assert Store(store.folder, 1 << 20).read(NAME) == CONTENT


@posix
def test_a_folder_of_another_user_is_not_used(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    store.write(NAME, CONTENT)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert Store(store.folder, 1 << 20).read(NAME) is None
    assert f"it belongs to another user ({owner})" in capfd.readouterr().err


@posix
def test_a_link_in_place_of_the_folder_is_not_followed(
    store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store.write(NAME, CONTENT)
    link = tmp_path / "link"
    link.symlink_to(store.folder)
    assert Store(link, 1 << 20).read(NAME) is None
    assert "a link or a file" in capfd.readouterr().err


def test_a_file_in_place_of_the_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cache").write_text("")
    store = Store(tmp_path / "cache", 1 << 20)
    assert store.read(NAME) is None
    assert not store.write(NAME, CONTENT)
    assert capfd.readouterr().err.count("is no folder") == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_nothing(number: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(NAME, CONTENT)

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", refuse)
    assert not store.write(OTHER, CONTENT)
    store.count("hits")
    assert [entry.name for entry in store.files()] == [NAME]
    assert store.read(NAME) == CONTENT


@posix
def test_a_file_that_grows_too_large_for_the_system(store: Store) -> None:
    store.write(NAME, CONTENT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        assert not store.write(OTHER, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert [entry.name for entry in store.files()] == [NAME]


def aged(store: Store, name: str, seconds: float) -> None:
    path = file_of(store, name)
    os.utime(path, (time.time() - seconds,) * 2)


def test_the_group_used_longest_ago_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", 1 << 20)
    for i in range(10):
        for name in (named(i), named(i, "entry.json")):
            store.write(name, bytes(5_000))
            aged(store, name, 100_000 - i)
    store.use(named(2, "entry.json"))
    Store(store.folder, 100_000).sweep()
    assert {entry.name for entry in store.files()} == {
        named(i, k) for i in (2, *range(4, 10)) for k in ("ptx", "entry.json")
    }


def test_it_stays_below_its_limit(tmp_path: Path) -> None:
    limit = 200_000
    for process in range(50):
        store = Store(tmp_path / "cache", limit)
        for i in range(5):
            store.write(named(5 * process + i), bytes(5_000))
            assert sum(entry.stat().st_size for entry in store.files()) <= limit
    assert not store.write(named(1000), bytes(limit + 1))
    assert sum(entry.stat().st_size for entry in store.files()) > limit // 2


def test_a_lower_limit_holds_for_the_next_process(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", 1 << 20)
    for i in range(100):
        store.write(named(i), bytes(5_000))
    swept = tmp_path / "cache" / "counts" / "swept"
    os.utime(swept, (time.time() - 100,) * 2)
    Store(tmp_path / "cache", 100_000).write(named(1000), b"")
    assert sum(entry.stat().st_size for entry in store.files()) <= 100_000


def test_what_a_dead_writer_left_is_removed(store: Store) -> None:
    store.write(NAME, CONTENT)
    for name, age in ((".writing-1-old", 3600), (".writing-2-new", 1)):
        file_of(store, name).write_bytes(b"half")
        aged(store, name, age)
    store.sweep()
    assert sorted(entry.name for entry in store.files()) == [".writing-2-new", NAME]


def test_clear(store: Store) -> None:
    store.write(NAME, CONTENT)
    store.count("hits")
    size = file_of(store).stat().st_size
    other = store.folder / "mine.txt"
    other.write_text("what the user keeps there")
    assert store.clear() == size
    assert store.read(NAME) is None
    assert store.counted("hits") == 0
    assert other.exists()


def test_what_else_is_in_its_folders_stays(store: Store) -> None:
    """A folder that the user had before may have folders of these names."""
    kept = [store.folder / place for place in ("files/thesis.ptx", "files/12.pdf", "files/draft", "counts/votes")]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(bytes(100_000))
    (store.folder / "files" / "more").mkdir()
    store.folder.chmod(0o700)
    store.write(NAME, CONTENT)
    store.count("hits")
    assert [entry.name for entry in store.files()] == [NAME]
    assert Store(store.folder, 10).sweep() is None
    assert not file_of(store).exists()
    assert store.write(NAME, CONTENT)
    assert store.clear() > len(CONTENT)
    assert all(path.exists() for path in kept)


@posix
def test_what_is_no_plain_file_is_not_read(store: Store, tmp_path: Path) -> None:
    store.write(NAME, CONTENT)
    elsewhere = tmp_path / "elsewhere"
    file_of(store).rename(elsewhere)
    os.mkfifo(file_of(store))  # reading it would wait forever
    assert store.read(NAME) is None
    file_of(store).symlink_to(elsewhere)
    assert store.read(NAME) is None
    assert store.write(NAME, b"new")  # in the link's place
    assert elsewhere.read_bytes().startswith(CONTENT)
    with file_of(store, OTHER).open("wb") as file:
        file.truncate(1 << 40)  # a file of holes
    assert store.read(OTHER) is None
    file_of(store, OTHER).mkdir()
    assert store.read(OTHER) is None
    assert not store.write(OTHER, CONTENT)


@posix
def test_nothing_outside_of_the_folder_is_written(store: Store, tmp_path: Path) -> None:
    store.count("hits")
    for place in ("counts/misses", "locks/ab"):
        (store.folder / place).symlink_to(tmp_path / "outside")
    os.mkfifo(store.folder / "counts" / "unswept")
    store.count("misses")
    with store.lock("ab") as held:
        assert not held
    assert store.write(NAME, CONTENT)
    assert not (tmp_path / "outside").exists()


@posix
def test_a_file_that_another_user_put_there_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(NAME, CONTENT)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)  # the folder was looked at already
    assert store.read(NAME) is None


def test_a_clock_that_is_put_back(store: Store) -> None:
    store.write(NAME, CONTENT)
    file_of(store, ".writing-1-old").write_bytes(b"half")
    for name in (NAME, ".writing-1-old"):
        aged(store, name, -100_000)
    store.use(NAME)
    assert abs(file_of(store).stat().st_mtime - time.time()) < 1000
    store.sweep()
    assert [entry.name for entry in store.files()] == [NAME]


@pytest.mark.parametrize("name", ["x" * 300, "file/cache"])
def test_a_place_where_no_folder_can_be(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / name, 1 << 20)
    assert store.is_there()
    assert not store.write(NAME, CONTENT)
    assert store.read(NAME) is None


WRITER = """
import os, sys
from pathlib import Path
from kdsl.cache.store import Store
store = Store(Path(sys.argv[1]), 1 << 30)
print("started", flush=True)
i = 0
while True:
    i += 1
    store.write(f"{i % 5:048x}.ptx", bytes([i % 256]) * (1 << 20))
"""


@posix
def test_killed_while_it_writes(store: Store) -> None:
    store.usable()
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.folder)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.uniform(0.0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for i in range(5):
            content = store.read(named(i))
            assert content is None or (len(content) == 1 << 20 and len(set(content)) == 1)


def test_many_writers_of_one_name(store: Store) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for _ in range(50):
            store.write(NAME, bytes([number]) * 20_000)
            content = store.read(NAME)
            if content is None or len(set(content)) != 1 or len(content) != 20_000:
                wrong.append(content)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
