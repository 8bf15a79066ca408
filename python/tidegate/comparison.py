"""Policies compared on the same packets: common random numbers and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tidegate import backends, notebook
from tidegate import replications as runs
from tidegate._tidegate import TidegateError
from tidegate.comparison_columns import Policy, about_column, of_policies, on_each, unique
from tidegate.comparison_dir import identity
from tidegate.estimates import Estimate, Values, estimate
from tidegate.policies import ANSWERS, RESPONSIVE
from tidegate.replications import Progress
from tidegate.results import Results
from tidegate.scenario_warnings import brief, of_several
from tidegate.show import signed, with_interval
from tidegate.source import Overrides, ScenarioLike, Source, resolve
from tidegate.summary import group_estimates
from tidegate.tables import Table
from tidegate.toml import loads

METRICS: Mapping[str, str] = {
    "throughput": "bit/s",
    "lost": "",
    "delay_mean": "s",
    "delay_p99": "s",
    "delay_max": "s",
    "queueing_mean": "s",
}
"""Figures that are compared, with their units, as `tidegate.summary.GroupSummary` defines them."""


class Difference(NamedTuple):
    """Mean of the differences to the first policy, replication by replication.

    Attributes:
        mean: The mean; None if no replication measured both.
        half_width: Half the width of its 95 % interval; None from fewer than two replications.
    """

    mean: float | None
    half_width: float | None

    @property
    def excludes_zero(self) -> bool:
        """True if the interval does not contain zero; never without an interval."""
        return self.mean is not None and self.half_width is not None and abs(self.mean) > self.half_width


@dataclass(frozen=True)
class Row:
    """One metric of one group of flows under every policy.

    Attributes:
        group: Name of the group.
        metric: One of `METRICS`.
        unit: Its unit; empty for a share.
        values: Mean over replications with its interval, by policy.
        differences: Paired difference to the first policy, by every other policy.
    """

    group: str
    metric: str
    unit: str
    values: dict[str, Estimate]
    differences: dict[str, Difference]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of several policies for one scenario, with equal seeds and packets.

    Attributes:
        results: Results of each policy's runs, by its name and in the order asked; the others are
            compared with the first.
        rows: Every metric of every group, in the order of the scenario.
        notes: Remarks for a reader of the figures, one sentence each.
        warnings: Settings that are seldom intended, each with its place; what holds under some of
            them only begins with their names.
        identity: Digest of what all results have in common, for `tidegate.comparison_dir`.
    """

    results: dict[str, Results]
    rows: list[Row]
    notes: list[str]
    warnings: list[str]
    identity: str

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, as they were named, or the columns by their names."""
        return tuple(self.results)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of flows, in the order of the scenario."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    @property
    def table(self) -> Table[str]:
        """A row for each group, metric and policy: the mean over replications and half its 95 % interval.

        The columns are `group`, `metric`, `unit`, `policy`, `mean` and `half_width`; both figures are
        null where nothing was measured, and `half_width` also from one replication.
        """
        rows = [
            {
                "group": row.group,
                "metric": row.metric,
                "unit": row.unit,
                "policy": policy,
                "mean": value.mean,
                "half_width": value.half_width,
            }
            for row in self.rows
            for policy, value in row.values.items()
        ]
        text, number = pa.string(), pa.float64()
        kinds = {"group": text, "metric": text, "unit": text, "policy": text, "mean": number}
        return Table(pa.Table.from_pylist(rows, schema=pa.schema({**kinds, "half_width": number})))

    def row(self, group: str, metric: str) -> Row:
        """Return one row.

        Raises:
            KeyError: There is no such group or metric.
        """
        for row in self.rows:
            if (row.group, row.metric) == (group, metric):
                return row
        raise KeyError((group, metric))

    def _repr_html_(self) -> str:
        first, *others = self.policies
        lines = []
        for row in self.rows:
            unit = row.unit or "share"
            differences = [
                signed(row.differences[name], unit) + (" *" if row.differences[name].excludes_zero else "")
                for name in others
            ]
            values = [with_interval(row.values[name], unit) for name in self.policies]
            lines.append([row.group, row.metric, *values, *differences])
        minus = [f"{name} \N{MINUS SIGN} {first}" for name in others]
        shown = notebook.table(["group", "metric", *self.policies, *minus], lines)
        return "".join([shown, *map(notebook.paragraph, [*self.notes, *map(brief, self.warnings)])])

    def __repr__(self) -> str:
        notes = "".join(f"; {note}" for note in [*self.notes, *map(brief, self.warnings)])
        return f"<Comparison of {', '.join(self.policies)}: {len(self.rows)} rows{notes}>"


def compare(
    scenario: ScenarioLike | Source,
    policies: Sequence[Policy] | Mapping[str, Overrides],
    *,
    replications: int = 10,
    jobs: int | None = None,
    seed: int | None = None,
    sets: Overrides = (),
    on: Sequence[str] = (backends.SIMULATOR,),
    series: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Run a scenario under each of `policies`, at every port of a switch that does not state its own.

    A policy is whole: it stands in place of the scheduler and of the dropper that the scenario has
    there. Every policy gets the same seeds and so the same packets; differences are taken
    replication by replication, which removes the effects of the traffic that all of them share.

    Args:
        scenario: A scenario in any form that `tidegate.simulate` takes.
        policies: At least two, in one line each, as in `fq-codel` or `virtual-clock + red`, or as
            records; the others are compared with the first. A mapping has overrides by the name of
            a column instead.
        replications: Number of runs of each, at least 1; intervals need 2.
        jobs: Runs at a time; by default as many as there are processors.
        seed: Seed of the first replication; by default the scenario's own.
        sets: Overrides that hold for all of them.
        on: What runs them: the simulator (`sim`), a Linux kernel in virtual time (`linux`, which
            another distribution adds), or several. With several there is a column for each policy
            on each, and `policies` may be one or none.
        series: Whether the simulator records queues, utilisation and throughput over time.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        TidegateError: The scenario, a policy or what runs it is unusable, there are fewer than two
            columns, or one occurs twice.
    """
    source = resolve(scenario, sets)
    found = backends.find_all(on, series=series)
    given = list(policies.items()) if isinstance(policies, Mapping) else of_policies(policies)
    columns = unique(on_each(given, on))
    sources = _under_each(source, columns)
    seeds = runs.seeds_of(source, replications, seed)
    results: dict[str, Results] = {}
    for index, (name, under) in enumerate(sources.items()):

        def overall(share: float, done: int = index) -> None:
            if progress is not None:
                progress((done + share) / len(sources))

        # Columns of one policy follow each other, in the order of what runs them.
        run = list(found.values())[index % len(found)]
        results[name] = run(under, replications=replications, jobs=jobs, seed=seed, progress=overall)
    notes = notes_of(results, source.scenario.toml)
    warnings = of_several({name: one.warnings for name, one in results.items()})
    return Comparison(results, rows_of(results), notes, warnings, identity(source, seeds))


def _under_each(source: Source, columns: Mapping[str, Overrides]) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    for name, sets in columns.items():
        try:
            sources[name] = source.overridden(sets)
        except TidegateError as error:
            # Named as by the caller, who has set nothing.
            raise about_column(error, name, sets) from None
    return sources


def notes_of(results: Mapping[str, Results], text: str | None) -> list[str]:
    """Return remarks for a reader of a comparison.

    Args:
        results: The results by the name of what differs, of the same seeds.
        text: The scenario, whose sources sent the same packets each time unless they respond to
            a policy; None where they need not have.

    Raises:
        TidegateError: They did not.
    """
    notes = list(dict.fromkeys(note for one in results.values() for note in one.notes))
    notes += _same_outcomes(results)
    if text is not None:
        scenario = loads(text)
        notes += _own_policies(scenario) + _unequal_packets(scenario, results)
    return notes


def rows_of(results: Mapping[str, Results]) -> list[Row]:
    """Return every metric of every group under each name, with paired differences to the first."""
    # Identical replications count once in the figures: their differences have no interval either.
    figures = {name: one.group_figures() for name, one in results.items()}
    estimates = {
        name: {key: group_estimates(of_group) for key, of_group in under.items()}
        for name, under in figures.items()
    }
    first = next(iter(figures))
    return [
        Row(
            group=key[0],
            metric=metric,
            unit=unit,
            values={name: under[key][metric] for name, under in estimates.items()},
            differences={
                name: _difference(
                    figures[first][key][metric], under[key][metric], same=_same(results[first], results[name])
                )
                for name, under in figures.items()
                if name != first
            },
        )
        for key in figures[first]
        for metric, unit in METRICS.items()
    ]


def _difference(before: Values, after: Values, *, same: bool) -> Difference:
    """Return the paired difference; what was the same to the packet has no interval."""
    pairs = zip(before, after, strict=True)
    mean, half_width = estimate([None if a is None or b is None else b - a for a, b in pairs])
    return Difference(mean, None if same else half_width)


def _same(one: Results, other: Results) -> bool:
    """Return whether both are equal in every replication, to the packet."""
    return one.fingerprints == other.fingerprints


def _same_outcomes(results: Mapping[str, Results]) -> list[str]:
    """Say which policies did the same as the first, whatever they are."""
    first, *others = results
    return [
        f"{name}: the same outcome as {first} in every run, to the packet"
        for name in others
        if _same(results[first], results[name])
    ]


def _own_policies(scenario: Mapping[str, Any]) -> list[str]:
    """Say how many links keep a policy of their own in every run."""
    links = scenario.get("link", [])
    own = sum(not {"policy", "scheduler", "dropper"}.isdisjoint(link) for link in links)
    return [f"{own} of the scenario's links state a policy of their own and keep it"] if own else []


def _kind(choice: str | dict[str, object]) -> str:
    """Return the kind that is chosen, by its name or in a table."""
    return choice if isinstance(choice, str) else str(choice["kind"])


def _unequal_packets(scenario: Mapping[str, Any], results: Mapping[str, Results]) -> list[str]:
    """Make sure that every flow sent the same packets; say which sources do not by their nature."""
    kinds = {flow["name"]: {_kind(flow["source"])} for flow in scenario.get("flow", [])}
    for connection in scenario.get("connection", []):
        name = connection.get("group", connection["name"])
        for group in (name, name + ANSWERS):
            kinds.setdefault(group, set()).add(_kind(connection["transport"]))
    first, *others = (one.flows for one in results.values())
    unequal = set()
    for other in others:
        if not first["sent_packets"].equals(other["sent_packets"]):
            columns = (first["group"], first["sent_packets"], other["sent_packets"])
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            unequal |= {group for group, before, after in rows if before != after}
    wrong = sorted(group for group in unequal if kinds[group].isdisjoint(RESPONSIVE))
    if wrong:
        raise TidegateError(
            f"flows of {', '.join(f'`{group}`' for group in wrong)} did not send the same packets under each "
            "policy; this is a bug in tidegate; please report it with the scenario"
        )
    if not unequal:
        return []
    names = ", ".join(sorted(unequal))
    why = " or ".join(sorted(set().union(*(kinds[group] for group in unequal))))
    return [f"{names}: {why}, so what is sent depends on the policy; all other flows sent the same packets"]
