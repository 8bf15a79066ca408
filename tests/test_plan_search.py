"""Plans beside brute force: every choice of routes of tiny networks, with rates by bisection."""

import os
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from plans import drawn
from tidegate.plan import Conflict, Plan
from tidegate.plan import plan as plan_of
from tidegate.plan.certificate import given
from tidegate.plan.checker import delay, number, rate_of
from tidegate.plan.problem import ROUTES, problem

VERIFY = bool(os.environ.get("TIDEGATE_VERIFY"))
CASES = range(400 if VERIFY else 60)
LARGEST_RATE = 10**8


def routes(links, start, end, passed=()):
    """All ways without a circle."""
    if start == end:
        yield []
        return
    for name, link in links.items():
        if link["from"] == start and link["to"] not in (*passed, start):
            for rest in routes(links, link["to"], end, (*passed, start)):
                yield [name, *rest]


def least_rate(flow, route, largest, wished):
    """The least whole reservation within a delay, by bisection; None if there is none."""

    def is_late(rate):
        return delay({**flow, "reserve": str(rate)}, route, largest) > wished

    low = 1 if flow["contract"] is None else -(-rate_of(flow) // 1)
    if is_late(LARGEST_RATE):
        return None
    high = LARGEST_RATE
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_late(middle) else (low, middle)
    return int(low)


class Brute:
    """All combinations of routes of all flows, without a search."""

    def __init__(self, text):
        self.given = given(problem(text, "drawn", Path.cwd()))
        self.links = {link["name"]: link for link in self.given["links"]}
        self.flows = {flow["name"]: flow for flow in self.given["flows"]}
        self.largest = number(self.given["largest"])

    def demands(self):
        rates = [f"the rate of {name}" for name, flow in self.flows.items() if flow["contract"] is not None]
        return [*rates, *(wish["name"] for wish in self.given["wishes"])]

    def is_possible(self, demands):
        wishes = [wish for wish in self.given["wishes"] if wish["name"] in demands]
        named = {name for name in self.flows if f"the rate of {name}" in demands}
        named |= {name for wish in wishes for name in wish["flows"]}
        least = dict.fromkeys(named, 0)
        for name in named:
            flow = self.flows[name]
            least[name] = 8 * int(flow["packet"]) if flow["contract"] is None else -(-rate_of(flow) // 1)
        for wish in wishes:
            if wish["total"] is None:
                continue
            own = [name for name in wish["flows"] if self.flows[name]["contract"] is not None]
            others = [name for name in wish["flows"] if name not in own]
            rest = Fraction(wish["total"]) - sum(rate_of(self.flows[name]) for name in own)
            if rest > 0 and not others:
                return False
            for name, share in self.divided(rest, others).items():
                least[name] = max(least[name], share)
        options = []
        for name in sorted(named):
            flow = self.flows[name]
            of_flow = []
            for route in routes(self.links, flow["from"], flow["to"]):
                rate = int(least[name])
                for wish in wishes:
                    if wish["delay"] is not None and name in wish["flows"]:
                        ports = [self.links[link] for link in route]
                        needed = least_rate(flow, ports, self.largest, number(wish["delay"]))
                        rate = None if needed is None or rate is None else max(rate, needed)
                if rate is not None:
                    of_flow.append((rate, route))
            options.append(of_flow)
        return any(self.fits(choice) for choice in product(*options))

    def divided(self, rest, names):
        """Equal parts of a total, up to what the widest route of each carries, by the least level."""
        widest = {}
        for name in names:
            ends = self.flows[name]["from"], self.flows[name]["to"]
            widest[name] = max(
                min(int(self.links[link]["rate"]) for link in route) for route in routes(self.links, *ends)
            )
        if sum(widest.values()) < rest:
            return dict.fromkeys(names, LARGEST_RATE)
        level = 0
        for step in (10**6, 10**3, 1):
            while sum(min(level + step, wide) for wide in widest.values()) < rest:
                level += step
        return {name: min(level + 1, wide) if rest > 0 else 0 for name, wide in widest.items()}

    def fits(self, choice):
        left = {name: int(link["rate"]) for name, link in self.links.items()}
        for rate, route in choice:
            for link in route:
                left[link] -= rate
        return min(left.values()) >= 0


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    found = []
    for seed in CASES:
        path = folder / f"{seed}.toml"
        path.write_text(drawn(seed, most_flows=6, tight=True))
        found.append((path.read_text(), plan_of(path)))
    return found


def test_routes_are_the_shortest_ones_without_a_circle(answers):
    several = 0
    for text, _ in answers:
        given = problem(text, "drawn", Path.cwd())
        links = Brute(text).links
        places = {name: place for place, name in enumerate(links)}
        for flow, found in zip(given.flows, given.routes, strict=True):
            ends = given.nodes[flow.start], given.nodes[flow.end]
            all_ = [
                (
                    len(route),
                    sum(number(links[link]["delay"]) for link in route),
                    [places[link] for link in route],
                )
                for route in routes(links, *ends)
            ]
            assert [list(route) for route in found] == [route for *_, route in sorted(all_)[:ROUTES]]
            several += len(found) > 2
    assert several


def test_hosts_of_one_switch_in_a_large_network_have_one_route():
    """There are very many ways to leave the switch, and none to come back."""
    text = (
        'version = 1\nduration = "1s"\n'
        'topology = { kind = "fat-tree", k = 8, rate = "1gbit", access = { rate = "1gbit" } }\n'
    )
    for name, end in (("near", "h2"), ("far", "h128")):
        text += f'[[flow]]\nname = "{name}"\nfrom = "h1"\nto = "{end}"\nsize = "500B"\n'
        text += 'source = { kind = "cbr", rate = "10kbit" }\n'
    near, far = problem(text + '[[wish]]\nflows = "near"\ndelay = "1s"\n', "fat", Path.cwd()).routes
    assert [len(route) for route in near] == [2]
    assert [len(route) for route in far] == [6] * ROUTES


def test_there_is_a_plan_where_a_choice_of_routes_fits(answers):
    for text, answer in answers:
        brute = Brute(text)
        assert isinstance(answer, Plan) == brute.is_possible(brute.demands()), text
    plans = sum(isinstance(answer, Plan) for _, answer in answers)
    assert len(CASES) / 5 < plans < len(CASES) * 4 / 5


def test_a_conflict_has_no_plan_and_each_of_its_demands_is_needed(answers):
    sizes = set()
    for text, answer in answers:
        if not isinstance(answer, Conflict):
            continue
        brute = Brute(text)
        assert answer.is_minimal
        assert set(answer.demands) <= set(brute.demands())
        assert not brute.is_possible(answer.demands), text
        for dropped in answer.demands:
            assert brute.is_possible([one for one in answer.demands if one != dropped]), text
        sizes.add(len(answer.demands))
    assert len(sizes) > 2


def test_reservations_are_the_least(answers):
    """A bit/s less breaks a wish, the rate of the contract, the share of a total, or a packet a second."""
    lowered = 0
    for _, answer in answers:
        if not isinstance(answer, Plan):
            continue
        wishes = answer.certificate["wishes"]
        links = {link["name"]: link for link in answer.certificate["links"]}
        for flow in answer.certificate["flows"]:
            delays = [
                number(wish["delay"]) for wish in wishes if wish["delay"] and flow["name"] in wish["flows"]
            ]
            if flow["contract"] is None or not delays or number(flow["reserve"]) == -(-rate_of(flow) // 1):
                continue
            route = [links[link] for link in flow["route"]]
            less = {**flow, "reserve": str(int(flow["reserve"]) - 1)}
            assert delay(less, route, number(answer.certificate["largest"])) > min(delays)
            lowered += 1
    assert lowered > len(CASES) / 4
