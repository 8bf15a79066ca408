"""Traffic management for packet networks: simulate it, compare it, understand it.

A scenario is a TOML file, or the same in Python:

    import tidegate
    from tidegate import Chain, Flow, Poisson, Port, Scenario

    scenario = Scenario(
        duration="10s",
        topology=Chain(switches=2, rate="1mbit"),
        port=Port(scheduler="virtual-clock"),
        flow=[Flow(name="data", from_="s1", to="s2", size="250B", source=Poisson(rate="400kbit"))],
    )
    results = tidegate.simulate(scenario, replications=5)
    results.groups["data"].delay_p99  # a mean with its 95 % interval
    results["flows"].to_pandas()  # a row for each flow and run

Everything is loaded when it is first used, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# `__all__` is made on demand, as the names in it are.
if TYPE_CHECKING:
    from tidegate._tidegate import TidegateError as TidegateError
    from tidegate._tidegate import __version__ as __version__
    from tidegate._tidegate import parse_rate as parse_rate
    from tidegate._tidegate import parse_time as parse_time
    from tidegate.comparison import Comparison as Comparison
    from tidegate.comparison import compare as compare
    from tidegate.congestion import CongestionControl as CongestionControl
    from tidegate.contracts import ContractCurve as ContractCurve
    from tidegate.contracts import contract as contract
    from tidegate.detector import Detector as Detector
    from tidegate.dropper import Congested as Congested
    from tidegate.dropper import Drop as Drop
    from tidegate.dropper import Dropper as Dropper
    from tidegate.fairness import Fairness as Fairness
    from tidegate.fairness import measure_fairness as measure_fairness
    from tidegate.maxmin import MaxMin as MaxMin
    from tidegate.maxmin import max_min as max_min
    from tidegate.meter import Meter as Meter
    from tidegate.packet_source import Source as Source
    from tidegate.packet_table import packets as packets
    from tidegate.policies import *  # noqa: F403 (the builders of a scenario)
    from tidegate.policy import load_policies as load_policies
    from tidegate.quantities import Rate as Rate
    from tidegate.quantities import Size as Size
    from tidegate.quantities import Time as Time
    from tidegate.rank import RankScheduler as RankScheduler
    from tidegate.replications import Simulation as Simulation
    from tidegate.replications import simulate as simulate
    from tidegate.replications import simulate_all as simulate_all
    from tidegate.reports import report as report
    from tidegate.results import Results as Results
    from tidegate.scenario_diff import differences as differences
    from tidegate.scheduler import Scheduler as Scheduler
    from tidegate.source import load as load
    from tidegate.stage import Passage as Passage
    from tidegate.stage import Stage as Stage
    from tidegate.sweeps import sweep as sweep

_HOMES = {
    "Comparison": "comparison",
    "Congested": "dropper",
    "CongestionControl": "congestion",
    "ContractCurve": "contracts",
    "Detector": "detector",
    "Drop": "dropper",
    "Dropper": "dropper",
    "Fairness": "fairness",
    "MaxMin": "maxmin",
    "Meter": "meter",
    "Passage": "stage",
    "RankScheduler": "rank",
    "Rate": "quantities",
    "Results": "results",
    "Scheduler": "scheduler",
    "Simulation": "replications",
    "Size": "quantities",
    "Source": "packet_source",
    "Stage": "stage",
    "TidegateError": "_tidegate",
    "Time": "quantities",
    "__version__": "_tidegate",
    "compare": "comparison",
    "contract": "contracts",
    "differences": "scenario_diff",
    "load": "source",
    "load_policies": "policy",
    "max_min": "maxmin",
    "measure_fairness": "fairness",
    "packets": "packet_table",
    "parse_rate": "_tidegate",
    "parse_time": "_tidegate",
    "report": "reports",
    "simulate": "replications",
    "simulate_all": "replications",
    "sweep": "sweeps",
}


def _builders() -> dict[str, Any]:
    policies = import_module("tidegate.policies")
    return {
        name: value
        for name, value in vars(policies).items()
        if isinstance(value, type) and issubclass(value, policies.Record)
    }


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    value: Any
    if name == "__all__":
        value = __dir__()
    elif home is not None:
        value = getattr(import_module(f"tidegate.{home}"), name)
    elif name[:1].isupper() and name in (builders := _builders()):
        value = builders[name]
    else:
        raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOMES, *_builders()})
