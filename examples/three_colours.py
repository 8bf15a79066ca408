"""A meter in Python, for `--python examples/three_colours.py --set port.meter=srtcm-in-python`."""

import tidegate
from tidegate.meter import Contract, MeteredPacket
from tidegate.policy import TICKS


class SrTcm(tidegate.Meter):
    """The single rate three colour marker (RFC 2697), colour-blind, with buckets that fill continuously."""

    name = "srtcm-in-python"
    reads = ("reserve", "interval", "workahead", "excess_burst")
    colours = True

    def __init__(self) -> None:
        # A token is a bit, times the ticks in a second: the tokens of a tick are a whole number.
        self.terms: dict[int, tuple[int, int, int]] = {}
        self.tokens: dict[int, tuple[int, int]] = {}
        self.seen: dict[int, int] = {}

    def opened(self, profile: int, contract: Contract) -> None:
        if contract.reserve is None or contract.workahead is None:
            self.terms.pop(profile, None)
            return
        cbs, ebs = (8 * TICKS * burst for burst in (contract.workahead, contract.excess_burst or 0))
        committed, excess = self.tokens.get(profile, (cbs, ebs))
        self.terms[profile] = (round(contract.reserve), cbs, ebs)
        self.tokens[profile] = (min(committed, cbs), min(excess, ebs))

    def arrived(self, now: int, profile: int, packet: MeteredPacket) -> None:
        if profile not in self.terms:
            return
        cir, cbs, ebs = self.terms[profile]
        committed, excess = self.tokens[profile]
        committed += (now - self.seen.get(profile, now)) * cir
        excess = min(excess + max(committed - cbs, 0), ebs)
        committed = min(committed, cbs)
        need = 8 * TICKS * packet.length
        if need <= committed:
            packet.colour, committed = "green", committed - need
        elif need <= excess:
            packet.colour, excess = "yellow", excess - need
        else:
            packet.colour = "red"
        self.tokens[profile], self.seen[profile] = (committed, excess), now

    def closed(self, profile: int) -> None:
        for state in (self.terms, self.tokens, self.seen):
            state.pop(profile, None)
