"""Captures of links: the packets that leave them, as pcapng files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidegate._tidegate import TidegateError

Captures = Mapping[str, str | os.PathLike[str]]
"""A file for each link to capture: `s1->s2` for one direction, `s1-s2` for both."""

MAX_SHOWN = 5
"""Most links that a message lists."""


def links_of(links: Sequence[str], name: str) -> list[int]:
    """Return the indexes of the links that a name stands for, in the order of the network.

    Args:
        links: Names of all links, each in one direction, as `s1->s2`.
        name: One of them, or `s1-s2` for both directions of the link between `s1` and `s2`; the second
            one of parallel links is `s1-s2#2`.

    Raises:
        TidegateError: There is none.
    """
    if name in links:
        return [links.index(name)]
    pairs = [_either_way(link) for link in links]
    found = [index for index, ways in enumerate(pairs) if name in ways]
    if not found:
        known = list({frozenset(ways): ways[0] for ways in reversed(pairs)}.values())[::-1]
        near = difflib.get_close_matches(name, [*known, *links], n=1)
        first = ", ".join(known[:MAX_SHOWN]) + (", ..." if len(known) > MAX_SHOWN else "")
        hint = f"did you mean `{near[0]}`?" if near else f"its links are {first}"
        raise TidegateError(f"there is no link `{name}`\n  help: {hint}")
    return found


def _either_way(link: str) -> tuple[str, str]:
    """Return both names of a link without its direction."""
    ends, _, nth = link.partition("#")
    start, _, end = ends.partition("->")
    nth = f"#{nth}" if nth else ""
    return f"{start}-{end}{nth}", f"{end}-{start}{nth}"


def resolved(links: Sequence[str], captures: Captures) -> list[tuple[list[int], Path]]:
    """Return the links and the file of each capture.

    Raises:
        TidegateError: A link is unknown, or two captures have one file.
    """
    wanted = [(links_of(links, name), Path(path)) for name, path in captures.items()]
    paths = [path.absolute() for _, path in wanted]
    for path in paths:
        if paths.count(path) > 1:
            raise TidegateError(f"{path}: two captures have this file")
    return wanted


def parse(given: Sequence[str]) -> Captures:
    """Return what `--pcap` was given, as links and their files.

    Raises:
        TidegateError: One is not LINK=FILE, or a link is given twice.
    """
    captures: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise TidegateError(f"--pcap {text}: write it as LINK=FILE, as in s1-s2=out.pcapng")
        if name in captures:
            raise TidegateError(f"--pcap {text}: the link {name} is given twice")
        captures[name] = path
    return captures
