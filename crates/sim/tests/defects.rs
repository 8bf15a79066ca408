//! Defects that were found by generated scenarios, each with the file that showed it.

use std::path::{Path, PathBuf};
use tidegate_core::switch::plan::PushOut;
use tidegate_core::units::{Span, Time};
use tidegate_formats::{GateFile, Scenario};
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::watch::Watch;
use tidegate_sim::world::{Answer, World};

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("defects").join(file)
}

fn network(file: &str) -> Network {
    network_with(file, &[])
}

fn network_with(file: &str, sets: &[(String, String)]) -> Network {
    assemble(&Scenario::load(&path(file), sets).unwrap()).unwrap()
}

fn run(network: &Network, probes: &Probes) -> World<Calendar> {
    let mut world = World::new(network, 1, probes).unwrap();
    while !world.advance(1_000_000) {}
    world
}

fn series() -> Probes {
    Probes { sample: Some(Span::from_millis(100)), ..Probes::default() }
}

/// A source that has ended tears its flow down at once, whether or not samples are taken.
#[test]
fn an_ended_source_is_torn_down_at_once() {
    for file in ["fin.toml", "fin2.toml"] {
        let network = network(file);
        let worlds = [run(&network, &Probes::default()), run(&network, &series())];
        assert_eq!(worlds[0].fingerprint(), worlds[1].fingerprint());
        let torn_down = worlds[0].signals().iter().find(|signal| signal.answer == Answer::TornDown).unwrap();
        let at = torn_down.at.since(Time::ORIGIN);
        assert!(at > Span::from_millis(1900) && at < Span::from_millis(2100), "{file}: {at:?}");
    }
}

/// Packets that wait in an envelope leave when a granted change widens it.
#[test]
fn a_wider_envelope_releases_what_waits() {
    let world = run(&network("late.toml"), &series());
    let received = world.series().unwrap().values(Subject::Group(0), "throughput");
    let at_change: f64 = received[9..12].iter().sum::<f64>() * 0.1 / 8.0;
    // 98 packets of 1000 B, except for those that the old envelope let go.
    assert!(at_change >= 90_000.0, "{at_change} bytes in the 300 ms about the change");
}

/// Every packet of a link starts after the one before it has left.
#[test]
fn time_does_not_go_back() {
    for file in ["back.toml", "ceilback.toml", "ceilback2.toml"] {
        let network = network(file);
        let probes = Probes { watch: Some(Watch::new(0, usize::MAX)), ..Probes::default() };
        let world = run(&network, &probes);
        let mut journeys = world.watch().unwrap().slowest().to_vec();
        assert!(journeys.len() > 50, "{file}: {}", journeys.len());
        journeys.sort_by_key(|journey| journey.sequence);
        for pair in journeys.windows(2) {
            assert!(pair[0].arrived <= pair[1].arrived, "{file}: packet {} overtakes", pair[1].sequence);
            let starts = |ix: usize| pair[ix].hops[0].started.unwrap();
            assert!(starts(0) < starts(1), "{file}: packet {} starts too early", pair[1].sequence);
        }
    }
}

/// A change without an interval keeps the one that the flow has: that of the change before it.
#[test]
fn a_second_change_keeps_the_interval() {
    let network = network("panic1.toml");
    let [first, second] = [0, 1].map(|ix| network.flows[1].life.changes[ix].contract.interval);
    assert_eq!((first, second), (Some(Span::from_millis(100)), Some(Span::from_millis(100))));
    let world = run(&network, &series());
    let warnings: f64 = world.series().unwrap().values(Subject::Group(1), "warnings").iter().sum();
    assert_eq!(warnings, world.checks(1).warnings as f64);
    assert!(warnings >= 5.0, "a flow at twice its reservation is warned: {warnings}");
}

/// Like the test above, with a warm-up that ends between the two changes: checks continue after it.
#[test]
fn a_second_change_after_the_warm_up_keeps_the_interval() {
    for probes in [Probes::default(), series()] {
        let world = run(&network("panic2.toml"), &probes);
        let checks = world.checks(1);
        // 210 kbit/s in 100 ms is 2.6 kB, of which 400 kbit/s is 13 checks in 700 ms.
        assert!(checks.checks >= 10 && checks.warnings >= 10, "{checks:?}");
    }
}

/// Flows and links count the same packets, also where a greedy flow's envelope changes.
#[test]
fn flows_and_links_count_the_same_drops() {
    let network = network("d371.toml");
    let world = run(&network, &Probes::default());
    let of_flows: u64 = world.records().iter().map(|record| record.dropped).sum();
    let of_links: u64 = (0..network.links.len()).map(|link| world.link(link).dropped).sum();
    assert_eq!(of_flows, of_links);
    assert!(of_links > 50, "{of_links}");
}

/// The longest queue is also one that was pushed out before it sent anything.
#[test]
fn the_longest_queue_is_at_least_the_mean() {
    let world = run(&network("qmax.toml"), &Probes::default());
    let stats = world.link(0).stats.unwrap();
    assert_eq!(stats.longest, 100);
}

/// A hang-up that comes before its flow has started waits for the start, on links without delay,
/// too.
#[test]
fn a_hang_up_before_the_start_waits_for_it() {
    let world = run(&network("hang.toml"), &Probes::default());
    let of = |answer| world.signals().iter().filter(|signal| signal.answer == answer).count();
    assert_eq!((of(Answer::Granted), of(Answer::HungUp)), (2, 2));
}

/// One flow's ceiling costs the others nothing: packets that wait for it do not own the pool.
#[test]
fn a_ceiling_takes_no_memory_from_others() {
    for scheduler in ["fifo", "virtual-clock"] {
        let measured = |push_out: PushOut, ceiling: bool| {
            let sets = [("port.scheduler".to_owned(), scheduler.to_owned())];
            let mut network = assemble(&Scenario::load(&path("ceiling.toml"), &sets).unwrap()).unwrap();
            network.push_out = push_out;
            if !ceiling {
                network.flows.iter_mut().for_each(|flow| flow.plans[0].ceiling = None);
            }
            let world = run(&network, &Probes::default());
            let report = world.link(0);
            let bits = report.sent.1 as f64 * 8.0 / report.measured.as_secs_f64();
            let lost: u64 = world.records()[1..].iter().map(|record| record.dropped).sum();
            (bits / network.links[0].rate.bits_per_second(), lost)
        };
        let (open, lost) = measured(PushOut::Shares, false);
        assert!(open > 0.7 && lost == 0, "{scheduler}: {open} of the link, {lost} lost");
        // Apart from the packets that the ceiling holds, nothing is missing.
        let (capped, lost) = measured(PushOut::Shares, true);
        assert!(capped > open - 0.095 && lost == 0, "{scheduler}: {capped} of the link, {lost} lost");
        let (owned, lost) = measured(PushOut::LongestQueue, true);
        assert!(
            owned < 0.5 && lost > 1000,
            "{scheduler}, the longest queue: {owned} of the link, {lost} lost"
        );
    }
}

/// A flow that keeps its rate and its bucket loses nothing, though another port's flood fills the
/// pool.
#[test]
fn a_flow_inside_its_bucket_loses_nothing_to_a_flood_on_another_port() {
    for (buffer, scheduler) in [("100p", "virtual-clock"), ("50kB", "virtual-clock"), ("100p", "fifo")] {
        let sets = [("switch.buffer", buffer), ("port.scheduler", scheduler)];
        let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut network = network_with("bucket.toml", &sets);
        let lost = |network: &Network| {
            let world = run(network, &Probes::default());
            let [call, flood] = [0, 1].map(|flow| &world.records()[flow]);
            assert_eq!(call.sent.0, 60);
            assert!(flood.dropped > 5_000, "{}", flood.dropped);
            call.dropped
        };
        assert_eq!(lost(&network), 0, "{buffer}, {scheduler}");
        // By rates the port keeps 2/3 of half of the pool, and half of the other half: 58 packets.
        network.flows.iter_mut().flat_map(|flow| &mut flow.plans).for_each(|plan| plan.sizes = None);
        assert_eq!(lost(&network), 2, "{buffer}, {scheduler}");
    }
}

/// A scenario that cannot run is refused by the check, with its line.
#[test]
fn what_cannot_run_is_refused_with_its_line() {
    for (file, said) in [
        ("star.toml", "star.toml:3:12: `hub` sends on more than 65535 links"),
        ("tdmc.toml", "tdmc.toml:5:84: flow `f/2` in class `k` on link s1->s2: it does not fit"),
        ("gts.toml", "gt.toml:4:144: flow `z` up: it does not fit"),
        (
            "check4m.toml",
            "check4m.toml:4:31: with `a` there are 4000000 flows, which pass 800000000 links in all: \
                          some 323.2 GB of memory, of 4.0 GB at most",
        ),
        ("ser.toml", "ser.toml:3:10: `sample` gives 43000000 points in 43 series, some 3.9 GB of memory"),
        (
            "ser2.toml",
            "ser2.toml:3:10: `sample` gives 403000000 points in 403 series, some 36.3 GB of memory",
        ),
        (
            "t7.toml",
            "t7.toml:4:10: a packet of 6B takes less than 10 ps, the shortest time, at the 10tbit of s1->s2",
        ),
    ] {
        let errors = Scenario::load(&path(file), &[]).unwrap_err().to_string();
        assert!(errors.contains(said), "{errors}");
    }
    let errors = GateFile::load(&path("gt.toml"), &[]).unwrap_err().to_string();
    assert!(errors.contains("gt.toml:4:144: flow `z` up: it does not fit"), "{errors}");
}

/// A packet that takes no time by the rate's rounding takes a tick, and the run ends. A recording's
/// sizes are known too late to be refused. A packet that a dropper refuses takes its time, too.
#[test]
fn time_goes_on_at_any_rate() {
    let world = run(&network("tick.toml"), &Probes::default());
    let sent: Vec<u64> = world.records().iter().map(|record| record.sent.0).collect();
    assert!(sent.iter().all(|sent| *sent > 100), "{sent:?}");
}

/// While a packet waits at a port that conserves work, the link sends: its transmissions before the
/// packet take as long as the packet waited, apart from the one in service on its arrival. The wait
/// begins when the flow's envelope lets the packet go.
#[test]
fn a_packet_waits_for_what_is_served_before_it() {
    for (file, keep) in [("over.toml", 20), ("envx.toml", usize::MAX)] {
        // With debug assertions every packet of the queue is looked at in every event.
        let network = network_with(file, &[("duration".to_owned(), "1s".to_owned())]);
        for flow in 0..network.flows.len() {
            let probes = Probes { watch: Some(Watch::new(flow as u32, keep)), ..Probes::default() };
            let world = run(&network, &probes);
            let watch = world.watch().unwrap();
            assert!(watch.slowest().len() >= 10);
            for hop in watch.slowest().iter().flat_map(|journey| &journey.hops) {
                let rate = network.links[hop.link as usize].rate;
                let served = watch.waiting(hop).served;
                let bytes: u64 = served.iter().map(|one| one.bytes).sum();
                let waited = hop.started.unwrap().since(hop.arrived);
                let (took, one) = (rate.time_for(bytes as u32), rate.time_for(network.flows[flow].largest()));
                assert!(took <= waited && waited <= took + one, "{hop:?}");
                assert_eq!(hop.queue.is_none(), hop.held > Span::ZERO);
                let packets: u64 = served.iter().map(|one| one.packets).sum();
                assert_eq!(
                    hop.queue.map_or(packets, |queue| queue.saturating_sub(1)),
                    packets,
                    "first in, first out"
                );
            }
        }
    }
}

/// Utilisation and queue lengths are counted up to the end of the run, not to the last change.
#[test]
fn what_is_there_at_the_end_counts_until_then() {
    let world = run(&network("at-end.toml"), &Probes::default());
    let stats = world.link(0).stats.unwrap();
    // One packet from the start on, two from 4 s on, until 10 s.
    assert_eq!(stats.busy(), Span::from_secs(10));
    assert_eq!(stats.area(), u128::from(Span::from_secs(10 + 6).ticks()));
}
