"""The workahead of flows along their routes: its option, and its table on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate._tidegate import TidegateError

if TYPE_CHECKING:
    from tidegate.results import Results


def factors(given: str | None) -> list[float]:
    """Return what `--workahead` was given.

    Raises:
        TidegateError: Something in it is not a number.
    """
    found = []
    for text in given.split(",") if given is not None else []:
        try:
            found.append(float(text))
        except ValueError:
            raise TidegateError(
                f"--workahead {given}: {text.strip()!r} is not a factor; write them as 1,1.02"
            ) from None
    return found


def print_increases(results: Results, console: Any) -> list[str]:
    """Show of each group the flow with the greatest burstiness increase on its way, for every factor."""
    from tidegate.cli import screen
    from tidegate.show import with_interval
    from tidegate.summary import Estimate

    flows: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for row in results.workahead_rows():
        flows.setdefault((row["group"], row["factor"], row["flow"]), []).append(row)
    worst: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for (group, factor, _), places in flows.items():
        if (group, factor) not in worst or _increase(places) > _increase(worst[group, factor]):
            worst[group, factor] = places
    if not worst:
        return []

    def figure(row: dict[str, Any], name: str) -> Estimate:
        return Estimate(row[name], row["ci95"][name])

    table = screen.table("workahead", "at", "flow", "W at source", "W at sink", "increase", "most at a link")
    shown, notes = screen.cut(list(worst.items()), "group")
    for (group, factor), places in shown:
        source, sink = places[0], _last(places)
        most = max(places[1:], key=lambda row: row["increase"] or 0.0)
        table.add_row(
            group,
            f"{factor:g} r",
            sink["flow"],
            with_interval(figure(source, "workahead"), "B", "\n"),
            with_interval(figure(sink, "workahead"), "B", "\n"),
            with_interval(figure(sink, "increase_from_source"), "share", "\n"),
            f"{with_interval(figure(most, 'increase'), 'share')}\n{most['link']}",
        )
    console.print(table)
    console.print()
    return [*notes, "workahead: of each group the flow with the greatest increase of W from source to sink"]


def _last(places: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the place farthest from the source; of several, where W has grown most."""
    return max(places, key=lambda row: (row["hop"], row["increase_from_source"] or 0.0))


def _increase(places: list[dict[str, Any]]) -> float:
    increase: float | None = _last(places)["increase_from_source"]
    return -1.0 if increase is None else increase
