"""The length that a link charges a packet, as `tc` computes it (tc-stab(8))."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Framing:
    """Link-layer overhead.

    Attributes:
        overhead: Bytes that the link adds to each frame, -1024 to 1024.
        mpu: Bytes that a frame takes at least, its overhead included, 0 to 1024.
        atm: True if the link carries ATM cells: 53 bytes for every 48.
    """

    overhead: int = 0
    mpu: int = 0
    atm: bool = False

    def keys(self) -> list[str]:
        """Return the lines of a scenario's link, or of a gate, that state it; none for no overhead."""
        lines = [f"{key} = {number}" for key in ("overhead", "mpu") if (number := getattr(self, key))]
        return [*lines, "atm = true"] if self.atm else lines
