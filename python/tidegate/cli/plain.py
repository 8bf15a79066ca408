"""Text that cannot do anything to a terminal."""

from __future__ import annotations

import re
import unicodedata

_KEPT = "\n\t"
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that change the order in which a line is shown."""


def plain(text: str) -> str:
    """Return `text` without control characters, which could move the cursor or hide other text."""
    kept = (
        one if one in _KEPT or unicodedata.category(one) != "Cc" else "\N{REPLACEMENT CHARACTER}"
        for one in text
    )
    return _OVERRIDES.sub("\N{REPLACEMENT CHARACTER}", "".join(kept))
