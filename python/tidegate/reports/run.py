"""The report of the results of one scenario."""

from __future__ import annotations

from tidegate.groups import chosen
from tidegate.plots import MAX_GROUPS
from tidegate.reports import delays, network, run_tables, series
from tidegate.reports.blocks import Block, Code, Notes, Page, Section
from tidegate.reports.scenario_text import about
from tidegate.reports.studies import Origin, Run
from tidegate.results import Results
from tidegate.show import plural, with_interval

MAX_SENTENCES = 4
"""Groups of which a sentence says what came out."""


def page(study: Run) -> Page:
    """Return the report of results."""
    results = study.results
    names, left_out = chosen([row.group for row in results.groups()], None)
    drawn = names[:MAX_GROUPS]
    few = [f"Charts have the first {MAX_GROUPS} of {len(names)} groups."] if len(names) > len(drawn) else []
    remarks = [*few, *([f"Charts are {left_out}."] if left_out else [])]
    charts: list[Block] = [*delays.of_run(results, drawn), *series.of_run(results, drawn)]
    sections = [
        Section("Flows", [*run_tables.groups(results), *run_tables.transfers(results)]),
        Section("Network", network.of_results(results)),
        Section("Delays and time", [*charts, *([Notes(remarks)] if remarks and charts else [])]),
        Section("Links", [*run_tables.links(results), *run_tables.others(results)]),
        *closing(results, list(results.warnings), run_tables.not_shown(results)),
    ]
    return Page(
        title=results.scenario_name,
        kind=f"Results of {of(results)}",
        command=study.origin.command,
        about=about(results.scenario_toml),
        findings=findings(results, names),
        facts=facts(results, study.origin),
        sections=[one for one in sections if one.blocks],
    )


def findings(results: Results, groups: list[str]) -> list[str]:
    """Say what came out: of the first groups, and of the busiest link."""
    of = results.groups
    said = [run_tables.sentence(of[name]) for name in groups[:MAX_SENTENCES]]
    return [*said, *busy(results), *warned(list(results.warnings))]


def busy(results: Results) -> list[str]:
    """Say which link is the busiest."""
    first = next(iter(network.busiest(results)), None)
    if first is None:
        return ["No link was busy for half of the time."]
    return [
        f"The busiest link, {first.link}, was sending for {with_interval(first.utilisation, 'share')} of the "
        f"time; its queue held {with_interval(first.queue_mean, 'count')} packets on average."
    ]


def warned(warnings: list[str]) -> list[str]:
    """Say that there are warnings."""
    return [f"{plural(len(warnings), 'warning')} about the scenario: see below."] if warnings else []


def facts(results: Results, origin: Origin) -> list[tuple[str, str]]:
    """Say how results were made."""
    warmup = f", the first {results.warmup:g} s of them not measured" if results.warmup else ""
    return [
        *made(origin, results.version),
        ("Runs", f"{runs(results)}, {seeds(results.seeds)}"),
        ("Simulated", f"{results.duration:g} s each{warmup}"),
        *(
            [("Set over the file", "\n".join(map(" = ".join, results.overrides)))]
            if results.overrides
            else []
        ),
        ("Scenario", f"SHA-256 {results.scenario_hash[:16]}…"),
    ]


def made(origin: Origin, version: str) -> list[tuple[str, str]]:
    """Say which command made something, and when."""
    kernel = origin.backend.get("kernel")
    return [
        ("Made by", f"tidegate {version}{f' in Linux {kernel}, in virtual time' if kernel else ''}"),
        *(
            [("Made at", origin.written.replace("T", " ").replace("+00:00", " UTC"))]
            if origin.written
            else []
        ),
    ]


def closing(results: Results, warnings: list[str], notes: list[str]) -> list[Section]:
    """Return the sections at the end of a report: warnings, remarks, and the scenario."""
    return [
        *([Section("Warnings", [Code(one) for one in warnings])] if warnings else []),
        *([Section("Remarks", [Notes(notes)])] if notes else []),
        Section("Scenario", [Code(results.scenario_toml)]),
    ]


def of(results: Results, each: str = "") -> str:
    """Return how often and how long a scenario ran, under which seeds, and by which version."""
    ran = f"{runs(results)} of {results.duration:g} s{each}"
    return f"{ran}, {seeds(results.seeds)}, tidegate {results.version}"


def runs(results: Results) -> str:
    """Return the number of runs."""
    return f"{plural(results.replications, 'run')}{', all identical' if results.identical else ''}"


def seeds(numbers: tuple[int, ...]) -> str:
    """Return the seeds in a few words."""
    return f"seed {numbers[0]}" if len(numbers) == 1 else f"seeds {numbers[0]} to {numbers[-1]}"
