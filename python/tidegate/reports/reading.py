"""Directories of results read as studies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegate import comparison_dir, outdir
from tidegate._tidegate import TidegateError
from tidegate.atomic_dir import MANIFEST, DirectoryFormat
from tidegate.reports.studies import Compared, Origin, Paper, Run, Study, Swept
from tidegate.results import Results
from tidegate.sweeps import store
from tidegate.sweeps.rows import table_of

CLAIMS, CURVES = "claims.json", "curves.json"
PAPER = DirectoryFormat("tidegate report", 2, lambda _: True)
"""The directory of a paper's claims, which another distribution writes."""

KINDS = "--out of `tidegate run`, `compare` and `sweep` writes them"


def read(places: Sequence[Path]) -> Study:
    """Return the study that directories hold; several are results of one scenario, and are compared.

    Raises:
        TidegateError: One of them is no directory of results, cannot be read, or does not match
            the others.
    """
    if len(places) == 1:
        return _one(places[0])
    for place in places:
        if outdir.KIND.manifest(place) is None:
            raise TidegateError(
                f"{place}: holds {_other(place)}; several directories in one report are results of one "
                "scenario, each from --out of `tidegate run`"
            )
    return _several({_name(place, places): place for place in places})


def _other(place: Path) -> str:
    """Say which results, not of one run, are in a directory."""
    if store.is_sweep(place):
        return "a sweep"
    return "no results of one run" if PAPER.manifest(place) is None else "claims of a paper"


def matching(results: Mapping[str, Results]) -> None:
    """Make sure that results are of one scenario, so that they can be compared.

    Raises:
        TidegateError: They are not.
    """
    (first, one), *others = results.items()
    for name, other in others:
        for what, mine, its in (
            ("scenarios", one.scenario_name, other.scenario_name),
            ("seeds", _brief(one.seeds), _brief(other.seeds)),
            ("durations", f"{one.duration:g} s", f"{other.duration:g} s"),
            ("warm-ups", f"{one.warmup:g} s", f"{other.warmup:g} s"),
            ("groups of flows", _groups(one), _groups(other)),
        ):
            if mine != its:
                raise TidegateError(
                    f"{name} and {first} are not compared, because their {what} differ: {its}, and {mine}\n"
                    "  help: write a report of each"
                )


def _one(place: Path) -> Study:
    if store.is_sweep(place):
        return _sweep(place)
    if (found := PAPER.manifest(place)) is not None:
        return _paper(place, found)
    if inside := comparison_dir.load(place):
        return _compared(place, inside)
    found = outdir.KIND.manifest(place)
    if found is None:
        raise TidegateError(f"{place}: holds no results of tidegate{_half(place)}\n  help: {KINDS}")
    return Run(Results.load(place), _origin(found))


def _compared(place: Path, inside: Mapping[str, Results]) -> Study:
    manifests = [found for path in sorted(place.iterdir()) if (found := outdir.KIND.manifest(path))]
    origin = _origin(manifests[0])
    if len(inside) == 1:
        return Run(next(iter(inside.values())), origin)
    return Compared(inside, origin, same_traffic=manifests[0].get("comparison") is not None)


def _half(place: Path) -> str:
    """Say what is in place of results."""
    if not place.exists():
        return ": there is no such directory"
    if not place.is_dir():
        return ": it is a file"
    if (place / MANIFEST).exists():
        return f", whose {MANIFEST} cannot be read"
    left = [
        path.name for path in place.iterdir() if path.suffix == ".parquet" or path.name == "scenario.toml"
    ]
    return f": it has {left[0]}, and no {MANIFEST}, which is written last" if left else ""


def _several(places: Mapping[str, Path]) -> Study:
    results = {name: Results.load(place) for name, place in places.items()}
    matching(results)
    manifests = [outdir.KIND.manifest(place) or {} for place in places.values()]
    commands = dict.fromkeys(str(one["command"]) for one in manifests if one.get("command"))
    last = max((str(one["created"]) for one in manifests if one.get("created")), default=None)
    marks = {one.get("comparison") for one in manifests}
    origin = Origin("\n".join(commands) or None, last, manifests[0].get("backend") or {})
    return Compared(results, origin, same_traffic=len(marks) == 1 and marks != {None})


def _name(place: Path, places: Sequence[Path]) -> str:
    """Return the last part of a path, or all of it where several end in the same."""
    names = [one.resolve().name for one in places]
    name = place.resolve().name
    return name if names.count(name) == 1 else str(place)


def _brief(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _groups(results: Results) -> str:
    return ", ".join(f"{row.group} ({row.flows})" for row in results.groups())


def _origin(manifest: Mapping[str, Any]) -> Origin:
    return Origin(
        manifest.get("command"),
        manifest.get("created") or manifest.get("written"),
        manifest.get("backend") or {},
    )


def _sweep(place: Path) -> Swept:
    rows, wanted, complete = store.read(place)
    found = store.manifest(place)
    try:
        text = (place / store.SCENARIO).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TidegateError(f"{place}: this sweep cannot be read: {error}") from error
    return Swept(
        table=table_of(rows, wanted),
        text=text,
        base_dir=Path(found["base_dir"]) if found.get("base_dir") else None,
        version=str(found["tidegate_version"]),
        first_seed=wanted.first_seed,
        until=wanted.until,
        complete=complete,
        warnings=[str(one) for one in found.get("warnings", [])],
        origin=_origin(found),
    )


def _paper(place: Path, manifest: Mapping[str, Any]) -> Paper:
    if manifest.get("format_version") != PAPER.version:
        raise TidegateError(
            f"{place}: claims of format {manifest.get('format_version')}, and this version of tidegate reads "
            f"format {PAPER.version}\n  help: run the command in its {MANIFEST} again"
        )
    try:
        document, curves = (json.loads((place / name).read_text("utf-8")) for name in (CLAIMS, CURVES))
    except (OSError, ValueError) as error:
        raise TidegateError(f"{place}: these claims cannot be read: {error}") from error
    return Paper(document, curves, _origin(manifest))
