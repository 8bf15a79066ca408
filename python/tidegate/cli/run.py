"""`tidegate run`: what a scenario does."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate._tidegate import TidegateError
from tidegate.cli.options import (
    File,
    Force,
    Jobs,
    Json,
    Python,
    Report,
    Seed,
    Set,
    define,
    overrides,
    scenario,
    tell,
)
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.source import LoadedScenario, Source

MAX_POINTS = 20_000_000
"""Points that the series of `--out` have at most, over all runs: some 1.8 GB of memory."""


def command(
    file: File,
    seed: Seed = None,
    replications: Annotated[
        int, typer.Option(metavar="N", help="Number of runs, each with the next seed.")
    ] = 1,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write all results to this directory, as Parquet.", show_default=False
        ),
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Write each table of --out as CSV, too.", show_default=False)
    ] = False,
    report: Report = None,
    workahead: Annotated[
        str | None,
        typer.Option(
            metavar="FACTORS",
            help="Measure the exact workahead W of flows along their routes, at these multiples of their "
            "reserved rates, for example 1,1.02.",
            show_default=False,
        ),
    ] = None,
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK=FILE",
            help="Capture the packets that leave a link, for Wireshark: s1-s2=out.pcapng. May be repeated.",
            show_default=False,
        ),
    ] = None,
    packets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Write what happened to each packet at each link to this file.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Measure from this time on: the same as --set warmup=TIME.",
            show_default=False,
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="Measure until this time, when the run ends: the same as --set duration=TIME.",
            show_default=False,
        ),
    ] = None,
    with_bounds: Annotated[
        bool,
        typer.Option(
            "--bounds",
            help="Show each flow's bound beside its largest delay; a delay above its bound is an error.",
            show_default=False,
        ),
    ] = False,
    python: Python = None,
    sets: Set = None,
    force: Force = False,
    all_links: Annotated[
        bool, typer.Option("--all-links", help="Show idle links as well.", show_default=False)
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a scenario and show the results of its flows and links."""
    from tidegate import bounds, captures, outdir, reports
    from tidegate.cli import workahead as workahead_of
    from tidegate.cli.bounds_table import hold, print_bounds
    from tidegate.cli.progress import bar
    from tidegate.cli.run_screen import show
    from tidegate.replications import run
    from tidegate.source import resolve

    if csv and out is None:
        raise TidegateError("--csv writes CSV files beside the others of --out DIR, which is not given")
    define(python)
    factors = workahead_of.factors(workahead)
    captured = captures.parse(pcap or [])
    if packets is not None and replications > 1:
        raise TidegateError("--packets is of one run, and --replications asks for more")
    if packets is not None and not packets.parent.is_dir():
        raise TidegateError(f"--packets {packets}: there is no folder {packets.parent}")
    window = [(key, value) for key, value in (("warmup", start), ("duration", end)) if value is not None]
    source = resolve(scenario(file), [*overrides(sets), *window])
    tell(source.scenario.warnings, source.scenario.notes)
    edited = out is not None and outdir.replaces(out, source)
    if out is not None:
        outdir.check_writable(out, source, force=force)
    if report is not None:
        reports.check(report)
    kept = out is not None or report is not None
    series = kept and has_room(source.scenario, replications)
    promised = _bounds(source.scenario) if with_bounds else None
    with bar(source.scenario.name) as progress:
        results = run(
            source,
            replications=replications,
            jobs=jobs,
            seed=seed,
            series=series,
            workahead=factors,
            captures=captured,
            progress=progress,
        )
    command = shlex.join(["tidegate", *sys.argv[1:]])
    if out is not None:
        outdir.write(results, out, command, csv=csv, force=force)
    if report is not None:
        reports.of_run(results, report, command=command)
    if packets is not None:
        _write_packets(source, seed, packets)
    compared = None if promised is None else bounds.beside(promised, results)
    if as_json:
        from tidegate.cli.document import document

        for part in document(results, compared):
            typer.echo(part, nl=False)
        typer.echo()
        hold(None if compared is None else bounds.complaint(compared))
        return
    show(results, all_links=all_links)
    if compared is not None:
        print_bounds(compared)
    for link, path in captured.items():
        typer.echo(plain(f"packets of {link} in {path}"))
    if packets is not None:
        typer.echo(plain(f"all packets in {packets}"))
    if out is not None:
        without = "" if series else ", without series: there would be too many"
        replaced = "; they replace those of another text of the scenario" if edited else ""
        typer.echo(plain(f"results in {out}{without}{replaced}"))
    if report is not None:
        typer.echo(plain(f"report in {report}"))
    hold(None if compared is None else bounds.complaint(compared))


def has_room(scenario: LoadedScenario, runs: int) -> bool:
    """Return whether the series of so many runs have at most MAX_POINTS."""
    return scenario.series * scenario.samples * runs <= MAX_POINTS


def _bounds(scenario: LoadedScenario) -> list[dict[str, Any]]:
    from tidegate import bounds
    from tidegate.cli.progress import bar

    with bar(f"{scenario.name}: bounds"):
        return bounds.bounds(scenario)


def _write_packets(source: Source, seed: int | None, path: Path) -> None:
    """Write the table of packets; the file is there once it is whole."""
    import pyarrow.parquet

    from tidegate.cli.progress import bar
    from tidegate.packet_table import packets

    part = path.with_name(f"{path.name}.part")
    try:
        with bar("packets") as progress:
            table = packets(source.scenario, seed=seed, progress=progress)
        pyarrow.parquet.write_table(table.arrow, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
