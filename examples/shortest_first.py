"""A scheduler in Python, for `--python examples/shortest_first.py --set port.scheduler=shortest-first`."""

import tidegate


class ShortestFirst(tidegate.Scheduler):
    """Sends the shortest of the packets that are first in their queues."""

    name = "shortest-first"

    def select(self, now: int) -> int | None:
        return min(self.queues, key=lambda flow: self.queues[flow][0].length, default=None)
