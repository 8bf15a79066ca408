"""Plays one direction of a capture across one link under several schedulers, and says what its flows need.

A replay is open loop: packets come when they came, however late or lost the ones before them are.
The method and what it assumes are in `docs/replay.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import _tidegate
from tidegate.policies import DEFAULT_SCHEDULER
from tidegate.replay import files
from tidegate.replay.framing import Framing
from tidegate.replay.gate_file import gate_toml
from tidegate.replay.outcome import PROMISED_PERCENT, FlowOutcome, read_outcomes
from tidegate.replay.plan import CapturedFlow, Plan, Progress, plan
from tidegate.replay.scenario import scenario_toml
from tidegate.replay.verdict import Verdict, judge

if TYPE_CHECKING:
    from tidegate.results import Results

__all__ = [
    "PROMISED_PERCENT",
    "PROMISING",
    "CapturedFlow",
    "FlowOutcome",
    "Plan",
    "Replay",
    "Verdict",
    "plan",
    "replay",
]

PROMISING = "virtual-clock"
"""The scheduler for which the planned reservations promise a delay."""

_MAX_SERIES = 500
"""Most flows of which queues and throughput are recorded over time: 600 samples each."""


@dataclass(frozen=True)
class Replay:
    """Outcome of a capture on one link.

    Attributes:
        plan: The capture, its flows and their reservations.
        results: The runs by scheduler.
        flows: Outcome of each flow, by scheduler, in the order of `plan.flows`.
    """

    plan: Plan
    results: dict[str, Results]
    flows: dict[str, tuple[FlowOutcome, ...]]

    @property
    def verdict(self) -> Verdict:
        """Verdict on the protected flows: FIFO and the suggestion compared."""
        return judge(self.plan, self.flows.get(DEFAULT_SCHEDULER), self.flows.get(PROMISING), PROMISING)

    def broken(self) -> list[FlowOutcome]:
        """Return the flows whose promise was not kept under the scheduler for which it is made."""
        return [flow for flow in self.flows.get(PROMISING, ()) if flow.kept is False]

    def write_scenario(self, path: str | Path, scheduler: str | None = None, *, force: bool = False) -> Path:
        """Write the replay as a scenario file for `tidegate run`.

        Args:
            path: File to write. A file that is there is replaced only when a replay has written it
                and it is unchanged since.
            scheduler: Scheduler of its link; by default the one that promises are made for if it
                was played, else the first.
            force: Replace whatever file is there.

        Raises:
            TidegateError: The file has been edited, it is the capture, or it cannot be written.
        """
        path = Path(path)
        files.refuse_capture(path, self.plan.file)
        if scheduler is None:
            played = list(self.flows) or [PROMISING]
            scheduler = PROMISING if PROMISING in played else played[0]
        return files.write(
            path, scenario_toml(self.plan, scheduler=scheduler, folder=path.parent), force=force
        )

    def write_gate(self, path: str | Path, *, force: bool = False) -> Path | None:
        """Write a gate's file with the reservations for `tidegate gate`; None when there is nothing to write.

        Args:
            path: File to write, as for `write_scenario`.
            force: Replace whatever file is there.

        Raises:
            TidegateError: The file has been edited, it is the capture, or it cannot be written.
        """
        files.refuse_capture(Path(path), self.plan.file)
        text = gate_toml(self.plan, PROMISING)
        return None if text is None else files.write(Path(path), text, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the result tables as plain values, ready for JSON."""
        flows: dict[str, dict[str, Any]] = {flow.name: asdict(flow) for flow in self.plan.flows}
        for flow in flows.values():
            flow["schedulers"] = {}
        for scheduler, outcomes in self.flows.items():
            for outcome in outcomes:
                figures = asdict(outcome)
                # Promises are those of one scheduler.
                if scheduler != PROMISING:
                    figures["kept"] = None
                flows[figures.pop("name")]["schedulers"][scheduler] = figures
        return {
            **asdict(self.plan),
            "file": str(self.plan.file),
            "flows": list(flows.values()),
            "promises": {
                "made": sum(flow.promised_p99 is not None for flow in self.plan.flows),
                "broken": [outcome.name for outcome in self.broken()],
            },
            "verdict": asdict(self.verdict),
        }


def replay(
    capture: str | Path,
    *,
    rate: str | int,
    schedulers: Sequence[str] = (DEFAULT_SCHEDULER, PROMISING),
    target: str | float | None = None,
    buffer: str | None = None,
    protect: Sequence[str] | None = None,
    inside: Sequence[str] | None = None,
    direction: str | None = None,
    speed: float = 1.0,
    repeat: int = 1,
    overhead: int = 0,
    mpu: int = 0,
    atm: bool = False,
    progress: Progress | None = None,
) -> Replay:
    """Play one direction of a capture across one link, once under each scheduler, the packets being the same.

    Each protected flow gets the smallest reservation that promises its target in the link's buffer;
    one for which there is no room gets none, and neither do the others.

    Args:
        capture: A pcap or pcapng capture, a list of `time size` lines, or a CSV file; `.gz` too.
        rate: Rate of the link, as `10mbit` or in bit/s.
        schedulers: Schedulers to play it under, as in a scenario.
        target: Delay that 99 % of each protected flow's packets should keep, as `20ms` or in s; by
            default 20 ms for what looks like a call or a game, 100 ms for a video or a shell.
        buffer: Limit of the link's queue: packets or bytes, as `100p` or `64kB`; a time, as
            `100ms`, for what the link sends in it (and at least ten of the longest packets); or
            `unlimited`. By default `100ms`, or up to twice that where promises need it.
        protect: Flows to protect, by name or 5-tuple; by default those that look like calls,
            videos, shells and games.
        inside: Prefixes of the inside, as `192.168.0.0/16`; by default they are found.
        direction: `up` (from the inside) or `down`; by default the one with more bytes.
        speed: Speed of playback, 0.001 to 1000.
        repeat: Number of times that the file is played, end to end, 1 to 1000000.
        overhead: Bytes that the link adds to each Ethernet frame, -1024 to 1024, as in `tc`.
        mpu: Bytes that a frame takes at least, its overhead included, 0 to 1024.
        atm: True if the link carries ATM cells: 53 bytes for every 48.
        progress: Called with the share that is done, 0 to 1, while the file is read and played.

    Returns:
        The plan and the outcomes.

    Raises:
        TidegateError: The file cannot be used, or an argument is wrong.
    """
    from tidegate.replications import simulate

    if not schedulers:
        raise _tidegate.TidegateError("a replay needs at least one scheduler, such as fifo")
    planned = plan(
        Path(capture),
        _tidegate.parse_rate(rate) if isinstance(rate, str) else rate,
        target=_tidegate.parse_time(target) if isinstance(target, str) else target,
        buffer=buffer,
        protect=protect,
        inside=inside,
        way=direction,
        speed=speed,
        repeat=repeat,
        framing=Framing(overhead, mpu, atm),
        progress=_part(progress, 0, len(schedulers) + 1),
    )
    results: dict[str, Results] = {}
    flows: dict[str, tuple[FlowOutcome, ...]] = {}
    for number, scheduler in enumerate(dict.fromkeys(schedulers)):
        results[scheduler] = simulate(
            _scenario(planned, scheduler),
            series=len(planned.flows) <= _MAX_SERIES,
            progress=_part(progress, number + 1, len(schedulers) + 1),
        )
        flows[scheduler] = read_outcomes(planned, results[scheduler].tables)
    return Replay(plan=planned, results=results, flows=flows)


def _part(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Return what shows the progress of one of several parts that take about as long."""
    return None if progress is None else lambda share: progress((number + share) / parts)


def _scenario(planned: Plan, scheduler: str) -> _tidegate.Scenario:
    text = scenario_toml(planned, scheduler=DEFAULT_SCHEDULER)
    # As overrides, so that an error message quotes the caller's own words.
    sets = [("port.scheduler", scheduler)]
    if planned.buffer is not None:
        sets.append(("switch.buffer", planned.buffer))
    try:
        return _tidegate.Scenario.parse(text, planned.file.stem, sets=sets)
    except _tidegate.TidegateError as error:
        message = str(error)
        for path in ("port.scheduler", "switch.buffer"):
            message = message.replace(f"--set {path}=", f"{path.rpartition('.')[2]} ")
        raise _tidegate.TidegateError(message) from None
