//! A relay that does nothing changes nothing, whichever calls it asks for: links that go step by
//! step for it send what others send.

mod common;

use common::{add, chain, poisson, run};
use std::sync::Arc;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_sim::network::{Network, RelayPlan};
use tidegate_sim::relay::{Relay, RelayFactory};

/// A relay that does nothing.
#[derive(Clone, Copy, Debug)]
struct Idle {
    sees_leaving: bool,
}

impl RelayFactory for Idle {
    fn make(&self, _: u32, _: Rng) -> Box<dyn Relay> {
        Box::new(*self)
    }
}

impl Relay for Idle {
    fn sees_leaving(&self, _: u32, _: u32) -> bool {
        self.sees_leaving
    }
}

/// Three servers in a row, each fully loaded by Poisson flows that reserve their shares, with a
/// short buffer.
fn loaded(scheduler: &str, delay: Span) -> Network {
    let mut network = chain(3, 1_000_000, delay, scheduler, Span::from_secs(5));
    for route in [0..3, 0..3, 0..1, 1..2, 2..3] {
        add(&mut network, route, Some(330_000), poisson(330_000, 125));
    }
    network.nodes.iter_mut().for_each(|node| node.buffer = Some(Limit::Bytes(3_000)));
    network
}

#[test]
fn idle_relays_change_no_outcome() {
    for scheduler in ["fifo", "virtual-clock", "scfq", "drr"] {
        for delay in [Span::ZERO, Span::from_micros(700)] {
            let network = loaded(scheduler, delay);
            let alone = run(&network, 1);
            assert!(alone.records().iter().any(|record| record.dropped > 0), "{scheduler}");
            for sees_leaving in [false, true] {
                let mut attended = network.clone();
                attended.relays = (0..3)
                    .map(|node| RelayPlan {
                        name: format!("idle {node}"),
                        node,
                        factory: Arc::new(Idle { sees_leaving }),
                    })
                    .collect();
                let seen = run(&attended, 1);
                assert_eq!(seen.fingerprint(), alone.fingerprint(), "{scheduler}, {delay:?}, {sees_leaving}");
            }
        }
    }
}
