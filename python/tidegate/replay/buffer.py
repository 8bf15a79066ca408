"""The limit of a replayed link's queue."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate import _tidegate

DEFAULT_BUFFER = "100ms"
MIN_PACKETS = 10
"""Packets of the longest size that a buffer holds at least, when it is given as a time."""

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_TIMES = ("ns", "us", "ms", "s", "min", "h")


def buffer_limit(buffer: str, rate: int, longest_packet: int) -> str | None:
    """Return a buffer as a scenario spells it; None for no limit.

    Args:
        buffer: `100p` and `64kB` as they are; a time, as `100ms`, for what the link sends in it,
            but at least ten of the longest packets, so that a slow link has a queue at all; or
            `unlimited`.
        rate: Rate of the link in bit/s.
        longest_packet: Longest packet in bytes.

    Raises:
        TidegateError: The text is none of these.
    """
    if buffer == "unlimited":
        return None
    if not re.fullmatch(rf"[0-9.]+({'|'.join(_TIMES)})", buffer):
        return buffer
    size = math.ceil(rate / 8 * _tidegate.parse_time(buffer))
    return f"{max(size, MIN_PACKETS * longest_packet)}B"


def buffer_bytes(limit: str, longest_packet: int) -> int | None:
    """Return the most bytes that a limit such as `64kB` or `100p` lets wait; None for other text."""
    parts = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", limit)
    unit = None if parts is None else {**_UNITS, "p": longest_packet}.get(parts[2])
    return None if parts is None or unit is None else math.ceil(float(parts[1]) * unit)


def twice(limit: str) -> str:
    """Return a limit that is two times as large, in the same unit: `200p` for `100p`."""
    number, unit = _parts(limit)
    return f"{2 * number:.15g}{unit}"


def needed(backlogs: Sequence[Mapping[str, Any]], limit: str, longest_packet: int) -> str:
    """Return a limit that also holds what flows may have at the port, and one packet in service.

    Args:
        backlogs: The most that each flow has there: `backlog_packets` and `backlog_bytes`.
        limit: The least limit.
        longest_packet: Longest packet in bytes.
    """
    most = [(one["backlog_packets"], one["backlog_bytes"]) for one in backlogs]
    packets, size = _tidegate.buffer_for(most, longest_packet)
    if limit.endswith("p"):
        return f"{max(packets, int(_parts(limit)[0]))}p"
    return limit if size <= (buffer_bytes(limit, longest_packet) or 0) else f"{size}B"


def _parts(limit: str) -> tuple[float, str]:
    parts = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", limit)
    if parts is None:
        raise _tidegate.TidegateError(f"`{limit}` is not a limit: as 100p or 64kB")
    return float(parts[1]), parts[2]
