"""Max-min rates of scenarios, and how fast and how closely runs come to them."""

import json
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import tidegate
from conftest import call
from tidegate import TidegateError, max_min, measure_fairness
from tidegate_papers import paper as data
from tidegate_papers.credit.networks import CAPACITY, EXPECTED
from tidegate_papers.vsvd import common

VSVD = data.HERE / "vsvd"
LINK = 155.52e6


def rates(found):
    return {share.flow: share.rate for share in found.shares}


def row(links, flows, more=""):
    """Return a scenario of switches in a row, with links of these rates, and lines of flows."""
    nodes = "".join(f'[[node]]\nname = "n{at}"\n' for at in range(len(links) + 1))
    ends = ((at, rate) for at, rate in enumerate(links))
    text = "".join(f'[[link]]\nfrom = "n{at}"\nto = "n{at + 1}"\n{rate}\n' for at, rate in ends)
    return f'version = 1\nduration = "1s"\n{more}\n{nodes}{text}{"".join(flows)}'


def flow(name, begin, end, more='source = "greedy"'):
    return f'[[flow]]\nname = "{name}"\nfrom = "n{begin}"\nto = "n{end}"\nsize = "100B"\n{more}\n'


@pytest.mark.parametrize("hops", [1, 3, 6])
@pytest.mark.parametrize("crossing", [1, 4])
def test_parking_lots_are_shared_at_their_fullest_link(hops, crossing):
    # One more flow crosses each link than the one before.
    flows = [flow("all", 0, hops)]
    flows += [flow(f"x{at}", at, at + 1, f'count = {crossing + at}\nsource = "greedy"') for at in range(hops)]
    found = max_min(row(['rate = "12mbit"'] * hops, flows))
    through = 12e6 / (crossing + hops)
    for share in found.shares:
        if share.group == "all":
            assert share.rate == pytest.approx(through)
            assert share.bottleneck == f"n{hops - 1}->n{hops}"
        else:
            at = int(share.group[1:])
            assert share.rate == pytest.approx((12e6 - through) / (crossing + at))
            assert share.bottleneck == f"n{at}->n{at + 1}"


def test_the_generic_fairness_configuration_has_its_table():
    found = max_min(data.HERE / "credit" / "gfc.toml")
    assert {share.group for share in found.shares} == EXPECTED.keys()
    for share in found.shares:
        assert share.rate / CAPACITY == pytest.approx(EXPECTED[share.group], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "expected", "span"),
    [
        ("parking-lot", {"vc1": 1 / 3, "vc2": 1 / 3, "vc3": 1 / 3}, None),
        ("upstream", {"vc1": 1 / 15, "vc15": 1 / 15, "vc16": 7 / 15, "vc17": 7 / 15}, None),
        ("transient", {"vc1": 1}, None),
        ("transient", {"vc1": 1 / 2, "vc2": 1 / 2}, (0.1, 0.16)),
    ],
)
def test_the_configurations_of_the_vsvd_paper_have_their_optima(name, expected, span):
    found = rates(max_min(VSVD / f"{name}.toml", aim=0.9, span=span))
    for vc, share in expected.items():
        assert found[vc] == pytest.approx(0.9 * LINK * share)


def filled(capacities, ways, ceilings):
    """Progressive filling: all rates rise together; those at a full link or at their ceiling stay."""
    level = dict.fromkeys(ways, Fraction(0))
    rising = set(ways)
    while rising:
        steps = [ceilings[one] - level[one] for one in rising if one in ceilings]
        for link, capacity in capacities.items():
            here = [one for one in rising if link in ways[one]]
            if here:
                used = sum(level[one] for one in ways if link in ways[one])
                steps.append((capacity - used) / len(here))
        for one in rising:
            level[one] += min(steps)
        full = {
            link
            for link, capacity in capacities.items()
            if sum(level[one] for one in ways if link in ways[one]) == capacity
        }
        rising = {
            one for one in rising if not full & set(ways[one]) and level[one] != ceilings.get(one, None)
        }
    return level


def test_random_networks_are_filled_progressively():
    limited = kinds = 0
    for seed in range(120):
        draw = random.Random(seed)
        hops = draw.randint(1, 5)
        aim = draw.choice([1.0, 0.9, 0.5])
        links, capacities = [], {}
        for at in range(hops):
            bits, ceiling = draw.randint(1000, 9000) * 1000, draw.randint(1000, 9000) * 1000
            has = draw.random() < 0.3
            links.append(f'rate = "{bits}bit"' + (f'\nceiling = "{ceiling}bit"' if has else ""))
            capacities[at] = Fraction(round(aim * (min(bits, ceiling) if has else bits)))
        of_class = draw.randint(1000, 4000) * 1000
        flows, ways, ceilings = [], {}, {}
        for number in range(draw.randint(1, 8)):
            begin = draw.randrange(hops)
            end = draw.randint(begin + 1, hops)
            name, count, most = f"f{number}", draw.randint(1, 3), draw.randint(100, 3000) * 1000
            kind = draw.choice(["greedy", "rate", "ceiling", "class"])
            more = {
                "greedy": 'source = "greedy"',
                "rate": f'source = {{ kind = "cbr", rate = "{most}bit" }}',
                "ceiling": f'source = "greedy"\nceiling = "{most}bit"',
                "class": 'source = "greedy"\nclass = "inner"',
            }[kind]
            flows.append(flow(name, begin, end, f"count = {count}\n{more}"))
            for one in [name] if count == 1 else [f"{name}/{nth + 1}" for nth in range(count)]:
                ways[one] = list(range(begin, end))
                if kind in ("rate", "ceiling"):
                    ceilings[one] = Fraction(most)
                if kind == "class":
                    for at in range(begin, end):
                        capacities["inner", at] = Fraction(round(aim * of_class))
                        ways[one].append(("inner", at))
        classes = (
            '[[class]]\nname = "outer"\nscheduler = "round-robin"\n'
            f'ceiling = "{of_class}bit"\n[[class]]\nname = "inner"\nparent = "outer"\nscheduler = "fifo"\n'
            '[[class]]\nname = "rest"\nscheduler = "fifo"\n'
        )
        flows = [one if "class =" in one else f'{one}class = "rest"\n' for one in flows]
        found = max_min(row(links, flows, classes), aim=aim)
        expected = filled(capacities, ways, ceilings)
        assert rates(found) == pytest.approx({one: float(rate) for one, rate in expected.items()})
        limited += sum(share.bottleneck is None for share in found.shares)
        kinds += len({share.bottleneck for share in found.shares}) > 2
        for share in found.shares:
            own = ceilings.get(share.flow)
            assert share.bottleneck is not None or share.rate == pytest.approx(float(own))
    assert limited > 20
    assert kinds > 20


def test_only_flows_that_ask_for_something_known_have_a_part():
    recorded = 'source = { kind = "on-off", rate = "1mbit", peak = "2mbit", burst = 3 }'
    flows = [
        flow("greedy", 0, 1),
        flow("known", 0, 1, recorded),
        flow("early", 0, 1, 'source = "greedy"\nstop = "500ms"'),
        flow("late", 0, 1, 'source = "greedy"\nstart = "500ms"'),
        flow("drawn", 0, 1, 'source = "greedy"\nlasts = "1s"'),
    ]
    back = '[[link]]\nfrom = "n1"\nto = "n0"\nrate = "9mbit"\n'
    for name, content in (("endless", ""), ("files", 'data = { kind = "transfers", size = "9kB" }\n')):
        ends = f'name = "{name}"\nfrom = "n0"\nto = "n1"\nsize = "1kB"\n'
        flows.append(f'[[connection]]\n{ends}transport = "tcp"\n{content}')
    text = row(['rate = "9mbit"'], [back, *flows])
    found = max_min(text)
    assert rates(found) == pytest.approx({"greedy": 4e6, "known": 1e6, "endless": 4e6})
    assert found.left_out.keys() == {"early", "late", "drawn", "files"}
    assert rates(max_min(text, span=(0, 0.5))).keys() == {"greedy", "known", "endless", "early"}
    assert rates(max_min(text, span=(0.5, 1))).keys() == {"greedy", "known", "endless", "late"}


def test_hosts_links_are_divided_whole():
    # A VC alone: 10 of its host's 10 Mbit/s, of which the switch's link would leave it 90.
    text = row(['rate = "10mbit"', 'rate = "100mbit"'], [flow("a", 0, 2)])
    assert rates(max_min(text, aim=0.9)) == {"a": 9e6}
    text = text.replace('name = "n0"\n', 'name = "n0"\nkind = "host"\n')
    assert rates(max_min(text, aim=0.9)) == {"a": 10e6}


def test_peak_cell_rates_are_ceilings():
    path, pcr = VSVD / "parking-lot.toml", ("connection.vc1.transport.pcr", "20mbit")
    found = rates(max_min(path, aim=0.9, sets=[pcr]))
    assert found == pytest.approx(
        {"vc1": 20e6, "vc2": (0.9 * LINK - 20e6) / 2, "vc3": (0.9 * LINK - 20e6) / 2}
    )


@pytest.fixture(scope="module")
def lots():
    """The parking lot of the VS/VD paper under option D, and without VS/VD."""
    sets = common.couplings()
    path = VSVD / "parking-lot.toml"
    return {name: tidegate.simulate(path, sets=sets[name], series=True) for name in ("D", common.NONE)}


@pytest.mark.parametrize(("name", "convergence"), [("D", 0.034), (common.NONE, 0.150)])
def test_times_are_those_of_the_paper_s_own_measures(lots, name, convergence):
    results = lots[name]
    found = measure_fairness(results, aim=0.9)
    vcs = ("vc1", "vc2", "vc3")
    assert found.queues == ("sw2->sw3",)
    assert found.convergence == pytest.approx([convergence], abs=0.0015)
    (own,) = common.converged(results, vcs, "sw2->sw3")
    assert found.convergence == pytest.approx([own * common.MILLISECOND])
    # Until every VC has been near 46.656 Mbit/s once, sample by sample.
    (courses,) = common.acr(results, vcs)
    first = max(int(np.argmax(np.abs(rate - 46.656) <= 4.6656)) for rate in courses)
    passed = max(int(np.argmax((rate > 46.656) != (rate[0] > 46.656))) for rate in courses)
    assert found.response[0] == pytest.approx(1e-3 * (1 + min(first, passed)), abs=2e-3)
    far = np.max([np.abs(rate / 46.656 - 1.0) for rate in courses], axis=0)
    assert found.distance[0] == pytest.approx(far)
    assert found.final == pytest.approx([far[-50:].mean()])
    for one, rate in zip(found.rows, courses, strict=True):
        assert (one.metric, one.bottleneck) == ("acr", "sw2->sw3")
        assert one.mean.mean == pytest.approx(1e6 * rate[-50:].mean())
        assert one.off.mean == pytest.approx(rate[-50:].mean() / 46.656 - 1.0)


def test_a_span_is_a_part_of_the_samples(lots):
    whole = measure_fairness(lots["D"], aim=0.9)
    part = measure_fairness(lots["D"], aim=0.9, span=(0.02, 0.1))
    assert part.time == pytest.approx(whole.time[20:100])
    assert part.distance[0] == pytest.approx(whole.distance[0][20:100])
    # It converges 14 ms from the span's start, at the same instant.
    assert part.convergence == pytest.approx([whole.convergence[0] - 0.02])
    # Samples every 1 ms that are only in part in the span do not count.
    assert measure_fairness(lots["D"], span=(0.0205, 0.0999)).time == pytest.approx(whole.time[21:99])


TCP = """
version = 1
duration = "20s"
sample = "500ms"
topology = { kind = "dumbbell", pairs = 3, rate = "4mbit", delay = "10ms" }
port = { dropper = { kind = "red", min_th = "5p", max_th = "20p", limit = "60p" } }
[[connection]]
name = "two"
count = 2
from = "l1"
to = "r1"
size = "1kB"
transport = "tcp"
[[connection]]
name = "one"
from = "l2"
to = "r2"
size = "1kB"
transport = "tcp"
[[flow]]
name = "voice"
from = "l3"
to = "r3"
size = "200B"
source = { kind = "poisson", rate = "400kbit" }
"""


@pytest.fixture(scope="module")
def tcp():
    return tidegate.simulate(TCP, replications=4, series=True)


def test_tcp_is_measured_by_the_throughput_of_groups(tcp):
    found = measure_fairness(tcp)
    assert {share.flow: share.rate for share in found.optimum.shares} == pytest.approx(
        {"voice": 400e3, "two/1": 1.2e6, "two/2": 1.2e6, "one": 1.2e6}
    )
    assert [(row.subject, row.metric, row.optimum) for row in found.rows] == [
        ("two", "throughput", pytest.approx(2.4e6)),
        ("one", "throughput", pytest.approx(1.2e6)),
    ]
    assert found.queues == ()
    # Four seeds, an interval, and a share of the link that adds up.
    assert all(row.mean.half_width > 0 for row in found.rows)
    assert sum(row.mean.mean for row in found.rows) == pytest.approx(3.5e6, rel=0.1)
    assert len(found.response) == len(found.final) == 4
    assert found.distance.shape == (4, 40)
    document = found.to_dict()
    json.dumps(document, allow_nan=False)
    assert document["final_distance"]["mean"] == pytest.approx(math.fsum(found.final) / 4)
    # Others are looked at when they are named: their part is the same.
    assert [row.optimum for row in measure_fairness(tcp, groups=["voice"]).rows] == [400e3]


def test_a_group_without_a_rate_at_some_samples_has_no_distance_there(tcp):
    table = tcp.series
    late = table.filter([not (row["subject"] == "one" and row["time"] < 1) for row in table.to_pylist()])
    found = measure_fairness(replace(tcp, tables={**tcp.tables, "series": late}))
    assert np.isnan(found.distance[:, 0]).all()
    assert not np.isnan(found.distance[:, 1:]).any()
    assert found.to_dict()["distance"][0] is None


@pytest.fixture(scope="module")
def saved(tcp, tmp_path_factory):
    return tcp.save(tmp_path_factory.mktemp("fairness") / "tcp")


def test_the_command_shows_what_was_measured(saved, tmp_path):
    done = call("fairness", saved, "--from", "5s", "--out", tmp_path / "figure.png")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    two, members = [line for line in lines if line.startswith("two ")]
    assert "2.400 Mbit/s" in two
    assert "1.200 Mbit/s" in members
    assert "left->right" in two
    assert any(line.startswith("response time") and line.rstrip().endswith("of 4") for line in lines)
    assert "±" in done.stdout
    assert (tmp_path / "figure.png").stat().st_size > 20_000
    document = json.loads(call("fairness", saved, "--from", "5s", "--json").stdout)
    assert (document["from"], document["to"]) == (5.0, 20.0)
    assert len(document["time"]) == len(document["distance"]) == 30


def test_the_command_names_flows_without_a_part(tmp_path):
    path = tmp_path / "late.toml"
    path.write_text(
        row(
            ['rate = "1mbit"'],
            [flow("a", 0, 1), flow("b", 0, 1, 'count = 9\nsource = "greedy"\nstart = "900ms"')],
        )
    )
    assert call("run", path, "--out", tmp_path / "out").exit_code == 0
    shown = call("fairness", tmp_path / "out", "--from", "0s").stdout
    assert (
        "without a part of the optimum: b/1, b/2, b/3, b/4, b/5 and 4 more (it does not send in the" in shown
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--aim", "1.5"], "the share of links that is aimed at (1.5) is not above 0 and at most 1"),
        (["--aim", "nan"], "the share of links that is aimed at (nan) is not above 0"),
        (["--from", "3s", "--to", "2s"], "from 3.000 s to 2.000 s is not a part of the run, which lasts 20"),
        (["--to", "1h"], "from 0 s to 3600 s is not a part of the run"),
        (["--from", "5"], "needs a unit"),
        (["--from", "1100ms", "--to", "1200ms"], "help: one is taken every 500.0 ms"),
        (["--groups", "tow"], "help: did you mean `two`?"),
        (["--groups", "one/ack"], "group `one/ack` has no max-min fair rate: it answers"),
        (["--out", "x.bmp"], "not as bmp"),
    ],
)
def test_bad_input_gets_one_message(saved, arguments, message):
    done = call("fairness", saved, *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("tidegate: ")
    assert message in done.stderr


def test_results_without_what_is_needed_are_refused():
    text = row(['rate = "1mbit"'], [flow("a", 0, 1, 'source = { kind = "cbr", rate = "2mbit" }')])
    with pytest.raises(TidegateError, match=r"no rates over time\n  help: `tidegate run --out` records"):
        measure_fairness(tidegate.simulate(text))
    recorded = tidegate.simulate(text, series=True)
    with pytest.raises(TidegateError, match=r"^no flow asks for as much as it gets\n"):
        measure_fairness(recorded)
    # Its own rate is twice what the link carries.
    assert measure_fairness(recorded, groups=["a"]).rows[0].optimum == 1e6


def jain(rates):
    """Jain, Chiu and Hawe 1984, in exact fractions."""
    rates = [Fraction(rate) for rate in rates]
    return float(sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates)))


MEMBERS = """
version = 1
duration = "10s"
{more}
topology = {{ kind = "chain", switches = 2, rate = "4mbit" }}
switch = {{ buffer = "40p" }}
port = {{ scheduler = "{scheduler}" }}
[[flow]]
name = "greedy"
count = 3
from = "s1"
to = "s2"
size = "500B"
{keys}
source = "greedy"
"""


@pytest.mark.parametrize("scheduler", ["round-robin", "fifo"])
def test_members_of_a_group_are_compared_with_their_max_min_rates(scheduler):
    text = MEMBERS.format(scheduler=scheduler, more="", keys="")
    results = tidegate.simulate(text, series=True)
    (members,) = measure_fairness(results).members
    received = results.flows["received_bytes"].to_pylist()
    assert (members.group, members.flows, members.optimum) == ("greedy", 3, pytest.approx(4e6 / 3))
    assert members.jain.mean == pytest.approx(jain(received), rel=1e-12)
    rates = [one * 8 / 10 for one in received]
    assert members.least.mean == pytest.approx(min(rates) / (4e6 / 3) - 1)
    assert members.greatest.mean == pytest.approx(max(rates) / (4e6 / 3) - 1)
    assert members.jain.mean > 0.999


def test_jains_index_of_every_group_is_that_of_its_flows(tcp):
    """Closed forms: 1 for equal shares, 1 / n where one has all, and no index for one flow."""
    by_run = {}
    for one in tcp.flows.to_pylist():
        by_run.setdefault((one["group"], one["replication"]), []).append(one["received_bytes"])
    for one in tcp.tables["groups"].to_pylist():
        expected = by_run[one["group"], one["replication"]]
        assert one["jain"] == (pytest.approx(jain(expected)) if len(expected) > 1 else None)
    alone = MEMBERS.format(scheduler="strict-priority", more="", keys="").replace(
        'greedy"\ncount = 3', 'all"\ncount = 4'
    )
    equal = tidegate.simulate(alone.replace('"greedy"', '{ kind = "cbr", rate = "100kbit" }'))
    assert equal.groups()[0].jain.mean == pytest.approx(1, abs=1e-4)
    late = 'every = "1h"\nsource = { kind = "cbr", rate = "1kbit" }'
    text = alone.replace('source = "greedy"', late).replace('"10s"', '"3h"')
    results = tidegate.simulate(text, seed=3)
    received = results.flows["received_bytes"].to_pylist()
    assert len(set(received)) > 2
    assert results.groups()[0].jain.mean == pytest.approx(jain(received))
    one = tidegate.simulate(text, seed=3, sets=[("flow.all.lasts", "1ms"), ("duration", "10s")])
    assert one.groups()[0].jain.mean is None


def test_run_shows_jains_index_where_a_group_has_several_flows(tmp_path):
    path = tmp_path / "net.toml"
    path.write_text(MEMBERS.format(scheduler="round-robin", more="", keys=""))
    shown = call("run", path).stdout
    assert "Jain" in shown.splitlines()[2]
    assert any(line.split()[:3] == ["greedy", "3", "1.000"] for line in shown.splitlines()), shown
    path.write_text(path.read_text().replace("count = 3", ""))
    assert "Jain" not in call("run", path).stdout


def test_the_span_begins_with_the_last_start_and_after_the_warm_up():
    for more, keys, begin in (
        ("", "", 0.0),
        ('warmup = "2s"', "", 2.0),
        ("", 'start = "3s"', 3.0),
        ('warmup = "4s"', 'start = "3s"', 4.0),
    ):
        results = tidegate.simulate(
            MEMBERS.format(scheduler="round-robin", more=more, keys=keys), series=True
        )
        found = measure_fairness(results)
        assert found.optimum.span == (begin, 10.0)
        assert found.rows[0].off.mean == pytest.approx(0, abs=0.01)
        assert found.members[0].greatest.mean < 0.01
    with pytest.raises(TidegateError, match="it does not send in the whole span"):
        measure_fairness(results, span=(0.0, None))


def test_starts_that_are_drawn_are_those_of_the_run():
    text = MEMBERS.format(scheduler="round-robin", more="", keys='every = "1s"').replace('"10s"', '"30s"')
    assert max_min(text).left_out.keys() == {"greedy/1", "greedy/2", "greedy/3"}
    results = tidegate.simulate(text, replications=3, series=True)
    found = measure_fairness(results)
    starts = results.flows["start"].to_pylist()
    assert len(set(starts)) == 9
    assert found.optimum.span == (max(starts), 30.0)
    assert [share.rate for share in found.optimum.shares] == pytest.approx([4e6 / 3] * 3)
    assert found.rows[0].off.mean == pytest.approx(0, abs=0.01)
    # A flow sends from its start on, and not before.
    series = results.series.to_pylist()
    for run in range(3):
        first = min(starts[3 * run : 3 * run + 3])
        sent = [
            one
            for one in series
            if one["metric"] == "throughput" and one["replication"] == run and one["value"]
        ]
        assert 0 <= min(one["time"] for one in sent) - first < 0.2


def test_the_target_utilisation_of_ports_is_what_is_divided():
    path = VSVD / "parking-lot.toml"
    stated = ("port.rate_control", '{ kind = "erica", utilisation = 0.8 }')
    found = max_min(path, sets=[stated])
    assert rates(found) == rates(max_min(path, aim=0.8, sets=[stated]))
    assert found.aim is None
    assert max(rates(found).values()) < max(rates(max_min(path, aim=1.0, sets=[stated])).values())


def test_groups_that_are_named_by_nothing_are_answered(saved, tcp):
    for command in (["fairness", saved], ["plot", saved]):
        done = call(*command, "--groups", "")
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == "tidegate: --groups names nothing; write it as --groups a,b\n"
    with pytest.raises(TidegateError, match="no group is named"):
        measure_fairness(tcp, groups=[])
