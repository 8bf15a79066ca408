"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tidegate import TidegateError
from tidegate_lab import net, probed
from tidegate_lab.measures import Outcome
from tidegate_lab.names import NAMES

__all__ = ["IN_KERNEL", "NAMES", "PROBED", "carry_out"]

IN_KERNEL = {
    "promise": "trial:promise",
    "reloads": "trial:reloads",
    "plan": "planned:carry_out",
    "circuit": "circuit:carry_out",
    "allocated-capacity": "allocated_capacity:carry_out",
}
"""Those in a kernel in virtual time, which need no root, and the functions of `gate_in_kernel` for them."""

PROBED = ("fairness", "starvation", "reports", "overload", "late")
"""Those that a file describes as a load and a probe."""


def carry_out(name: str, seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out an experiment, each of its rows for `seconds`; `progress` gets the current measurement.

    Raises:
        TidegateError: There is no such experiment, or it cannot be done here.
    """
    if name not in NAMES:
        raise TidegateError(f"there is no experiment `{name}`\n  help: it is one of {', '.join(NAMES)}")
    if name in IN_KERNEL:
        module, _, function = IN_KERNEL[name].partition(":")
        trial: Callable[[float, Callable[[str], None]], Outcome] = getattr(
            import_module(f"tidegate_lab.gate_in_kernel.{module}"), function
        )
        return trial(seconds, progress)
    net.check_permitted()
    if name in PROBED:
        return probed.carry_out(name, seconds, progress)
    outcome: Outcome = import_module(f"tidegate_lab.{name}").carry_out(seconds, progress)
    return outcome
