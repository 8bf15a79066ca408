"""A stage in Python, for `--python examples/every_tenth.py` and `[[stage]]` tables with its name."""

import tidegate
from tidegate.stage import Passage, PassingPacket


class EveryTenth(tidegate.Stage):
    """Drops or absorbs every tenth packet that comes to its node."""

    name = "every-tenth"
    parameters = {"nth": 10, "passage": "drop"}
    nth: int

    def __init__(self, nth: int, passage: str) -> None:
        self.count, self.lost = 0, Passage(passage)

    def entered(self, now: int, packet: PassingPacket) -> Passage | None:
        self.count += 1
        return self.lost if self.count % self.nth == 0 else None

    def gauges(self) -> dict[str, float]:
        return {"seen packets": self.count}
