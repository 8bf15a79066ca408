//! TCP and other transports over ABR VCs: cells that wait at the sender's host and are sent at ACR.

mod common;

use common::run_with;
use std::collections::BTreeSet;
use std::path::Path;
use tidegate_core::abr::BuiltInRateControl;
use tidegate_core::abr::efci::EfciParams;
use tidegate_core::params::Parameters;
use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::{Entry, PacketEvent};
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::stage_plans::abr::RateControlPlans;
use tidegate_sim::world::World;

/// Ports without and with VS/VD.
const PORTS: [&str; 2] = ["", "vsvd = {}"];

const HALF: Span = Span::from_millis(250);

/// Sources a, b and c, which meet at the link s1->s2, or at s2->s3.
fn network(port: &str, link: &str, connections: &str) -> Network {
    let mut text = String::from(
        "version = 1\nduration = \"500ms\"\n\
         node = [{ name = \"s1\" }, { name = \"s2\" }, { name = \"s3\" }, { name = \"a\", kind = \"host\" }, \
         { name = \"b\", kind = \"host\" }, { name = \"c\", kind = \"host\" }, { name = \"x\", kind = \"host\" }]\n",
    );
    let ends = [("a", "s1", ""), ("b", "s1", ""), ("c", "s2", ""), ("s3", "x", "")];
    let inner = [("s1", "s2", ""), ("s2", "s3", link)];
    for (from, to, more) in ends {
        text += &format!(
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"100mbit\"\ndelay = \"1ms\"\n{more}\n"
        );
    }
    for (from, to, more) in inner {
        text += &format!(
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"20mbit\"\ndelay = \"2ms\"\n\
             rate_control = \"erica\"\n{port}\n{more}\n"
        );
    }
    text += connections;
    let scenario = Scenario::parse(&text, "a.toml", Path::new(""), &[]);
    assemble(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

fn connection(from: &str, transport: &str) -> String {
    format!(
        "[[connection]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"x\"\nsize = \"9000B\"\nadaptation = \"aal5\"\n\
         vc = {{ icr = \"1mbit\", rif = 1 }}\ntransport = {transport}\n"
    )
}

fn tcp(port: &str, link: &str, window: &str, more: &str) -> Network {
    let transport = format!("{{ kind = \"tcp\", stack = \"rfc\", receiver_window = \"{window}\"{more} }}");
    let three: String = ["a", "b", "c"].iter().map(|from| connection(from, &transport)).collect();
    network(port, link, &three)
}

fn run(network: &Network) -> World<Calendar> {
    run_with(network, 1, &Probes { sample: Some(Span::from_millis(1)), log: true, ..Probes::default() })
}

fn vc(network: &Network, flow: u32) -> Subject {
    Subject::Vc { link: network.flows[flow as usize].route[0] as u32, flow }
}

/// Three TCPs get a third of the target each, without a loss: their packets in flight wait at the
/// hosts.
#[test]
fn the_network_holds_next_to_nothing_of_a_window() {
    for port in PORTS {
        let network = tcp(port, "", "100kB", "");
        let world = run(&network);
        let series = world.series().unwrap();
        for flow in [0, 2, 4] {
            let acr = series.values(vc(&network, flow), "acr")[250..].iter().sum::<f64>() / 250.0;
            assert!((acr / 6e6 - 1.0).abs() < 0.1, "{port}: {acr}");
            assert!(world.records()[flow as usize].dropped == 0, "{port}");
            // 11 packets are 2,079 cells, of which some hundred are on the way.
            let queue = series.values(vc(&network, flow), "vc_queue").iter().copied().fold(0.0, f64::max);
            assert!((1_850.0..=2_150.0).contains(&queue), "{port}: {queue}");
        }
        for link in 0..network.links.len() as u32 {
            let queue = series.values(Subject::Link(link), "queue").iter().copied().fold(0.0, f64::max);
            assert!(queue < 100.0, "{port}: {queue} at {}", network.links[link as usize].name);
        }
    }
}

/// Over any time no more than that time at ACR, and one cell, leave a host; one cell in Nrm is an
/// RM cell.
#[test]
fn hosts_send_at_acr_and_an_rm_cell_in_nrm() {
    let network = tcp("", "", "100kB", "");
    let world = run(&network);
    for flow in [0, 2, 4] {
        let link = network.flows[flow as usize].route[0] as u32;
        let acr = world.series().unwrap().values(vc(&network, flow), "acr");
        let most = acr[250..].iter().copied().fold(0.0, f64::max);
        let left =
            world.log().iter().filter(|entry| entry.link == link && entry.at.since(Time::ORIGIN) > HALF);
        let left: Vec<Time> = left
            .filter(|entry| matches!(entry.what, PacketEvent::Departed(_)))
            .map(|entry| entry.at)
            .collect();
        assert!(left.len() > 3_000);
        for (from, to) in (0..left.len()).step_by(37).flat_map(|at| [(at, at + 1), (at, at + 100)]) {
            let Some(end) = left.get(to) else { continue };
            let cells = end.since(left[from]).as_secs_f64() * most / 424.0;
            assert!((to - from) as f64 <= cells + 1.0, "{} cells in the time of {cells}", to - from);
        }
        // The other cells that reach the end of the route are RM cells, which are absorbed there.
        let mut data = BTreeSet::new();
        for entry in world.log() {
            if let PacketEvent::Received(packet) = entry.what
                && packet.flow == flow
            {
                data.insert(packet.sequence);
            }
        }
        let end = *data.last().unwrap();
        let rm: Vec<u64> = (0..end).filter(|sequence| !data.contains(sequence)).collect();
        assert!(rm.len() > 100 && rm[0] <= 1);
        assert!(rm.windows(2).all(|pair| pair[1] - pair[0] == 32), "{rm:?}");
    }
}

/// Cells leave a VC in the order in which they entered it, and every cell is accounted for, even
/// with losses.
#[test]
fn cells_stay_in_order_and_in_the_books() {
    for port in PORTS {
        let mut network = tcp(port, "loss = 0.001", "60kB", "");
        for flow in &mut network.flows {
            flow.life.stop = Some(HALF);
        }
        let world = run(&network);
        for (ix, record) in world.records().iter().enumerate() {
            let gone = record.received.0 + record.dropped + record.absorbed + world.lost(ix);
            assert_eq!(record.sent.0, gone, "{port}: {}", network.flows[ix].name);
        }
        // With VS/VD, RM cells that switches make have later numbers than cells that they overtake.
        let mut last = vec![None; network.flows.len()];
        for entry in world.log() {
            if let PacketEvent::Received(packet) = entry.what {
                let before = last[packet.flow as usize].replace(packet.sequence);
                assert!(
                    before < Some(packet.sequence),
                    "{port}: {}",
                    network.flows[packet.flow as usize].name
                );
            }
        }
        let whole = (0..3).map(|flow| world.packets_of_cells(2 * flow).unwrap());
        assert!(whole.clone().all(|packets| packets.received.packets > 4), "{port}");
        assert!(whole.map(|packets| packets.discarded_cells).sum::<u64>() > 0, "{port}");
    }
}

/// EFCI lowers the rate of the VC; a TCP with ECN does not mistake EFCI for a mark of its own.
#[test]
fn efci_is_said_to_the_vc_alone() {
    let network = tcp("", "", "100kB", ", ecn = \"on\"");
    let mut marked = network.clone();
    let RateControlPlans(mut plans) = network.stage_terms.get::<RateControlPlans>().unwrap().clone();
    for plan in &mut plans {
        plan.algorithm = BuiltInRateControl::Efci(EfciParams::read(&[]).unwrap());
    }
    marked.stage_terms.set(Some(RateControlPlans(plans)));
    let world = run(&marked);
    for flow in [0, 2, 4] {
        let acr = world.series().unwrap().values(vc(&network, flow), "acr");
        let least = acr[100..].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least < 10e6, "{least}");
        assert_eq!(world.records()[flow as usize].marked, 0);
    }
}

/// A host prepares its next packet when the last cell of a packet has left its queue, whatever RM
/// cells leave in between.
#[test]
fn a_host_waits_for_the_cells_of_its_packet() {
    let preparation = Span::from_micros(500);
    for port in PORTS {
        let mut network = tcp(port, "", "100kB", "");
        for flow in [0, 2, 4] {
            network.flows[flow].preparation = preparation;
        }
        let world = run(&network);
        for flow in [0, 2, 4] {
            let link = network.flows[flow as usize].route[0] as u32;
            let (mut arrived, mut departed) = (Vec::new(), Vec::new());
            for entry in world.log().iter().filter(|entry| entry.link == link) {
                match entry.what {
                    PacketEvent::Arrived { packet, .. } if packet.flow == flow => arrived.push(entry.at),
                    PacketEvent::Departed(packet) if packet.flow == flow => departed.push(entry.at),
                    _ => {}
                }
            }
            let (mut end, mut before, mut packets) = (0, None, 0);
            for cells in arrived.chunk_by(PartialEq::eq) {
                end += cells.len();
                // A packet has 188 cells, and an RM cell may be the last of them.
                if cells.len() >= 188 {
                    let since = before.map_or(Time::ORIGIN, |last: usize| departed[last - 1]);
                    assert!(since + preparation <= cells[0], "{port}: {packets}");
                    (before, packets) = (Some(end - 1), packets + 1);
                }
            }
            assert!(packets > 30, "{port}: {packets}");
        }
    }
}

/// A VC with data in both directions: an RM cell that was turned round takes the time of a cell of
/// the data that go its way, at most one between two of their own RM cells while data wait. The rate
/// in the first direction comes to its share all the same.
#[test]
fn answers_take_their_turn_among_the_data_in_their_direction() {
    for port in PORTS {
        for joined in [false, true] {
            let mut two = connection("a", "{ kind = \"tcp\", stack = \"rfc\", receiver_window = \"100kB\" }");
            let other = two
                .replace("name = \"a\"\nfrom = \"a\"\nto = \"x\"", "name = \"b\"\nfrom = \"x\"\nto = \"a\"");
            assert_ne!(two, other);
            two += &other.replace("icr = \"1mbit\"", "icr = \"1mbit\", pcr = \"2mbit\"");
            if joined {
                two += "backward = \"a\"\n";
            }
            let network = network(port, "", &two);
            let world = run(&network);
            let acr =
                world.series().unwrap().values(vc(&network, 0), "acr")[250..].iter().sum::<f64>() / 250.0;
            assert!((acr / 18e6 - 1.0).abs() < 0.1, "{port}: {acr}");
            for (ix, record) in world.records().iter().enumerate() {
                assert_eq!(record.dropped, 0, "{port}: {}", network.flows[ix].name);
            }
            if !port.is_empty() {
                // Each switch turns RM cells round.
                continue;
            }
            let link = network.flows[2].route[0] as u32;
            let leaves = |entry: &&Entry| {
                entry.link == link && matches!(entry.what, PacketEvent::Departed(packet) if packet.flow == 2)
            };
            let cells = world.log().iter().filter(leaves).count() as u64;
            // RM cells are absorbed where they end.
            let (answers, frms) = (world.records()[1].absorbed, world.records()[2].absorbed);
            let allowed = (2e6 * 0.5 / 424.0) as u64 + 3;
            assert!(cells > 1_800 && answers > 50, "{cells} {answers}");
            assert_eq!(cells + answers <= allowed, joined, "{cells} {answers} {allowed}");
            assert_eq!(answers <= frms + 3, joined, "{answers} {frms}");
        }
    }
}
