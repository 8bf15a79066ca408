"""The Rust side of tidegate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, final

__all__ = [
    "LEAST_LIFE",
    "LEAST_LIFE_PERCENT",
    "LEAST_PACKETS",
    "RESERVABLE_PERCENT",
    "Capture",
    "Run",
    "Scenario",
    "Table",
    "TidegateError",
    "__version__",
    "buffer_for",
    "gate",
    "gate_schema",
    "half_width_95",
    "parse_rate",
    "parse_time",
    "python_types",
    "rare_half_width_95",
    "reference",
    "schema",
    "show_rate",
]

__version__: str
RESERVABLE_PERCENT: int
LEAST_PACKETS: int
LEAST_LIFE: float
LEAST_LIFE_PERCENT: int

class TidegateError(ValueError):
    """Something given to tidegate cannot be used; the message says what, where, and what would be right."""

@final
class Capture:
    """The packets of a capture or a list, by flow."""

    @staticmethod
    def load(path: str | Path) -> Capture: ...
    @property
    def reordered(self) -> int: ...
    @property
    def span(self) -> float: ...
    @property
    def cut(self) -> str | None: ...
    def flows(self) -> list[dict[str, Any]]: ...
    def suggest(
        self,
        rate: int,
        longest_packet: int,
        buffer: str | None,
        again: bool,
        wishes: Sequence[tuple[int, float]],
    ) -> list[dict[str, Any]]: ...

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
    def links(self) -> list[str]: ...
    @property
    def series(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def toml(self) -> str: ...

@final
class Table:
    """A result table; anything that takes an Arrow C stream takes it as it is."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

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
        workahead: Sequence[float] = (),
    ) -> Self: ...
    def advance(self, events: int) -> bool: ...
    @property
    def progress(self) -> float: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def tables(self) -> dict[str, Table]: ...
    def terms(self) -> dict[str, Any] | None: ...
    def slowest(self) -> list[dict[str, Any]]: ...

def buffer_for(backlogs: Sequence[tuple[int, int]], largest: int) -> tuple[int, int]: ...
def schema() -> str: ...
def gate_schema() -> str: ...
def gate(arguments: Sequence[str]) -> int: ...
def reference() -> str: ...
def python_types() -> str: ...
def half_width_95(results: Sequence[float]) -> float | None: ...
def rare_half_width_95(runs: Sequence[tuple[int, int]]) -> float | None: ...
def parse_rate(text: str) -> int: ...
def parse_time(text: str) -> float: ...
def show_rate(bits: int) -> str: ...
