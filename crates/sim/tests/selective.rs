//! An application that favours some of its packets: what a congested network does with them, and
//! what a receiver's filter charges.

mod common;

use common::run_with;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// An application, and other traffic that is out of profile, over a link that carries 5 of their
/// 8 Mbit/s.
fn network(source: &str, meter: &str, receiver: &str) -> Network {
    let text = format!(
        "version = 1\nduration = \"60s\"\n\
         node = [{{ name = \"app\", kind = \"host\" }}, {{ name = \"others\", kind = \"host\" }}, {{ name = \"in\" }}, \
         {{ name = \"out\" }}, {{ name = \"receiver\", kind = \"host\" }}]\n\
         link = [{{ from = \"app\", to = \"in\", rate = \"100mbit\", meter = {meter} }},\n\
         {{ from = \"others\", to = \"in\", rate = \"100mbit\" }},\n\
         {{ from = \"in\", to = \"out\", rate = \"5mbit\", dropper = {{ kind = \"rio\", min_in = \"40p\", max_in = \"70p\", \
         min_out = \"10p\", max_out = \"30p\", max_p_out = 0.2, limit = \"200p\", mean_packet = \"1000B\" }} }},\n\
         {{ from = \"out\", to = \"receiver\", rate = \"100mbit\"{receiver} }}]\n\
         flow = [{{ name = \"app\", from = \"app\", to = \"receiver\", size = \"1000B\", reserve = \"1mbit\", workahead = \"4kB\", \
         source = {source} }},\n\
         {{ name = \"others\", from = \"others\", to = \"receiver\", size = \"1000B\", colour = \"red\", \
         source = {{ kind = \"poisson\", rate = \"4mbit\" }} }}]\n"
    );
    assemble(&Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap()).unwrap()
}

fn run(network: &Network) -> World<Calendar> {
    run_with(network, 1, &Probes { log: true, ..Probes::default() })
}

/// The application's packets in the order in which they were sent, by time, and those that were
/// dropped.
fn packets(world: &World<Calendar>) -> (Vec<Time>, BTreeSet<u64>) {
    let (mut sent, mut dropped) = (Vec::new(), BTreeSet::new());
    for entry in world.log() {
        match entry.what {
            PacketEvent::Arrived { packet, .. } if (packet.flow, entry.link) == (0, 0) => sent.push(entry.at),
            PacketEvent::Dropped(packet, _) if packet.flow == 0 => {
                dropped.insert(packet.sequence);
            }
            _ => {}
        }
    }
    (sent, dropped)
}

/// The share of the chosen packets that is dropped, and that of the others.
fn lost(sent: &[Time], dropped: &BTreeSet<u64>, chosen: &BTreeSet<u64>) -> [f64; 2] {
    let count = |is_chosen: bool| {
        let ours: Vec<u64> = (0..sent.len() as u64).filter(|ix| chosen.contains(ix) == is_chosen).collect();
        assert!(ours.len() > 1000, "{}", ours.len());
        ours.iter().filter(|ix| dropped.contains(ix)).count() as f64 / ours.len() as f64
    };
    [count(true), count(false)]
}

#[test]
fn one_packet_in_five_is_spared_under_congestion() {
    let network =
        network("{ kind = \"poisson\", rate = \"4mbit\" }", "{ kind = \"selective-marker\", every = 5 }", "");
    let (sent, dropped) = packets(&run(&network));
    let chosen = (0..sent.len() as u64).step_by(5).collect();
    let [favoured, others] = lost(&sent, &dropped, &chosen);
    assert!(favoured < 0.01 && others > 0.3, "{favoured} {others}");
}

#[test]
fn the_first_packets_of_each_burst_are_spared_under_congestion() {
    let network = network(
        "{ kind = \"on-off\", rate = \"4mbit\", peak = \"20mbit\", burst = 8 }",
        "{ kind = \"selective-marker\", first = 2, pause = \"2ms\" }",
        "",
    );
    let (sent, dropped) = packets(&run(&network));
    let pause = Span::from_millis(2);
    let (mut chosen, mut of_burst) = (BTreeSet::new(), 0);
    for (ix, at) in sent.iter().enumerate() {
        of_burst = if ix > 0 && at.since(sent[ix - 1]) < pause { of_burst + 1 } else { 0 };
        if of_burst < 2 {
            chosen.insert(ix as u64);
        }
    }
    let [favoured, others] = lost(&sent, &dropped, &chosen);
    assert!(favoured < 0.01 && others > 0.3, "{favoured} {others}");
}

/// A receiver's profile of 1 Mbit/s. With the filter, the packets that the application favours,
/// 0.8 Mbit/s, are inside but for a few that the queue has pushed together; without, they share it
/// with all others.
#[test]
fn a_receivers_filter_keeps_its_profile_for_the_favoured_packets() {
    let mut outside = BTreeMap::new();
    for charges in ["all", "green"] {
        let receiver = format!(", meter = {{ kind = \"clearing-meter\", charges = \"{charges}\" }}");
        let network = network(
            "{ kind = \"cbr\", rate = \"4mbit\" }",
            "{ kind = \"selective-marker\", every = 5 }",
            &receiver,
        );
        let world = run(&network);
        let usage = world.usage();
        let used = usage
            .iter()
            .find(|(profile, _)| network.links[profile.link as usize].name == "out->receiver")
            .unwrap()
            .1;
        outside.insert(charges, used.coloured);
    }
    assert!(outside["green"][2] * 20 < outside["green"][0], "{outside:?}");
    assert!(outside["green"][0] > 5_000_000, "{outside:?}");
    assert!(outside["all"][2] > outside["all"][0], "{outside:?}");
}
