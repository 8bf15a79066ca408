//! One body for all receivers of a multicast flow.

use crate::common::{add, rate};
use crate::{row, run};
use std::sync::Arc;
use tidegate_core::params::Limit;
use tidegate_core::units::Span;
use tidegate_sim::source::Traffic;

/// A packet for three hosts is stored once in the switch where its route forks.
#[test]
fn multicast_stores_one_body() {
    let network = |multicast: bool| {
        let mut network = row(4, 8_000_000, Span::from_millis(1), 10);
        // A hub behind the first link, three hosts at it by slow links.
        for (ix, host) in [(2, 2), (4, 3), (6, 4)] {
            (network.links[ix].from, network.links[ix].to) = (1, host);
            network.links[ix].rate = rate(1_000_000);
        }
        network.nodes[1].buffer = Some(Limit::Packets(30));
        let train = Traffic::Trains {
            rate: rate(200_000),
            length: 4.0,
            gap: tidegate_sim::source::Gap::Fixed(Span::from_millis(1)),
            sizes: Arc::new([1000]),
        };
        for hosts in if multicast { vec![vec![2, 4, 6]] } else { vec![vec![2], vec![4], vec![6]] } {
            add(&mut network, 0..1 + hosts.len(), None, train.clone());
            let flow = network.flows.last_mut().unwrap();
            flow.name = "train".into();
            flow.depths = if multicast { vec![1, 2, 2, 2] } else { Vec::new() };
            flow.route = [vec![0], hosts].concat();
        }
        network
    };
    let world = run(&network(true));
    let record = &world.records()[0];
    assert!(record.sent.0 > 150);
    assert!(record.dropped == 0 && 3 * record.sent.0 - record.received.0 <= 3 * 30, "{record:?}");
    let links = [2, 4, 6].map(|ix| world.link(ix).sent);
    assert!(links[0].0 > 150 && links.iter().all(|sent| *sent == links[0]), "{links:?}");
    let separate = run(&network(false));
    let dropped: u64 = separate.records().iter().map(|record| record.dropped).sum();
    assert!(dropped > 10, "three copies do not fit: {dropped} dropped");
}
