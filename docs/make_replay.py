"""Writes into docs/replay.md what replays of real captures come to, at 0.5, 1 and 2 times their mean rates.

Run it from the repository's root, in `.venv`. The captures stand beside the repository, in
`../shared/data/pcap`; `examples/captures/office.pcap` is part of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidegate.replay import Replay, plan, replay
from tidegate.replay.brief import brief

ROOT = Path(__file__).parents[1]
PCAP = ROOT.parent / "shared" / "data" / "pcap"
TIMES = (0.5, 1, 2)
LINK = 10_000_000


@dataclass(frozen=True)
class Row:
    """One replay: the rate of its link as a multiple of the mean rate, and what came of it."""

    times: float
    replay: Replay


def captures() -> list[Path]:
    """Return the captures that are there."""
    return [ROOT / "examples" / "captures" / "office.pcap", *sorted(PCAP.glob("*.pcap*"))]


def rows(capture: Path, *, everything: bool = False) -> Iterator[Row]:
    """Replay a capture at every multiple of its mean rate; `everything` protects all flows, for 2 s."""
    seen = plan(capture, LINK)
    names = [flow.name for flow in seen.flows] if everything else None
    for times in TIMES:
        rate = max(1, round((seen.mean_rate or 1.0) * times))
        played = replay(capture, rate=rate, protect=names, target="2s" if everything else None)
        yield Row(times, played)


def by_default() -> Iterator[str]:
    """Yield the lines of the table of flows that are protected by default, and of captures without any."""
    yield "| capture | link | protected | reserved | promises broken | worse than under FIFO | verdict |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    without = []
    for capture in captures():
        for row in rows(capture):
            plan, verdict = row.replay.plan, row.replay.verdict
            if not plan.protected:
                continue
            made = [flow for flow in plan.flows if flow.reserve is not None]
            cells = (
                capture.name,
                f"{row.times:g} of the mean: {brief(plan.rate, 'bit/s')}",
                ", ".join(flow.name for flow in plan.protected),
                brief(plan.reserved, "bit/s") if made else "-",
                f"{len(row.replay.broken())} of {len(made)}",
                ", ".join(verdict.worse) or "-",
                verdict.sentences[0],
            )
            yield f"| {' | '.join(cells)} |"
        if not plan.protected:
            without.append(capture.name)
    yield ""
    yield f"Nothing looks like a call, a video, a shell or a game in {', '.join(without)}."


def with_everything() -> Iterator[str]:
    """Yield the lines of the table of what every flow is promised, when all are protected."""
    yield f"| capture | flows | {' | '.join(f'{times:g} of the mean' for times in TIMES)} |"
    yield f"| --- | --- |{' --- |' * len(TIMES)}"
    for capture in captures():
        played = [row.replay for row in rows(capture, everything=True)]
        cells = [capture.name, str(len(played[0].plan.flows))]
        for one in played:
            made = sum(flow.reserve is not None for flow in one.plan.flows)
            cells.append(f"{len(one.broken())} of {made}; {len(one.verdict.worse)} worse")
        yield f"| {' | '.join(cells)} |"


def table() -> str:
    """Return what stands between the markers of the page."""
    between = (
        "With every flow protected, for a target of 2 s: promises broken, flows worse off than under FIFO."
    )
    return "\n".join([*by_default(), "", between, "", *with_everything()]) + "\n"


def main() -> None:
    """Fill the place between the markers."""
    page = ROOT / "docs" / "replay.md"
    text = page.read_text()
    before, rest = text.split("<!-- captures -->\n")
    _, after = rest.split("<!-- /captures -->")
    page.write_text(f"{before}<!-- captures -->\n{table()}<!-- /captures -->{after}")


if __name__ == "__main__":
    main()
