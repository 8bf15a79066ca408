"""`tidegate plan`: plans, conflicts, files and bad input on the command line."""

import gzip
import json
import os
import re
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tidegate
from captures import DATA
from conftest import call
from files import ROOT
from plans import OFFICE
from tidegate.cli.plan import NOT_ALL
from tidegate.estimates import Estimate
from tidegate.plan import Plan
from tidegate.plan import plan as plan_of
from tidegate.plan.trial import Measured, Trial, attacked, simulated
from tidegate.toml import loads, to_toml

QUICK = ("--replications", 0, "--tries", 0)


def written(tmp_path, text):
    path = tmp_path / "office.toml"
    path.write_text(text)
    return path


def test_a_plan_is_shown_written_and_run(tmp_path):
    path, out = written(tmp_path, OFFICE), tmp_path / "out"
    done = call("plan", path, "--out", out, "--tries", 20)
    assert done.exit_code == 0, done.stderr
    assert re.search(
        r"^calls +20\.00 ms +20\.00 ms +[\d.]+ ms ± [\d.]+ +[\d.]+ ms$", done.stdout, re.MULTILINE
    )
    assert re.search(r"^backups +5\.000 Mbit/s +5\.000 Mbit/s ", done.stdout, re.MULTILINE)
    assert re.search(r"^voice/1 to voice/3 +\d+\.\d kbit/s +20\.00 ms ", done.stdout, re.MULTILINE)
    assert "attack on voice/1 (calls): " in done.stdout
    assert {one.name for one in out.iterdir()} == {"plan.toml", "certificate.json"}
    ran = call("run", out / "plan.toml", "--bounds", "--replications", 2)
    assert ran.exit_code == 0, ran.stderr
    checked = call("plan", path, "--check", out / "certificate.json")
    assert (checked.exit_code, checked.stdout) == (0, f"{out / 'certificate.json'}: every promise holds\n")
    checked = json.loads(call("plan", path, "--check", out / "certificate.json", "--json").stdout)
    assert checked == {"certificate": str(out / "certificate.json"), "holds": True}
    later = tmp_path / "later.toml"
    later.write_text(OFFICE.replace('"20ms"', '"19ms"'))
    refused = call("plan", later, "--check", out / "certificate.json")
    assert refused.exit_code == 1
    assert f"refused: its `wishes` are not those of {later}" in refused.stderr
    both = call("plan", path, "--bounds", "--tries", 0, "--replications", 1)
    assert both.exit_code == 0, both.stderr
    assert re.search(r"^voice/1 to voice/3 +\d+\.\d kbit/s +20\.00 ms +[\d.]+ ms ", both.stdout, re.MULTILINE)
    again = call("plan", path, "--out", out, *QUICK)
    assert again.exit_code == 0, again.stderr


def test_json_has_the_certificate_and_the_trial(tmp_path):
    done = call("plan", written(tmp_path, OFFICE), "--json", "--tries", 5)
    document = json.loads(done.stdout)
    assert document["conflict"] is None
    assert [wish["name"] for wish in document["certificate"]["wishes"]] == ["calls", "backups"]
    calls, backups = document["simulated"]["wishes"]
    assert calls["is_kept"]
    assert 0 < calls["mean"] <= calls["worst"] < 0.02
    assert calls["half_width"] > 0
    assert 4.9e6 < backups["worst"] <= 5.1e6
    assert document["simulated"]["dropped"] == 0
    assert 0 < document["attack"]["delay"] <= document["attack"]["bound"] <= 0.02
    short = json.loads(call("plan", written(tmp_path, OFFICE), "--json", *QUICK).stdout)
    assert (short["simulated"], short["attack"]) == (None, None)


def test_a_trial_finds_wishes_that_are_not_kept(tmp_path):
    """A slower link than that of the plan makes calls late and backups short; a small buffer drops."""
    plan = plan_of(written(tmp_path, OFFICE))
    table = loads(plan.toml(tmp_path))
    as_planned = simulated(plan, tidegate.load(saved(tmp_path, table)), [], 2)
    assert [one.is_kept for one in as_planned.measured] == [True, True]
    assert as_planned.dropped == 0
    table["topology"]["rate"] = "3mbit"
    reserved = [flow.pop("reserve") for flow in table["flow"]]
    del table["switch"]
    slower = simulated(plan, tidegate.load(saved(tmp_path, table)), [], 2)
    assert [one.is_kept for one in slower.measured] == [False, False]
    table["topology"]["rate"] = "10mbit"
    for flow, reserve in zip(table["flow"], reserved, strict=True):
        flow["reserve"] = reserve
    table["switch"] = {"buffer": "1500B"}
    assert simulated(plan, tidegate.load(saved(tmp_path, table)), [], 1).dropped > 0


def saved(folder, table):
    path = folder / "changed.toml"
    path.write_text(to_toml(table))
    return path


@pytest.mark.parametrize(
    ("trial", "message"),
    [
        (Trial((), 0, "voice/1 took 1 s, above its bound"), "voice/1 took 1 s, above its bound"),
        (
            Trial((Measured("calls", Estimate(1.0, None), 1.0, False),), 0, None),
            "does not keep calls, ",
        ),
        (Trial((), 5, None), "switches dropped 5 packets: the buffers are wrong"),
    ],
)
def test_a_trial_that_fails_ends_the_command_with_an_error(tmp_path, monkeypatch, trial, message):
    measured = trial.measured or (Measured("calls", Estimate(1.0, None), 1.0, True),) * 2
    measured = measured if len(measured) == 2 else measured * 2
    given = replace(trial, measured=measured)
    monkeypatch.setattr("tidegate.plan.trial.simulated", lambda *_: given)
    done = call("plan", written(tmp_path, OFFICE), "--tries", 0)
    assert done.exit_code == 3
    assert done.stdout
    assert message in done.stderr


def test_a_certificate_below_the_bound_is_an_error(tmp_path, monkeypatch):
    right = Plan.certified

    def too_small(plan, scenario):
        return [{**one, "delay": one["delay"] / 10} for one in right(plan, scenario)]

    monkeypatch.setattr(Plan, "certified", too_small)
    path = written(tmp_path, OFFICE)
    done = call("plan", path, "--bounds", *QUICK)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "voice/1 is certified 0.0019" in done.stderr


def test_an_attack_above_the_certificate_is_an_error(tmp_path, monkeypatch):
    def above(*arguments):
        name, found = attacked(*arguments)
        return name, replace(found, complaint="voice/1 took 1 s, above its bound of 0.02 s")

    monkeypatch.setattr("tidegate.plan.trial.attacked", above)
    done = call("plan", written(tmp_path, OFFICE), "--replications", 0, "--tries", 5)
    assert done.exit_code == 3
    assert "attack on voice/1 (calls)" in done.stdout
    assert done.stderr == "tidegate: voice/1 took 1 s, above its bound of 0.02 s\n"


def test_a_conflict_is_named_with_the_link(tmp_path):
    path = written(tmp_path, OFFICE.replace('"5mbit"', '"9500kbit"'))
    done = call("plan", path)
    assert done.exit_code == NOT_ALL
    assert done.stdout.startswith("these cannot be kept together:\n  calls\n  backups\ns2->s3: 1")
    assert done.stdout.endswith(
        "must be reserved, of 10.00 Mbit/s\nwithout any one of them, there is a plan for all others here\n"
    )
    conflict = json.loads(call("plan", path, "--json").stdout)["conflict"]
    assert conflict["demands"] == ["calls", "backups"]
    assert conflict["is_minimal"]


@pytest.mark.parametrize(
    ("old", "new", "demand", "why"),
    [
        ('"20ms"', '"4500us"', "calls", "no route of voice/1 is so fast, whatever is reserved"),
        (
            '"80kbit"',
            '"4mbit"',
            "the rate of voice",
            "s1->s2: 12.00 Mbit/s must be reserved, of 10.00 Mbit/s",
        ),
        ('"5mbit"', '"11mbit"', "backups", "s2->s3: 11.00 Mbit/s must be reserved, of 10.00 Mbit/s"),
        (
            'flows = "backup"',
            'flows = "voice"',
            "backups",
            "backups: the contracts of its flows have 4.760 Mbit/s less",
        ),
    ],
)
def test_a_wish_that_cannot_be_kept_at_all(tmp_path, old, new, demand, why):
    text = OFFICE.replace(old, new)
    if "4mbit" in new:
        text = text.replace('peak = "1mbit"', 'peak = "5mbit"')
    done = call("plan", written(tmp_path, text))
    assert (done.exit_code, done.stdout) == (NOT_ALL, f"this cannot be kept: {demand}\n{why}\n")


def test_what_cannot_be_decided_is_no_conflict(tmp_path, monkeypatch):
    """Flows that fit in sum and not one by one need the search; where it gives up there is no answer."""
    text = 'version = 1\nduration = "1s"\n'
    text += "".join(f'[[node]]\nname = "{node}"\n' for node in "asbt")
    ends = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")]
    text += "".join(f'[[link]]\nfrom = "{one}"\nto = "{other}"\nrate = "10mbit"\n' for one, other in ends)
    for flow, rate in enumerate([6, 6, 4, 3]):
        text += f'[[flow]]\nname = "f{flow}"\nfrom = "s"\nto = "t"\nsize = "500B"\n'
        text += f'source = {{ kind = "cbr", rate = "{rate}mbit" }}\n'
    text += '[[wish]]\nflows = "f0"\ndelay = "1s"\n'
    path = written(tmp_path, text)
    assert call("plan", path, *QUICK).exit_code == 0
    path = written(tmp_path, text.replace('"4mbit"', '"9mbit"'))
    done = call("plan", path)
    assert done.exit_code == NOT_ALL
    assert "the links of s: 21.00 Mbit/s must be reserved, of 20.00 Mbit/s" in done.stdout
    path = written(tmp_path, text.replace('"4mbit"', '"5mbit"'))
    done = call("plan", path)
    assert done.exit_code == NOT_ALL
    assert done.stdout == (
        "these cannot be kept together:\n  the rate of f0\n  the rate of f1\n  the rate of f2\n"
        "no choice of routes fits the links\nwithout any one of them, there is a plan for all others here\n"
    )
    monkeypatch.setattr("tidegate.plan.routing._Search.run", _gives_up)
    done = call("plan", path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no choice of routes was found, and none could be excluded" in done.stderr


def _gives_up(_):
    from tidegate.plan.routing import UndecidedError

    raise UndecidedError


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ('to = "h3"', 'to = "h9"', "11:6", "there is no node `h9`"),
        ('rate = "80kbit"', 'rate = "0kbit"', "14:21", "`0kbit` is not a rate"),
        ('size = "200B"', 'size = "200"', "12:8", "unit"),
        ('name = "backup"', 'name = "voice"', "17:8", "`voice`"),
        ('delay = "20ms"', 'delay = "20"', "27:9", "unit"),
        ('delay = "20ms"', "delay = 20", "27:9", "`delay` must be text with its unit"),
        ('delay = "20ms"', 'delay = "0ms"', "27:9", "a delay must be above zero"),
        (
            'delay = "20ms"',
            'delay = "20ms"\ntotal = "1mbit"',
            "28:9",
            "this wish has both `delay` and `total`",
        ),
        ('delay = "20ms"\n', "", "24:1", "this wish has no `delay` and no `total`"),
        ('total = "5mbit"', 'total = "5ms"', "32:9", "unit"),
        ('total = "5mbit"', 'total = "0mbit"', "32:9", "1bit"),
        ('flows = "voice"', 'flows = "vioce"', "26:9", "there is no flow `vioce`"),
        ('flows = "voice"', "flows = []", "26:9", "`flows` must name flows"),
        ('flows = "voice"', 'flows = ["voice", "voice/2"]', "26:9", "`flows` names a flow twice"),
        ('flows = "voice"\n', "", "24:1", "this wish has no `flows`"),
        ('flows = "voice"', 'flow = "voice"', "26:1", "a wish has no key `flow`"),
        ('name = "backups"', 'name = "calls"', "30:8", "there is another wish `calls`"),
        ('name = "backups"', "name = 5", "30:8", "`name` must be text"),
        ("[[flow]]", 'port = "fifo"\n[[flow]]', "7:1", "the plan chooses the policy"),
        ("[[flow]]", 'switch = { buffer = "50p" }\n[[flow]]', "7:1", "the plan computes the buffers"),
        ("[[flow]]", '[[class]]\nname = "a"\nscheduler = "fifo"\n[[flow]]', "7:3", "a plan has no classes"),
        ("[[wish]]", "[[match]]\nflow = 5\n[[wish]]", "25:8", "`flow` must name a flow of the file"),
    ],
)
def test_bad_input_has_one_message_with_its_place(tmp_path, old, new, place, message):
    path = written(tmp_path, OFFICE.replace(old, new, 1))
    done = call("plan", path)
    assert (done.exit_code, done.stdout) == (1, "")
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"tidegate: {path}:"), done.stderr
    assert message in done.stderr, done.stderr
    assert [line[:4] for line in rest].count("  he") <= 1, done.stderr
    assert len(rest) <= 3, done.stderr
    assert first.removeprefix(f"tidegate: {path}:").startswith(f"{place}:"), done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"80kbit", burst = "400B", peak = "1mbit" }',
            '"80kbit", burst = "400B", excess = "mark" }',
            "has no contract",
        ),
        (
            'envelope = { rate = "80kbit", burst = "400B", peak = "1mbit" }\n',
            "",
            "voice/1 has no contract: its source is random",
        ),
        ("[[wish]]", "[wish]", ":29:3: "),
        (OFFICE[OFFICE.index("[[wish]]") :], '[wish]\nflows = "voice"', "wishes and matches are sections"),
        ('name = "calls"', 'name = "calls"\n[wish.x]', "wishes and matches are sections"),
        (OFFICE[OFFICE.index("[[wish]]") :], "", "this file has no wish"),
        ('name = "calls"', "name = ", ""),
        (
            "[[flow]]",
            '[[link]]\nfrom = "s1"\nto = "s3"\nrate = "1mbit"\nscheduler = "fifo"\n[[flow]]',
            "the plan chooses the policy of s1->s3",
        ),
        (
            "[[wish]]",
            '[[flow]]\nname = "x"\nfrom = "h1"\nto = "h3"\nsize = "1kB"\nreserve = "1mbit"\n'
            'source = { kind = "poisson", rate = "1mbit" }\n[[wish]]',
            "x reserves a rate and has no contract",
        ),
        ("source", 'ceiling = "1mbit"\nsource', "with the `ceiling` of voice nothing can be promised"),
        ("[[flow]]", '[[node]]\nname = "x"\nbuffer = "1kB"\n[[flow]]', "the plan computes the buffer of x"),
    ],
)
def test_other_mistakes_have_one_message(tmp_path, old, new, message):
    path = written(tmp_path, OFFICE.replace(old, new, 1))
    done = call("plan", path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"tidegate: {path}:")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there(tmp_path):
    for arguments in (
        ("plan", tmp_path / "none.toml"),
        ("plan", written(tmp_path, OFFICE), "--check", tmp_path / "no"),
    ):
        done = call(*arguments)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.endswith("No such file or directory\n")
    (tmp_path / "no").write_text("{")
    done = call("plan", written(tmp_path, OFFICE), "--check", tmp_path / "no")
    assert done.stderr.startswith(f"tidegate: {tmp_path / 'no'}: it is no JSON: ")


@pytest.mark.parametrize("key", ["loss = 0.1", "overhead = 24"])
def test_a_flow_without_a_way_is_named(key, tmp_path):
    text = 'version = 1\nduration = "1s"\n' + "".join(f'[[node]]\nname = "{node}"\n' for node in "ab")
    text += '[[link]]\nfrom = "a"\nto = "b"\nrate = "1mbit"\n' + f"{key}\n"
    text += '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nsize = "500B"\n'
    text += 'source = { kind = "cbr", rate = "10kbit" }\n'
    done = call("plan", written(tmp_path, text + '[[wish]]\nflows = "f"\ndelay = "1s"\n'))
    assert done.exit_code == NOT_ALL
    assert done.stdout == "this cannot be kept: the rate of f\nthere is no route of f from a to b\n"


@pytest.mark.parametrize("key", ["loss = 0.1", "overhead = 24", 'change = [{ at = "1ms", delay = "9ms" }]'])
def test_a_stated_route_over_a_link_without_promises_is_refused(key, tmp_path):
    text = 'version = 1\nduration = "1s"\n' + "".join(f'[[node]]\nname = "{node}"\n' for node in "ab")
    text += '[[link]]\nfrom = "a"\nto = "b"\nrate = "1mbit"\n' + f"{key}\n"
    text += '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nroute = ["a", "b"]\nsize = "500B"\n'
    text += 'source = { kind = "cbr", rate = "10kbit" }\n[[wish]]\nflows = "f"\ndelay = "1s"\n'
    done = call("plan", written(tmp_path, text))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "nothing can be promised to f over a->b" in done.stderr


def test_a_total_is_divided_in_equal_parts_as_far_as_links_are_wide(tmp_path):
    text = OFFICE.replace('name = "backup"\ncount = 2\nfrom = "h2"', 'name = "near"\nfrom = "h2"')
    text += '[[flow]]\nname = "far"\nfrom = "slow"\nto = "h3"\nsize = "1500B"\nsource = { kind = "greedy" }\n'
    text = text.replace('flows = "backup"\ntotal = "5mbit"', 'flows = ["near", "far"]\ntotal = "5mbit"')
    text += '[[node]]\nname = "slow"\nkind = "host"\n[[link]]\nfrom = "slow"\nto = "s2"\nrate = "1mbit"\n'
    reserved = {one["name"]: one["reserve"] for one in plan_of(written(tmp_path, text)).certificate["flows"]}
    assert (reserved["near"], reserved["far"]) == ("4000000", "1000000")
    equal = text.replace('total = "5mbit"', 'total = "1999999bit"')
    reserved = {one["name"]: one["reserve"] for one in plan_of(written(tmp_path, equal)).certificate["flows"]}
    assert (reserved["near"], reserved["far"]) == ("1000000", "1000000")


def test_no_route_crosses_a_host(tmp_path):
    """The way over a host with two links is the shortest."""
    text = 'version = 1\nduration = "200ms"\n' + "".join(f'[[node]]\nname = "{node}"\n' for node in "abcd")
    text += '[[node]]\nname = "h"\nkind = "host"\n'
    for one, other in ("ah", "hd", "ab", "bc", "cd"):
        text += f'[[link]]\nfrom = "{one}"\nto = "{other}"\nrate = "1mbit"\n'
    for name, start, end in (("past", "a", "d"), ("from", "h", "c")):
        text += f'[[flow]]\nname = "{name}"\nfrom = "{start}"\nto = "{end}"\nsize = "500B"\n'
        text += 'source = { kind = "cbr", rate = "10kbit" }\n'
    path = written(tmp_path, text + '[[wish]]\nflows = "past"\ndelay = "1s"\n')
    plan = plan_of(path)
    assert [flow["route"] for flow in plan.certificate["flows"]] == [
        ["a->b", "b->c", "c->d"],
        ["h->d", "d->c"],
    ]
    assert tidegate.simulate(plan.scenario(tmp_path)).packet_hops > 0


def test_contracts_recordings_and_stated_routes_are_kept(tmp_path):
    """A contract as `tidegate contract` prints it, and a recording with `reserve`, keep their rates."""
    (tmp_path / "times.txt").write_text("".join(f"{0.01 * number:.3f} 500\n" for number in range(30)))
    text = """\
version = 1
duration = "400ms"
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts = 1, rate = "9mbit" }

[[flow]]
name = "contract"
from = "h1"
to = "h2"
size = "500B"
reserve = "500kbit"
workahead = "3kB"
peak = "2mbit"
interval = "100ms"
source = { kind = "greedy" }
envelope = "token-bucket"

[[flow]]
name = "interval"
from = "h1"
to = "h2"
size = "500B"
reserve = "100kbit"
interval = "100ms"
source = { kind = "greedy" }
envelope = { excess = "wait" }

[[flow]]
name = "recorded"
from = "h1"
to = "h2"
route = ["h1", "leaf1", "spine2", "leaf2", "h2"]
reserve = "400kbit"
source = { kind = "trace", file = "times.txt" }

[[wish]]
flows = ["contract", "interval", "recorded"]
delay = "15ms"
"""
    out = tmp_path / "elsewhere" / "deep"
    done = call("plan", written(tmp_path, text), "--out", out, "--tries", 5)
    assert done.exit_code == 0, done.stderr
    table = loads((out / "plan.toml").read_text())
    contract, interval, recorded = table["flow"]
    assert contract["envelope"] == {"rate": "500kbit", "burst": "3kB", "peak": "2mbit"}
    assert interval["envelope"] == {"excess": "wait", "rate": "100kbit", "burst": "1250B"}
    assert recorded["envelope"]["rate"] == "400000bit"
    assert recorded["route"][2] == "spine2"
    assert all(int(flow["reserve"][:-3]) > 500_000 for flow in table["flow"])
    assert not {"peak", "workahead", "interval"} & contract.keys()
    assert table["switch"]["buffer"]


def test_members_that_take_other_routes_are_flows_of_their_own(tmp_path):
    text = OFFICE.replace(
        'kind = "chain", switches = 3, rate = "10mbit", delay = "2ms", access',
        'kind = "leaf-spine", leaves = 2, spines = 2, hosts = 2, rate = "4mbit", access',
    )
    plan = plan_of(written(tmp_path, text))
    flows = {flow["name"]: flow for flow in loads(plan.toml(tmp_path))["flow"]}
    assert {"backup-1", "backup-2"} < flows.keys()
    assert flows["backup-1"]["route"] != flows["backup-2"]["route"]
    assert "count" not in flows["backup-1"]


def test_a_plan_for_one_link_has_a_gate_file(tmp_path):
    """Members of a group are one flow of the gate; without matches there is none."""
    text = OFFICE.replace(
        'switches = 3, rate = "10mbit", delay = "2ms", access = { rate = "100mbit" }',
        'switches = 2, rate = "10mbit", delay = "2ms"',
    )
    text = (
        text.replace('"h1"', '"s1"')
        .replace('"h3"', '"s2"')
        .replace('from = "h2"\nto = "s2"', 'from = "s2"\nto = "s1"')
    )
    path, out = written(tmp_path, text), tmp_path / "out"
    assert call("plan", path, "--out", out, *QUICK).exit_code == 0
    assert not (out / "gate.toml").exists()
    text += '[[match]]\nflow = "voice"\ndscp = "ef"\n[[match]]\nflow = "backup"\nprotocol = "tcp"\n'
    assert call("plan", written(tmp_path, text), "--out", out, *QUICK).exit_code == 0
    gate = loads((out / "gate.toml").read_text())
    certificate = json.loads((out / "certificate.json").read_text())
    reserved = {flow["name"]: int(flow["reserve"]) for flow in certificate["flows"]}
    voice, backup = gate["flow"]
    assert voice["up"]["reserve"] == f"{3 * reserved['voice/1']}bit"
    assert backup["down"]["reserve"] == "5000000bit"
    assert (voice["match"], backup["match"]) == ({"dscp": "ef"}, {"protocol": "tcp"})
    done = call("gate", "check", out / "gate.toml")
    assert done.exit_code == 0, done.stderr


NODES, LINKS = DATA / "matrices/AbileneTM.txt.gz", DATA / "topology/cfr-rl/Abilene.tsv"
CITIES = ["ATLA-M5", "ATLA", "CHIN", "DNVR", "HSTN", "IPLS", "KSCY", "LOSA", "NYCM", "SNVA", "STTL", "WASH"]
MATRIX = 1000


def abilene(total):
    """Abilene with a measured matrix, 60 calls and 8 backups, by the OSPF weights in miles: 5 µs a km."""
    rows = [line.split() for line in LINKS.read_text(encoding="utf-8").splitlines()[2:]]
    parts = ['version = 1\nname = "Abilene"\nduration = "300ms"\nwarmup = "50ms"\n']
    parts += [f'[[node]]\nname = "{city}"\n' for city in CITIES]
    parts += [
        f'[[link]]\nfrom = "{CITIES[int(start)]}"\nto = "{CITIES[int(end)]}"\nrate = "{rate}kbit"\n'
        f'delay = "{int(weight) * 8}us"\nduplex = false\n'
        for _, start, end, weight, rate in rows
    ]
    names = ", ".join(f'"{city}"' for city in CITIES)
    matrix = f'{{ file = "{NODES}", line = {MATRIX}, nodes = [{names}] }}'
    parts.append(f'[[flow]]\nname = "demands"\nsize = "1500B"\nmatrix = {matrix}\n')
    parts.append('source = { kind = "cbr", rate = "3600mbit" }\n')
    ends = [(first, second) for first in range(12) for second in range(12) if first != second]
    calls = [f"call-{number}" for number in range(60)]
    for name, (first, second) in zip(calls, ends[::2], strict=False):
        parts.append(
            f'[[flow]]\nname = "{name}"\nfrom = "{CITIES[first]}"\nto = "{CITIES[second]}"\nsize = "200B"\n'
        )
        parts.append('source = { kind = "poisson", rate = "64kbit" }\n')
        parts.append('envelope = { rate = "80kbit", burst = "800B" }\n')
    backups = [f"backup-{number}" for number in range(8)]
    for name, (first, second) in zip(backups, ends[5::16], strict=False):
        parts.append(
            f'[[flow]]\nname = "{name}"\nfrom = "{CITIES[first]}"\nto = "{CITIES[second]}"\nsize = "1500B"\n'
        )
        parts.append('source = { kind = "greedy" }\n')
    parts.append(f'[[wish]]\nname = "calls"\nflows = {json.dumps(calls)}\ndelay = "50ms"\n')
    parts.append('[[wish]]\nname = "demands"\nflows = "demands"\ndelay = "100ms"\n')
    parts.append(f'[[wish]]\nname = "backups"\nflows = {json.dumps(backups)}\ntotal = "{total}"\n')
    return "".join(parts)


needs_abilene = pytest.mark.skipif(not NODES.is_file(), reason="needs Abilene's matrices in ../shared/data")


@needs_abilene
def test_abilene_with_a_measured_matrix_is_planned(tmp_path):
    """200 flows in less than 10 s of processor time, with all simulations; every wish is kept."""
    path, out = written(tmp_path, abilene("4gbit")), tmp_path / "out"
    before = time.process_time()
    done = call("plan", path, "--out", out, "--tries", 5, "--json")
    spent = time.process_time() - before
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert all(wish["is_kept"] for wish in document["simulated"]["wishes"])
    assert document["simulated"]["dropped"] == 0
    flows = document["certificate"]["flows"]
    with gzip.open(NODES, "rt") as file:
        demands = np.loadtxt(file)[MATRIX - 1].reshape(12, 12)
    np.fill_diagonal(demands, 0)
    assert len(flows) == np.count_nonzero(demands) + 68 == 200
    stated = sum(
        Fraction(flow["contract"][0]["rate"]) for flow in flows if flow["name"].startswith("demands")
    )
    assert float(stated) == pytest.approx(3.6e9, rel=1e-6)
    assert call("plan", path, "--check", out / "certificate.json").exit_code == 0
    assert spent < 10


@needs_abilene
@pytest.mark.skipif(not os.environ.get("TIDEGATE_VERIFY"), reason="takes half a minute: set TIDEGATE_VERIFY")
def test_the_certificate_for_abilene_is_above_the_bounds(tmp_path):
    done = call("plan", written(tmp_path, abilene("4gbit")), "--bounds", "--tries", 0)
    assert done.exit_code == 0, done.stderr


@needs_abilene
def test_an_impossible_set_for_abilene_has_a_minimal_conflict(tmp_path):
    """More backups than links have room for; the calls and the demands do not stand in their way alone."""
    done = call("plan", written(tmp_path, abilene("60gbit")), "--json")
    assert done.exit_code == NOT_ALL
    conflict = json.loads(done.stdout)["conflict"]
    assert conflict["is_minimal"]
    assert "backups" in conflict["demands"]
    path = written(tmp_path, abilene("4gbit").replace('"50ms"', '"20ms"'))
    conflict = json.loads(call("plan", path, "--json").stdout)["conflict"]
    assert (conflict["demands"], conflict["is_minimal"]) == (["calls"], True)


def test_the_example_is_that_of_the_page():
    example = (ROOT / "examples" / "plans" / "office.toml").read_text(encoding="utf-8")
    assert f"```toml\n{example}```" in (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")


def test_the_python_interface_gives_a_plan_or_a_conflict(tmp_path):
    plan = plan_of(written(tmp_path, OFFICE))
    scenario = plan.scenario(tmp_path)
    assert scenario.flows == ["voice/1", "voice/2", "voice/3", "backup/1", "backup/2"]
    results = tidegate.simulate(scenario)
    assert results.groups["voice"].delay_max.mean < 0.02
    assert Path(scenario.base_dir) == tmp_path
