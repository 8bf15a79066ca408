"""`tidegate bound`: the example of its page, and flows without a bound."""

import json
import re

import pytest

import tidegate
from conftest import call
from files import ROOT
from tidegate import bounds as measured

PAGE = (ROOT / "docs" / "bounds.md").read_text(encoding="utf-8")
EXAMPLE, CREDIT = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TERM = re.compile(r"^\| (?!term|\*|-)[^|]+ \| ([\d. +]+) \|$", re.MULTILINE)


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(EXAMPLE)
    return path


def bounds(path, *options):
    done = call("bound", path, "--json", *options)
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    return {flow["flow"]: flow for flow in document["flows"]}, document["links"]


def test_the_bound_of_the_example_is_the_sum_of_its_terms(example):
    terms = TERM.findall(PAGE.partition("## Credit")[0])
    assert len(terms) == 6
    total = sum(float(part) for term in terms for part in term.split("+"))
    assert f"| **bound** | **{total:g}** |" in PAGE
    flows, links = bounds(example)
    voice = flows["call"]
    assert voice["delay"] == pytest.approx(total / 1e3, rel=1e-12)
    assert [hop["link"] for hop in voice["hops"]] == ["h1->s1", "s1->s2", "s2->s3", "s3->h3"]
    assert voice["method"] == "separated flow"
    assert {link["link"] for link in links if link["backlog"] is None} == {"h2->s2", "s2->s3", "s3->h3"}
    (longest,) = [row["delay_max"] for row in tidegate.simulate(example).flow_rows() if row["flow"] == "call"]
    assert f"takes {longest * 1e3:.1f} ms" in PAGE
    assert longest < voice["delay"]


def test_a_flow_without_a_bound_has_the_reason(example):
    flows, _ = bounds(example)
    assert flows["flood"]["delay"] is None
    assert flows["flood"]["reason"].startswith("it sends as fast as the network lets it")
    flows, _ = bounds(example, "--set", "port.scheduler=fifo")
    assert flows["call"]["reason"] == "s2->s3: the traffic of flood is not bounded there"
    flows, _ = bounds(example, "--set", "switch.buffer=10p")
    assert flows["call"]["reason"] == "the buffer of s2 may be too small"


def test_a_flow_over_credit_needs_what_it_sends_in_its_loop(tmp_path):
    page = PAGE.partition("## Credit")[2]
    loop = sum(float(term) for term in TERM.findall(page))
    assert f"| **loop** | **{loop:g}** |" in page
    path = tmp_path / "credit.toml"
    path.write_text(CREDIT)
    flows, _ = bounds(path)
    assert flows["call"]["hops"][1]["delay"] == pytest.approx(5.2e-3, rel=1e-12)
    flows, _ = bounds(path, "--set", "link.a-b.credit.buffer=7")
    assert f"*{flows['call']['reason']}*" in page
    waited = {row["flow"]: row["without_credit"] for row in tidegate.simulate(path).credit_vcs.to_pylist()}
    assert waited["call"] == 0
    assert waited["flood"] > 0.1


def test_the_table_has_flows_and_their_ports(example):
    shown = call("bound", example).stdout
    assert re.search(r"^call +64\.61 ms +- +separated flow$", shown, re.MULTILINE)
    assert re.search(r"^  s1->s2 +1\.287 ms +\d+ B +any order of service", shown, re.MULTILINE)
    assert re.search(r"^s2->s3 +none$", shown, re.MULTILINE)


def test_members_that_are_alike_share_a_row(example):
    shown = call("bound", example, "--set", "flow.call.count=3").stdout
    assert shown.count("call/") == 2
    assert "call/1 to call/3" in shown


def test_run_shows_bounds_beside_the_largest_delays(example):
    done = call("run", example, "--bounds")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^call +24\.73 ms +64\.61 ms +38\.27 %$", done.stdout, re.MULTILINE)
    assert re.search(r"^flood +[\d.]+ s +none +it sends as fast", done.stdout, re.MULTILINE)
    assert "64.61" not in call("run", example).stdout
    document = json.loads(call("run", example, "--bounds", "--json", "--replications", 2).stdout)
    voice, flood = document["bounds"]
    assert (voice["flow"], voice["reason"], flood["bound"], flood["share"]) == ("call", None, None, None)
    assert voice["bound"] == bounds(example)[0]["call"]["delay"]
    assert voice["share"] == voice["delay_max"] / voice["bound"]
    rows = tidegate.simulate(example, replications=2).flows.to_pylist()
    assert voice["delay_max"] == max(row["delay_max"] for row in rows if row["flow"] == "call")
    assert "bounds" not in json.loads(call("run", example, "--json").stdout)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_delay_above_its_bound_ends_the_run_with_an_error(example, monkeypatch, options):
    right = measured.bounds

    def too_small(scenario):
        return [{**flow, "delay": flow["delay"] and flow["delay"] / 3} for flow in right(scenario)]

    monkeypatch.setattr("tidegate.bounds.bounds", too_small)
    done = call("run", example, "--bounds", *options)
    assert done.exit_code == 3
    assert done.stdout
    assert done.stderr.startswith("tidegate: call took 0.0247")
    assert "above its bound of 0.0215" in done.stderr


def test_a_delay_exceeds_its_bound_by_more_than_the_rounding():
    flow = {"flow": "a", "group": "a", "delay": 0.02, "reason": None}
    cases = [(None, False), (0.0, False), (0.02, False), (0.02 + 2e-9, False), (0.02 + 4e-9, True)]
    for delay, exceeds in cases:
        assert measured.compare(flow, delay, 3e-9).exceeds is exceeds
    without = {**flow, "delay": None, "reason": "it is random"}
    assert measured.compare(without, 9.0, 0.0).exceeds is False
    compared = [measured.compare(flow, delay, 0.0) for delay in (0.03, 0.05, 0.01)]
    message = measured.complaint(compared)
    assert message.startswith("a took 0.05 s, above its bound of 0.02 s (1 more are above theirs): ")
    assert measured.complaint(compared[2:]) is None
