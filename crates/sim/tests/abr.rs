//! ABR connections over ports that control their rates: properties of the algorithms, with and
//! without VS/VD.

mod common;

use common::run_with;
use std::path::Path;
use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::world::World;

/// The couplings that the source of VS/VD calls A and D, and none.
const PORTS: [&str; 3] = [
    "",
    ", vsvd = { vc_rate = \"frm1\", input_rate = \"per-vc\", acts_on = \"previous\", updated_at = \"frm1\" }",
    ", vsvd = {}",
];

fn network(text: &str) -> Network {
    let scenario =
        Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    assemble(&scenario).unwrap()
}

fn run(network: &Network) -> World<Calendar> {
    run_with(network, 1, &Probes { sample: Some(Span::from_millis(1)), ..Probes::default() })
}

/// Hosts a, b and c on switches s1, s1 and s2, and x, y and z on s3; links of 10 Mbit/s and 2 ms.
fn lot(port: &str, last: &str, more: &str) -> String {
    let mut text =
        format!("version = 1\nduration = \"400ms\"\nport = {{ rate_control = \"erica\"{port} }}\n");
    for switch in ["s1", "s2", "s3"] {
        text += &format!("[[node]]\nname = \"{switch}\"\n");
    }
    for host in ["a", "b", "c", "x", "y", "z"] {
        text += &format!("[[node]]\nname = \"{host}\"\nkind = \"host\"\n");
    }
    let ends = [("a", "s1"), ("b", "s1"), ("c", "s2"), ("s1", "s2"), ("s3", "x"), ("s3", "y"), ("s3", "z")];
    for (from, to) in ends {
        text += &format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10mbit\"\ndelay = \"2ms\"\n");
    }
    text += &format!("[[link]]\nfrom = \"s2\"\nto = \"s3\"\nrate = \"10mbit\"\ndelay = \"2ms\"\n{last}\n");
    for (from, to) in [("a", "x"), ("b", "y"), ("c", "z")] {
        text += &connection(from, to, "");
    }
    text + more
}

fn connection(from: &str, to: &str, more: &str) -> String {
    format!(
        "[[connection]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"53B\"\n{more}\n\
         transport = {{ kind = \"abr\", icr = \"1mbit\", rif = 1, crm = 32 }}\n"
    )
}

fn link(network: &Network, name: &str) -> u32 {
    network.links.iter().position(|link| link.name == name).unwrap() as u32
}

/// Mean of a series from a sample on.
fn mean(world: &World<Calendar>, subject: Subject, metric: &str, from: usize) -> f64 {
    let values = &world.series().unwrap().values(subject, metric)[from..];
    values.iter().sum::<f64>() / values.len() as f64
}

/// Three VCs meet at the last link: a third of the target each, with any coupling, and next to no
/// queue in the end.
#[test]
fn sources_come_to_their_max_min_rates() {
    for port in PORTS {
        let network = network(&lot(port, "", ""));
        let world = run(&network);
        for flow in [0, 2, 4] {
            let acr = mean(&world, Subject::Flow(flow), "acr", 250);
            assert!((acr / 3e6 - 1.0).abs() < 0.1, "{port}: {acr}");
        }
        let queue = mean(&world, Subject::Link(link(&network, "s2->s3")), "queue", 250);
        assert!(queue < 50.0, "{port}: {queue}");
    }
}

/// Cells of a VC stay in order, every cell is accounted for, and RM cells are answered once.
#[test]
fn cells_stay_in_order_and_in_the_books() {
    for port in PORTS {
        let text =
            lot(port, "loss = 0.02", "").replace("size = \"53B\"\n", "size = \"53B\"\nstop = \"200ms\"\n");
        let network = network(&text);
        let world: World<Calendar> = run_with(&network, 1, &Probes { log: true, ..Probes::default() });
        for (ix, record) in world.records().iter().enumerate() {
            let gone = record.received.0 + record.dropped + record.absorbed + world.lost(ix);
            assert_eq!(record.sent.0, gone, "{port}: {}", network.flows[ix].name);
            assert!(record.sent.0 > 20, "{port}: {}", network.flows[ix].name);
        }
        // Cells of one VC leave each link in the order in which they came to it.
        for ix in 0..network.links.len() as u32 {
            let mut came: Vec<Vec<u64>> = vec![Vec::new(); network.flows.len()];
            let mut left = came.clone();
            for entry in world.log().iter().filter(|entry| entry.link == ix) {
                match entry.what {
                    PacketEvent::Arrived { packet, .. } => came[packet.flow as usize].push(packet.sequence),
                    PacketEvent::Departed(packet) => left[packet.flow as usize].push(packet.sequence),
                    _ => {}
                }
            }
            assert_eq!(came, left, "{port}: {}", network.links[ix as usize].name);
        }
    }
}

/// With 30 % of all cells lost behind the bottleneck, RM cells among them, rates stay near their
/// share and queues bounded.
#[test]
fn lost_rm_cells_leave_the_loop_stable() {
    for port in PORTS {
        let network = network(&lot(port, "loss = 0.3", ""));
        let world = run(&network);
        let bottleneck = Subject::Link(link(&network, "s2->s3"));
        let queue = world.series().unwrap().values(bottleneck, "queue");
        let longest = queue[200..].iter().copied().fold(0.0, f64::max);
        assert!(longest < 200.0, "{port}: {longest}");
        for flow in [0, 2, 4] {
            let acr = mean(&world, Subject::Flow(flow), "acr", 200);
            assert!((1.5e6..4.5e6).contains(&acr), "{port}: {acr}");
        }
    }
}

/// When the path to the destinations is cut, no answer comes: after CRM RM cells, each further one
/// lowers the rate by CDF. A source sends Nrm cells for each, so that the cells sent in a given
/// time have a closed form. With VS/VD the loop behind the dead link falls, and the one before it
/// follows.
#[test]
fn a_dead_destination_stops_its_source() {
    for port in PORTS {
        let network = network(&lot(port, "loss = 1", ""));
        let world = run(&network);
        let series = world.series().unwrap();
        let last = |subject: Subject| series.values(subject, "acr").last().copied();
        let (mut expected, mut time) = (0.0, 0.0);
        for sent in 0.. {
            let rate = 1e6 * (1.0 - 0.0625f64).powi(i32::max(sent - 31, 0));
            let whole = 32.0 * 424.0 / rate;
            expected += 32.0 * ((0.4 - time) / whole).min(1.0);
            time += whole;
            if time >= 0.4 {
                break;
            }
        }
        for flow in [0, 2, 4] {
            let sent = world.records()[flow as usize].sent.0 as f64;
            match last(Subject::Vc { link: link(&network, "s2->s3"), flow }) {
                None => assert!((sent - expected).abs() < 3.0, "{sent} of {expected}"),
                Some(acr) => {
                    assert!(acr < 9e5, "{port}: {acr}");
                    assert!(last(Subject::Flow(flow)).is_some_and(|acr| acr < 9e5), "{port}");
                }
            }
        }
    }
}

/// A VC that vanishes leaves its share to the others, and one that comes back takes it again.
#[test]
fn a_vanished_vc_leaves_its_share() {
    for port in PORTS {
        let text = lot(port, "", "").replacen("size = \"53B\"\n", "size = \"53B\"\nstop = \"200ms\"\n", 1);
        let network = network(&text);
        let world = run(&network);
        for flow in [2, 4] {
            let before =
                world.series().unwrap().values(Subject::Flow(flow), "acr")[180..199].iter().sum::<f64>()
                    / 19.0;
            let after = mean(&world, Subject::Flow(flow), "acr", 350);
            assert!((before / 3e6 - 1.0).abs() < 0.1, "{port}: {before}");
            assert!((after / 4.5e6 - 1.0).abs() < 0.1, "{port}: {after}");
        }
    }
}

/// Traffic ahead of the ABR class reduces the target rate.
#[test]
fn cbr_above_leaves_the_rest_to_abr() {
    let classes = "scheduler = \"strict-priority\"";
    for port in PORTS {
        let more = "[[class]]\nname = \"cbr\"\nscheduler = \"fifo\"\npriority = 0\n\
                    [[class]]\nname = \"abr\"\nscheduler = \"fifo\"\npriority = 1\n\
                    [[class]]\nname = \"ubr\"\nscheduler = \"fifo\"\npriority = 2\n\
                    [[flow]]\nname = \"above\"\nfrom = \"c\"\nto = \"z\"\nsize = \"53B\"\nclass = \"cbr\"\n\
                    source = { kind = \"cbr\", rate = \"4500kbit\" }\n\
                    [[flow]]\nname = \"below\"\nfrom = \"b\"\nto = \"y\"\nsize = \"53B\"\nclass = \"ubr\"\n\
                    source = { kind = \"cbr\", rate = \"500kbit\" }\n";
        let text = lot(&format!(", {classes}{port}"), "", more).replace(
            "size = \"53B\"\n\ntransport",
            "size = \"53B\"\nclass = \"abr\"\nanswers = { class = \"abr\" }\ntransport",
        );
        // In 1 ms so few cells arrive that rounding is visible.
        let text = text.replace("\"erica\"", "{ kind = \"erica\", interval = \"5ms\" }");
        let network = network(&text);
        let world = run(&network);
        let flow = |name: &str| network.flows.iter().position(|flow| flow.name == name).unwrap() as u32;
        for name in ["a", "b", "c"] {
            let acr = mean(&world, Subject::Flow(flow(name)), "acr", 250);
            assert!((acr / 1.5e6 - 1.0).abs() < 0.1, "{port}: {acr}");
        }
    }
}

/// Virtual sources keep to ACR2: over any time no more cells of a VC leave its queue than ∫ACR2 and
/// one cell, apart from a byte at each change of the rate. The cells that have entered the class
/// queue are counted at samples.
#[test]
fn per_vc_queues_are_served_at_acr() {
    let network = network(&lot(PORTS[2], "", ""));
    let probes = Probes { sample: Some(Span::from_micros(50)), log: true, ..Probes::default() };
    let world: World<Calendar> = run_with(&network, 1, &probes);
    let name = link(&network, "s2->s3");
    for flow in [0, 2, 4] {
        let values = |metric| world.series().unwrap().values(Subject::Vc { link: name, flow }, metric);
        let (acr, queue) = (values("acr"), values("vc_queue"));
        let mut came = world
            .log()
            .iter()
            .filter_map(|entry| match entry.what {
                PacketEvent::Arrived { packet, .. } if entry.link == name && packet.flow == flow => {
                    Some(entry.at)
                }
                _ => None,
            })
            .peekable();
        let (mut arrived, mut changes, mut allowed, mut worst) = (0.0, 0.0, 0.0f64, 0.0f64);
        let mut least = f64::INFINITY;
        for at in 0..acr.len() {
            let now = Time::ORIGIN + Span::from_micros(50 * (at as u64 + 1));
            while came.next_if(|time| *time <= now).is_some() {
                arrived += 1.0;
            }
            // Within a sample the rate may have been the greater one of both ends.
            let before = acr[at.saturating_sub(1)];
            allowed += acr[at].max(before) * 50e-6 / 424.0;
            changes += f64::from(u8::from(before != acr[at]));
            let slack = arrived - queue[at] - allowed - changes / 53.0;
            least = least.min(slack);
            worst = worst.max(slack - least);
        }
        assert!(worst <= 2.0, "{worst} cells above ACR2");
        assert!(changes >= 8.0 && arrived > 1000.0, "{changes} {arrived}");
    }
}

/// A scheduler can serve the queues of VCs in place of ACR2: cells leave whenever the link is free,
/// each loop has RM cells of its own, and every cell is accounted for and in order.
#[test]
fn a_scheduler_can_serve_the_per_vc_queues() {
    for scheduler in ["fifo", "round-robin", "drr"] {
        let port = format!(
            ", scheduler = \"{scheduler}\", vsvd = {{ vc_rate = \"frm1\", input_rate = \"per-vc\", service = \"scheduler\" }}"
        );
        let text = lot(&port, "", "").replace("size = \"53B\"\n", "size = \"53B\"\nstop = \"300ms\"\n");
        let network = network(&text);
        let probes = Probes { log: true, sample: Some(Span::from_millis(1)), ..Probes::default() };
        let world: World<Calendar> = run_with(&network, 1, &probes);
        let bottleneck = link(&network, "s2->s3");
        for flow in [0, 2, 4] {
            let acr = world.series().unwrap().values(Subject::Flow(flow), "acr");
            let settled = acr[220..290].iter().sum::<f64>() / 70.0;
            assert!((settled / 3e6 - 1.0).abs() < 0.1, "{scheduler}: {settled}");
            let record = &world.records()[flow as usize];
            assert_eq!(record.sent.0, record.received.0 + record.dropped + record.absorbed, "{scheduler}");
            let (mut came, mut left) = (Vec::new(), Vec::new());
            for entry in world.log().iter().filter(|entry| entry.link == bottleneck) {
                match entry.what {
                    PacketEvent::Arrived { packet, .. } if packet.flow == flow => {
                        came.push(packet.sequence);
                    }
                    PacketEvent::Departed(packet) if packet.flow == flow => left.push(packet.sequence),
                    _ => {}
                }
            }
            assert!(came == left && came.len() > 1000, "{scheduler}");
            // Its own RM cells and the absorbed ones of the loop before it: one in 32 of both.
            let absorbed = record.absorbed as f64 / record.sent.0 as f64;
            assert!((0.02..0.1).contains(&absorbed), "{scheduler}: {absorbed}");
        }
    }
}

/// With AAL5, whole packets are delivered. Packets of k cells arrive with probability (1 - p)^k at
/// a share p of lost cells, less those whose predecessor's last cell is lost, a share p of them.
#[test]
fn a_packet_counts_when_all_of_its_cells_have_come() {
    let (loss, cells) = (0.005, 32.0f64);
    let mut text = lot("", &format!("loss = {loss}"), "");
    text = text.replace("crm = 32 }", "crm = 32, frame = \"1500B\" }").replace("400ms", "4s");
    let world = run(&network(&text));
    let counted = |flow: usize| {
        let record = &world.records()[flow];
        (record.received.0 as f64, world.counts(flow).delivered.unwrap())
    };
    for flow in [0, 2, 4] {
        let (received, delivered) = counted(flow);
        assert_eq!(delivered % 1500, 0);
        // One received cell in 32 is an RM cell.
        let sent = received * 31.0 / 32.0 / (1.0 - loss) / cells;
        let share = delivered as f64 / 1500.0 / sent;
        let expected = (1.0 - loss).powf(cells) * (1.0 - loss);
        // 99.9 % of a binomial share.
        let half = 3.29 * (expected * (1.0 - expected) / sent).sqrt();
        assert!((share - expected).abs() < half + 1.0 / sent, "{share} {expected} {half}");
    }
}
