"""Credit-based flow control: the buffer that a VC needs for a rate, and its rate with a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidegate._tidegate import (
    ALPHA_OF_SEVERAL_RTTS,
    RECORDS_PER_CELL,
    SizedLink,
    TidegateError,
    cable_delay,
    parse_limit,
    parse_rate,
    parse_size,
    parse_time,
)
from tidegate.rows import Rows

CELL = 64
"""Bytes of a cell unless another size is stated."""

OVERHEAD_PERCENT = 1
"""Credit cells take at most this share of what the data take, in %, where N2 is not stated."""

MAX_VCS = 1 << 24
MAX_CELLS = 10**12
MAX_BYTES = (1 << 32) - 1
MAX_ALPHA = 1000


@dataclass(frozen=True)
class Attained:
    """The rate of each VC when so many of them are active and greedy (equation 2).

    Attributes:
        active: Active VCs.
        least: The rate that each has at least, in bit/s.
        most: The rate that each has at most, in bit/s; the same when one VC is active.
    """

    active: int
    least: float
    most: float


@dataclass(frozen=True)
class Batch:
    """One choice of N2.

    Attributes:
        n2: Cells that the receiver forwards for each credit record of a VC.
        buf_alloc: The least allocation that gives a VC the rate, in cells; with a given buffer,
            that buffer.
        memory: Bytes for all VCs.
        overhead: Bytes of credit cells for each byte of data, when each holds one record.
        overhead_packed: Overhead when each is full.
    """

    n2: int
    buf_alloc: int
    memory: int
    overhead: float
    overhead_packed: float


@dataclass(frozen=True)
class Pool:
    """The memory that adaptive allocation needs for all VCs together (equations 5 and 6).

    Attributes:
        nodes: Upstream nodes whose VCs share it, at an output port when there are several.
        rtt: The largest RTT of their links in s.
        alpha: M in units of two RTT.
        cells: M in cells.
        memory: M in bytes.
        queued_below: While less than this many cells are queued, a VC below its fair share is given
            more at each allocation.
    """

    nodes: int
    rtt: float
    alpha: int
    cells: int
    memory: int
    queued_below: float


@dataclass(frozen=True)
class CreditSize:
    """The size of a link with credit-based flow control and static allocation.

    Attributes:
        link: Rate in bit/s.
        output: Rate of the receiver's output in bit/s: that of the link unless it is slower.
        rtt: Round-trip time in s: propagation both ways and processing.
        rtt_cells: RTT in transmission times of a cell.
        cell: Bytes of a cell, or of the smallest packet.
        largest: Bytes of a place for a cell: those of the largest packet.
        vcs: VCs with a buffer each.
        rate: The rate that was asked for, in bit/s; None when a buffer was given.
        active: Active VCs for which the rate was asked for.
        chosen: N2, the allocation of each VC, the memory and the overhead.
        rates: The rate of each VC with one VC active, with `active` and with all.
        batches: Equal rates, or equal buffers, with other N2.
        pool: Memory that adaptive allocation would need.
    """

    link: int
    output: int
    rtt: float
    rtt_cells: float
    cell: int
    largest: int
    vcs: int
    rate: int | None
    active: int
    chosen: Batch
    rates: Rows[Attained]
    batches: Rows[Batch]
    pool: Pool

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in SI base units, sizes in bytes."""
        return asdict(self)


def size(
    link: str | int,
    *,
    length: str | None = None,
    delay: str | float | None = None,
    vcs: int = 1,
    rate: str | int | None = None,
    buffer: str | int | None = None,
    active: int = 1,
    n2: int | None = None,
    cell: str | int = CELL,
    largest: str | int | None = None,
    credit_cell: str | int | None = None,
    processing: str | float | None = None,
    output: str | int | None = None,
    upstream: Sequence[str | float] = (),
    alpha: int | None = None,
) -> CreditSize:
    """Return the buffer that each VC of a link needs for a rate, or its rate with a buffer.

    The link is `length` long or takes `delay` one way. On a link of packets a packet counts as a
    cell: it needs a credit, and a place for the largest packet. The figures are for a link full of
    the smallest packets, which need most places.

    Args:
        link: The link's rate, in bit/s or as `100gbit`.
        length: A cable, as `2km`, at 5 ns a metre.
        delay: Propagation one way in s, or as `10us`.
        vcs: VCs with a buffer each, 1 to 2²⁴.
        rate: The rate that each of `active` VCs is to have, at most 1/`active` of the link and of
            `output`; by default that.
        buffer: Instead of a rate: the allocation of each VC, in cells or as `400p` or `64kB`.
        active: Active VCs for which the rate is asked, 1 to `vcs`.
        n2: Cells that the receiver forwards for each credit record of a VC; by default as few as
            keep the credit cells, of one record each, to 1 % of the data.
        cell: A cell or the smallest packet, as it takes up the link, in bytes or as `64B`.
        largest: The largest packet; by default all cells have one size.
        credit_cell: A credit cell or message; by default it has the size of a cell.
        processing: From a cell's last bit at the receiver until the sender may use its credit,
            without propagation, in s or as `200ns`; by default the time to send the cell and then a
            credit cell.
        output: Rate of the receiver's output where it is slower than the link, in bit/s or as
            `50gbit`: N2·C/C_out then takes the place of N2 in equation 2.
        upstream: Delays of the links of further nodes whose VCs share the pool at the receiver's output
            port, in s, as `10us`, or as the length of a cable. RTT of the pool is the largest.
        alpha: The pool of adaptive allocation is 2·alpha·RTT + 2·vcs cells, 2 to 1000; by default 2, and
            3 where VCs of several upstream nodes share it.

    Raises:
        TidegateError: An argument cannot be used, the rate cannot be reached, or the VC would
            deadlock.
    """
    if (length is None) == (delay is None):
        raise TidegateError("give either the length of the link, as 2km, or its delay, as 10us")
    if rate is not None and buffer is not None:
        raise TidegateError("give either a rate, to compute the buffer, or a buffer, to compute the rate")
    bits = _bits("the link's rate", link)
    slowest = bits if output is None else min(bits, _bits("output", output))
    one_way = cable_delay(length) if length is not None else _seconds("delay", delay)
    bytes_ = _bytes("cell", cell)
    place = bytes_ if largest is None else _bytes("largest", largest)
    if place < bytes_:
        raise TidegateError(f"the largest packet ({place} B) is smaller than the smallest ({bytes_} B)")
    credit = bytes_ if credit_cell is None else _bytes("credit_cell", credit_cell)
    _whole("vcs", vcs, MAX_VCS)
    _whole("active", active, MAX_VCS)
    if active > vcs:
        raise TidegateError(f"{active} VCs cannot be active: there are {vcs} (vcs)")
    if alpha is None:
        alpha = ALPHA_OF_SEVERAL_RTTS if upstream else 2
    if not 2 <= alpha <= MAX_ALPHA:
        raise TidegateError(f"`alpha` ({alpha}) is not from 2 to {MAX_ALPHA}")
    waits = None if processing is None else _seconds("processing", processing)
    sized = SizedLink(bits, bytes_, credit, one_way, waits, slowest)
    # VCs leave by the port at most at the rate of the slower of link and output.
    longest = max([one_way, *map(_one_way, upstream)])
    port = SizedLink(slowest, bytes_, credit, longest, waits, slowest)
    batch = sized.n2_for_overhead(OVERHEAD_PERCENT) if n2 is None else _whole("n2", n2, MAX_CELLS)
    given = None if buffer is None else _cells(buffer, place)
    wanted = None if given is not None else _rate(rate, slowest, active)

    def choice(one: int) -> Batch:
        cells = sized.buffer(one, wanted, active) if wanted is not None else (given or 0)
        return Batch(
            n2=one,
            buf_alloc=cells,
            memory=vcs * cells * place,
            overhead=sized.overhead(one, 1),
            overhead_packed=sized.overhead(one, RECORDS_PER_CELL),
        )

    chosen = choice(batch)
    rates = [
        Attained(number, *sized.rates(batch, chosen.buf_alloc, number)) for number in sorted({1, active, vcs})
    ]
    batches = [choice(one) for one in _others(batch, chosen.buf_alloc)]
    cells, queued_below = port.pool(alpha, vcs)
    return CreditSize(
        link=bits,
        output=slowest,
        rtt=sized.rtt,
        rtt_cells=sized.rtt_cells,
        cell=bytes_,
        largest=place,
        vcs=vcs,
        rate=wanted,
        active=active,
        chosen=chosen,
        rates=Rows(rates),
        batches=Rows(batches),
        pool=Pool(1 + len(upstream), port.rtt, alpha, cells, cells * place, queued_below),
    )


def _others(n2: int, buf_alloc: int) -> list[int]:
    """Return N2 and the powers of 4 that are at most a quarter of the buffer (equation 4)."""
    powers = [1]
    while powers[-1] * 16 <= buf_alloc:
        powers.append(powers[-1] * 4)
    return sorted({n2, *powers})


def _bits(name: str, given: str | int) -> int:
    return parse_rate(given) if isinstance(given, str) else _whole(name, given, 10**13)


def _one_way(given: str | float) -> float:
    """Return the delay of a cable's length, or the delay that is given."""
    if isinstance(given, str) and given.endswith("m"):
        return cable_delay(given)
    return _seconds("upstream", given)


def _rate(rate: str | int | None, link: int, active: int) -> int:
    fair = link // active
    if rate is None:
        return fair
    bits = _bits("rate", rate)
    if bits > fair:
        raise TidegateError(
            f"{active} active VCs of a link of {link} bit/s have at most {fair} bit/s each, not {bits}"
        )
    return bits


def _cells(buffer: str | int, place: int) -> int:
    """Return how many cells a buffer holds, each in a place for the largest."""
    if isinstance(buffer, int):
        return _whole("buffer", buffer, MAX_CELLS)
    amount, packets = parse_limit(buffer)
    cells = amount if packets else amount // place
    if cells == 0:
        raise TidegateError(f"a buffer of {amount} B holds no packet of {place} B")
    return _whole("buffer", cells, MAX_CELLS)


def _bytes(name: str, given: str | int) -> int:
    return _whole(name, parse_size(given) if isinstance(given, str) else given, MAX_BYTES)


def _seconds(name: str, given: str | float | None) -> float:
    if isinstance(given, str):
        return parse_time(given)
    if given is None or not 0 <= given <= 1e6:
        raise TidegateError(f"`{name}` ({given}) is not from 0 to 1000000 s")
    return float(given)


def _whole(name: str, given: int, most: int) -> int:
    if not 1 <= given <= most:
        raise TidegateError(f"`{name}` ({given}) is not from 1 to {most}")
    return given
