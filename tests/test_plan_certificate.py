"""Certificates of plans: closed forms, and errors planted in every part of a certificate."""

import copy
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from files import ROOT
from plans import OFFICE
from tidegate import TidegateError
from tidegate.plan import check_certificate
from tidegate.plan import plan as plan_of
from tidegate.plan.checker import CertificateError, check
from tidegate.plan.curves import Curve, Hop, backlogs, longest_delay, needed

VERIFY = bool(os.environ.get("TIDEGATE_VERIFY"))
CHECKER = ROOT / "python" / "tidegate" / "plan" / "checker.py"
MESH = OFFICE.replace(
    'kind = "chain", switches = 3, rate = "10mbit", delay = "2ms", access = { rate = "100mbit" }',
    'kind = "leaf-spine", leaves = 2, spines = 2, hosts = 2, rate = "4mbit", access = { rate = "20mbit" }',
)
"""Three calls and backups of which one must take another route."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "mesh.toml"
    path.write_text(MESH)
    return path, plan_of(path).certificate


def refusal(path, certificate):
    """Return why a certificate is refused; None if it is not."""
    file = path.with_name("certificate.json")
    file.write_text(json.dumps(certificate))
    try:
        check_certificate(path, file)
    except TidegateError as error:
        message = str(error)
        assert message.startswith(f"{file}: refused: "), message
        return message
    return None


def leaves(value, place=()):
    """Every number, text and null in a certificate, by its place."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*place, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from leaves(part, (*place, number))
    else:
        yield place, value


def with_leaf(certificate, place, value):
    changed = copy.deepcopy(certificate)
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return changed


def errors(value):
    """Other values: numbers that are a little or far away, and what is no number."""
    if value is None:
        return ["1", "1/50", []]
    try:
        number = Fraction(value)
    except ValueError:
        return [value + "x", "", None, 5, "s1", "voice/1"]
    near = [number + 1, number * (1 + Fraction(1, 10**9)), number / 2, number * 2, 0]
    less = [number - 1, number * (1 - Fraction(1, 10**9)), -number]
    return [str(one) for one in [*near, *less]] + ["", "x", "1e-3", "0.5", "1/0", None, 5, float(number)]


def test_a_changed_value_anywhere_is_refused(made):
    """A buffer may be larger than it must be; nothing else may differ.

    The short tier plants one error of five.
    """
    path, certificate = made
    assert refusal(path, certificate) is None
    planted, every = count(), 1 if VERIFY else 5
    for place, value in leaves(certificate):
        for other in errors(value):
            if other == value:
                continue
            if (
                place[0] == "buffers"
                and isinstance(other, str)
                and other.isdigit()
                and int(other) > int(value)
            ):
                continue
            if next(planted) % every == 0:
                assert refusal(path, with_leaf(certificate, place, other)), (place, value, other)
    assert next(planted) > 2000


def test_a_part_that_is_missing_doubled_or_elsewhere_is_refused(made):
    path, certificate = made
    for key, part in certificate.items():
        assert refusal(path, {name: one for name, one in certificate.items() if name != key})
        if not isinstance(part, list):
            continue
        for place, entry in enumerate(part):
            assert refusal(path, {**certificate, key: part[:place] + part[place + 1 :]})
            assert refusal(path, {**certificate, key: [*part, entry]})
            for name in entry:
                without = {one: value for one, value in entry.items() if one != name}
                assert refusal(path, {**certificate, key: [*part[:place], without, *part[place + 1 :]]}), name
    for flow in certificate["flows"]:
        route = flow["route"]
        wrong = [[], route[1:], route[:-1], route[::-1], [*route, route[-1]], [route[0], *route]]
        flows = certificate["flows"]
        for other in wrong:
            changed = [{**one, "route": other} if one is flow else one for one in flows]
            assert refusal(path, {**certificate, "flows": changed}), other
    for wrong in ([], None, 5, "", {}):
        assert refusal(path, wrong)


def resign(certificate, flow, **answers):
    """Change a flow's answers, and make all that follows from them agree: only a promise can be wrong."""
    changed = copy.deepcopy(certificate)
    entry = next(one for one in changed["flows"] if one["name"] == flow)
    entry.update(answers)
    links = {link["name"]: link for link in changed["links"]}
    hops = [Hop(int(links[link]["rate"]), Fraction(links[link]["delay"])) for link in entry["route"]]
    buckets = entry["contract"] or [{"burst": entry["packet"], "rate": entry["reserve"]}]
    curve = Curve(tuple((Fraction(one["burst"]), Fraction(one["rate"])) for one in buckets))
    terms = curve, int(entry["packet"]), hops, int(changed["largest"]), int(entry["reserve"])
    entry["bound"] = str(longest_delay(*terms))
    entry["backlogs"] = [str(held) for held in backlogs(*terms)]
    for wish in changed["wishes"]:
        some = [one for one in changed["flows"] if one["name"] in wish["flows"]]
        if wish["delay"] is not None:
            wish["bound"] = str(max(Fraction(one["bound"]) for one in some))
        else:
            wish["bound"] = str(sum(int(one["reserve"]) for one in some))
    changed["buffers"] = dict.fromkeys(changed["buffers"], "1000000")
    return changed


def test_a_plan_that_is_consistent_but_keeps_no_promise_is_refused(made):
    path, certificate = made
    flows = {flow["name"]: flow for flow in certificate["flows"]}
    call, backup = flows["voice/1"], flows["backup/1"]
    assert refusal(path, resign(certificate, "voice/1")) is None
    assert refusal(path, resign(certificate, "voice/1", reserve=str(int(call["reserve"]) + 1))) is None
    less = str(int(call["reserve"]) - 1)
    assert "calls is not kept" in refusal(path, resign(certificate, "voice/1", reserve=less))
    less = str(int(backup["reserve"]) - 1)
    assert "backups is not kept" in refusal(path, resign(certificate, "backup/1", reserve=less))
    below = resign(certificate, "voice/1", reserve="79999")
    assert "below its rate" in refusal(path, below)
    assert "exceed the rate of" in refusal(path, resign(certificate, "voice/1", reserve="3000000"))
    other = flows["backup/2"]["route"]
    assert other != backup["route"]
    assert "exceed the rate of" in refusal(path, resign(certificate, "backup/1", route=other))


def test_a_route_that_is_none_is_refused_whatever_its_numbers(made):
    path, certificate = made
    first, _, *rest = route = certificate["flows"][0]["route"]
    assert route == ["h1->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->h3"]
    around = [first, "leaf1->spine1", "spine1->leaf1", "leaf1->spine2", "spine2->leaf2", "leaf2->h3"]
    for other, why in [
        ([first, *rest], "is broken at spine1->leaf2"),
        (route[1:], "is broken at leaf1->spine1"),
        (route[:-1], "does not end at its receiver"),
        ([*route[:-1], "leaf2->h4"], "does not end at its receiver"),
        (around, "passes leaf1 twice"),
    ]:
        assert why in refusal(path, resign(certificate, "voice/1", route=other))


def test_a_reservation_below_the_stated_one_and_a_route_over_a_host_are_refused(tmp_path):
    path = tmp_path / "mesh.toml"
    path.write_text(MESH.replace("count = 3", 'count = 3\nreserve = "650kbit"'))
    certificate = plan_of(path).certificate
    below = resign(certificate, "voice/1", reserve="649999")
    assert "below the stated one" in refusal(path, below)
    path.write_text(
        'version = 1\nduration = "1s"\n'
        + "".join(f'[[node]]\nname = "{node}"\n' for node in "ab")
        + '[[node]]\nname = "h"\nkind = "host"\n'
        + "".join(f'[[link]]\nfrom = "{a}"\nto = "{b}"\nrate = "1mbit"\n' for a, b in ("ab", "ah", "hb"))
        + '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nsize = "500B"\n'
        + 'source = { kind = "cbr", rate = "10kbit" }\n[[wish]]\nflows = "f"\ndelay = "2s"\n'
    )
    over = resign(plan_of(path).certificate, "f", route=["a->h", "h->b"])
    assert "the route of f crosses a host" in refusal(path, over)


def test_the_checker_stands_alone(made, tmp_path):
    _, certificate = made
    text = CHECKER.read_text(encoding="utf-8")
    imports = re.findall(r"^(?:from|import) (\S+)", text, re.MULTILINE)
    assert imports
    assert "tidegate" not in " ".join(imports)
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(certificate))
    bad.write_text(json.dumps(with_leaf(certificate, ("flows", 0, "bound"), "1/1000")))
    alone = [sys.executable, "-I", "-S", str(CHECKER)]
    done = subprocess.run([*alone, good], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([*alone, bad], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the bound of voice/1 is wrong" in done.stderr


def test_the_worked_example_of_the_page_on_virtual_clock():
    """(burst + (K - 1) · largest) / AR + Σ (largest of any flow / rate + propagation), by hand."""
    hops = [Hop(1_000_000, Fraction(5, 1000)), Hop(2_000_000, Fraction(0)), Hop(4_000_000, Fraction(1, 1000))]
    curve = Curve(((Fraction(1000), Fraction(80_000)),))
    by_hand = Fraction(8 * (1000 + 2 * 500), 100_000) + 12_000 * Fraction(7, 4_000_000) + Fraction(6, 1000)
    assert longest_delay(curve, 500, hops, 1500, 100_000) == by_hand
    assert needed(curve, 500, hops, 1500, by_hand) == 100_000
    assert needed(curve, 500, hops, 1500, Fraction(27, 1000)) is None
    # At each port the burst, and what comes in the latency so far: 12, 6 and 3 ms, and 40 ms for each packet.
    held = [1000 + 10 * ms for ms in (52, 98, 141)]
    assert backlogs(curve, 500, hops, 1500, 100_000) == held


@pytest.mark.parametrize("reserve", [200_000, 700_000, 1_000_000, 1_500_000])
def test_with_a_peak_rate_delays_are_those_of_rfc_2212(reserve):
    """The formula of the RFC, with M from whole packets of ports but the last in C and the rest in D."""
    hops = [Hop(10_000_000, Fraction(1, 1000))] * 3
    b, r, p, packet = 4000, Fraction(200_000), Fraction(1_000_000), 500
    curve = Curve(((Fraction(packet), p), (Fraction(b), r)))
    c, d = 2 * packet, 3 * (Fraction(8 * 1500, 10_000_000) + Fraction(1, 1000))
    # Up to its peak rate a flow waits for the rest of its burst.
    queueing = Fraction(8 * (b - packet), reserve) * max(p - reserve, Fraction(0)) / (p - r)
    right = queueing + Fraction(8 * (packet + c), reserve) + d
    assert longest_delay(curve, packet, hops, 1500, reserve) == right
    assert needed(curve, packet, hops, 1500, right) == reserve


def test_no_code_of_the_checker_is_used_by_the_plan():
    folder = Path(CHECKER).parent
    users = {path.name for path in folder.glob("*.py") if "plan.checker" in path.read_text(encoding="utf-8")}
    assert users == {"__init__.py"}
    with pytest.raises(CertificateError):
        check({})
