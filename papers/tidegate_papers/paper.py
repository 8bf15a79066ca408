"""A paper as data: its experiments, their scenarios, and its published figures.

A paper is a folder of this package: `paper.toml` and the further parts that it names, scenarios,
and a module that holds `MEASURES`, how the figures of each experiment are measured.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from tidegate import Results, TidegateError
from tidegate.source import LoadedScenario, Overrides
from tidegate.source import load as load_scenario
from tidegate_papers.claims import MAIN, Claim, Columns
from tidegate_papers.curves import HeatMap, Panel

HERE = Path(__file__).parent
DATA = "paper.toml"

RECORDING = "{recording}"
"""Stands for the file of `Measure.needs`, as a TOML string, in the values of settings."""

FULL = 10
"""Replications of a paper on its page."""

Runs = Mapping[str, Results]
"""Results under each setting of an experiment, by its name."""


@dataclass(frozen=True)
class Measure:
    """Measurement of an experiment's figures.

    Attributes:
        figures: Takes what was measured under each setting and the figures of earlier experiments,
            by their names, and returns the figures of this one.
        settings: Overrides of the scenario, by the name of the setting.
        drawn: Settings of which no claim reads a figure: points that a curve alone shows. Runs that
            end by what claims need leave them out.
        reads: Takes the name of a claim, and returns the settings whose runs its figure reads, and the
            earlier experiment if it takes its figures; None where each may read all. Settings have
            unequal numbers of runs then, if their claims need that, and a figure that reads several
            covers the runs that all have.
        series: Metrics over time that it needs, such as `queue` and `utilisation`, of the table
            `series`.
        one_by_one: Whether its runs are carried out one at a time, since each records so much over time
            that two together take more than half a gigabyte.
        histogram: Whether it needs how often each delay occurred: some 10 MB for each run of many
            packets.
        workahead: Factors on reserved rates at which it needs the exact W of flows along their
            routes.
        panels: Takes what was measured under each setting, and returns the curves that tell the
            story; None where there is nothing to draw but the figures.
        keep: Takes what was measured under a setting and returns what is kept of it, for an
            experiment of so many settings that not all of it can be; None for everything.
        after: The earlier experiment whose figures it takes; None for none.
        needs: A recording that its settings play and that is not part of the package: its path in
            the folder of recordings. The experiment is skipped without it.
    """

    figures: Callable[[Runs, Mapping[str, Columns]], Columns]
    settings: Mapping[str, Overrides] = field(default_factory=lambda: {MAIN: ()})
    drawn: tuple[str, ...] = ()
    reads: Callable[[str], Collection[str]] | None = None
    series: tuple[str, ...] = ()
    one_by_one: bool = False
    histogram: bool = False
    workahead: tuple[float, ...] = ()
    panels: Callable[[Runs], tuple[Panel | HeatMap, ...]] | None = None
    keep: Callable[[Results], Results] | None = None
    after: str | None = None
    needs: str | None = None

    def read_by(self, claim: str) -> set[str]:
        """Return the settings whose runs the figure of a claim may read, and the earlier experiment."""
        if self.reads is not None:
            return set(self.reads(claim))
        return {*self.settings, *(() if self.after is None else (self.after,))}


@dataclass(frozen=True)
class Choice:
    """A parameter that the paper leaves open.

    Attributes:
        what: The open parameter.
        chosen: The value chosen.
        why: Why.
    """

    what: str
    chosen: str
    why: str


@dataclass(frozen=True)
class Table:
    """Figures as a table: each cell is a claim that is shown and not judged, published or only measured.

    Attributes:
        title: Contents of its cells.
        unit: Their unit.
        columns: Names of its columns.
        rows: Names of its rows.
    """

    title: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]

    @property
    def places(self) -> list[tuple[str, str]]:
        """Column and row of every cell, row by row."""
        return [(column, row) for row in self.rows for column in self.columns]

    @property
    def heading(self) -> str:
        """Its title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def cell(self, column: str, row: str) -> str:
        """Return the name of a cell's claim."""
        return f"{self.title}, {column}, {row}"


@dataclass(frozen=True)
class Experiment:
    """One of a paper's experiments.

    Attributes:
        name: Its short name.
        title: Its name in a table.
        section: Where the paper describes it.
        about: Its result, in a sentence.
        scenario: Its scenario.
        measure: Measurement of its figures.
        claims: The published claims.
        tables: Which of the claims are shown as tables.
        sets: Overrides of the scenario, under every setting.
        brief: Simulated time of a run where runs end by what claims need, warm-up included, as `60s`,
            or by setting; None for that of the scenario.
        times: Number of its runs in one replication of the paper: more than one where runs differ
            too much to decide a required claim, less than one where they are long and nothing is to
            be decided.
        only_full: Whether it is carried out only with a stated number of replications or by its name:
            nothing of it is required.
        on_request: Whether it is carried out only when all experiments are asked for: it is a sweep
            beside what the paper publishes.
    """

    name: str
    title: str
    section: str
    about: str
    scenario: Path
    measure: Measure
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = ()
    sets: Overrides = ()
    brief: str | Mapping[str, str] | None = None
    times: float = 1.0
    only_full: bool = False
    on_request: bool = False

    @property
    def where(self) -> str:
        """Where the paper describes it, as `section 4.2.1`."""
        return f"section{'s' if ',' in self.section else ''} {self.section}"

    def missing(self, recordings: Path | None) -> str | None:
        """Say why it cannot be carried out with the recordings in a folder; None if it can."""
        needs = self.measure.needs
        if needs is None:
            return None
        if recordings is None:
            return f"it plays {needs}; --data names the folder that has it"
        return None if (recordings / needs).is_file() else f"there is no file {recordings / needs}"

    def runs(self, replications: int) -> int:
        """Return its number of runs in so many replications of the paper: at least 1 of any."""
        return max(round(replications * self.times), min(replications, 1))

    @property
    def most_runs(self) -> int:
        """Number of runs that it never exceeds where they end by what claims need.

        Where runs differ too much for ten, the spread of ten says less than that of all, and it may
        take twice those of `FULL` replications.
        """
        full = self.runs(FULL)
        return full if self.times <= 1 else 2 * full

    def scenarios(
        self, recordings: Path | None = None, *, as_needed: bool = False
    ) -> dict[str, LoadedScenario]:
        """Return its scenario under each setting.

        Args:
            recordings: The folder of recordings; None for none.
            as_needed: Whether its runs end by what claims need: they are `brief` then, and settings
                that are only drawn are left out.

        Raises:
            TidegateError: The scenario or a setting has a mistake, or its recording is missing.
        """
        missing = self.missing(recordings)
        if missing is not None:
            raise TidegateError(f"{self.title}: {missing}")
        needs = self.measure.needs
        file = "" if needs is None or recordings is None else str((recordings / needs).absolute())
        recording = json.dumps(file, ensure_ascii=False)
        lengths = self._lengths() if as_needed else {}
        left_out = self.measure.drawn if as_needed else ()
        return {
            name: load_scenario(
                self.scenario,
                [
                    (path, value.replace(RECORDING, recording))
                    for path, value in (*sets, *self.sets, *lengths.get(name, ()))
                ],
            )
            for name, sets in self.measure.settings.items()
            if name not in left_out
        }

    def _lengths(self) -> dict[str, Overrides]:
        """Return what makes runs brief, by setting."""
        brief = self.brief
        if isinstance(brief, str):
            brief = dict.fromkeys(self.measure.settings, brief)
        return {name: [("duration", length)] for name, length in (brief or {}).items()}


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        name: Its short name.
        title: Its title.
        reference: Where it was published.
        choices: Open parameters, and what was chosen.
        experiments: Its experiments, in the order in which they are run.
    """

    name: str
    title: str
    reference: str
    choices: tuple[Choice, ...]
    experiments: tuple[Experiment, ...]

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """All that can hold or not, over all experiments."""
        return tuple(claim for one in self.experiments for claim in one.claims if claim.judged)

    def chosen(
        self, names: Sequence[str], *, everything: bool = False, as_needed: bool = False
    ) -> list[Experiment]:
        """Return the experiments of these names and those whose figures they take; without a name all.

        Args:
            names: Names of experiments, also of those on request.
            everything: Without a name, whether experiments on request are among them.
            as_needed: Without a name, whether those that are `only_full` are left out.

        Raises:
            TidegateError: There is no experiment of one of the names.
        """
        if not names:
            left_out = as_needed and not everything
            return [
                one
                for one in self.experiments
                if (everything or not one.on_request) and not (left_out and one.only_full)
            ]
        known = {one.name: one for one in self.experiments}
        wanted = set()
        for name in names:
            if name not in known:
                raise TidegateError(_unknown(f"paper `{self.name}` has no experiment", name, list(known)))
            wanted |= {name, known[name].measure.after}
        return [one for one in self.experiments if one.name in wanted]


def names() -> list[str]:
    """Return the names of all papers."""
    return sorted(path.parent.name.replace("_", "-") for path in HERE.glob(f"*/{DATA}"))


def folder(name: str) -> Path:
    """Return the folder of the paper of that name; it is a package, and has underscores for hyphens."""
    return HERE / name.replace("-", "_")


def load(name: str) -> Paper:
    """Read a paper.

    Raises:
        TidegateError: There is none of that name.
    """
    known = names()
    if name not in known:
        raise TidegateError(_unknown("there is no paper", name, known))
    place = folder(name)
    measures: dict[str, Measure] = import_module(f"tidegate_papers.{place.name}").MEASURES
    data = read(place)
    explanations: dict[str, str] = data.pop("why", {})
    return Paper(
        name=name,
        choices=tuple(Choice(**choice) for choice in data.pop("choice")),
        experiments=tuple(
            _experiment(one, place, measures[one["name"]], explanations) for one in data.pop("experiment")
        ),
        **data,
    )


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
    return f"{what} `{name}`\n  help: {hint}"


def read(place: Path) -> dict[str, Any]:
    """Return the data of the paper in the folder `place`: its parts one behind the other."""
    data = tomllib.loads((place / DATA).read_text(encoding="utf-8"))
    for part in data.pop("parts", ()):
        more = tomllib.loads((place / part).read_text(encoding="utf-8"))
        data.setdefault("why", {}).update(more.get("why", {}))
        for key in ("choice", "experiment"):
            data.setdefault(key, []).extend(more.get(key, []))
    return data


def _experiment(
    data: dict[str, Any], place: Path, measure: Measure, explanations: Mapping[str, str]
) -> Experiment:
    claims = tuple(_claim(claim, explanations) for claim in data.pop("claims", ()))
    tables = [_table(table) for table in data.pop("table", ())]
    return Experiment(
        sets=tuple((path, value) for path, value in data.pop("sets", ())),
        scenario=place / data.pop("scenario"),
        measure=measure,
        claims=(*claims, *(claim for _, cells in tables for claim in cells)),
        tables=tuple(table for table, _ in tables),
        **data,
    )


def _table(data: dict[str, Any]) -> tuple[Table, list[Claim]]:
    """Read a table and the claims of its cells, row by row; a list of rows has no published figures."""
    named: dict[str, list[float]] | list[str] = data["rows"]
    nothing = [None] * len(data["columns"])
    rows = dict.fromkeys(named, nothing) if isinstance(named, list) else named
    table = Table(data["title"], data["unit"], tuple(data["columns"]), tuple(rows))
    cells = [
        Claim(table.cell(column, row), table.unit, value)
        for row, values in rows.items()
        for column, value in zip(table.columns, values, strict=True)
    ]
    return table, cells


def _claim(data: dict[str, Any], explanations: Mapping[str, str]) -> Claim:
    """Read a claim; `within` is a tolerance as a share of the reference, `why` names an explanation."""
    within = data.pop("within", None)
    if within is not None:
        data["tolerance"] = within * data.get("paper", data.get("derived"))
    why = data.pop("why", None)
    return Claim(name=data.pop("claim"), why=None if why is None else explanations[why], **data)
