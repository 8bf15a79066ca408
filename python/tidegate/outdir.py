"""Results in a directory: `manifest.json`, `scenario.toml` and a Parquet file for each table.

A directory is written next to its place and renamed at the end, so that it is whole or not there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tidegate._tidegate import TidegateError
from tidegate.results import TABLES, Results

FORMAT = "tidegate results"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SCENARIO = "scenario.toml"
FILES = frozenset({MANIFEST, SCENARIO, *(f"{name}.parquet" for name in TABLES)})


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Make sure that results can be written to `directory`; leaves no trace.

    To be asked before a run, so that an hour's work is not lost at its end.

    Raises:
        TidegateError: Something else is there, or nothing can be written there.
    """
    target = Path(os.path.realpath(directory))
    with _one_message(directory):
        _refuse_strangers(target, directory)
        above = next(parent for parent in target.parents if os.path.lexists(parent))
        probe = _sibling(above / target.name)
        probe.mkdir()
        probe.rmdir()


def write(results: Results, directory: str | os.PathLike[str], command: str | None = None) -> Path:
    """Write `results` to `directory`, whole or not at all; return its absolute path.

    Missing folders above it are made, earlier results in it replaced; `command` is noted in the manifest.

    Raises:
        TidegateError: Something else is there, or it cannot be written, as on a full disk.
    """
    target = Path(os.path.realpath(directory))
    with _one_message(directory):
        _refuse_strangers(target, directory)
        made = [parent for parent in target.parents if not parent.exists()]
        fresh = _sibling(target)
        try:
            fresh.mkdir(parents=True)
            _fill(fresh, results, command)
            _swap(fresh, target)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            for parent in made:
                with suppress(OSError):
                    parent.rmdir()
            raise
    return target


def read(directory: str | os.PathLike[str]) -> Results:
    """Read results from `directory`.

    Raises:
        TidegateError: There are none, they are of a newer format, or they cannot be read.
    """
    place = Path(directory)
    manifest = _manifest(place)
    if manifest is None:
        raise TidegateError(f"{directory}: holds no results of tidegate")
    if manifest["format_version"] != FORMAT_VERSION:
        raise TidegateError(
            f"{directory}: results of format {manifest['format_version']}, "
            f"and this version of tidegate reads format {FORMAT_VERSION}"
        )
    try:
        return Results(
            tables={name: pq.read_table(place / f"{name}.parquet").unify_dictionaries() for name in TABLES},
            scenario_name=manifest["scenario"],
            scenario_toml=(place / SCENARIO).read_text(encoding="utf-8"),
            base_dir=Path(manifest["base_dir"]),
            overrides=tuple((path, value) for path, value in manifest["overrides"]),
            duration=manifest["duration"],
            warmup=manifest["warmup"],
            seeds=tuple(manifest["seeds"]),
            fingerprints=tuple(manifest["fingerprints"]),
            packet_hops=manifest["packet_hops"],
            wall_seconds=manifest["wall_seconds"],
            version=manifest["tidegate_version"],
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise TidegateError(f"{directory}: these results cannot be read: {error}") from error


@contextmanager
def _one_message(directory: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TidegateError(f"{directory}: cannot be written: {error.strerror or error}") from error


def _sibling(target: Path) -> Path:
    return target.parent / f".{target.name}.{os.getpid()}.tmp"


def _manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest of earlier results; None if there is none that tidegate wrote."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def _refuse_strangers(target: Path, shown: str | os.PathLike[str]) -> None:
    """Refuse to replace anything but earlier results or an empty directory."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise TidegateError(f"{shown}: is a file; name a directory that is new or holds earlier results")
    inside = {entry.name for entry in target.iterdir()}
    if inside and _manifest(target) is None:
        raise TidegateError(f"{shown}: exists and holds no results of tidegate; name another directory")
    strangers = sorted(inside - FILES)
    if strangers:
        raise TidegateError(
            f"{shown}: would be replaced, but also holds {', '.join(strangers[:3])}"
            f"{' …' if len(strangers) > 3 else ''}; move that or name another directory"
        )


def _fill(directory: Path, results: Results, command: str | None) -> None:
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "scenario": results.scenario_name,
        "scenario_sha256": results.scenario_hash,
        "base_dir": str(results.base_dir),
        "overrides": [list(one) for one in results.overrides],
        "seeds": list(results.seeds),
        "replications": results.replications,
        "fingerprints": list(results.fingerprints),
        "duration": results.duration,
        "warmup": results.warmup,
        "packet_hops": results.packet_hops,
        "wall_seconds": results.wall_seconds,
        "tidegate_version": results.version,
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "notes": results.notes,
    }
    about = {
        "tidegate.scenario": results.scenario_name,
        "tidegate.scenario_sha256": results.scenario_hash,
        "tidegate.seeds": json.dumps(results.seeds),
        "tidegate.version": results.version,
    }
    (directory / SCENARIO).write_text(results.scenario_toml, encoding="utf-8")
    for name, table in results.tables.items():
        described = table.replace_schema_metadata({**(table.schema.metadata or {}), **about})
        pq.write_table(described, directory / f"{name}.parquet", compression="zstd")
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _swap(fresh: Path, target: Path) -> None:
    """Put `fresh` in the place of `target`; on failure `target` is as before."""
    if not target.exists():
        fresh.rename(target)
        return
    former = fresh.with_suffix(".old")
    target.rename(former)
    try:
        fresh.rename(target)
    except BaseException:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)
