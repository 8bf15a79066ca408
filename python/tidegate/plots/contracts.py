"""The curve W(r), and the delays of an ideal server of rate r."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate._tidegate import __version__
from tidegate.plots import style
from tidegate.show import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tidegate.contracts import ContractCurve

SIZES = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]


def curve(found: ContractCurve) -> Figure:
    """Draw W, the longest delay and its 99 % quantile over the rate, and mark the suggested contract."""
    import matplotlib as mpl

    rates = [point.rate for point in found.curve]
    with mpl.rc_context(style.RC):
        figure = style.new_figure(10.0, 4.2)
        ahead, delays = figure.subplots(1, 2)
        factor, unit = style.scale(rates, style.RATES)
        largest = max(point.workahead for point in found.curve)
        size, of_size = next(one for one in SIZES if largest >= one[0])
        shown = [rate / factor for rate in rates]
        ahead.plot(shown, [point.workahead / size for point in found.curve], marker=".", **style.look(0))
        ahead.plot([found.fitting.reserve / factor], [found.fitting.workahead / size], "o", color="black")
        ahead.annotate(
            f"{quantity(found.fitting.workahead, 'B')} at {quantity(found.fitting.reserve, 'bit/s')}",
            (found.fitting.reserve / factor, found.fitting.workahead / size),
            xytext=(6, 6),
            textcoords="offset points",
            fontsize=8,
        )
        ahead.set_title("Maximum workahead")
        ahead.set_ylabel(f"W ({of_size})")
        longest = [point.delay_max for point in found.curve]
        delays.plot(shown, longest, marker=".", label="longest", **style.look(0))
        delays.plot(
            shown, [point.delay_p99 for point in found.curve], marker=".", label="99 %", **style.look(1)
        )
        style.log_time_axis(delays, "y")
        delays.set_title("Delay that smoothing to the rate costs")
        delays.set_ylabel("delay")
        delays.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for axes in (ahead, delays):
            axes.set_xlabel(f"rate r ({unit})")
            if rates[-1] > 30 * rates[0]:
                axes.set_xscale("log")
        style.log_axis(ahead)
        flow = "" if found.flow is None else f" · {found.flow}"
        figure.supxlabel(
            f"{found.file.name}{flow} · tidegate {__version__}",
            fontsize=7,
            color=style.MUTED,
            x=0.995,
            ha="right",
        )
    return figure
