"""`kdsl cache info` and `kdsl cache clear`, and what the environment says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kdsl
from kdsl import Ptr, f32, kernel, thread_idx
from kdsl.cache.process import CACHE
from kdsl.cache.settings import DEFAULT_LIMIT, SettingError, default_folder, settings
from kdsl.cli import main
from kdsl.compiler import Kernel
from tests.cache.programs import Sessions


@kernel
def halved(a: Ptr[f32]):
    a[thread_idx.x] = a[thread_idx.x] / 2.0


class Odd:
    dtype = float
    value = 1.0


ODD = Odd()


@kernel
def odd(a: Ptr[f32]):
    a[thread_idx.x] = ODD.value


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cache", *arguments])


def test_an_empty_cache(sessions: Sessions) -> None:
    done = command("info")
    assert (done.exit_code, done.stderr) == (0, "")
    folder = sessions.folder / "cache"
    assert done.output.splitlines() == [
        f"folder        {folder}",
        "kernels       0, 0 with a GPU's machine code",
        "size          0 bytes of at most 256.0 MiB",
        "hits, misses  0, 0",
    ]
    assert not folder.exists()  # a look makes nothing
    assert command("clear").output == f"there is no cache in {folder}\n"


def test_what_it_holds(sessions: Sessions) -> None:
    kdsl.compile(halved, target="sm_90")
    kdsl.compile(Kernel(halved.function, halved.options), target="sm_90")
    kdsl.compile(odd, target="sm_90")
    found = json.loads(command("info", "--json").output)
    assert {name: found[name] for name in ("enabled", "usable", "entries", "hits", "misses", "limit")} == {
        "enabled": True, "usable": True, "entries": 1, "hits": 1, "misses": 2, "limit": DEFAULT_LIMIT,
    }  # fmt: skip
    assert found["size"] == sum(f.stat().st_size for f in (sessions.folder / "cache" / "files").iterdir())
    (note,) = found["uncached"]
    assert note["kernels"] == ["odd"]
    assert command("info", "-v").output.splitlines()[-1].endswith("cache.test_cache_command.Odd")


def test_clear(sessions: Sessions) -> None:
    kdsl.compile(halved, target="sm_90")
    done = command("clear")
    assert done.exit_code == 0
    assert done.output.startswith("removed ")
    assert "kernels       0" in command("info").output
    kdsl.compile(Kernel(halved.function, halved.options), target="sm_90")
    assert sessions.count("misses") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX's permissions")
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file", "{0}/file is no folder"),
        ("file/below/it", "{0}/file is no folder"),
        ("link/below", "{0}/link is no folder"),
        ("a" * 300, "{0}/" + "a" * 300 + ": File name too long"),
    ],
)
def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, why: str) -> None:
    (tmp_path / "file").write_text("a user's")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path / place))
    done = command("info")
    said = f"kdsl: the cache in {tmp_path / place} is not used: {why.format(tmp_path)}\n"
    assert (done.exit_code, done.stderr) == (1, said)
    assert json.loads(command("info", "--json").stdout)["usable"] is False
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_cannot_be_used(sessions: Sessions) -> None:
    kdsl.compile(halved, target="sm_90")
    (sessions.folder / "cache").chmod(0o777)
    for arguments in (["info"], ["info", "--json"], ["clear"]):
        assert command(*arguments).exit_code == 1
    assert list((sessions.folder / "cache" / "files").iterdir())


@pytest.mark.parametrize("name", ["a file", "a file/cache", "x" * 300])
def test_a_place_where_no_folder_can_be(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path / name))
    for arguments in (["info"], ["info", "--json"], ["clear"]):
        assert command(*arguments).exit_code == 1
    assert kdsl.compile(Kernel(halved.function, halved.options), target="sm_90").kernels == ("halved",)


def test_a_size_that_is_none(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KDSL_CACHE_SIZE", "big")
    done = command("info")
    assert done.exit_code == 1
    assert done.stderr == "error: KDSL_CACHE_SIZE=big: a size is a number of bytes, such as 500000, 64M or 2G\n"
    # A launch goes on with the default.
    monkeypatch.setattr(CACHE, "_complained", set())
    for _ in range(2):
        current = CACHE.current()
        assert current is not None and current.store.limit == DEFAULT_LIMIT
    assert capfd.readouterr().err.count("KDSL_CACHE_SIZE=big: a size is a number of bytes") == 1


def test_what_turns_it_neither_off_nor_on(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KDSL_CACHE", str(sessions.folder))
    monkeypatch.setenv("KDSL_CACHE_SIZE", "big")
    text = f"KDSL_CACHE={sessions.folder}: 0 turns the cache off, and 1 on; KDSL_CACHE_DIR says its folder"
    assert command("info").stderr == f"error: {text}\n"
    monkeypatch.setattr(CACHE, "_complained", set())
    for _ in range(2):
        current = CACHE.current()
        assert current is not None and current.store.folder == sessions.folder / "cache"
    said = capfd.readouterr().err
    assert said.count(text) == said.count("KDSL_CACHE_SIZE=big") == 1
    for off in ("0", "off", " No ", "FALSE"):
        assert not settings({"KDSL_CACHE": off}).enabled
    for on in ("", "1", "on", " Yes ", "TRUE"):
        assert settings({"KDSL_CACHE": on}).enabled


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("1000", 1000),
        ("2k", 2048),
        ("64M", 64 << 20),
        ("2g", 2 << 30),
        ("3GiB", 3 << 30),
        ("1MB", 1 << 20),
        ("", DEFAULT_LIMIT),
    ],
)
def test_sizes(said: str, limit: int) -> None:
    assert settings({"KDSL_CACHE_SIZE": said}).limit == limit


@pytest.mark.parametrize("said", ["-1", "1.5M", "M", "12q", "0x10", "9" * 5000])
def test_wrong_sizes(said: str) -> None:
    with pytest.raises(SettingError, match="a size is a number of bytes"):
        settings({"KDSL_CACHE_SIZE": said})


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    for caches in (str(tmp_path), "", "  "):
        monkeypatch.setenv("XDG_CACHE_HOME", caches)
        assert default_folder(os.environ) == platformdirs.user_cache_path("kdsl", appauthor=False)
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder(os.environ) == platformdirs.user_cache_path("kdsl", appauthor=False)
    assert settings({"KDSL_CACHE_DIR": str(tmp_path)}).folder == tmp_path
    assert not any(settings({"KDSL_CACHE": off}).enabled for off in ("0", "off", "No", " false "))
    assert all(settings({"KDSL_CACHE": on}).enabled for on in ("", "1", "on"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the specification of Linux's desktops")
def test_a_relative_folder_for_caches_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder({"XDG_CACHE_HOME": "caches"}) == tmp_path / ".cache" / "kdsl"


def test_a_relative_folder_stays_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings({"KDSL_CACHE_DIR": "own"}).folder == tmp_path / "own"
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert not settings({"KDSL_CACHE_DIR": "own"}).enabled


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX's users")
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def nobody(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_CACHE_HOME", "KDSL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert CACHE.current() is None
    assert kdsl.compile(Kernel(halved.function, halved.options), target="sm_90").kernels == ("halved",)
    monkeypatch.setenv("KDSL_CACHE_DIR", "~/cache")
    assert CACHE.current() is None
