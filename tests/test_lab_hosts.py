"""Fairness among hosts in the simulator beside what the kernel's CAKE did, and beside theory."""

import json
import os
from functools import cache
from pathlib import Path

import pytest

from conftest import call
from tidegate.source import resolve
from tidegate_lab.testbed import hosts, runs
from tidegate_lab.testbed.one_port import Port
from tidegate_lab.testbed.plan import described, plan
from tidegate_lab.testbed.traffic import PORT

OPEN = "one packet at a time"
"""The case that does not hold: `docs/linux.md` says why."""
PAGE = Path(__file__).parents[1] / "docs/linux.md"
TRIPLE = [name for name, case in hosts.CASES.items() if case.isolation == "triple-isolate"]


@cache
def compared(name):
    case = hosts.CASES[name]
    return hosts.judge(case, hosts.in_simulator(case), hosts.recorded()[name])


@pytest.mark.parametrize("name", hosts.CASES)
def test_hosts_have_the_shares_of_theory_and_of_the_kernel(name):
    one = compared(name)
    assert one.holds == (name != OPEN), one
    _, ours, _ = one.apart
    assert ours <= 1, one


def test_every_case_was_recorded_and_is_on_the_page():
    assert list(hosts.recorded()) == list(hosts.CASES)
    page = PAGE.read_text(encoding="utf-8")
    for name, case in hosts.CASES.items():
        one = compared(name)
        for number, (group, *shares) in enumerate(one.groups(case)):
            figures = " | ".join(f"{100 * share:.2f}" for share in shares)
            head = "| | |" if number else f"| `{case.isolation}` | {name} |"
            most = " |" if number else f" {100 * one.most(case):.2f} |"
            assert f"{head} {group} | {figures} |{most}\n" in page, name


def without(side):
    """Return the names of cases that hold although the hosts of one side are ignored."""
    held = []
    for name in set(TRIPLE) - {OPEN}:
        case = hosts.CASES[name]
        keys = tuple(hosts.ISOLATIONS[case.isolation].keys(ends).splitlines()[1 - side] for ends in case.ends)
        port = Port('"triple-isolate"', flows=tuple(f"{key}\n" for key in keys))
        if hosts.judge(case, hosts.in_simulator(case, policy=port), hosts.recorded()[name]).holds:
            held.append(name)
    return held


def test_a_scheduler_that_ignores_the_hosts_of_one_side_is_found():
    assert "many to one" not in without(1)
    assert "one to many" not in without(0)
    for side in (0, 1):
        assert not {"both", "two to one that is busy", "at random 2"} & set(without(side))


@pytest.mark.parametrize(
    "policy",
    ['"drr++"', '"host-drr++"', '{ scheduler = { kind = "triple-isolate", quantum = "500B" } }'],
)
def test_another_scheduler_is_found(policy):
    case = hosts.CASES["both"]
    keys = tuple(map(hosts.ISOLATIONS["triple-isolate"].keys, case.ends))
    ours = hosts.in_simulator(case, policy=Port(policy, flows=keys))
    holds = hosts.judge(case, ours, hosts.recorded()["both"]).holds
    # The quantum changes no share.
    assert holds == ("quantum" in policy)


def test_shares_are_those_of_quanta_that_are_divided():
    case = hosts.CASES["two to one that is busy"]
    assert case.shares() == pytest.approx([0.05] * 2 + [0.05] * 8 + [0.5])
    less = hosts.CASES["one that asks for less"]
    assert less.shares() == pytest.approx([0.9504 / 16] * 8 + [0.9504 / 2, 0.0496])
    assert hosts.CASES[OPEN].shares() == pytest.approx([1 / 24] * 24)
    by_source = hosts.CASES["many to one, by source"]
    assert by_source.shares() == pytest.approx([1 / 11] * 11)
    assert all(
        0 < bar < 0.01 * sum(hosts.recorded()[name]) for name in TRIPLE for bar in hosts.CASES[name].bars()
    )


def test_flows_that_share_a_host_have_its_address_and_ports_of_their_own(tmp_path):
    flow = (
        '[[flow]]\nname = "f{0}"\nfrom = "a"\nto = "b"\nsize = "{0}00B"\n'
        'source = {{ kind = "cbr", rate = "1mbit" }}\n'
    )
    text = (
        'version = 1\nduration = "1s"\nlink = [{ from = "a", to = "b", rate = "10mbit" }]\n'
        '[[node]]\nname = "a"\nkind = "host"\n[[node]]\nname = "b"\nkind = "host"\n'
    )
    scenario = resolve(text + "".join(map(flow.format, (1, 2, 3))), ()).scenario
    found = described(scenario)
    arrivals, _ = runs.drawn(scenario, 1, found)
    made = plan(scenario, found, arrivals, tmp_path, [(4, 7), (4, 8), (5, 8)])
    ends = [(one["source_address"], one["address"], one["port"]) for one in made["flows"]]
    assert ends == [
        ("10.64.0.5", "10.0.0.8", PORT + 1),
        ("10.64.0.5", "10.0.0.9", PORT + 2),
        ("10.64.0.6", "10.0.0.9", PORT + 3),
    ]
    for own in made["nodes"]:
        assert len(own["ip"]) == len(set(own["ip"]))
    assert sum("route add 10.0.0.9/32" in line for own in made["nodes"] for line in own["ip"]) == 1


def test_the_command_compares_with_the_record_and_refuses_a_case_that_is_not_there():
    done = call("lab", "hosts", "--recorded", "--only", "many to one, by source")
    assert done.exit_code == 0, done.stderr
    assert "1 of 1 cases hold" in done.stdout
    (row,) = json.loads(call("lab", "hosts", "--recorded", "--only", "to four", "--json").stdout)["cases"]
    assert row["isolation"] == "triple-isolate"
    assert sum(row["theory"]) == pytest.approx(1)
    refused = call("lab", "hosts", "--only", "no-such-case")
    assert refused.exit_code == 1
    assert "no case has `no-such-case` in its name" in refused.stderr


@pytest.mark.skipif(not os.environ.get("TIDEGATE_VERIFY"), reason="takes minutes: set TIDEGATE_VERIFY")
@pytest.mark.parametrize("name", hosts.CASES)
def test_the_kernel_does_what_was_recorded(kernel, name):
    """With another name of the temporary folder the kernel draws other numbers, and a few packets differ."""
    case, recorded = hosts.CASES[name], hosts.recorded()[name]
    for now, then, bar in zip(hosts.in_kernel(kernel, case), recorded, case.bars(), strict=True):
        assert abs(now - then) <= bar
