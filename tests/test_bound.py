"""`tidegate bound`: the example of its page, and flows without a bound."""

import json
import re

import pytest

import tidegate
from conftest import call
from files import ROOT

PAGE = (ROOT / "docs" / "bounds.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
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
    terms = TERM.findall(PAGE)
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


def test_the_table_has_flows_and_their_ports(example):
    shown = call("bound", example).stdout
    assert re.search(r"^call +64\.61 ms +- +separated flow$", shown, re.MULTILINE)
    assert re.search(r"^  s1->s2 +1\.287 ms +\d+ B +any order of service", shown, re.MULTILINE)
    assert re.search(r"^s2->s3 +none$", shown, re.MULTILINE)


def test_members_that_are_alike_share_a_row(example):
    shown = call("bound", example, "--set", "flow.call.count=3").stdout
    assert shown.count("call/") == 2
    assert "call/1 to call/3" in shown
