"""The parts of a report as data: texts, tables, charts and drawings, in sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Text in which each space counts, as that of a file or of a command."""

    text: str


@dataclass(frozen=True)
class Notes:
    """Remarks, one sentence or one message each."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    Attributes:
        caption: Its subject.
        headings: One for each column.
        rows: Cells as text; a line break begins a second line in a cell.
        words: Numbers of the columns that hold words and not figures; the first one always does.
        notes: Remarks that stand below it.
    """

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[int] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG.

    Attributes:
        svg: Its element.
        label: Its contents in words, for readers that do not see it.
        caption: A sentence below it.
    """

    svg: str
    label: str
    caption: str


@dataclass(frozen=True)
class Band:
    """The ends of intervals around the points of a curve.

    Attributes:
        low: The lower end at each point.
        high: The upper end at each point.
        bars: Whether each interval is a bar of its own; else they are a band. Bars of a curve that
            lies across are horizontal.
    """

    low: Sequence[float]
    high: Sequence[float]
    bars: bool = False


@dataclass(frozen=True)
class Curve:
    """One line of a chart, which its entry of the legend hides and shows.

    Attributes:
        name: Its subject.
        x: Where its points are.
        y: The figure at each.
        said: Words that a pointer at each point shows.
        band: Intervals; None for none.
        marked: Whether its points are marked.
        joined: Whether they are joined by a line.
        steps: Whether the line has steps: a figure holds until the next point.
        across: Whether x is the figure and y a row.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    said: Sequence[str]
    band: Band | None = None
    marked: bool = False
    joined: bool = True
    steps: bool = False
    across: bool = False


@dataclass(frozen=True)
class Level:
    """A horizontal line that curves are compared with, and its meaning."""

    y: float
    name: str


@dataclass(frozen=True)
class Chart:
    """Curves on common axes.

    Attributes:
        title: Its subject.
        x: Name and unit of the horizontal axis.
        y: Name and unit of the vertical axis.
        curves: The lines.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical one is.
        names_x: Words at places of the horizontal axis, in place of numbers.
        names_y: Likewise of the vertical one, which then has its first row on top.
        levels: Lines for comparison.
        least_y: Where the vertical axis begins; None for where the curves do.
    """

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    names_x: Mapping[float, str] = field(default_factory=dict)
    names_y: Mapping[float, str] = field(default_factory=dict)
    levels: Sequence[Level] = ()
    least_y: float | None = None


Block = Text | Code | Notes | Table | Drawing | Chart


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading."""

    heading: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes:
        title: The study's name.
        kind: What it is, in a few words.
        command: The command that made it; None for none.
        about: What was studied, in paragraphs.
        findings: What came out, one sentence each.
        facts: How it was made, as terms and values.
        sections: Everything else.
    """

    title: str
    kind: str
    command: str | None
    about: Sequence[Text]
    findings: Sequence[str]
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
