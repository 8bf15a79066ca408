"""Choice of the groups that are shown: those asked for, else all but the answers of connections."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from tidegate._tidegate import TidegateError
from tidegate.policies import ANSWERS
from tidegate.show import plural


def chosen(available: Sequence[str], wanted: Sequence[str] | None) -> tuple[list[str], str]:
    """Choose groups, and say which are left out.

    Args:
        available: All groups, in the order of the scenario.
        wanted: Those asked for; None for all but the answers of connections.

    Raises:
        TidegateError: A group is unknown.
    """
    if wanted is None:
        # Only the answers of connections have this ending: a name has no slash.
        names = [name for name in available if not name.endswith(ANSWERS)] or list(available)
        left_out = len(available) - len(names)
        return names, f"without {plural(left_out, 'group')} of answers ({ANSWERS})" if left_out else ""
    for name in wanted:
        if name not in available:
            near = difflib.get_close_matches(name, available, n=1)
            first = f"{', '.join(available[:5])}{', …' if len(available) > 5 else ''}"
            hint = f"did you mean `{near[0]}`?" if near else f"its groups are {first}"
            raise TidegateError(f"there is no group `{name}`\n  help: {hint}")
    names = list(dict.fromkeys(wanted))
    whole = len(names) == len(available)
    return names, "" if whole else f"{len(names)} of {len(available)} groups"
