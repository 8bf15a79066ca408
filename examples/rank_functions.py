"""Five schedulers by rank functions. Their built-in counterparts have the same outcome.

They are loaded with `--python examples/rank_functions.py`, or `tidegate.load_policies`.
"""

from typing import Any

import tidegate
from tidegate.policy import NEVER, TICKS


class StrictPriority(tidegate.RankScheduler):
    """Strict priority (RFC 2475, section 2.3.3.1): the level of the contract."""

    name = "priority-by-rank"
    reads = ("priority",)

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        return flow.priority


class EarliestDeadlineFirst(tidegate.RankScheduler):
    """Earliest deadline first (Liu and Layland 1973)."""

    name = "edf-by-rank"
    reads = ("deadline",)

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        return NEVER if flow.deadline < 0 else packet.arrived + flow.deadline


class VirtualClock(tidegate.RankScheduler):
    """VirtualClock (Zhang 1991, section 3.1), without monitors and head starts."""

    name = "virtual-clock-by-rank"
    reads = ("reserve",)
    flow_state = {"clock": 0}

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        if flow.reserve < 0:
            return NEVER
        flow.clock = max(flow.clock, packet.arrived) + packet.time
        return flow.clock


class SelfClocked(tidegate.RankScheduler):
    """Self-clocked fair queueing (Golestani 1994): virtual time is the tag of the packet in service."""

    name = "scfq-by-rank"
    reads = ("reserve",)
    parameters = {"unreserved": 10_000.0}
    flow_state = {"finish": 0}
    port_state = {"virtual_time": 0, "latest": 0, "over": 0}

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        # When a busy period is over, no flow is ahead of another.
        if state.packets == 0 and state.now >= state.over:
            state.virtual_time = state.latest
        weight = flow.reserve if flow.reserve > 0 else state.unreserved
        start = max(flow.finish, state.virtual_time)
        flow.finish = start + round(8 * packet.length * TICKS / weight)
        return flow.finish

    @staticmethod
    def served(packet: Any, flow: Any, state: Any) -> None:
        state.virtual_time = max(state.virtual_time, packet.rank)
        state.latest = max(state.latest, packet.rank)
        sent = round(8 * packet.length * TICKS / state.rate)
        state.over = state.now + max(sent, state.latest - state.virtual_time)


class WeightedFair(tidegate.RankScheduler):
    """Weighted fair queueing (Parekh and Gallager 1993), beside a fluid server of up to 64 flows."""

    name = "wfq-by-rank"
    reads = ("reserve",)
    parameters = {"unreserved": 10_000.0}
    port_state = {"virtual_time": 0.0, "as_of": 0, "weights": [0.0] * 64, "finish": [0.0] * 64}

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        # The fluid server serves the backlogged flows from `as_of` until now.
        left = (state.now - state.as_of) * state.rate
        state.as_of = state.now
        while left > 0:
            total, end = 0.0, -1.0
            for one in range(64):
                if state.finish[one] > state.virtual_time:
                    total += state.weights[one]
                    if end < 0 or state.finish[one] < end:
                        end = state.finish[one]
            if end < 0:
                break
            needed = (end - state.virtual_time) * total
            state.virtual_time = end if needed <= left else state.virtual_time + left / total
            left -= needed
        weight = flow.reserve if flow.reserve > 0 else state.unreserved
        start = max(state.finish[packet.flow], state.virtual_time)
        state.weights[packet.flow] = weight
        state.finish[packet.flow] = start + 8 * packet.length * TICKS / weight
        return int(state.finish[packet.flow] + 1 / 64)
