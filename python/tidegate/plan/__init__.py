"""Plans: policy, reservations, routes and buffers with which wishes are kept, from requirements alone."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.bounds import ROUNDING, bounds
from tidegate.plan.certificate import certificate, given
from tidegate.plan.checker import CertificateError, check
from tidegate.plan.demands import Conflict, Planner, conflict, demands
from tidegate.plan.problem import Problem, read
from tidegate.plan.routing import Option, UndecidedError
from tidegate.plan.scenario import document
from tidegate.toml import to_toml

__all__ = ["Conflict", "Plan", "check_certificate", "plan"]


@dataclass(frozen=True)
class Plan:
    """A plan that keeps all wishes of a requirements file.

    Attributes:
        problem: The network, the flows and the wishes.
        chosen: The reservation in bit/s and the links of the route of each planned flow.
        certificate: All that its promises stand on, exactly: docs/plans.md.
    """

    problem: Problem
    chosen: dict[int, Option]
    certificate: dict[str, Any]

    def toml(self, folder: Path) -> str:
        """Return the scenario of the plan, as a file in `folder` holds it."""
        return to_toml(document(self.problem, self.chosen, self.certificate["buffers"], folder))

    def scenario(self, folder: Path) -> _tidegate.Scenario:
        """Return the scenario of the plan, as a file in `folder` would be read."""
        return _tidegate.Scenario.parse(self.toml(folder), "plan", folder)

    def certified(self, scenario: _tidegate.Scenario) -> list[dict[str, Any]]:
        """Return the certified bounds of all flows of its scenario, as `tidegate.bounds.bounds` does."""
        none = {"delay": None, "reason": "it is background traffic"}
        groups = [one["group"] for one in json.loads(scenario.network_json())["flows"]]
        found = [
            {"flow": flow, "group": group} | none for flow, group in zip(scenario.flows, groups, strict=True)
        ]
        for flow, entry in zip(self.problem.flows, self.certificate["flows"], strict=True):
            found[flow.place] |= {"delay": float(Fraction(entry["bound"])), "reason": None}
        return found

    def bounds(self, scenario: _tidegate.Scenario) -> list[dict[str, Any]]:
        """Return the bounds of all flows of the plan's scenario as `tidegate bound` computes them.

        Raises:
            TidegateError: A planned flow has none, or one that is above that of the certificate.
        """
        found = bounds(scenario)
        certified = self.certified(scenario)
        for flow in self.problem.flows:
            bound, promise = found[flow.place], certified[flow.place]["delay"]
            if bound["delay"] is None:
                raise TidegateError(f"{flow.name} has no bound in the plan: {bound['reason']}")
            if bound["delay"] > promise * (1 + ROUNDING):
                two = f"{promise:.9g} s, but its bound is {bound['delay']:.9g} s"
                raise TidegateError(f"{flow.name} is certified {two}: one of the two is wrong")
        return found


def plan(file: str | os.PathLike[str]) -> Plan | Conflict:
    """Plan a network for the wishes of a requirements file.

    The certificate of a plan has been checked.

    Args:
        file: A scenario file with sections `[[wish]]`.

    Returns:
        The plan, or demands of which not all can be kept.

    Raises:
        TidegateError: The file has a mistake, or the search has ended without an answer.
        OSError: It cannot be read.
    """
    problem = read(Path(file))
    planner = Planner(problem)
    wanted = demands(problem)
    try:
        chosen = planner.solve(wanted)
    except UndecidedError:
        raise TidegateError(
            f"{file}: no choice of routes was found, and none could be excluded\n"
            "  help: state the `route` of some flows, or leave more of the links free"
        ) from None
    if chosen is None:
        return conflict(planner, wanted)
    made = certificate(problem, chosen)
    check(made)
    return Plan(problem, chosen, made)


def check_certificate(file: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Check that a certificate is one for a requirements file, and that all of its promises hold.

    Args:
        file: The requirements file.
        path: The certificate.

    Raises:
        TidegateError: The certificate is refused; the message says why.
        OSError: A file cannot be read.
    """
    problem = read(Path(file))
    try:
        claimed = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise TidegateError(f"{path}: it is no JSON: {error}") from None
    try:
        check(claimed)
        for key, right in given(problem).items():
            if _without_answers(claimed.get(key)) != right:
                raise CertificateError(f"its `{key}` are not those of {file}")
    except CertificateError as error:
        raise TidegateError(f"{path}: refused: {error}") from None


ANSWERS = ("route", "reserve", "bound", "backlogs")
"""Keys of flows and wishes in a certificate that are the plan's, and not the requirements'."""


def _without_answers(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [{key: part for key, part in entry.items() if key not in ANSWERS} for entry in value]
