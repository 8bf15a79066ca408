"""Random settings of the VS/VD paper's configurations, and what is kept of their runs."""

import pytest

from tidegate import replications as runs
from tidegate.source import resolve
from tidegate_papers.vsvd import common, draws, random_settings

NETWORKS = {name: measure.keep.network for name, measure in random_settings.MEASURES.items()}


@pytest.mark.parametrize("name", NETWORKS)
def test_draws_are_within_their_ranges_and_the_same_each_time(name):
    drawn = NETWORKS[name].draws()
    assert drawn == NETWORKS[name].draws()
    assert len({str(one.sets) for one in drawn}) == draws.SETTINGS >= 50
    for one in drawn:
        interval, icr, trip, rate = one.summary
        assert draws.INTERVAL[0] <= interval <= draws.INTERVAL[1]
        assert draws.RATE[0] <= rate <= draws.RATE[1]
        assert 0 < icr <= rate
        assert 0 < trip <= 2 * 4 * draws.DELAY[1]
        resolve(NETWORKS[name].scenario, one.sets)
    # The ranges are used, not only kept.
    intervals = [one.summary[0] for one in drawn]
    assert max(intervals) > 5 * min(intervals)


@pytest.mark.parametrize("name", ["random-parking-lot", "random-upstream"])
def test_optima_are_max_min_at_the_rates_that_were_drawn(name):
    network = NETWORKS[name]
    for one in network.draws():
        rates = {
            path.split(".")[1]: int(value.removesuffix("kbit"))
            for path, value in one.sets
            if path.startswith("link.") and path.endswith(".rate")
        }
        capacities = {
            link: rate * (draws.UTILISATION if link in network.ports else 1.0) / draws.MBIT
            for link, rate in rates.items()
        }
        shares = dict(zip(network.ways, network.optima(rates), strict=True))
        used = {
            link: sum(share for vc, share in shares.items() if link in network.ways[vc]) for link in rates
        }
        assert all(used[link] <= capacity * 1.001 for link, capacity in capacities.items())
        # Every VC has a full link on its way, on which none has more (Bertsekas and Gallager, Data
        # Networks, section 6.5.2).
        for vc, way in network.ways.items():
            assert any(
                used[link] >= 0.999 * capacities[link]
                and all(
                    shares[other] <= 1.001 * shares[vc]
                    for other in network.ways
                    if link in network.ways[other]
                )
                for link in way
            )


def test_what_is_kept_of_a_run_is_what_its_tables_say():
    network = NETWORKS["random-parking-lot"]
    sets = [*network.draws()[0].sets, *common.couplings()["D"]]
    results = runs.run(resolve(network.scenario, sets), series=True)
    kept = random_settings.Kept(network, converges=True)(results)
    assert kept.fingerprints == results.fingerprints
    assert len(kept.flows) == 0
    values = dict(zip(kept.series["metric"].to_pylist(), kept.series["value"].to_pylist(), strict=True))
    assert tuple(values) == random_settings.KEPT
    assert values["class queue"] == 1e3 * max(
        common.longest(results, port.replace("-", "->"))[0] for port in network.ports
    )
    assert values["all queues"] >= values["class queue"] / 2
    # D converges in a parking lot and does not oscillate there.
    assert values["convergence"] > 0
    assert values["grows"] == values["swings"] == 0


def test_queues_that_grow_diverge_and_rates_that_swing_oscillate():
    network = NETWORKS["random-two-sources"]
    # Figure 11: row 4, previous loop only.
    row_4 = common.coupled(
        'vc_rate = "frm2", input_rate = "class", acts_on = "previous", updated_at = "frm1"'
    )
    kept = random_settings.Kept(network, converges=False)(
        runs.run(resolve(network.scenario, row_4), series=True)
    )
    assert dict(zip(random_settings.KEPT, kept.series["value"].to_pylist(), strict=True))["grows"] == 1


def test_a_run_beats_another_by_more_than_a_tenth():
    one = {"convergence": 10.0, "class queue": 100.0, "all queues": 1000.0}
    never = one | {"convergence": -1.0}
    assert random_settings._beats(one, never, "convergence")
    assert not random_settings._beats(never, one, "convergence")
    assert not random_settings._beats(never, never, "convergence")
    assert random_settings._beats(one | {"all queues": 800.0}, one, "all queues")
    assert not random_settings._beats(one | {"all queues": 950.0}, one, "all queues")
    # Below the least difference that counts.
    few = one | {"class queue": 5.0}
    assert not random_settings._beats(few | {"class queue": 1.0}, few, "class queue")
