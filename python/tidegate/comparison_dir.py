"""Results of one scenario under several policies, in folders side by side: `DIR/NAME` for each.

Nothing else stands in such a directory, so that a figure of it is of one scenario.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegate import outdir
from tidegate._tidegate import TidegateError
from tidegate.atomic_dir import MANIFEST
from tidegate.results import Results
from tidegate.source import Source
from tidegate.toml import loads

POLICIES = "port"
"""The table of a scenario in which the policies that are compared differ."""


def identity(source: Source, seeds: Sequence[int]) -> str:
    """Return what all results of a comparison have in common, as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps([source.scenario.toml, list(seeds)]).encode()).hexdigest()


def check(out: Path, places: Iterable[Path], source: Source, comparison: str, *, force: bool) -> list[Path]:
    """Make sure that a comparison can be written to `out`, with results in `places`.

    Returns the folders with results of other comparisons, which have to go first: none without
    `force`.

    Raises:
        TidegateError: Something else is there, or nothing can be written there.
    """
    wanted = set(places)
    for place in wanted:
        outdir.check_writable(place, source, force=force)
    stale = [
        place
        for place, manifest in _inside(out).items()
        if place not in wanted and manifest.get("comparison") != comparison
    ]
    if stale and not force:
        earlier = outdir.KIND.manifest(stale[0]) or {}
        raise TidegateError(
            f"{out}: holds results of another comparison, `{earlier.get('scenario')}` in "
            f"{', '.join(place.name for place in stale)}\n"
            "  help: name another directory, or replace all of them with --force"
        )
    return stale


def remove(stale: Iterable[Path]) -> None:
    """Remove folders that `check` has returned."""
    for place in stale:
        shutil.rmtree(place)


def load(directory: Path) -> dict[str, Results]:
    """Return the results in the folders of `directory`, if it holds none itself.

    Raises:
        TidegateError: They are not of one scenario, or cannot be read.
    """
    if (directory / MANIFEST).exists() or not directory.is_dir():
        return {}
    inside = _inside(directory)
    # In the order and under the names that were asked for; others behind them, by their folders.
    columns = {place: _column(place, manifest, len(inside)) for place, manifest in inside.items()}
    results = {
        columns[place][1]: Results.load(place)
        for place in sorted(inside, key=lambda place: columns[place][0])
    }
    whose: dict[str, list[str]] = {}
    marks = {manifest.get("comparison") for manifest in inside.values()}
    if len(marks) > 1 or (marks == {None} and _differ(results)):
        for name, one in results.items():
            whose.setdefault(f"`{one.scenario_name}`, {one.scenario_hash[:8]}", []).append(name)
        listed = "; ".join(f"{scenario} in {', '.join(names)}" for scenario, names in whose.items())
        raise TidegateError(
            f"{directory}: holds results of different scenarios or runs, which no figure compares: {listed}\n"
            "  help: draw one of the folders, or move those that do not belong there"
        )
    return results


def _inside(directory: Path) -> dict[Path, Mapping[str, Any]]:
    """Return the manifests of the results that stand in folders of a directory."""
    if not directory.is_dir():
        return {}
    manifests = {path: outdir.KIND.manifest(path) for path in sorted(directory.iterdir())}
    return {path: manifest for path, manifest in manifests.items() if manifest is not None}


def _column(place: Path, manifest: Mapping[str, Any], last: int) -> tuple[int, str]:
    """Return the position and the name of the column that the results in a folder are."""
    match manifest.get("column"):
        case [int(position), str(name)]:
            return position, name
        case _:
            return last, place.name


def _differ(results: Mapping[str, Results]) -> bool:
    """Return whether results that are not marked as one comparison differ in more than their policies."""
    texts = [loads(one.scenario_toml) for one in results.values()]
    same = [{key: value for key, value in text.items() if key != POLICIES} for text in texts]
    runs = {(one.scenario_name, one.seeds, one.duration, one.warmup) for one in results.values()}
    return any(text != same[0] for text in same) or len(runs) > 1
