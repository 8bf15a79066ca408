"""`tidegate credit`: links with credit-based flow control."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.options import Json

if TYPE_CHECKING:
    from tidegate.credit import CreditSize

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def credit() -> None:
    """Size links with credit-based flow control.

    No cell is lost for lack of a buffer on such a link.
    """


def _option(help_text: str, metavar: str) -> typer.models.OptionInfo:
    """Return an option whose default is not shown."""
    option: typer.models.OptionInfo = typer.Option(metavar=metavar, help=help_text, show_default=False)
    return option


@app.command()
def size(
    link: Annotated[str, _option("The link's rate, for example 100gbit.", "RATE")],
    length: Annotated[
        str | None, _option("Length of the cable, for example 2km, at 5 ns a metre.", "LENGTH")
    ] = None,
    delay: Annotated[
        str | None, _option("Instead of a length: one-way propagation, for example 10us.", "TIME")
    ] = None,
    vcs: Annotated[
        int, typer.Option(metavar="N", help="Number of VCs (priorities), each with its own buffer.")
    ] = 1,
    rate: Annotated[
        str | None,
        _option("Rate that each active VC is to have; by default its fair share of the link.", "RATE"),
    ] = None,
    buffer: Annotated[
        str | None,
        _option("Instead of a rate: buffer of each VC, for example 400p (cells or packets) or 64kB.", "SIZE"),
    ] = None,
    active: Annotated[
        int, typer.Option(metavar="N", help="Number of VCs that are active at the given rate.")
    ] = 1,
    n2: Annotated[
        int | None,
        _option(
            "Cells forwarded for each credit record; by default the smallest with 1 % of credit cells.",
            "N",
        ),
    ] = None,
    cell: Annotated[
        str, typer.Option(metavar="SIZE", help="Size of a cell, or of the smallest packet, on the link.")
    ] = "64B",
    largest: Annotated[
        str | None, _option("Size of the largest packet; by default all cells have one size.", "SIZE")
    ] = None,
    credit_cell: Annotated[
        str | None, _option("Size of a credit cell or message; by default that of a cell.", "SIZE")
    ] = None,
    processing: Annotated[
        str | None,
        _option(
            "Time from a cell's last bit at the receiver until its credit is used, without propagation; "
            "by default the time to send the cell and then a credit cell.",
            "TIME",
        ),
    ] = None,
    output: Annotated[
        str | None, _option("Rate of the receiver's output, if it is slower than the link.", "RATE")
    ] = None,
    upstream: Annotated[
        list[str] | None,
        _option("Length or delay of another node's link to the same output; repeatable.", "LENGTH"),
    ] = None,
    alpha: Annotated[
        int | None,
        _option("Pool: 2 N RTT and 2 cells a VC; by default 2, and 3 with --upstream.", "N"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the buffer of each VC for a rate, or the rate of a buffer.

    For example: tidegate credit size --link 100gbit --length 2km --vcs 8
    """
    from tidegate import credit

    found = credit.size(
        link,
        length=length,
        delay=delay,
        vcs=vcs,
        rate=rate,
        buffer=buffer,
        active=active,
        n2=n2,
        cell=cell,
        largest=largest,
        credit_cell=credit_cell,
        processing=processing,
        output=output,
        upstream=upstream or (),
        alpha=alpha,
    )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    _print(found)


def _print(found: CreditSize) -> None:
    from tidegate.cli import screen
    from tidegate.show import plural, quantity

    console = screen.console()
    sizes = quantity(found.cell, "B")
    noun = "cell"
    if found.largest != found.cell:
        noun, sizes = "packet", f"{found.cell} to {found.largest} B"
    console.print(
        f"{quantity(found.link, 'bit/s')} · RTT {quantity(found.rtt, 's')} = "
        f"{found.rtt_cells:.1f} {noun} times · {noun}s of {sizes}",
        style="bold",
    )
    if found.output < found.link:
        console.print(f"the receiver's output has {quantity(found.output, 'bit/s')}")
    chosen = found.chosen
    allocation = f"Buf_Alloc = {plural(chosen.buf_alloc, noun)} each and N2 = {chosen.n2}"
    console.print(
        f"static allocation: {plural(found.vcs, 'VC')} with {allocation}: "
        f"{quantity(chosen.memory, 'B')} of memory"
    )
    console.print()
    table = screen.table("active VCs", "rate of each", "")
    table.columns[-1].justify = "left"
    for one in found.rates:
        if one.least == one.most:
            shown, exactly = quantity(one.least, "bit/s"), "exact" if one.active == 1 else "the fair share"
        else:
            shown, exactly = quantity(one.least, "bit/s"), f"at least; at most {quantity(one.most, 'bit/s')}"
        table.add_row(str(one.active), shown, exactly)
    console.print(table)
    console.print()
    batches = screen.table("N2", "Buf_Alloc", "memory", "overhead", "packed", "")
    for batch in found.batches:
        batches.add_row(
            str(batch.n2),
            str(batch.buf_alloc),
            quantity(batch.memory, "B"),
            quantity(batch.overhead, "share"),
            quantity(batch.overhead_packed, "share"),
            "<" if batch.n2 == chosen.n2 else "",
        )
    console.print(batches)
    notes = [
        "overhead: bytes of credit cells with one record each per byte of data; packed: with six records"
    ]
    if noun == "packet":
        notes.append("rates are for a link full of the smallest packets; each place holds the largest")
    for note in notes:
        console.print(f"  {note}", style="dim")
    console.print()
    pool = found.pool
    whose = "all VCs"
    if pool.nodes > 1:
        whose += f" of {pool.nodes} upstream nodes, the longest RTT {quantity(pool.rtt, 's')}"
    console.print(
        f"adaptive allocation: a pool of M = {plural(pool.cells, noun)} for {whose}: "
        f"{quantity(pool.memory, 'B')} of memory"
    )
    console.print(
        f"  a VC ramps up to its fair share while less than {pool.queued_below:.1f} {noun}s are queued",
        style="dim",
    )
