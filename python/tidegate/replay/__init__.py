"""Plays a capture across one link under several schedulers, and checks what reservations promise.

A replay is open loop: packets come when they came, however late or lost the ones before them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import _tidegate
from tidegate.policies import DEFAULT_SCHEDULER
from tidegate.replay.outcome import PROMISED_PERCENT, FlowOutcome, read_outcomes
from tidegate.replay.plan import LIVED, CapturedFlow, Plan, plan
from tidegate.replay.scenario import MARK, MOST_FLOWS, buffer_limit, scenario_toml

if TYPE_CHECKING:
    from tidegate.results import Results

__all__ = [
    "LIVED",
    "MOST_FLOWS",
    "PROMISED_PERCENT",
    "CapturedFlow",
    "FlowOutcome",
    "Plan",
    "Replay",
    "plan",
    "replay",
]

PROMISING = "virtual-clock"
"""The scheduler for which the planned reservations promise a delay."""

_MOST_SERIES = 500
"""Most flows of which queues and throughput are recorded over time: 600 samples each."""


@dataclass(frozen=True)
class Replay:
    """What became of a capture on one link.

    Attributes:
        plan: The capture, its flows and their reservations.
        buffer: Limit of the link's queue, as `64kB`; None for no limit.
        results: The runs by scheduler; empty when the capture holds too many flows to play one by one.
        flows: What became of each flow, by scheduler, in the order of `plan.flows`.
    """

    plan: Plan
    buffer: str | None
    results: dict[str, Results]
    flows: dict[str, tuple[FlowOutcome, ...]]

    def broken(self, scheduler: str) -> list[FlowOutcome]:
        """Return the flows whose promise was not kept under `scheduler`."""
        return [flow for flow in self.flows[scheduler] if flow.kept is False]

    def write_scenario(self, path: str | Path, scheduler: str | None = None) -> Path:
        """Write the replay as a scenario file for `tidegate run`.

        Args:
            path: File to write. A file that is there is replaced only when a replay has written it.
            scheduler: Scheduler of its link; by default the one that promises are made for if it was played,
                else the first.

        Raises:
            TidegateError: The file is somebody's, or the capture holds too many flows for a scenario.
            OSError: The file cannot be written.
        """
        path = Path(path)
        if scheduler is None:
            played = list(self.flows) or [PROMISING]
            scheduler = PROMISING if PROMISING in played else played[0]
        text = scenario_toml(self.plan, scheduler=scheduler, buffer=self.buffer, folder=path.parent)
        if path.exists() and not path.read_bytes().startswith(MARK.encode()):
            raise _tidegate.TidegateError(f"{path}: is there already, and no replay has written it")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.part")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
        return path

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the result tables as plain values, ready for JSON."""
        flows: dict[str, dict[str, Any]] = {flow.name: asdict(flow) for flow in self.plan.flows}
        for flow in flows.values():
            flow["schedulers"] = {}
        for scheduler, outcomes in self.flows.items():
            for outcome in outcomes:
                figures = asdict(outcome)
                flows[figures.pop("name")]["schedulers"][scheduler] = figures
        promises = {
            scheduler: {
                "made": sum(outcome.kept is not None for outcome in outcomes),
                "broken": [outcome.name for outcome in self.broken(scheduler)],
            }
            for scheduler, outcomes in self.flows.items()
        }
        return {
            **asdict(self.plan),
            "file": str(self.plan.file),
            "flows": list(flows.values()),
            "buffer": self.buffer,
            "promises": promises,
        }


def replay(
    capture: str | Path,
    *,
    rate: str | int,
    schedulers: Sequence[str] = (DEFAULT_SCHEDULER, PROMISING),
    target: str | float = "20ms",
    buffer: str = "100ms",
    speed: float = 1.0,
    repeat: int = 1,
) -> Replay:
    """Play a capture across one link, once under each scheduler, the packets being the same.

    Each flow with packets and life enough gets the smallest reservation that promises `target`; the
    others are datagrams.

    Args:
        capture: A pcap or pcapng capture, a list of `time size` lines, or a CSV file; `.gz` too.
        rate: Rate of the link, as `10mbit` or in bit/s.
        schedulers: Schedulers to play it under, as in a scenario.
        target: Delay that 99 % of each reserved flow's packets should keep, as `20ms` or in s.
        buffer: Limit of the link's queue: packets or bytes, as `100p` or `64kB`; a time, as `100ms`, for
            what the link sends in it (and at least ten of the longest packets); or `unlimited`.
        speed: Speed of playback, 0.001 to 1000.
        repeat: How often the file is played, end to end, 1 to 1000000. The promise is made for one pass.

    Returns:
        The plan and the outcomes; no outcomes when there are more than MOST_FLOWS flows.

    Raises:
        TidegateError: The file cannot be used, or an argument is wrong.
    """
    from tidegate.replications import simulate

    bits = _tidegate.parse_rate(rate) if isinstance(rate, str) else rate
    seconds = _tidegate.parse_time(target) if isinstance(target, str) else target
    planned = plan(Path(capture), bits, target=seconds, speed=speed, repeat=repeat)
    limit = buffer_limit(planned, buffer)
    results: dict[str, Results] = {}
    flows: dict[str, tuple[FlowOutcome, ...]] = {}
    if len(planned.flows) <= MOST_FLOWS:
        for scheduler in dict.fromkeys(schedulers):
            results[scheduler] = simulate(
                _scenario(planned, scheduler, limit), series=len(planned.flows) <= _MOST_SERIES
            )
            flows[scheduler] = read_outcomes(planned, results[scheduler].tables)
    return Replay(plan=planned, buffer=limit, results=results, flows=flows)


def _scenario(planned: Plan, scheduler: str, buffer: str | None) -> _tidegate.Scenario:
    text = scenario_toml(planned, scheduler=DEFAULT_SCHEDULER, buffer=buffer)
    # As overrides, so that a mistake is answered in the words of the one who made it.
    sets = [("port.scheduler", scheduler)]
    if buffer is not None:
        sets.append(("switch.buffer", buffer))
    try:
        return _tidegate.Scenario.parse(text, planned.file.stem, sets=sets)
    except _tidegate.TidegateError as error:
        message = str(error)
        for path in ("port.scheduler", "switch.buffer"):
            message = message.replace(f"--set {path}=", f"{path.rpartition('.')[2]} ")
        raise _tidegate.TidegateError(message) from None
