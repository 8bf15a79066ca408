"""Plans of random requirements: no simulation is above a certified bound, and no buffer overflows."""

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest

import tidegate
from plans import drawn
from tidegate.attack import attack
from tidegate.attack.contracts import contracts
from tidegate.plan import Plan
from tidegate.plan import plan as plan_of
from tidegate.plan.trial import simulated
from tidegate.toml import loads, to_toml

VERIFY = bool(os.environ.get("TIDEGATE_VERIFY"))
CASES = range(300 if VERIFY else 12)
ATTACKED = range(60 if VERIFY else 3)


def planned(seed, folder):
    path = folder / f"{seed}.toml"
    path.write_text(drawn(seed, nodes=5, most_flows=8))
    return plan_of(path)


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    found = {seed: planned(seed, folder) for seed in CASES}
    assert sum(isinstance(one, Plan) for one in found.values()) > len(CASES) / 3
    return {seed: one for seed, one in found.items() if isinstance(one, Plan)}


def test_no_run_is_above_a_certified_bound(plans):
    near = 0.0
    for seed, plan in plans.items():
        scenario = plan.scenario(Path.cwd())
        bounds = plan.bounds(scenario)
        trial = simulated(plan, scenario, bounds, 2)
        assert trial.complaint is None, seed
        assert trial.dropped == 0, seed
        assert all(one.is_kept for one in trial.measured), (seed, trial.measured)
        results = tidegate.simulate(scenario, replications=2)
        ticks = results.packet_hops * 1e-11
        certified = {
            scenario.flows[flow.place]: float(Fraction(entry["bound"]))
            for flow, entry in zip(plan.problem.flows, plan.certificate["flows"], strict=True)
        }
        for row in results.flow_rows():
            if row["delay_max"] is not None:
                assert row["delay_max"] <= certified[row["flow"]] + ticks, (seed, row["flow"])
                near = max(near, row["delay_max"] / certified[row["flow"]])
    assert near > 0.3


def test_the_scenario_has_the_routes_and_reservations_of_the_certificate(plans):
    """Its contracts are those of the certificate as well."""
    for plan in plans.values():
        scenario = plan.scenario(Path.cwd())
        network = json.loads(scenario.network_json())
        names = [link["name"] for link in network["links"]]
        assert all(link["port"]["scheduler"]["name"] == "virtual-clock" for link in network["links"])
        for flow, entry in zip(plan.problem.flows, plan.certificate["flows"], strict=True):
            one = network["flows"][flow.place]
            assert [names[link] for link in one["route"]] == entry["route"]
            assert {hop["reserve"] for hop in one["plans"]} == {float(entry["reserve"])}
            stated = entry["contract"] or [{"burst": entry["packet"], "rate": entry["reserve"]}]
            right = [(Fraction(one["burst"]), Fraction(one["rate"]) / 8) for one in stated]
            assert list(contracts(scenario)[flow.place].buckets) == right


def test_no_attack_is_above_a_certified_bound(plans):
    near = 0.0
    for seed in [seed for seed in plans if seed in ATTACKED or seed == min(plans)]:
        plan = plans[seed]
        scenario = plan.scenario(Path.cwd())
        for flow, entry in zip(plan.problem.flows, plan.certificate["flows"], strict=True):
            found = attack(scenario, scenario.flows[flow.place], tries=60)
            certified = float(Fraction(entry["bound"]))
            assert found.complaint is None
            assert found.delay <= certified * (1 + 1e-9)
            near = max(near, found.delay / certified)
    assert near > 0.3


def test_a_buffer_of_a_third_loses_packets(plans):
    """The memory of a plan is not much more than what its sources use."""
    lost = 0
    for plan in plans.values():
        table = loads(plan.toml(Path.cwd()))
        for node in table["node"]:
            if "buffer" in node:
                node["buffer"] = f"{max(int(node['buffer'][:-1]) // 3, 1)}B"
        rows = tidegate.simulate(to_toml(table)).flow_rows()
        lost += any(row["dropped_packets"] for row in rows)
    assert lost


def flow(name, ends, size, envelope=None):
    limits = "" if envelope is None else f"envelope = {envelope}\n"
    return (
        f'[[flow]]\nname = "{name}"\nfrom = "s{ends[0]}"\nto = "s{ends[1]}"\nsize = "{size}B"\n'
        f'source = {{ kind = "greedy" }}\n{limits}'
    )


def tandem(hops):
    """Links of 10 Mbit/s in full use: three others and a flood in the background at each."""
    text = (
        'version = 1\nduration = "1s"\n'
        f'topology = {{ kind = "chain", switches = {hops + 1}, rate = "10mbit", delay = "1ms" }}\n'
    )
    text += flow("voice", (1, hops + 1), 500, '{ rate = "500kbit", burst = "2kB" }')
    for hop in range(1, hops + 1):
        for number in range(3):
            text += flow(f"other-{hop}-{number}", (hop, hop + 1), 500, '{ rate = "3mbit", burst = "6kB" }')
        text += flow(f"flood-{hop}", (hop, hop + 1), 1500)
    # At 1 Mbit/s: the burst, a packet between any two ports, and at each port 1,500 bytes and 1 ms.
    return text + f'[[wish]]\nflows = "voice"\ndelay = "{8 * (2000 + (hops - 1) * 500) + 2200 * hops}us"\n'


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_on_links_in_full_use_the_certified_delay_is_the_bound_and_is_nearly_reached(tmp_path, hops):
    path = tmp_path / "tandem.toml"
    path.write_text(tandem(hops))
    plan = plan_of(path)
    entry = plan.certificate["flows"][0]
    wished = Fraction(plan.certificate["wishes"][0]["delay"])
    assert (entry["reserve"], Fraction(entry["bound"])) == ("1000000", wished)
    assert len(plan.problem.background) == hops
    scenario = plan.scenario(tmp_path)
    assert plan.bounds(scenario)[0]["delay"] == pytest.approx(float(wished), rel=1e-12)
    found = attack(scenario, "voice", tries=1500)
    assert found.complaint is None
    assert 0.9 * wished < found.delay <= wished


def test_the_switches_of_a_plan_with_background_traffic_have_no_stated_memory(tmp_path):
    path = tmp_path / "tandem.toml"
    path.write_text(tandem(1))
    assert "buffer" not in plan_of(path).toml(tmp_path)
