"""The Rust side of tidegate."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

from typing_extensions import disjoint_base

__all__ = [
    "ALPHA_OF_SEVERAL_RTTS",
    "MIN_LIFE",
    "MIN_LIFE_PERCENT",
    "MIN_PACKETS",
    "RECORDS_PER_CELL",
    "RESERVABLE_PERCENT",
    "USUAL_NEARNESS",
    "Acknowledgement",
    "Arrivals",
    "Capture",
    "Contract",
    "MeteredPacket",
    "Packet",
    "PassingPacket",
    "Queue",
    "Run",
    "Scenario",
    "SizedLink",
    "TidegateError",
    "Windows",
    "__version__",
    "buffer_for",
    "cable_delay",
    "convergence_time",
    "detect_format",
    "distances",
    "gate",
    "gate_schema",
    "half_width_95",
    "max_min",
    "parse_limit",
    "parse_rate",
    "parse_size",
    "parse_time",
    "python_types",
    "rare_half_width_95",
    "reference",
    "register_congestion_control",
    "register_detector",
    "register_dropper",
    "register_meter",
    "register_rank_scheduler",
    "register_scheduler",
    "register_source",
    "register_stage",
    "response_time",
    "schema",
    "show_rate",
    "table_columns",
    "toml_as_json",
]

__version__: str
RESERVABLE_PERCENT: int
MIN_PACKETS: int
ALPHA_OF_SEVERAL_RTTS: int
RECORDS_PER_CELL: int
MIN_LIFE: float
MIN_LIFE_PERCENT: int
USUAL_NEARNESS: tuple[float, float, float]

class TidegateError(ValueError):
    """Something given to tidegate cannot be used; the message says what, where, and what would be right."""

@disjoint_base
class Packet:
    """A packet as a policy in Python sees it."""

    state: Any
    """The policy's own; None at first."""

    @property
    def flow(self) -> int:
        """The flow's number at the port."""

    @property
    def length(self) -> int:
        """Length in bytes."""

    @property
    def arrived(self) -> int:
        """Time of arrival, in ticks of 10 ps."""

    @property
    def dscp(self) -> int:
        """Differentiated services code point (RFC 2474)."""

    @property
    def ecn(self) -> int:
        """ECN codepoint (RFC 3168)."""

    @property
    def colour(self) -> str:
        """Colour with which it came (RFC 2697), the worse of the written one and its DSCP's.

        It is `green`, `yellow` or `red`.
        """

@final
class MeteredPacket(Packet):
    """A packet as a meter sees it, which may colour it."""

    @property
    def colour(self) -> str:
        """Colour with which it came, until `green`, `yellow` or `red` is written."""

    @colour.setter
    def colour(self, value: str) -> None: ...

@final
class PassingPacket:
    """A packet as a stage sees it."""

    @property
    def flow(self) -> str:
        """Name of its flow."""

    @property
    def number(self) -> int:
        """Its number within its flow, from 0."""

    @property
    def length(self) -> int:
        """Length in bytes."""

    @property
    def came(self) -> str | None:
        """Name of the link over which it came; None from its source, and except in `entered`."""

    @property
    def goes(self) -> str | None:
        """Name of the link over which it leaves; None to its receiver."""

    @property
    def colour(self) -> str:
        """Colour with which it came: `green`, `yellow` or `red`."""

    @property
    def dscp(self) -> int:
        """Differentiated services code point (RFC 2474), from 0 to 63."""

    @dscp.setter
    def dscp(self, value: int) -> None: ...
    @property
    def ecn(self) -> int:
        """ECN codepoint (RFC 3168), from 0 to 3."""

    @ecn.setter
    def ecn(self, value: int) -> None: ...

@final
class Queue:
    """The queues around a packet, which is not counted."""

    @property
    def packets(self) -> int:
        """Packets of the queue that the dropper guards, the one in service included."""

    @property
    def bytes(self) -> int:
        """Its bytes."""

    @property
    def flow_packets(self) -> int:
        """Packets of the packet's own flow."""

    @property
    def flow_bytes(self) -> int:
        """Bytes of the packet's own flow."""

    @property
    def port_packets(self) -> int:
        """Packets of all queues of the port."""

    @property
    def port_bytes(self) -> int:
        """Bytes of all queues of the port."""

@final
class Windows:
    """The windows of a connection, in bytes."""

    @property
    def mss(self) -> int:
        """Segment size."""

    @property
    def cwnd(self) -> int:
        """Congestion window."""

    @property
    def ssthresh(self) -> int:
        """Slow start threshold."""

    @property
    def is_slow_start(self) -> bool:
        """True below the threshold."""

    def slow_start(self, new: int) -> int:
        """Return the congestion window after `new` bytes in slow start (RFC 5681, equation 2)."""

    def avoid(self) -> int:
        """Return it after an acknowledgement in congestion avoidance (RFC 5681, equation 3)."""

@final
class Acknowledgement:
    """The report of an acknowledgement."""

    @property
    def new(self) -> int:
        """Bytes that it acknowledges for the first time."""

    @property
    def delivered(self) -> int:
        """Segments that it reports as arrived: with `recovery = "rack"` those that are SACKed as well."""

    @property
    def marked(self) -> int:
        """Those of them that came with a congestion mark."""

    @property
    def acknowledged(self) -> int:
        """Bytes acknowledged in all."""

    @property
    def sent(self) -> int:
        """Bytes sent in all, each once."""

    @property
    def round_trip(self) -> int | None:
        """Smoothed round trip in ticks; None before the first."""

@final
class Contract:
    """The contract of a flow with every port on its way; times are ticks of 10 ps."""

    @property
    def reserve(self) -> float | None:
        """Reserved average rate in bit/s; None for a datagram flow."""

    @property
    def interval(self) -> int | None:
        """Average interval in ticks."""

    @property
    def head_start(self) -> int:
        """Head start in ticks."""

    @property
    def priority(self) -> int:
        """Priority level, 0 the most urgent."""

    @property
    def workahead(self) -> int | None:
        """Maximum workahead in bytes."""

    @property
    def peak(self) -> float | None:
        """Peak rate in bit/s."""

    @property
    def deadline(self) -> int | None:
        """Local delay bound in ticks."""

    @property
    def excess_burst(self) -> int | None:
        """Excess burst size in bytes (EBS, RFC 2697)."""

    @property
    def peak_burst(self) -> int | None:
        """Peak burst size in bytes (PBS, RFC 2698)."""

    @property
    def host(self) -> int | None:
        """Number of its host."""

    @property
    def peer(self) -> int | None:
        """Number of the host at its other end."""

    def time_for(self, length: int) -> int | None:
        """Return the ticks that `length` bytes take at the reserved rate; None without one."""

@final
class Capture:
    """The packets of a capture or a list, by flow."""

    @staticmethod
    def load(path: str | Path, progress: Callable[[float], object] | None = None) -> Capture: ...
    @property
    def reordered(self) -> int: ...
    @property
    def span(self) -> float: ...
    @property
    def cut(self) -> str | None: ...
    @property
    def mended(self) -> list[str]: ...
    def mended_counts(self) -> dict[str, int]: ...
    def flows(self) -> list[dict[str, Any]]: ...
    def charged(self, overhead: int, mpu: int, atm: bool) -> Capture: ...
    def matching(self, pattern: str) -> list[int]: ...
    def suggest(
        self,
        rate: int,
        longest_packet: int,
        buffer: str | None,
        again: bool,
        targets: Sequence[tuple[int, float]],
    ) -> list[dict[str, Any]]: ...

@final
class SizedLink:
    """A link with credit-based flow control: its rate in bit/s, its cells in bytes, its times in seconds."""

    def __new__(
        cls,
        rate: int,
        cell: int,
        credit_cell: int,
        delay: float,
        processing: float | None,
        output: int | None,
    ) -> Self: ...
    @property
    def rtt_cells(self) -> float: ...
    @property
    def rtt(self) -> float: ...
    def overhead(self, n2: int, records: int) -> float: ...
    def n2_for_overhead(self, percent: int) -> int: ...
    def rates(self, n2: int, buf_alloc: int, active: int) -> tuple[float, float]: ...
    def buffer(self, n2: int, rate: int, active: int) -> int: ...
    def pool(self, alpha: int, vcs: int) -> tuple[int, float]: ...

@final
class Arrivals:
    """Packets that are taken for one flow, or the frames of a video."""

    @staticmethod
    def of_flows(capture: Capture, flows: Sequence[int]) -> Arrivals: ...
    @staticmethod
    def of_video(path: str | Path, fps: float) -> Arrivals: ...
    @property
    def cut(self) -> str | None: ...
    @property
    def has_equal_times(self) -> bool: ...
    def observe(self) -> dict[str, Any]: ...
    def rates(self, points: int) -> list[int]: ...
    def at(self, rate: int) -> tuple[int, float, float]: ...
    def contract(self, rate: int) -> tuple[int, int, int]: ...

@final
class Scenario:
    """A scenario that was read without a mistake, with the network that it describes."""

    @staticmethod
    def load(path: str | Path, sets: Sequence[tuple[str, str]] = ...) -> Scenario: ...
    @staticmethod
    def parse(
        text: str,
        name: str = "scenario",
        base_dir: str | Path = ...,
        sets: Sequence[tuple[str, str]] = ...,
    ) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def base_dir(self) -> Path: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def groups(self) -> list[str]: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def schedulers(self) -> set[str]: ...
    @property
    def links(self) -> list[str]: ...
    @property
    def series(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def sample(self) -> float: ...
    def capacities(self) -> list[tuple[str, float, bool, float]]: ...
    def demands(self) -> list[dict[str, Any]]: ...
    def network_json(self) -> str: ...
    def bounds_json(self) -> str: ...
    def contracts_json(self) -> str: ...
    def lockstep(self, link: int, record: str) -> dict[str, Any]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def toml(self) -> str: ...
    @property
    def texts(self) -> list[str]: ...

@final
class Run:
    """One replication of a scenario, under one seed."""

    def __new__(
        cls,
        scenario: Scenario,
        seed: int,
        replication: int = 0,
        series: bool = False,
        watch: tuple[str, int] | None = None,
        workahead: Sequence[float] = ...,
        captures: Sequence[tuple[Sequence[int], str | Path]] = ...,
    ) -> Self: ...
    @staticmethod
    def logged(scenario: Scenario, seed: int) -> Run: ...
    @staticmethod
    def playing(
        scenario: Scenario,
        seed: int,
        packets: Mapping[int, Sequence[tuple[int, int]]],
        flow: int,
        seconds: float,
    ) -> Run: ...
    def advance(self, events: int) -> bool: ...
    @property
    def progress(self) -> float: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def tables(self) -> dict[str, dict[str, Any]]: ...
    def log(self) -> dict[str, Any]: ...
    def terms(self) -> dict[str, Any] | None: ...
    def slowest(self) -> list[dict[str, Any]]: ...

def detect_format(path: str | Path) -> str: ...
def buffer_for(backlogs: Sequence[tuple[int, int]], largest: int) -> tuple[int, int]: ...
def register_congestion_control(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
    responds: str = "loss",
) -> None:
    """Register a congestion control whose objects `make(name, parameters)` returns."""

def register_detector(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
) -> None:
    """Register a detector whose objects `make(name, parameters)` returns."""

def register_dropper(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
    marks: bool = False,
) -> None:
    """Register a dropper whose objects `make(name, parameters)` returns; it marks packets if `marks`."""

def register_meter(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
    colours: bool,
) -> None:
    """Register a meter whose objects `make(name, parameters)` returns; it divides by colour if `colours`."""

def register_rank_scheduler(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
    regulates: bool,
) -> None:
    """Register a scheduler by rank functions, which `make(name, parameters)` returns."""

def register_scheduler(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
) -> None:
    """Register a scheduler whose objects `make(name, parameters)` returns."""

def register_source(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
) -> None:
    """Register a source whose objects `make(name, parameters)` returns."""

def register_stage(
    name: str,
    about: str,
    defaults: dict[str, Any],
    reads: Sequence[str],
    make: Callable[[str, dict[str, Any]], Any],
) -> None:
    """Register a stage whose objects `make(name, parameters)` returns."""

def schema() -> str: ...
def gate_schema() -> str: ...
def gate(arguments: Sequence[str]) -> int: ...
def reference() -> str: ...
def python_types() -> str: ...
def toml_as_json(text: str) -> str: ...
def table_columns() -> list[tuple[str, list[tuple[str, str, bool]]]]: ...
def half_width_95(results: Sequence[float]) -> float | None: ...
def rare_half_width_95(runs: Sequence[tuple[int, int]]) -> float | None: ...
def parse_rate(text: str) -> int: ...
def parse_time(text: str) -> float: ...
def parse_size(text: str) -> int: ...
def parse_limit(text: str) -> tuple[int, bool]: ...
def cable_delay(length: str) -> float: ...
def show_rate(bits: int) -> str: ...
def max_min(capacities: Sequence[int], flows: Sequence[Sequence[int]]) -> list[float]: ...
def convergence_time(
    spacing: float,
    rates: Sequence[Sequence[float]],
    optima: Sequence[float],
    queue: Sequence[float],
    near: tuple[float, float, float],
) -> float | None: ...
def response_time(
    spacing: float, rates: Sequence[Sequence[float]], optima: Sequence[float], tolerance: float
) -> float | None: ...
def distances(rates: Sequence[Sequence[float]], optima: Sequence[float]) -> list[float]: ...
