"""Where the rows of a sweep are kept while it runs: in memory, or in a directory that outlives a kill.

A directory has `manifest.json`, `scenario.toml` and `rows/`, a Parquet data set of parts. A part is
written beside its place and renamed, so each is whole. The manifest says which runs the sweep has
and whether all of them are there.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate._tidegate import TidegateError, __version__
from tidegate.atomic_dir import MANIFEST
from tidegate.show import plural
from tidegate.sweeps.batch import Outcome
from tidegate.sweeps.rows import SCHEMA, Wanted, of_outcomes

FORMAT = "tidegate sweep"
VERSION = 1

SCENARIO = "scenario.toml"
ROWS = "rows"

INTERVAL = 1.0
"""Seconds between two parts, at least."""

SHARE = 0.01
"""Part of a sweep's time between two parts, at least: a kill loses no more, and parts stay few."""


class Store(Protocol):
    """Keeps the rows of runs."""

    def rows(self) -> pa.Table:
        """Return the rows that are there, as `SCHEMA` has them."""

    def add(self, key: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the rows of some runs of one point."""

    def finish(self, runs: Sequence[int] | None) -> None:
        """Write what is left, and the runs of each point; None if the sweep was interrupted."""

    def close(self) -> None:
        """Let go of the place."""


class Memory:
    """Keeps rows for the length of the sweep."""

    def __init__(self) -> None:
        self._tables = [SCHEMA.empty_table()]

    def rows(self) -> pa.Table:
        """Return the rows that are there."""
        return pa.concat_tables(self._tables)

    def add(self, key: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the rows of some runs of one point."""
        self._tables.append(of_outcomes(key, outcomes))

    def finish(self, runs: Sequence[int] | None) -> None:
        """Do nothing: all is there."""

    def close(self) -> None:
        """Do nothing: there is no place."""


class Directory:
    """Keeps rows in a directory.

    Args:
        place: The directory, which is new, empty, or holds a sweep.
        wanted: The runs of the sweep, as far as they are known.
        text: Text of its scenario.
        about: More entries of the manifest.
        force: Whether runs that do not belong to this sweep are removed, or an error.

    Raises:
        TidegateError: The directory holds something else, another sweep is writing there, or it
            cannot be written.
    """

    def __init__(
        self, place: Path, wanted: Wanted, text: str, about: Mapping[str, Any], *, force: bool
    ) -> None:
        self._place, self._wanted, self._about = place, wanted, about
        self._new: list[pa.Table] = []
        self._began = self._written = time.monotonic()
        try:
            place.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise TidegateError(f"{place}: cannot be written: {error.strerror}") from error
        try:
            self._take(text, force)
        except BaseException:
            self.close()
            raise

    def _take(self, text: str, force: bool) -> None:
        place = self._place
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TidegateError(f"{place}: another sweep is writing there") from None
        except OSError:
            # A file system without locks.
            pass
        if any(place.iterdir()):
            manifest(place)
        (place / ROWS).mkdir(exist_ok=True)
        for left in (place / ROWS).glob(".*"):
            left.unlink()
        self._parts = _parts(place)
        self._keep_mine(force)
        (place / SCENARIO).write_text(text, encoding="utf-8")
        self._write_manifest(complete=False)

    def _keep_mine(self, force: bool) -> None:
        """Remove the rows of runs that are not of this sweep, or refuse to.

        Raises:
            TidegateError: There are some, without `force`.
        """
        kept: dict[Path, pa.Table] = {}
        foreign = 0
        for part in self._parts:
            rows = _read(part)
            mine = rows.filter(self._is_mine(rows))
            if mine.num_rows < rows.num_rows:
                foreign += _runs(rows) - _runs(mine)
                kept[part] = mine
        if foreign and not force:
            raise TidegateError(
                f"{self._place}: holds {plural(foreign, 'run')} of other points, seeds or scenarios, or of "
                "another version of tidegate\n"
                "  help: name another directory, or remove these runs with --force"
            )
        for part, rows in kept.items():
            if rows.num_rows:
                self._write(rows, part)
            else:
                part.unlink()
                self._parts.remove(part)

    def _is_mine(self, rows: pa.Table) -> pa.Array:
        wanted = self._wanted
        numbers = pc.index_in(rows["scenario"], pa.array(wanted.keys, pa.string()))
        most = pa.array(wanted.runs, pa.int64()).take(numbers)
        replications = pc.subtract(rows["seed"], wanted.first_seed)
        within = pc.and_(pc.greater_equal(replications, 0), pc.less(replications, most))
        return pc.fill_null(pc.and_(pc.is_valid(numbers), within), fill_value=False)

    def rows(self) -> pa.Table:
        """Return the rows that are there, as `SCHEMA` has them."""
        return pa.concat_tables([SCHEMA.empty_table(), *map(_read, self._parts), *self._new])

    def add(self, key: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the rows of some runs of one point; write a part when it is time."""
        self._new.append(of_outcomes(key, outcomes))
        now = time.monotonic()
        if now - self._written >= max(INTERVAL, SHARE * (now - self._began)):
            self._flush()

    def finish(self, runs: Sequence[int] | None) -> None:
        """Write what is left, and the runs of each point; None if the sweep was interrupted."""
        self._flush()
        if runs is not None:
            self._write_manifest(complete=True, runs=runs)

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self._lock)

    def _flush(self) -> None:
        self._written = time.monotonic()
        if not self._new:
            return
        number = 1 + max((int(part.stem.partition("-")[2]) for part in self._parts), default=-1)
        part = self._place / ROWS / f"part-{number:06}.parquet"
        self._write(pa.concat_tables(self._new), part)
        self._parts.append(part)
        self._new = []

    def _write(self, rows: pa.Table, part: Path) -> None:
        """Write a part in one step."""
        fresh = part.with_name(f".{part.name}")
        with fresh.open("wb") as file:
            pq.write_table(self._with_parameters(rows), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(part)

    def _with_parameters(self, rows: pa.Table) -> pa.Table:
        """Return rows with the settings of their points, for readers of the parts alone."""
        numbers = pc.index_in(rows["scenario"], pa.array(self._wanted.keys, pa.string()))
        keys = dict.fromkeys(key for point in self._wanted.points for key, _ in point)
        for place, key in enumerate(keys, 1):
            values = pa.array([dict(point).get(key) for point in self._wanted.points], pa.string())
            rows = rows.add_column(place, key, values.take(numbers))
        return rows

    def _write_manifest(self, *, complete: bool, runs: Sequence[int] | None = None) -> None:
        wanted = self._wanted
        entries = {
            "format": FORMAT,
            "format_version": VERSION,
            "complete": complete,
            "scenario": wanted.name,
            "tidegate_version": __version__,
            "seed": wanted.first_seed,
            "until": wanted.until,
            "points": [
                {"scenario": key, "runs": number, "settings": [list(one) for one in point]}
                for key, number, point in zip(wanted.keys, runs or wanted.runs, wanted.points, strict=True)
            ],
            **self._about,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        fresh = self._place / f".{MANIFEST}"
        fresh.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self._place / MANIFEST)


def is_sweep(place: Path) -> bool:
    """Return whether a directory holds a sweep."""
    try:
        manifest(place)
    except TidegateError:
        return False
    return True


def manifest(place: Path) -> dict[str, Any]:
    """Return the manifest of a sweep.

    Raises:
        TidegateError: There is none, or of another format.
    """
    try:
        found = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise TidegateError(f"{place}: holds no sweep of tidegate")
    if found["format_version"] != VERSION:
        raise TidegateError(
            f"{place}: a sweep of format {found['format_version']}, "
            f"and this version of tidegate reads {VERSION}"
        )
    return found


def read(place: Path) -> tuple[pa.Table, Wanted, bool]:
    """Return the rows of a stored sweep, the runs it has, and whether all of them are there.

    Raises:
        TidegateError: There is none, or it cannot be read.
    """
    found = manifest(place)
    try:
        points = found["points"]
        wanted = Wanted(
            name=found["scenario"],
            points=[tuple((key, value) for key, value in one["settings"]) for one in points],
            keys=[one["scenario"] for one in points],
            first_seed=found["seed"],
            runs=[one["runs"] for one in points],
            until=found["until"],
        )
        rows = pa.concat_tables([SCHEMA.empty_table(), *map(_read, _parts(place))])
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise TidegateError(f"{place}: this sweep cannot be read: {error}") from error
    return rows, wanted, bool(found["complete"])


def _parts(place: Path) -> list[Path]:
    return sorted((place / ROWS).glob("part-*.parquet"))


def _read(part: Path) -> pa.Table:
    with pq.ParquetFile(part) as file:
        # Without threads, as in `outdir`.
        return file.read(SCHEMA.names, use_threads=False).cast(SCHEMA)


def _runs(rows: pa.Table) -> int:
    """Return the number of runs whose rows these are: each has a first group."""
    return int(pc.sum(pc.equal(rows["place"], 0)).as_py() or 0)
