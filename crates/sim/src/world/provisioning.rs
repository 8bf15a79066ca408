//! In-traffic of links: counted at their ports, and evaluated in windows.

use super::World;
use crate::in_traffic::{InTraffic, WINDOW};
use crate::network::Network;
use std::collections::BTreeSet;
use tidegate_core::meter::MeterKind;
use tidegate_core::params::Role;
use tidegate_core::switch::plan::PortPlan;
use tidegate_core::units::Time;

/// Returns the counters of a network's in-traffic; measurement begins at `warm_at`.
pub(super) fn in_traffic(network: &Network, warm_at: Time) -> InTraffic {
    let capacity = |link: u32| {
        let plan = &network.links[link as usize];
        (link, plan.port.ceiling.map_or(plan.rate, |ceiling| ceiling.min(plan.rate)))
    };
    InTraffic::new(coloured(network).into_iter().map(capacity), warm_at)
}

impl<Q> World<Q> {
    /// Makes ports count the green packets of links that have in-traffic.
    pub(super) fn count_in_traffic(&mut self) {
        for ix in self.cx.measures.in_traffic.links() {
            let link = &self.cx.fabric.links[ix as usize];
            self.cx.fabric.nodes[link.node as usize].switch.count_green(link.port);
        }
    }

    /// Returns the in-traffic bytes that have come to a link so far.
    pub(super) fn in_traffic_so_far(&self, ix: u32) -> u64 {
        let (switch, port) = self.cx.fabric.port_of(ix);
        switch.green(port).map_or(0, |green| green.bytes)
    }

    /// Begins the measurement.
    pub(super) fn begin_in_traffic(&mut self) {
        let links: Vec<u32> = self.cx.measures.in_traffic.links().collect();
        for ix in links {
            let bytes = self.in_traffic_so_far(ix);
            self.cx.measures.in_traffic.begin(ix, bytes);
        }
    }

    /// Ends all windows that end before `at`, after the events of their last instant.
    #[cold]
    #[inline(never)]
    pub(super) fn end_windows(&mut self, at: Time) {
        while self.cx.measures.in_traffic.next() < at && self.cx.measures.in_traffic.next() <= self.until {
            let next = self.cx.measures.in_traffic.next();
            let links: Vec<u32> = self.cx.measures.in_traffic.links().collect();
            for ix in links {
                let bytes = self.in_traffic_so_far(ix);
                let offered = self.cx.fabric.links[ix as usize].line.offered(next.before(WINDOW), next);
                self.cx.measures.in_traffic.end_window(ix, bytes, offered);
            }
            self.cx.measures.in_traffic.begin_window();
        }
        while let Some(assurance) =
            self.cx.measures.assurance.as_mut().filter(|one| one.next() < at && one.next() <= self.until)
        {
            assurance.end_window();
        }
    }
}

/// Returns the links whose packets pass a colouring meter at or before them.
fn coloured(network: &Network) -> BTreeSet<u32> {
    let at_gate = |link: &usize| network.gate.as_ref().is_some_and(|gate| gate.links.contains(link));
    let mut links = BTreeSet::new();
    for flow in &network.flows {
        let mut inside = false;
        for (link, plan) in flow.route.iter().zip(&flow.plans) {
            let port = &network.links[*link].port;
            inside |= match at_gate(link) {
                // Which gate flow matches is not known at set-up.
                true => colours(&port.meters) || port.classes.iter().any(|class| colours(&class.meters)),
                false => class_colours(port, plan.class),
            };
            if inside {
                links.insert(*link as u32);
            }
        }
    }
    links
}

/// Returns true if packets of a class, or of none, pass a meter that colours.
fn class_colours(port: &PortPlan, class: Option<u16>) -> bool {
    let find = |ix: Option<u16>| port.classes.get(usize::from(ix?));
    let mut upwards = std::iter::successors(find(class), |class| find(class.parent));
    colours(&port.meters) || upwards.any(|class| colours(&class.meters))
}

fn colours(meters: &[MeterKind]) -> bool {
    meters.iter().any(|meter| meter.record().role == Role::Meter { colours: true })
}
