"""`kdsl cache`: what is in the cache on disk, and emptying it."""

from __future__ import annotations

import json
import os

import click

from kdsl.cache.report import Report, report
from kdsl.cache.settings import SettingError, Settings, settings
from kdsl.cache.store import Store
from kdsl.cli.loading import Failure


@click.group()
def cache() -> None:
    """The cache of compiled kernels."""


@cache.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with sizes in bytes.")
@click.option("-v", "--verbose", is_flag=True, help="Say also which kernels are not kept, and why.")
def info(as_json: bool, verbose: bool) -> None:
    """Say where the cache is, what it holds and how often it helped. Exits with 0 also where it is empty or off, and
    with 1 where its folder cannot be used.
    """
    found = report(_settings())
    click.echo(json.dumps(_fields(found), indent=2) if as_json else _text(found, verbose))
    if not found.usable:
        raise click.exceptions.Exit(1)


@cache.command()
def clear() -> None:
    """Remove what is in the cache, and only that. Programs that run go on. Exits with 1 where that is not possible."""
    said = _settings()
    store = Store(said.folder, said.limit)
    if not store.is_there():
        click.echo(f"there is no cache in {said.folder}")
        return
    if not store.usable():
        raise Failure(f"error: the cache in {said.folder} cannot be used")
    try:
        size = store.clear()
    except OSError as error:
        raise Failure(f"error: {error}") from None
    click.echo(f"removed {_size(size)} from {said.folder}")


def _settings() -> Settings:
    try:
        return settings(os.environ)
    except SettingError as error:
        raise Failure(f"error: {error}") from None


def _text(found: Report, verbose: bool) -> str:
    state = "" if found.enabled else " (off: KDSL_CACHE=0)"
    lines = [
        f"folder        {found.folder}{state}",
        f"kernels       {found.entries}, {found.machine_code} with a GPU's machine code",
        *([f"linked        {found.linked} with other compilers' code"] if found.linked else []),
        f"size          {_size(found.size)} of at most {_size(found.limit)}",
        f"hits, misses  {found.hits}, {found.misses}",
    ]
    if verbose:
        lines.append(f"not kept      {len(found.uncached)}")
        lines += [f"  {', '.join(one.kernels)}: depends on {one.why}" for one in found.uncached]
    return "\n".join(lines)


def _fields(found: Report) -> dict[str, object]:
    return {
        "folder": str(found.folder),
        "enabled": found.enabled,
        "usable": found.usable,
        "entries": found.entries,
        "machine_code": found.machine_code,
        "linked": found.linked,
        "size": found.size,
        "limit": found.limit,
        "hits": found.hits,
        "misses": found.misses,
        "uncached": [{"kernels": list(one.kernels), "why": one.why} for one in found.uncached],
    }


def _size(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
