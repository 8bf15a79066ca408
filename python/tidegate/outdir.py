"""Results in a directory: `manifest.json`, `scenario.toml` and a Parquet file for each table.

If asked for, each table is there as CSV (RFC 4180) too, which is not read again.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.csv import write_csv

from tidegate._tidegate import TidegateError
from tidegate.atomic_dir import MANIFEST, DirectoryFormat, Manifest
from tidegate.measurements import Measurements
from tidegate.run_tables import COLUMNS, TABLES, TYPES
from tidegate.source import Source

SCENARIO = "scenario.toml"
FILES = frozenset({SCENARIO, *(f"{name}.parquet" for name in TABLES)})

CSV_FILES = frozenset(f"{name}.csv" for name in TABLES)

FIXED = ("flows", "groups", "links", "gate", "workahead")
"""Tables that have as many rows in every replication."""

MAX_ATTEMPTS = 20
"""Times that the files of a folder are opened while others are put in its place."""


def _foreign(earlier: Manifest, later: Manifest) -> str | None:
    """Name the other scenario of earlier results; None for the same, edited or not."""
    same = all(earlier.get(key) == later.get(key) for key in ("scenario", "base_dir"))
    if same or earlier.get("scenario_sha256") == later.get("scenario_sha256"):
        return None
    return f"results of another scenario, `{earlier.get('scenario')}` in {earlier.get('base_dir')}"


KIND = DirectoryFormat("tidegate results", 6, (FILES | CSV_FILES).__contains__, _foreign)


def check_writable(
    directory: str | os.PathLike[str], source: Source | None = None, *, force: bool = False
) -> None:
    """Make sure that results can be written to `directory`; leaves no trace.

    Raises:
        TidegateError: Something else is there, or nothing can be written there; or results of
            another scenario than `source`, unless `force` is given.
    """
    KIND.check_writable(directory, None if source is None else _about(source), force=force)


def replaces(directory: str | os.PathLike[str], source: Source) -> bool:
    """Return whether a directory holds results of another text than that of `source`."""
    earlier = KIND.manifest(directory)
    return earlier is not None and earlier.get("scenario_sha256") != _about(source)["scenario_sha256"]


def _about(source: Source) -> dict[str, str]:
    """Return what a manifest says of a scenario."""
    scenario = source.scenario
    digest = hashlib.sha256(scenario.toml.encode()).hexdigest()
    return {"scenario": scenario.name, "scenario_sha256": digest, "base_dir": str(source.base_dir)}


def write(
    results: Measurements,
    directory: str | os.PathLike[str],
    command: str | None = None,
    *,
    comparison: str | None = None,
    column: tuple[int, str] | None = None,
    backend: Mapping[str, Any] | None = None,
    csv: bool = False,
    force: bool = False,
) -> Path:
    """Write `results` to `directory`, whole or not at all; return its absolute path.

    Missing parent folders are created, and earlier results of the same scenario are replaced; with
    `force` also those of another. `command` is noted in the manifest, and so are the `comparison`
    that results belong to and their `column` of it: its position and its name. `backend` describes
    what ran them, where it was not the simulator. With `csv` each table is written as CSV, too.

    Raises:
        TidegateError: Something else is there, or it cannot be written, as on a full disk.
    """
    manifest = {
        "scenario": results.scenario_name,
        "scenario_sha256": results.scenario_hash,
        "base_dir": str(results.base_dir),
        "comparison": comparison,
        "warnings": list(results.warnings),
        "overrides": [list(one) for one in results.overrides],
        "seeds": list(results.seeds),
        "replications": results.replications,
        "fingerprints": list(results.fingerprints),
        "duration": results.duration,
        "warmup": results.warmup,
        "packet_hops": results.packet_hops,
        "wall_seconds": results.wall_seconds,
        "tidegate_version": results.version,
        "inputs": dict(results.inputs),
        "command": command,
        "column": None if column is None else list(column),
        "backend": backend,
        "notes": results.notes,
        "tables": {
            name: {"rows": table.num_rows, "columns": table.column_names}
            for name, table in results.tables.items()
        },
    }
    return KIND.write(directory, manifest, lambda place: _fill(place, results, csv=csv), force=force)


def read(directory: str | os.PathLike[str]) -> Measurements:
    """Read results from `directory`.

    Raises:
        TidegateError: There are none, they are of another format, they are not as they were
            written, or they cannot be read.
    """
    place = Path(directory)
    manifest = KIND.manifest(place)
    if manifest is None:
        raise TidegateError(f"{directory}: holds no results of tidegate")
    if manifest.get("format_version") != KIND.version:
        missing = [f"`{name}`" for name in TABLES if not (place / f"{name}.parquet").exists()]
        without = f" without {', '.join(missing)}" if missing else ""
        raise TidegateError(
            f"{directory}: results of format {manifest.get('format_version')}{without}, "
            f"and this version of tidegate reads format {KIND.version}\n"
            f"  help: run the {SCENARIO} in it again"
        )
    try:
        with ExitStack() as stack:
            return _read(_opened(place, stack))
    except (OSError, KeyError, TypeError, ValueError, RecursionError, pa.ArrowException) as error:
        what = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise TidegateError(f"{directory}: these results cannot be read: {what}") from error


def _opened(place: Path, stack: ExitStack) -> dict[str, BinaryIO]:
    """Open all files of one version of a folder: another may be put in its place at any time.

    Raises:
        OSError: One of them is missing.
    """
    for attempt in range(MAX_ATTEMPTS):
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with ExitStack() as opened:
                files: dict[str, BinaryIO] = {
                    name: opened.enter_context(os.fdopen(os.open(name, os.O_RDONLY, dir_fd=folder), "rb"))
                    for name in (MANIFEST, *sorted(FILES))
                }
                stack.push(opened.pop_all())
                return files
        except FileNotFoundError:
            # It was replaced, and is being removed; or it is damaged, which another look does not
            # change.
            if attempt == MAX_ATTEMPTS - 1:
                raise
        finally:
            os.close(folder)
    raise AssertionError


def _read(files: Mapping[str, BinaryIO]) -> Measurements:
    """Read results from their files.

    Raises:
        OSError: A file cannot be read.
        KeyError: The manifest has no such key.
        TypeError: Something in the manifest is of another type.
        ValueError: Something is not as it was written.
    """
    manifest = json.loads(files[MANIFEST].read())
    seeds, fingerprints = manifest["seeds"], manifest["fingerprints"]
    if not seeds or len(seeds) != len(fingerprints) or len(seeds) != manifest["replications"]:
        raise ValueError("seeds, fingerprints and replications are not as many")
    results = Measurements(
        tables={name: _table(files, name, manifest["tables"][name], len(seeds)) for name in TABLES},
        scenario_name=_typed(manifest, "scenario", str),
        scenario_toml=files[SCENARIO].read().decode(),
        base_dir=Path(manifest["base_dir"]),
        overrides=tuple((str(path), str(value)) for path, value in manifest["overrides"]),
        duration=float(_typed(manifest, "duration", (int, float))),
        warmup=float(_typed(manifest, "warmup", (int, float))),
        seeds=tuple(map(operator.index, seeds)),
        fingerprints=tuple(map(str, fingerprints)),
        packet_hops=_typed(manifest, "packet_hops", int),
        wall_seconds=float(_typed(manifest, "wall_seconds", (int, float))),
        version=_typed(manifest, "tidegate_version", str),
        inputs={str(name): str(digest) for name, digest in _typed(manifest, "inputs", dict).items()},
        warnings=tuple(map(str, _typed(manifest, "warnings", list))),
    )
    if results.scenario_hash != manifest["scenario_sha256"]:
        raise ValueError(f"its {SCENARIO} is not the one that was run")
    if not 0 <= results.warmup < results.duration:
        raise ValueError("`warmup` is not shorter than `duration`")
    return results


def _typed(manifest: Mapping[str, Any], key: str, kind: Any) -> Any:
    value = manifest[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"`{key}` of its {MANIFEST} is {value!r}")
    return value


def _table(
    files: Mapping[str, BinaryIO], name: str, described: Mapping[str, Any], replications: int
) -> pa.Table:
    """Read a table, and make sure that it is as long and as wide as it was written."""
    # `read_table` would import pandas. A thread that Arrow starts while the interpreter ends aborts it.
    with pq.ParquetFile(files[f"{name}.parquet"]) as file:
        table = file.read(use_threads=False)
    if table.num_rows != described["rows"] or (name in FIXED and table.num_rows % replications):
        raise ValueError(f"{name}.parquet has {table.num_rows} rows, and {described['rows']} were written")
    missing = [column for column in described["columns"] if column not in table.column_names]
    if missing or len(table.column_names) != len(described["columns"]):
        which = f"no column `{missing[0]}`" if missing else "more columns than were written"
        raise ValueError(f"{name}.parquet has {which}")
    for column, kind, optional in COLUMNS[name]:
        values = table[column]
        if values.type != TYPES[kind] or (values.null_count and not optional):
            found = f"of the type {values.type}" if values.type != TYPES[kind] else "without some values"
            raise ValueError(f"{name}.parquet has a column `{column}` {found}, and it is {TYPES[kind]}")
    return table


def _fill(directory: Path, results: Measurements, *, csv: bool) -> None:
    about = {
        "tidegate.scenario": results.scenario_name,
        "tidegate.scenario_sha256": results.scenario_hash,
        "tidegate.seeds": json.dumps(results.seeds),
        "tidegate.version": results.version,
    }
    (directory / SCENARIO).write_text(results.scenario_toml, encoding="utf-8")
    # Names of folders are bytes, and pyarrow takes UTF-8 only: the open folder has such a name,
    # too.
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name, table in results.tables.items():
            described = table.replace_schema_metadata({**(table.schema.metadata or {}), **about})
            place = Path(f"/proc/self/fd/{folder}")
            pq.write_table(described, place / f"{name}.parquet", compression="zstd")
            if csv:
                write_csv(getattr(table, "arrow", table), place / f"{name}.csv")
    finally:
        os.close(folder)
