"""Results in a directory: `manifest.json`, `scenario.toml` and a Parquet file for each table."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq

from tidegate._tidegate import TidegateError
from tidegate.results import TABLES, Results
from tidegate.whole import Kind

SCENARIO = "scenario.toml"
FILES = frozenset({SCENARIO, *(f"{name}.parquet" for name in TABLES)})
KIND = Kind("tidegate results", 3, FILES.__contains__)


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Make sure that results can be written to `directory`; leaves no trace.

    Raises:
        TidegateError: Something else is there, or nothing can be written there.
    """
    KIND.check_writable(directory)


def write(results: Results, directory: str | os.PathLike[str], command: str | None = None) -> Path:
    """Write `results` to `directory`, whole or not at all; return its absolute path.

    Missing folders above it are made, earlier results in it replaced; `command` is noted in the manifest.

    Raises:
        TidegateError: Something else is there, or it cannot be written, as on a full disk.
    """
    manifest = {
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
        "notes": results.notes,
    }
    return KIND.write(directory, manifest, lambda place: _fill(place, results))


def read(directory: str | os.PathLike[str]) -> Results:
    """Read results from `directory`.

    Raises:
        TidegateError: There are none, they are of another format, or they cannot be read.
    """
    place = Path(directory)
    manifest = KIND.manifest(place)
    if manifest is None:
        raise TidegateError(f"{directory}: holds no results of tidegate")
    if manifest["format_version"] != KIND.version:
        missing = [f"`{name}`" for name in TABLES if not (place / f"{name}.parquet").exists()]
        without = f" without {', '.join(missing)}" if missing else ""
        raise TidegateError(
            f"{directory}: results of format {manifest['format_version']}{without}, "
            f"and this version of tidegate reads format {KIND.version}\n"
            f"  help: run the {SCENARIO} in it again"
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


def _fill(directory: Path, results: Results) -> None:
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
