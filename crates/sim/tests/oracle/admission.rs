//! The Flow Network's promises: no link is over-booked, and a flow is opened from its destination
//! to its source and sends once all of its links have opened it.

use std::collections::BTreeMap;
use tidegate_core::units::{Rate, Time};
use tidegate_sim::event_queue::EventQueue;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::{Entry, PacketEvent};
use tidegate_sim::world::{Answer, World};

/// Checks the set-up by signalling; returns the number of flows that were set up.
///
/// # Errors
/// The first broken promise.
pub fn check<Q: EventQueue>(network: &Network, world: &World<Q>) -> Result<u64, String> {
    if network.policies.is_empty() {
        return Ok(0);
    }
    check_books(network, world.log())?;
    let mut granted = 0;
    for (flow, setup) in network.flows.iter().enumerate().filter(|(_, setup)| setup.life.set_up) {
        let opened: BTreeMap<u32, Time> = world
            .log()
            .iter()
            .filter(|entry| entry.what == PacketEvent::Opened(flow as u32))
            .map(|entry| (entry.link, entry.at))
            .collect();
        let answer = |wanted: fn(&Answer) -> bool| {
            let own = world.signals().iter().filter(|signal| signal.flow as usize == flow);
            own.copied().find(|signal| wanted(&signal.answer))
        };
        let refused = answer(|answer| matches!(answer, Answer::Refused(..)));
        if refused.is_some() && !opened.is_empty() {
            return Err(format!("{} is refused, and was opened", setup.name));
        }
        let sent = |entry: &&Entry| matches!(entry.what, PacketEvent::Arrived { packet, .. } if packet.flow as usize == flow);
        let first_packet = world.log().iter().find(sent).map(|entry| entry.at);
        let Some(grant) = answer(|answer| *answer == Answer::Granted) else {
            match first_packet {
                Some(at) => return Err(format!("{} sends at {at:?}, and was not set up", setup.name)),
                None => continue,
            }
        };
        granted += 1;
        if first_packet.is_some_and(|at| at < grant.at) {
            return Err(format!("{} sends before it is set up", setup.name));
        }
        // Back from the destination, link by link.
        let mut at = grant.at;
        for link in &setup.route {
            if opened.get(&(*link as u32)) != Some(&at) {
                let name = &network.links[*link].name;
                return Err(format!("{} is not opened at {name} at {at:?}", setup.name));
            }
            let after = setup.route.iter().skip_while(|other| *other != link).nth(1);
            if after.is_some() {
                at = at.before(network.links[*link].delay);
            }
        }
    }
    Ok(granted)
}

/// Checks that no link promises more than it may.
fn check_books(network: &Network, log: &[Entry]) -> Result<(), String> {
    let bits = |rate: Option<Rate>| rate.map_or(0.0, Rate::bits_per_second);
    let mut promised: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for Entry { link, what, at } in log {
        match *what {
            PacketEvent::Opened(flow) => {
                let reserve = network.flows[flow as usize].plans[0].contract.reserve;
                promised.insert((*link, flow), bits(reserve));
            }
            PacketEvent::Amended(flow, nth) => {
                let reserve = network.flows[flow as usize].life.changes[nth].contract.reserve;
                promised.insert((*link, flow), bits(reserve));
            }
            PacketEvent::Closed(flow) => _ = promised.remove(&(*link, flow)),
            _ => continue,
        }
        let sum: f64 = promised.range((*link, 0)..=(*link, u32::MAX)).map(|(_, bits)| bits).sum();
        let most = network.policies[*link as usize].reservable as f64;
        if sum > most * (1.0 + 1e-6) {
            let name = &network.links[*link as usize].name;
            return Err(format!("{sum} bit/s of {most} bit/s are promised on {name} at {at:?}"));
        }
    }
    Ok(())
}
